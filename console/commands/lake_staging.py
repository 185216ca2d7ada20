"""What a lake tells, staged against what the cluster has now: read first, and told where the two differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from console.commands.lake_edits import Cannot
from console.commands.look import read_again
from console.model.codes import DEFAULT_CONFIG, STATIC_BROKER_CONFIG, TOPIC
from console.model.config import is_override
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, Edit, QuotaEdit, SetConfig, SetQuota, UnsetConfig
from console.present.names import target
from console.present.text import clean

if TYPE_CHECKING:
    from console.commands.session import Session
    from console.plan.plan import StageReport


class Unknown(Enum):
    """The type of `UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN
"""What is there is not known: nothing is compared."""
Value = str | None | Unknown


@dataclass(frozen=True, slots=True)
class Wish:
    """An edit, or why there is none, and what the lake says is there now: None for nothing of its own. note: what else
    whoever stages it has to know. effective: it is about what counts, of its own or not: the lake's value is that, and
    what would be inherited anyway is not set but inherited."""

    edit: Edit | Cannot
    lake: Value = UNKNOWN
    note: str = ""
    effective: bool = False


@dataclass(frozen=True, slots=True)
class Wished:
    """What was staged, None for nothing; notes: what can't be, and where the cluster is not as the lake says."""

    report: StageReport | None
    notes: tuple[str, ...]


async def stage_wishes(session: Session, wishes: Iterable[Wish]) -> Wished:
    """Read what the edits touch, and stage what can be. Raises Refused in a read-only context, AdminError."""
    session.refuse_if_read_only()
    asked = tuple(wishes)
    notes = [wish.edit.why for wish in asked if isinstance(wish.edit, Cannot)]
    edits = {wish.edit: wish for wish in asked if not isinstance(wish.edit, Cannot)}
    if not edits:
        return Wished(None, tuple(dict.fromkeys(notes)))
    topics = sorted({edit.resource.name for edit in edits if _is_topics(edit)})  # type: ignore[union-attr]
    if topics:
        await session.read_topics(topics)
    await read_again(session, [edit for edit in edits if not (_is_topics(edit) and _is_gone(edit, session.snapshot))])
    wanted = []
    for edit, wish in edits.items():
        if _is_topics(edit) and _is_gone(edit, session.snapshot):
            notes.append(f"{target(edit.target)} is not there any more")
        elif why := _only_in_file(edit, session.snapshot):
            notes.append(why)
        else:
            wanted.append(_inheriting(edit, session.snapshot) if wish.effective else edit)
            notes += [*([wish.note] if wish.note else []), *_moved(edit, wish, session.snapshot)]
    report = session.stage(wanted) if wanted else None
    return Wished(report, tuple(dict.fromkeys(notes)))


def said(wished: Wished) -> tuple[str, str]:
    """What became of it, in a line, and its meaning."""
    from console.present.failures import staged_text

    text, meaning = staged_text(wished.report) if wished.report is not None else ("", "failed")
    words: Sequence[str] = [*([text] if text else []), *wished.notes]
    return "; ".join(words) or "nothing to stage", "failed" if wished.notes else meaning


def _is_topics(edit: Edit) -> bool:
    return isinstance(edit, ConfigEdit) and edit.resource.type == TOPIC


def _is_gone(edit: Edit, known: Snapshot) -> bool:
    return isinstance(edit, ConfigEdit) and edit.resource.name not in known.topics


def _only_in_file(edit: Edit, known: Snapshot) -> str:
    """Why a value can't be taken away: it stands in the broker's own file."""
    if not isinstance(edit, UnsetConfig):
        return ""
    entries = known.configs.get(edit.resource)
    entry = entries.get(edit.key) if entries is not None else None
    if entry is None or entry.source != STATIC_BROKER_CONFIG:
        return ""
    return f"{clean(edit.key, 100)} of {target(edit.target)} is in its server.properties: change it there"


def _inheriting(edit: Edit, known: Snapshot) -> Edit:
    """Where a value would be inherited without one of its own, taking that away."""
    if not isinstance(edit, SetConfig):
        return edit
    entries = known.configs.get(edit.resource)
    entry = entries.get(edit.key) if entries is not None else None
    if entry is None or not is_override(entry, edit.resource):
        return edit
    inherited = next((each.value for each in entry.synonyms if each.source != entry.source), None)
    return UnsetConfig(edit.resource, edit.key) if inherited == edit.value else edit


def _moved(edit: Edit, wish: Wish, known: Snapshot) -> list[str]:
    """Where the cluster is not as the lake says."""
    lake, now = wish.lake, value_now(edit, known, effective=wish.effective)
    if UNKNOWN in (lake, now) or _same(edit, lake, now):
        return []
    here, there = (clean(str(each), 60) if each is not None else "nothing of its own" for each in (now, lake))
    return [f"{target(edit.target)} {clean(edit.key, 80)} has {here} now, not {there} as the lake says"]


def value_now(edit: Edit, known: Snapshot, *, effective: bool = False) -> Value:
    """What the cluster has in an edit's place: its own value, or the one in a broker's file; None for neither.
    effective: what counts, as long as somebody set it."""
    if isinstance(edit, ConfigEdit):
        entries = known.configs.get(edit.resource)
        if entries is None:
            return UNKNOWN
        entry = entries.get(edit.key)
        if entry is None or entry.source == DEFAULT_CONFIG:
            return None
        if not effective and not is_override(entry, edit.resource) and entry.source != STATIC_BROKER_CONFIG:
            return None
        return UNKNOWN if entry.hidden else entry.value
    if isinstance(edit, QuotaEdit):
        if "quotas" not in known.read_at:
            return UNKNOWN
        found = known.quotas.get(edit.entity, {}).get(edit.key)
        return None if found is None else str(found)
    return UNKNOWN


def _same(edit: Edit, lake: Value, now: Value) -> bool:
    if lake is None or now is None or not isinstance(edit, QuotaEdit):
        return lake == now
    try:
        return float(str(lake)) == float(str(now))
    except ValueError:
        return False


def edit_text(edit: Edit | Cannot) -> str:
    """What is staged, as a command where it is one, or why it can't be: for the screen, harmless and not to be run."""
    return clean(_command(edit), 400)


def _command(edit: Edit | Cannot) -> str:
    from console.commands.unparse import subject_text
    from console.language.quoting import quote
    from console.plan.edits import AddAcl, RemoveAcl, UnsetQuota
    from console.present.names import acl

    match edit:
        case Cannot(why=why):
            return why
        case SetConfig(resource=resource, key=key, value=value):
            return f"set {subject_text(resource)} {quote(key)}={quote(str(value))}"
        case SetQuota(entity=entity, key=key, value=value):
            return f"set {subject_text(entity)} {quote(key)}={value:.15g}"
        case UnsetConfig(resource=resource, key=key):
            return f"unset {subject_text(resource)} {quote(key)}"
        case UnsetQuota(entity=entity, key=key):
            return f"unset {subject_text(entity)} {quote(key)}"
        case AddAcl(acl=binding):
            return acl(binding)
        case RemoveAcl(acl=binding):
            return f"revoke {acl(binding)}"
        case _:
            return f"delete {target(edit.target)}"
