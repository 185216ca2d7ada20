"""Stage changes that the lake (the tables with the cluster's past) suggests: the undo of a change, an outlier's
alignment with other clusters, a suggested quota.

The lake may be out of date: the present values are read first, and each difference from the lake is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from console.lake import entities
from console.model import codes
from console.model.acl import Acl
from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import ScramUser
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigPlace, ConfigResource, entry_in, is_override
from console.model.entity_types import BY_NUMBER
from console.model.inheritance import Inheritance
from console.model.parts import Part
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.plan import edits as plan_edits
from console.plan.current_state import current_state
from console.plan.staged import UNREAD, Described
from console.plan.stale_throttles import THROTTLES, owned_by_moves
from console.present.lake import REDACTED, entity_text, is_hidden
from console.present.names import target
from console.present.text import clean
from console.session.read_again import read_again

if TYPE_CHECKING:
    from console.lake.reader import Change, Drifted, Usage
    from console.plan.plan import StageReport
    from console.session.session import Session


# -- from rows of a lake to edits. Pure --------------------------------------------------------------------------------

CONFIG_TYPES = tuple(each.kafka_word for each in BY_NUMBER.values())


class NoEdit(NamedTuple):
    """A line that says why no edit is possible, with an alternative."""

    why: str


def undo(change: Change, known: Snapshot) -> plan_edits.Edit | NoEdit:
    """Return the edit that restores the value before a change in the lake; NoEdit if that is not possible. known: a
    snapshot with the brokers' descriptions of the config keys.
    """
    if change.is_gap:
        return NoEdit("that is no change: the cluster was not polled then")
    if change.is_first_poll:
        return NoEdit("it was so when the cluster was first looked at: what was before that is not known")
    if is_hidden(change):
        return NoEdit("the value is hidden: the lake never had it. Set it again with KEY=? or KEY=@FILE")
    match change.entity_type:
        case "acl":
            return _undo_acl(change)
        case "scram":
            return _undo_scram(change)
        case type_ if type_ in CONFIG_TYPES and change.attr.startswith(":"):
            return _undo_whole(change)
        case _:
            return wanted(change.entity_type, change.entity_key, change.attr, change.old_value, known)


def wanted(type_: str, key: str, attr: str, value: str | None, known: Snapshot) -> plan_edits.Edit | NoEdit:
    """Return the edit that sets an attribute of an entity; NoEdit if that is not possible.

    Args:
        type_: the lake's name of the entity's type.
        key: the entity's name.
        attr: the attribute, such as a config key.
        value: the value to set; None to remove the entity's own value.
        known: a snapshot with the brokers' descriptions of the config keys.
    """
    if type_ == "quota":
        return _quota(QuotaEntity.of(entities.quota_parts(key)), attr, value)
    resource = config_resource(type_, key)
    if resource is None:
        return NoEdit(f"{entity_text(type_, key)} can't be changed from here")
    why = only_in_file(resource, attr, known)
    if why:
        return NoEdit(why)
    return plan_edits.UnsetConfig(resource, attr) if value is None else plan_edits.SetConfig(resource, attr, value)


def only_in_file(resource: ConfigResource, key: str, known: Snapshot) -> str:
    """Return the reason why a config key can't be changed at run time but only in the broker's file; ``""`` if it can
    be changed, or if no description of the key by a broker is known yet. Releases differ, so only a description
    decides; `stage_wishes` reads it.
    """
    described = Inheritance(known).described(resource, key) if resource.type == codes.BROKER else None
    if described is None or update_mode(resource.type, key, described) is not UpdateMode.RESTART:
        return ""
    return f"{clean(key, 100)} is in the broker's server.properties: change it there, and restart it"


def config_resource(type_: str, key: str) -> ConfigResource | None:
    """Return the config resource of an entity of the lake; None for an entity without configs."""
    if type_ not in CONFIG_TYPES:
        return None
    if type_ == "broker" and key == entities.DEFAULT:
        return CLUSTER_DEFAULT
    return ConfigResource(codes.ResourceType.parse(type_), key)


def _quota(entity: QuotaEntity, key: str, value: str | None) -> plan_edits.Edit | NoEdit:
    if value is None:
        return plan_edits.UnsetQuota(entity, key)
    try:
        return plan_edits.SetQuota(entity, key, float(value))
    except ValueError:
        return NoEdit(f"{clean(value, 100)} is not a quota")


def _undo_whole(change: Change) -> NoEdit:
    """Return the reason why a change of a topic itself, such as its deletion, can't be undone."""
    name = entity_text(change.entity_type, change.entity_key)
    match change.attr:
        case ":topic_id" if change.is_deleted:
            return NoEdit(f"{name} was deleted: its records are gone. `create topic` makes an empty one")
        case ":topic_id" | ":partitions" if change.old_value is None:
            return NoEdit(f"{name} was created then: `delete topic` deletes it, with all its records")
        case ":partitions":
            return NoEdit("partitions can't be taken away again")
        case _:
            return NoEdit(f"{clean(change.attr[1:], 60)} of {name} can't be changed from here")


def _undo_acl(change: Change) -> plan_edits.Edit | NoEdit:
    binding = acl_of(change.entity_key, change.attr)
    if binding is None:
        return NoEdit("this is an ACL of a kind that is not known here")
    return plan_edits.AddAcl(binding) if change.is_deleted else plan_edits.RemoveAcl(binding)


def acl_of(key: str, attr: str) -> Acl | None:
    """Return the ACL that the lake's key and attribute describe; None if its kind is unknown."""
    try:
        resource_type, pattern_type, name = entities.acl_resource(key)
        permission, operation, principal, host = entities.acl_parts(attr)
        return Acl(
            codes.AclResourceType.parse(resource_type),
            name,
            codes.PatternType.parse(pattern_type),
            principal,
            host,
            codes.AclOperation.parse(operation),
            codes.Permission.parse(permission),
        )
    except ValueError:
        return None


def _undo_scram(change: Change) -> plan_edits.Edit | NoEdit:
    if change.is_deleted or change.old_value is not None:
        return NoEdit("the old password is unknown: `scram set` sets a new one")
    try:
        return plan_edits.DeleteScram(ScramUser(change.entity_key, codes.ScramMechanism.parse(change.attr)))
    except ValueError:
        return NoEdit(f"{clean(change.attr, 60)} is a mechanism that is not known here")


def align(row: Drifted, known: Snapshot) -> plan_edits.Edit | NoEdit:
    """Return the edit that gives an outlier the value of the majority or the baseline; NoEdit if that is not possible.
    known: a snapshot with the brokers' descriptions of the config keys.
    """
    type_, key = row.entity
    if REDACTED in (row.majority_value, row.this_value):
        return NoEdit("the value is hidden: it was never read. Set it with KEY=? or KEY=@FILE")
    if row.attr.startswith(":"):
        return NoEdit(f"{clean(row.attr[1:], 60)} is not a config: it can't be aligned from here")
    if type_ == "acl":
        binding = acl_of(key, row.attr)
        if binding is None:
            return NoEdit("this is an ACL of a kind that is not known here")
        return plan_edits.RemoveAcl(binding) if row.majority_value is None else plan_edits.AddAcl(binding)
    return wanted(type_, key, row.attr, row.majority_value, known)


def suggested(usage: Usage) -> plan_edits.Edit | NoEdit:
    """Return the edit that sets the suggested quota for exactly this pair of user and client id; the quota that applies
    to the pair now may also apply to others. NoEdit if there is no suggestion, or no user and client id.
    """
    if usage.suggested_value is None:
        return NoEdit(f"nothing is suggested: {clean(usage.reason, 200)}")
    parts: dict[str, str | None] = {}
    if usage.pair.scope_user is not None:
        parts[USER] = usage.pair.scope_user
    if usage.pair.scope_client:
        parts[CLIENT_ID] = usage.pair.scope_client
    if not parts:
        return NoEdit("a client without a user and an id can't have a quota of its own")
    return plan_edits.SetQuota(QuotaEntity.of(parts), usage.pair.quota_key, usage.suggested_value)


# -- staging them, against the cluster's present state -----------------------------------------------------------------


class Unknown(Enum):
    """The type of the value `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
"""Stands for a value that is unknown, because None already means that there is no value. It equals no value and is
not compared.
"""
Value = str | None | Unknown
AS_THE_LAKE_SAYS = "as the lake says"


class Wish(Struct, frozen=True):
    """A suggestion from the lake: the edit to stage, or the reason why it is not possible."""

    edit: plan_edits.Edit | NoEdit
    """The edit, or the reason why no edit is possible."""
    lake: Value = UNKNOWN
    """The entity's own value in the lake; None if it had none there; `UNKNOWN` if no value shall be compared."""
    note: str = ""
    """A remark for the operator."""
    effective: bool = False
    """Whether `lake` is an effective value, which the entity may inherit. If the entity would inherit the wanted value
    anyway, its own value is removed instead.
    """
    source: str = AS_THE_LAKE_SAYS
    """The words that end the message about a present value that differs from `lake`: ``as the lake says`` in ``… has
    3 now, not 5 as the lake says``.
    """


class Wished(Struct, frozen=True):
    """The result of staging suggestions."""

    report: StageReport | None
    """The report of the staged edits; None if no edit was staged."""
    notes: tuple[str, ...]
    """Lines about suggestions that can't be staged, and about differences between the cluster and the lake."""


async def stage_wishes(session: Session, wishes: Iterable[Wish]) -> Wished:
    """Read the targets of the suggested edits, and stage the edits that are possible. Raises Refused in a read-only
    context, and AdminError.
    """
    session.refuse_if_read_only()
    asked = tuple(wishes)
    notes = [wish.edit.why for wish in asked if isinstance(wish.edit, NoEdit)]
    edits = {wish.edit: wish for wish in asked if not isinstance(wish.edit, NoEdit)}
    if not edits:
        return Wished(None, tuple(dict.fromkeys(notes)))
    topics = sorted({name for edit in edits if (name := edit.on_topic) is not None})
    if topics:
        # A lake may be hours old: a topic may have been deleted or created again since.
        await session.read_topics(topics)
    await read_again(session, [edit for edit in edits if not _is_gone(edit, session.snapshot)])
    owned: Mapping[ConfigPlace, str] = {}
    if any(edit.key in THROTTLES for edit in edits):
        await session.read_whole(Part.REASSIGNMENTS)
        owned = owned_by_moves(session.snapshot)
    wanted = []
    for edit, wish in edits.items():
        if _is_gone(edit, session.snapshot):
            notes.append(f"{target(edit.target)} does not exist any more")
        elif isinstance(edit.target, ConfigResource) and (why := owned.get((edit.target, edit.key), "")):
            notes.append(f"{clean(edit.key, 100)} of {target(edit.target)} {why}")
        elif why := _only_in_file(edit, session.snapshot):
            notes.append(why)
        else:
            # An alignment wants the effective value; an own value equal to the inherited one would only hide its later
            # changes.
            wanted.append(_inheriting(edit, session.snapshot) if wish.effective else edit)
            notes += [*([wish.note] if wish.note else []), *_moved(edit, wish, session.snapshot)]
    report = session.stage(wanted) if wanted else None
    return Wished(report, tuple(dict.fromkeys(notes)))


def said(wished: Wished) -> tuple[str, str]:
    """Return a line about the result, and the token of its colour."""
    from console.present.failures import staged_text

    text, meaning = staged_text(wished.report) if wished.report is not None else ("", "failed")
    words: Sequence[str] = [*([text] if text else []), *wished.notes]
    return "; ".join(words) or "nothing to stage", "failed" if wished.notes else meaning


def _is_gone(edit: plan_edits.Edit, known: Snapshot) -> bool:
    """Return whether the edit belongs to a topic that does not exist any more."""
    return edit.on_topic is not None and edit.on_topic not in known.topics


def _only_in_file(edit: plan_edits.Edit, known: Snapshot) -> str:
    """Return the reason why the edit is impossible: the present value comes from the broker's file. Return ``""`` if
    it does not.
    """
    if isinstance(edit, plan_edits.SetConfig):
        return only_in_file(edit.resource, edit.key, known)
    if not isinstance(edit, plan_edits.UnsetConfig):
        return ""
    if why := only_in_file(edit.resource, edit.key, known):
        return why
    entry = entry_in(known.configs, edit.resource, edit.key)
    if entry is None or entry.source != codes.STATIC_BROKER_CONFIG:
        return ""
    return f"{clean(edit.key, 100)} of {target(edit.target)} is in its server.properties: change it there"


def _inheriting(edit: plan_edits.Edit, known: Snapshot) -> plan_edits.Edit:
    """Return an edit that removes the entity's own value, if the entity would then inherit the wanted value; otherwise
    return the edit unchanged.
    """
    if not isinstance(edit, plan_edits.SetConfig):
        return edit
    entry = entry_in(known.configs, edit.resource, edit.key)
    if entry is None or not is_override(entry, edit.resource):
        return edit
    inherited = next((each.value for each in entry.synonyms if each.source != entry.source), None)
    return plan_edits.UnsetConfig(edit.resource, edit.key) if inherited == edit.value else edit


def _moved(edit: plan_edits.Edit, wish: Wish, known: Snapshot) -> list[str]:
    """Return a line if the present value differs from the lake's; an empty list if they are equal or one of them is
    unknown.
    """
    lake, now = wish.lake, value_now(edit, known, effective=wish.effective)
    if UNKNOWN in (lake, now) or _same(edit, lake, now):
        return []
    here, there = (clean(str(each), 60) if each is not None else "no own value" for each in (now, lake))
    return [f"{target(edit.target)} {clean(edit.key, 80)} has {here} now, not {there} {wish.source}"]


def value_now(edit: plan_edits.Edit, known: Snapshot, *, effective: bool = False) -> Value:
    """Return the present value of an edit's key: the entity's own value, or the one in a broker's file; None if there
    is neither. Return `UNKNOWN` if the value was not read or is hidden, or if the entity has neither configs nor
    quotas.

    Args:
        effective: whether an inherited value counts, too. Kafka's built-in default does not: the result is then None.
    """
    place = edit.target
    if not isinstance(place, ConfigResource | QuotaEntity):
        return UNKNOWN
    now = current_state(edit, Described(known))
    if not isinstance(now, ConfigEntry) or not isinstance(place, ConfigResource):
        return UNKNOWN if now is UNREAD else None if now is None else str(now)
    if now.source == codes.DEFAULT_CONFIG:
        return None
    if not effective and not is_override(now, place) and now.source != codes.STATIC_BROKER_CONFIG:
        return None
    return UNKNOWN if now.hidden else now.value


def _same(edit: plan_edits.Edit, lake: Value, now: Value) -> bool:
    if lake is None or now is None or not isinstance(edit.target, QuotaEntity):
        return lake == now
    try:
        # The lake keeps values as text: 1048576 and 1048576.0 are the same quota.
        return float(str(lake)) == float(str(now))
    except ValueError:
        return False


def edit_text(edit: plan_edits.Edit | NoEdit) -> str:
    """Return an edit as a command, or the reason why it is not possible. The text has no control characters, and is for
    display only.
    """
    from console.language.interpret import command_of

    return clean(edit.why if isinstance(edit, NoEdit) else command_of(edit), 400)
