"""Connectors of Kafka Connect: creating, deleting, pausing, stopping, resuming and restarting one, and changing its
offsets.

`configs` changes the keys of a connector's config. In the state of a connector, a hidden value is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from console.model import connect
from console.model.changes import Status
from console.model.config import ConfigResource, ConfigSet
from console.model.numbers import json_text, plural
from console.model.secret import MaybeSecret, Secret
from console.model.snapshot import Snapshot
from console.plan import connector_rules as rules
from console.plan import edit_kind
from console.plan import edits as plan_edits
from console.plan import staged as plan_staged
from console.plan.connector_forecast import (
    creation_effects,
    deletion_effects,
    offset_effects,
    steering_effects,
    tasks_of,
)
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command
from console.plan.requests import apart
from console.plan.risk_rules import CONNECTOR_DELETED, CONNECTOR_OFFSETS_CHANGED, Judged, RiskRule

# -- the present state -------------------------------------------------------------------------------------------------


class Standing(Struct, frozen=True):
    """The state of a connector, as it is compared between staging and applying."""

    state: str
    """The state that an operator last requested: RUNNING, PAUSED or STOPPED."""
    config: Mapping[str, str | None] = field(default_factory=dict)
    """The keys that the connector itself sets, without its name -> the value; None for a hidden value."""


class StandingOffsets(Struct, frozen=True):
    """The state and the offsets of a connector. The form of the offsets is the connector's own."""

    state: str
    """The requested state of the connector; its offsets advance unless it is STOPPED."""
    offsets: tuple[connect.ConnectorOffset, ...]


def _own_config(configs: ConfigSet | None, resource: ConfigResource) -> dict[str, str | None]:
    entries = configs.overrides(resource) if configs is not None else ()
    return {entry.name: entry.value for entry in entries if entry.name != rules.NAME}


def _standing(name: str, seen: plan_staged.Described) -> plan_staged.Was:
    """Return the present state of a connector; None if it does not exist, UNREAD if its Connect cluster was not
    read.
    """
    if rules.is_unread(name, seen):
        return plan_staged.UNREAD
    found = connect.connector_in(seen.snapshot.connect, name)
    if found is None:
        return None
    resource = connect.connector_resource(*connect.split_name(name))
    return Standing(found.wanted_state, _own_config(seen.snapshot.configs.get(resource), resource))


def _class_of(config: Mapping[str, MaybeSecret]) -> str:
    found = config.get(connect.CLASS, "")
    return found if isinstance(found, str) else ""


# -- requests ----------------------------------------------------------------------------------------------------------

_STATES = {
    plan_edits.PauseConnector: connect.PAUSED,
    plan_edits.StopConnector: connect.STOPPED,
    plan_edits.ResumeConnector: connect.RUNNING,
}


def _steering(
    edit: plan_edits.Steering | plan_edits.RestartConnector,
) -> connect.SteerConnector | connect.RestartConnector:
    if isinstance(edit, plan_edits.RestartConnector):
        return connect.RestartConnector(edit.name, edit.only_failed, edit.tasks, edit.task)
    return connect.SteerConnector(edit.name, _STATES[type(edit)])


# -- the cluster afterwards --------------------------------------------------------------------------------------------


def _with(snapshot: Snapshot, changed: Mapping[str, connect.Connector | None]) -> Snapshot:
    """Return the snapshot with these connectors replaced. changed: name ``CLUSTER/NAME`` -> the connector; None to
    remove it.
    """
    clusters = dict(snapshot.connect)
    for name, each in changed.items():
        cluster, own = connect.split_name(name)
        if cluster not in clusters:
            continue
        connectors = {other: there for other, there in clusters[cluster].connectors.items() if other != own}
        connectors |= {own: each} if each is not None else {}
        clusters[cluster] = replace(clusters[cluster], connectors=dict(sorted(connectors.items())))
    return replace(snapshot, connect=clusters)


def _with_created(snapshot: Snapshot, edits: Sequence[plan_edits.CreateConnector]) -> Snapshot:
    configs = dict(snapshot.configs)
    made = {}
    for edit in edits:
        cluster, own = connect.split_name(edit.name)
        # The connector's own values are added by the edits that the creation implies.
        known = snapshot.connector_classes.get((cluster, _class_of(edit.config)), ConfigSet(()))
        configs[connect.connector_resource(cluster, own)] = known
        made[edit.name] = connect.Connector(own, "", edit.state or connect.RUNNING, "")
    return _with(replace(snapshot, configs=configs), made)


def _without_deleted(snapshot: Snapshot, edits: Sequence[plan_edits.DeleteConnector]) -> Snapshot:
    gone = {connect.connector_resource(*connect.split_name(edit.name)) for edit in edits}
    configs = {resource: each for resource, each in snapshot.configs.items() if resource not in gone}
    return _with(replace(snapshot, configs=configs), dict.fromkeys(edit.name for edit in edits))


def _steered(snapshot: Snapshot, edits: Sequence[plan_edits.Steering | plan_edits.RestartConnector]) -> Snapshot:
    changed: dict[str, connect.Connector | None] = {}
    for edit in edits:
        found = connect.connector_in(snapshot.connect, edit.name)
        if found is not None and (state := _STATES.get(type(edit))):
            tasks = () if state == connect.STOPPED else tuple(replace(each, state=state) for each in found.tasks)
            changed[edit.name] = replace(found, state=state, tasks=tasks)
    return _with(snapshot, changed) if changed else snapshot


def _with_offsets(snapshot: Snapshot, edits: Sequence[plan_edits.ChangeConnectorOffsets]) -> Snapshot:
    offsets = dict(snapshot.connector_offsets)
    for edit in edits:
        if edit.name in offsets:
            offsets[edit.name] = _after(offsets[edit.name], edit.offsets)
    return replace(snapshot, connector_offsets=offsets)


def _after(
    there: Sequence[connect.ConnectorOffset], given: Sequence[connect.ConnectorOffset] | None
) -> tuple[connect.ConnectorOffset, ...]:
    if given is None:
        return ()
    by_partition = {_key(part): (part, offset) for part, offset in (*there, *given)}
    return tuple((part, offset) for part, offset in by_partition.values() if offset is not None)


def _key(partition: Mapping[str, object]) -> str:
    return json_text(dict(sorted(partition.items())))


# -- commands in a runbook ---------------------------------------------------------------------------------------------


def _command(edit: plan_edits.ConnectorEdit | plan_edits.ChangeConnectorOffsets, _line: DiffLine) -> Command:
    cluster, own = connect.split_name(edit.name)
    match edit:
        case plan_edits.CreateConnector():
            asked = "POST /connectors with its config"
        case plan_edits.DeleteConnector():
            asked = f"DELETE /connectors/{own}"
        case plan_edits.RestartConnector(task=None):
            flags = f"includeTasks={str(edit.tasks).lower()}&onlyFailed={str(edit.only_failed).lower()}"
            asked = f"POST /connectors/{own}/restart?{flags}"
        case plan_edits.RestartConnector():
            asked = f"POST /connectors/{own}/tasks/{edit.task}/restart"
        case plan_edits.ChangeConnectorOffsets():
            asked = f"{'DELETE' if edit.offsets is None else 'PATCH'} /connectors/{own}/offsets"
        case _:
            verb = {connect.PAUSED: "pause", connect.STOPPED: "stop", connect.RUNNING: "resume"}[_STATES[type(edit)]]
            asked = f"PUT /connectors/{own}/{verb}"
    return Command((), note=f"no tool of Kafka does it: {asked}, at a worker of Connect {cluster}")


CREATIONS = edit_kind.Batch(
    stage=edit_kind.Stage.CONNECTORS,
    steps=apart(lambda edit: connect.CreateConnector(edit.name, edit.config, edit.state)),
    predict=_with_created,
    commands=edit_kind.each_line(_command),
)
STOPS = edit_kind.Batch(
    stage=edit_kind.Stage.CONNECTORS, steps=apart(_steering), predict=_steered, commands=edit_kind.each_line(_command)
)
OFFSETS = edit_kind.Batch(
    stage=edit_kind.Stage.CONNECTORS,
    steps=apart(lambda edit: connect.AlterConnectorOffsets(edit.name, edit.offsets)),
    predict=_with_offsets,
    commands=edit_kind.each_line(_command),
    waits_for=STOPS,
    why="workers take it once the connector is stopped",
    refused_before=True,
)
STARTS = edit_kind.Batch(
    stage=edit_kind.Stage.CONNECTORS,
    steps=apart(_steering),
    predict=_steered,
    commands=edit_kind.each_line(_command),
    waits_for=OFFSETS,
    why="resumed once the offsets are as planned",
)
DELETIONS = edit_kind.Batch(
    stage=edit_kind.Stage.GROUPS_GONE,
    steps=apart(lambda edit: connect.DeleteConnector(edit.name)),
    predict=_without_deleted,
    commands=edit_kind.each_line(_command),
)

# -- the kinds of edits ------------------------------------------------------------------------------------------------


class _ConnectorKind(edit_kind.EditKind):
    state = Standing

    def current(self, edit: plan_edits.ConnectorEdit, seen: plan_staged.Described) -> plan_staged.Was:
        return _standing(edit.name, seen)

    def before(self, _edit: object, there: Standing | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(there.state.lower())


class _CreateConnectorKind(_ConnectorKind):
    edit = plan_edits.CreateConnector
    verb = "create"
    words = "create, {new}"
    batch = CREATIONS
    is_loss = False

    def judge(self, edit: plan_edits.CreateConnector, draft: plan_staged.Draft) -> plan_staged.Verdict:
        name = edit.name
        rules.check_cluster(name, draft)
        if isinstance(rules.planned(name, draft), plan_edits.DeleteConnector):
            raise plan_staged.Refused(f"the plan deletes connector {name}", "Apply the deletion first, then create it.")
        if connect.connector_in(draft.snapshot.connect, name) is not None:
            raise plan_staged.Refused(f"connector {name} exists already", "Set its keys, or choose another name.")
        if edit.state not in ("", connect.RUNNING, connect.PAUSED, connect.STOPPED):
            raise plan_staged.Refused(f"{edit.state} is no state", "It is running, paused or stopped.")
        class_name = _class_of(edit.config)
        if not class_name:
            raise plan_staged.Refused(f"the config has no {connect.CLASS}", f"Give it: {connect.CLASS}=CLASS.")
        own = connect.split_name(name)[1]
        if edit.config.get(rules.NAME, own) != own:
            raise plan_staged.Refused("the config has another name", "Leave the key name out.")
        for key, value in edit.config.items():
            if not key:
                raise plan_staged.Refused("a key has no name", "Name the key.")
            rules.check_value(key, value, rules.defined_entry(draft, name, class_name, key))
        config = {key: value for key, value in edit.config.items() if key != rules.NAME}
        made = replace(edit, config=config, state="" if edit.state == connect.RUNNING else edit.state)
        return plan_staged.Staged(made, self.current(made, draft))

    def moved(self, _edit: object, was: Standing | None, now: Standing | None) -> bool:
        """Return whether the connector was created or deleted since the edit was staged; its config and state are
        not compared.
        """
        return (was is None) != (now is None)

    def wanted(self, edit: plan_edits.CreateConnector, now: Standing | None) -> bool | None:
        if now is None:
            return False
        given = {key: value for key, value in edit.config.items() if isinstance(value, str)}
        # A hidden value can't be compared; let it count as equal.
        alike = all(now.config.get(key) in (value, None) for key, value in given.items())
        return alike and edit.config.keys() == now.config.keys()

    def after(self, edit: plan_edits.CreateConnector, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue((edit.state or connect.RUNNING).lower())

    def implies(self, edit: plan_edits.CreateConnector) -> tuple[plan_edits.Edit, ...]:
        resource = connect.connector_resource(*connect.split_name(edit.name))
        return tuple(plan_edits.SetConfig(resource, key, value) for key, value in edit.config.items())

    def effects(self, edit: plan_edits.CreateConnector, draft: plan_staged.Draft) -> tuple[str, ...]:
        return creation_effects(edit, draft.snapshot)

    def reversal(self, edit: plan_edits.CreateConnector, _was: object, _recorded: object) -> edit_kind.Reversal:
        loss = "its offsets stay: a connector that is created by this name later continues there"
        config = {key: None if isinstance(value, Secret) else value for key, value in edit.config.items()}
        left = Standing(edit.state or connect.RUNNING, config)
        return edit_kind.Reversal((plan_edits.DeleteConnector(edit.name),), left, loss)

    def with_secrets(
        self, edit: plan_edits.CreateConnector, secrets: Mapping[str, Secret]
    ) -> tuple[plan_edits.Edit, str]:
        return replace(edit, config={**edit.config, **secrets}), "it comes back stopped"


def _deleted(edit: plan_edits.DeleteConnector, judged: Judged) -> Iterator[str]:
    found = connect.connector_in(judged.before.connect, edit.name)
    hidden = _hidden_keys(judged.was(edit))
    ends = f"its {tasks_of(found)} {'ends' if found is not None and len(found.tasks) == 1 else 'end'}"
    kept = f"; it had {', '.join(hidden)}, which no one keeps" if hidden else ""
    yield f"{ends} and no data flows{kept}"


def _hidden_keys(was: plan_staged.Was) -> list[str]:
    return [key for key, value in was.config.items() if value is None] if isinstance(was, Standing) else []


class _DeleteConnectorKind(edit_kind.Removal, _ConnectorKind):
    edit = plan_edits.DeleteConnector
    verb = "delete"
    words = "delete, with its config"
    batch = DELETIONS
    risks = (RiskRule(CONNECTOR_DELETED, _deleted, subject=lambda edit, _: edit.name),)

    def judge(self, edit: plan_edits.DeleteConnector, draft: plan_staged.Draft) -> plan_staged.Verdict:
        rules.check_cluster(edit.name, draft)
        if isinstance(rules.planned(edit.name, draft), plan_edits.CreateConnector):
            raise plan_staged.Refused(f"the plan creates connector {edit.name}", "Discard the creation instead.")
        keys = draft.config_keys(connect.connector_resource(*connect.split_name(edit.name)))
        # A plan that edits and deletes the same connector probably confuses two names.
        if keys:
            raise plan_staged.Refused(
                f"the plan changes connector {edit.name} ({', '.join(keys[:3])})", "Discard these edits first."
            )
        was = self.current(edit, draft)
        if was is None:
            return plan_staged.Dropped(edit, f"there is no connector {edit.name}")
        return plan_staged.Staged(edit, was)

    def effects(self, edit: plan_edits.DeleteConnector, draft: plan_staged.Draft) -> tuple[str, ...]:
        return deletion_effects(edit.name, draft.snapshot)

    def reversal(self, edit: plan_edits.DeleteConnector, was: Standing | None, _recorded: object) -> edit_kind.Reversal:
        if was is None:
            return edit_kind.Reversal((), None, "nothing was there")
        hidden = _hidden_keys(was)
        config = {key: value for key, value in was.config.items() if value is not None}
        if not hidden:
            state = "" if was.state == connect.RUNNING else was.state
            return edit_kind.Reversal((plan_edits.CreateConnector(edit.name, config, state),), None)
        # Create the connector stopped: it must not run with fewer settings than it had. A worker may refuse it without
        # the secrets; the command then asks for these.
        asked = " ".join(f"{key}=?" for key in hidden)
        is_one = len(hidden) == 1
        loss = (
            f"{', '.join(hidden)} {'is a secret, which is' if is_one else 'are secrets, which are'} kept nowhere: it "
            f"comes back stopped and without {'it' if is_one else 'them'}; then set connector {edit.name} {asked}, and "
            f"resume connector {edit.name}. If a worker refuses it so, add {asked} to its create command"
        )
        again = plan_edits.CreateConnector(edit.name, config, connect.STOPPED)
        return edit_kind.Reversal((again,), None, loss, tuple(hidden))


class _SteeringKind(_ConnectorKind):
    already: str
    """The name of the state that the edit produces, for the message if the connector has that state already."""

    def kept(self, was: Standing) -> Standing:
        """Return the connector's state in the form that files store: without its config, which the edit does not
        change.
        """
        return Standing(was.state)

    def judge(self, edit: plan_edits.Steering, draft: plan_staged.Draft) -> plan_staged.Verdict:
        found = rules.standing(edit.name, draft)
        if found is not None and found.wanted_state == _STATES[type(edit)]:
            more = "; restart connector starts what has failed" if found.failed else ""
            return plan_staged.Dropped(edit, f"connector {edit.name} is {self.already} already{more}")
        return plan_staged.Staged(edit, self.current(edit, draft))

    def moved(self, _edit: object, was: Standing | None, now: Standing | None) -> bool:
        """Return whether the connector was created or deleted, or its state changed, since the edit was staged; its
        config is not compared.
        """
        return (was and was.state) != (now and now.state)

    def wanted(self, edit: plan_edits.Steering, now: Standing | None) -> bool | None:
        return now is not None and now.state == _STATES[type(edit)]

    def after(self, edit: plan_edits.Steering, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue(_STATES[type(edit)].lower())

    def effects(self, edit: plan_edits.Steering, draft: plan_staged.Draft) -> tuple[str, ...]:
        return steering_effects(edit, draft.snapshot)

    def reversal(self, edit: plan_edits.Steering, was: Standing | None, _recorded: object) -> edit_kind.Reversal:
        left = Standing(_STATES[type(edit)])
        if was is None:
            return edit_kind.Reversal((), left, "nothing was there")
        back = next(each for each, state in _STATES.items() if state == was.state)
        return edit_kind.Reversal((back(edit.name),), left)


class _PauseKind(_SteeringKind):
    edit = plan_edits.PauseConnector
    verb = "pause"
    batch = STOPS
    already = "paused"


class _StopKind(_SteeringKind):
    edit = plan_edits.StopConnector
    verb = "stop"
    batch = STOPS
    already = "stopped"


class _ResumeKind(_SteeringKind):
    edit = plan_edits.ResumeConnector
    verb = "resume"
    batch = STARTS
    already = "to run"


class _RestartKind(_ConnectorKind):
    edit = plan_edits.RestartConnector
    verb = "restart"
    batch = STARTS
    is_loss = False
    no_way_back = "a restart leaves nothing to take back"
    left = plan_staged.UNREAD

    def kept(self, was: Standing) -> Standing:
        """Return the connector's state in the form that files store: without its config, which the edit does not
        change.
        """
        return Standing(was.state)

    def judge(self, edit: plan_edits.RestartConnector, draft: plan_staged.Draft) -> plan_staged.Verdict:
        found = rules.standing(edit.name, draft)
        if found is not None and found.wanted_state != connect.RUNNING:
            raise plan_staged.Refused(
                f"connector {edit.name} is {found.state.lower()}", f"Start it: resume connector {edit.name}."
            )
        numbers = [each.number for each in found.tasks] if found is not None else []
        if found is not None and edit.task is not None and edit.task not in numbers:
            has = f"it has {', '.join(map(str, numbers))}" if numbers else "it has none"
            raise plan_staged.Refused(f"connector {edit.name} has no task {edit.task}: {has}", "Check the number.")
        if found is not None and edit.only_failed and not found.failed:
            return plan_staged.Dropped(edit, f"nothing of connector {edit.name} has failed")
        return plan_staged.Staged(edit, self.current(edit, draft))

    def moved(self, _edit: object, was: Standing | None, now: Standing | None) -> bool:
        """Return whether the connector was created or deleted since the edit was staged."""
        return (was is None) != (now is None)

    def after(self, _edit: object, there: Standing | None, _inheritance: object) -> EffectiveValue:
        return EffectiveValue((there.state if there is not None else connect.RUNNING).lower())

    def phrase(self, edit: plan_edits.RestartConnector, _line: object, _old: object, _new: object) -> str:
        if edit.task is not None:
            return f"restart task {edit.task}"
        if edit.only_failed:
            return "restart what has failed"
        return "restart, with its tasks" if edit.tasks else "restart, without its tasks"


def _offsets_changed(edit: plan_edits.ChangeConnectorOffsets, judged: Judged) -> Iterator[str]:
    yield from offset_effects(edit.name, edit.offsets, judged.before)


class _OffsetsKind(edit_kind.EditKind):
    edit = plan_edits.ChangeConnectorOffsets
    verb = "reset"
    state = StandingOffsets
    batch = OFFSETS
    risks = (RiskRule(CONNECTOR_OFFSETS_CHANGED, _offsets_changed),)

    def judge(self, edit: plan_edits.ChangeConnectorOffsets, draft: plan_staged.Draft) -> plan_staged.Verdict:
        found = rules.standing(edit.name, draft)
        stops = isinstance(rules.planned(edit.name, draft), plan_edits.StopConnector)
        if found is not None and found.state != connect.STOPPED and not stops:
            raise plan_staged.Refused(
                f"connector {edit.name} is {found.state.lower()}: its offsets change only while it is stopped",
                f"Stage it before: stop connector {edit.name}.",
            )
        if edit.offsets is not None and not edit.offsets:
            raise plan_staged.Refused("no offset is given", "Give one, or forget all.")
        was = self.current(edit, draft)
        if isinstance(was, StandingOffsets) and self.wanted(edit, was):
            return plan_staged.Dropped(edit, f"the offsets of connector {edit.name} are so already")
        return plan_staged.Staged(edit, was)

    def current(self, edit: plan_edits.ChangeConnectorOffsets, seen: plan_staged.Described) -> plan_staged.Was:
        if rules.is_unread(edit.name, seen):
            return plan_staged.UNREAD
        found = connect.connector_in(seen.snapshot.connect, edit.name)
        if found is None:
            return None
        known = seen.snapshot.connector_offsets.get(edit.name)
        return plan_staged.UNREAD if known is None else StandingOffsets(found.wanted_state, known)

    def moved(self, _edit: object, was: StandingOffsets | None, now: StandingOffsets | None) -> bool:
        """Return whether the connector was created or deleted since the edit was staged, or the offsets of a stopped
        one changed. The offsets of a running connector advance anyway and are not compared.
        """
        if was is None or now is None:
            return was is not now
        return was.state == now.state == connect.STOPPED and was.offsets != now.offsets

    def settled(
        self, edit: plan_edits.ChangeConnectorOffsets, _was: object, now: plan_staged.Was, _changed: object
    ) -> Status | None:
        return Status.APPLIED if isinstance(now, StandingOffsets) and self.wanted(edit, now) else None

    def wanted(self, edit: plan_edits.ChangeConnectorOffsets, now: StandingOffsets | None) -> bool | None:
        if now is None:
            return False
        there = {_key(part): offset for part, offset in now.offsets}
        if edit.offsets is None:
            return not any(there.values())
        return all(there.get(_key(part)) == offset for part, offset in edit.offsets)

    def before(self, _edit: object, there: StandingOffsets | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue(plural(len(there.offsets), "offset"))

    def after(
        self, edit: plan_edits.ChangeConnectorOffsets, there: StandingOffsets | None, _inheritance: object
    ) -> EffectiveValue:
        after = _after(there.offsets if there is not None else (), edit.offsets)
        return EffectiveValue(plural(len(after), "offset"))

    def phrase(self, edit: plan_edits.ChangeConnectorOffsets, _line: object, old: str, _new: object) -> str:
        return f"forget {old}" if edit.offsets is None else f"give {plural(len(edit.offsets), 'offset')}"

    def effects(self, edit: plan_edits.ChangeConnectorOffsets, _draft: object) -> tuple[str, ...]:
        return (f"it stays stopped afterwards: resume connector {edit.name} starts it",)

    def reversal(
        self, edit: plan_edits.ChangeConnectorOffsets, was: StandingOffsets | None, _recorded: object
    ) -> edit_kind.Reversal:
        if was is None:
            return edit_kind.Reversal((), None, "nothing was there")
        left = StandingOffsets(connect.STOPPED, _after(was.offsets, edit.offsets))
        known = {_key(part) for part, _ in was.offsets}
        new = tuple((part, None) for part, _ in edit.offsets or () if _key(part) not in known)
        back = (*was.offsets, *new)
        return edit_kind.Reversal((plan_edits.ChangeConnectorOffsets(edit.name, back or None),), left)


KINDS = (
    _CreateConnectorKind(),
    _DeleteConnectorKind(),
    _PauseKind(),
    _StopKind(),
    _ResumeKind(),
    _RestartKind(),
    _OffsetsKind(),
)
