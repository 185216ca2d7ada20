"""Voters of the controller quorum: adding and removing one by its id and directory id (KIP-853)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from console.model.changes import AddVoter, RemoveVoter, VoterTarget
from console.model.cluster import Quorum, QuorumReplica, VoterEndpoint
from console.model.config import broker_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.quorum import KRAFT_VERSION, follows, majority, observing_brokers
from console.model.snapshot import Snapshot
from console.plan import edit_kind
from console.plan import staged as plan_staged
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.kafka_tools import Command, option
from console.plan.requests import Facts, Step
from console.plan.risk_rules import NO_SPARE_VOTER, Judged, RiskRule

# -- edits -------------------------------------------------------------------------------------------------------------


class _VoterEdit(Edit, frozen=True):
    voter_id: int
    directory_id: str

    @property
    def target(self) -> VoterTarget:
        """The voter, by its id and directory id."""
        return VoterTarget(self.voter_id, self.directory_id)


class JoinQuorum(_VoterEdit, frozen=True):
    """Make a controller that replicates the metadata log a voter. directory_id: the id of the controller's directory
    with the log; ``""`` if it is unknown, because the operator named none and not exactly one controller with
    this id replicates the log.
    """

    listener: str = ""
    """The name of the listener at which the other voters reach the new one; ``""`` if unknown."""
    host: str = ""
    """The host of `listener`; ``""`` if unknown."""
    port: int = -1
    """The port of `listener`; -1 if unknown."""


class LeaveQuorum(_VoterEdit, frozen=True):
    """Remove a controller from the voters. directory_id: the id of the voter's directory; ``""`` if the quorum is
    static.
    """


VoterEdit = JoinQuorum | LeaveQuorum

# -- the present state -------------------------------------------------------------------------------------------------


def _voter(quorum: Quorum, target: VoterTarget) -> QuorumReplica | None:
    return next((each for each in quorum.voters if VoterTarget(each.id, each.directory_id) == target), None)


# -- the quorum afterwards ---------------------------------------------------------------------------------------------


class _Member(NamedTuple):
    """A voter of the quorum after the plan."""

    id: int
    follows: bool
    """Whether the voter has recently replicated the whole log (`model.quorum.follows`), so that it helps to commit
    records.
    """


def _afterwards(quorum: Quorum, edits: Iterable[Edit]) -> tuple[_Member, ...]:
    """Return the voters after these edits, sorted by id."""
    voters = {
        VoterTarget(each.id, each.directory_id): _Member(each.id, follows(quorum, each)) for each in quorum.voters
    }
    for edit in edits:
        if isinstance(edit, LeaveQuorum):
            voters.pop(edit.target, None)
        elif isinstance(edit, JoinQuorum):
            found = _observer(quorum, edit)
            voters[edit.target] = _Member(edit.voter_id, found is not None and follows(quorum, found))
    return tuple(sorted(voters.values()))


def _observer(quorum: Quorum, edit: JoinQuorum) -> QuorumReplica | None:
    return next(
        (each for each in quorum.observers if (each.id, each.directory_id) == (edit.voter_id, edit.directory_id)), None
    )


def _ids(members: Iterable[_Member]) -> str:
    return ", ".join(str(each.id) for each in members)


def _forecast(members: Sequence[_Member]) -> str:
    """Return a text on the majority after the edits: ``voters 101, 102, 103 afterwards: 2 of 3 are needed, all follow,
    …``.
    """
    needed, away = majority(len(members)), [each for each in members if not each.follows]
    state = f"{_ids(away)} {'does' if len(away) == 1 else 'do'} not follow" if away else "all follow"
    spare = len(members) - len(away) - needed
    fail = "one more may fail" if spare == 1 else f"{spare} more may fail" if spare > 0 else "none may fail"
    return f"voters {_ids(members)} afterwards: {needed} of {len(members)} are needed, {state}, {fail}"


def _all_edits(draft: plan_staged.Draft, edit: Edit) -> list[Edit]:
    """Return the staged edits of voters, without one for the slot of `edit`, followed by `edit`."""
    others = [each.edit for each in draft.staged if isinstance(each.edit, VoterEdit) and each.edit.slot != edit.slot]
    return [*others, edit]


# -- checks before staging ---------------------------------------------------------------------------------------------


def _why_unknown(snapshot: Snapshot) -> Failure | None:
    """Return the failure of the last request for the quorum; None if it succeeded. After a failure the known quorum may
    be outdated, with voters that no longer replicate the log.
    """
    return next((each.failure for each in snapshot.failures if each.part == Part.QUORUM), None)


def _known(snapshot: Snapshot) -> Quorum:
    """Return the quorum. Raise Refused if it is unknown or outdated, as when brokers, or controllers without a leader,
    do not describe it.
    """
    why = _why_unknown(snapshot)
    if snapshot.quorum is not None and why is None:
        return snapshot.quorum
    because = f": {why.message}" if why is not None and why.message else ""
    if snapshot.cluster.controllers:
        raise plan_staged.Refused(
            f"no leader of the quorum answers, which alone can change it{because}",
            "Start controllers until most of the voters run: `kac triage --bootstrap-controller` names them.",
        )
    hint = "Refresh, or ask controllers: --bootstrap-controller."
    raise plan_staged.Refused(f"the quorum is not known here{because}", hint)


def _check_quorum(snapshot: Snapshot, quorum: Quorum) -> None:
    """Raise Refused if the quorum is static or has no leader, since its voters can't be changed then."""
    features = snapshot.features
    if (features is not None and not features.finalized.get(KRAFT_VERSION)) or not any(
        each.directory_id for each in quorum.voters
    ):
        raise plan_staged.Refused(
            f"the quorum is static ({KRAFT_VERSION} 0): its voters stand in controller.quorum.voters of every node",
            f"Change the files and restart the nodes; or make it dynamic first: `feature set {KRAFT_VERSION}=1`, "
            "from Kafka 4.1 on.",
        )
    if quorum.leader_id < 0:
        raise plan_staged.Refused(
            "the quorum has no leader, which alone can change it", "Bring back most of the voters."
        )


def _check_majority(edit: VoterEdit, quorum: Quorum, draft: plan_staged.Draft) -> None:
    members = _afterwards(quorum, _all_edits(draft, edit))
    if not members:
        raise plan_staged.Refused(
            f"{edit.voter_id} is the only voter: nothing could be changed any more", "Add others first."
        )
    following, needed = [each for each in members if each.follows], majority(len(members))
    if len(following) >= needed:
        return
    there = f"{_ids(following)} alone" if following else "none"
    verb = "follows" if len(following) < 2 else "follow"
    away = _ids(each for each in members if not each.follows)
    raise plan_staged.Refused(
        f"the quorum would lose its majority: of voters {_ids(members)} {there} {verb} the log, {needed} are needed",
        f"Bring {away} back first.",
    )


def _check_joining(edit: JoinQuorum, quorum: Quorum, draft: plan_staged.Draft) -> None:
    """Raise Refused if the node can't become a voter."""
    node = edit.voter_id
    found = _observer(quorum, edit)
    if found is None:
        others = [each.directory_id for each in quorum.observers if each.id == node]
        what = f"with directory {edit.directory_id} " if others and edit.directory_id else ""
        hint = (
            f"It follows with directory {', '.join(others)}." if others else "Format it with --no-initial-controllers."
        )
        raise plan_staged.Refused(f"no controller {node} {what}follows the log", f"Start it first. {hint}")
    # Brokers do not report which of them are controllers, too.
    if draft.snapshot.cluster.controllers and found in observing_brokers(draft.snapshot):
        raise plan_staged.Refused(
            f"node {node} is a broker and no controller", "Name a controller that follows the log."
        )
    leaving = {each.target for each in _all_edits(draft, edit) if isinstance(each, LeaveQuorum)}
    same = [each for each in quorum.voters if each.id == node and VoterTarget(node, each.directory_id) not in leaving]
    if same:
        old = same[0].directory_id
        raise plan_staged.Refused(
            f"{node} is a voter with directory {old} already: its storage was formatted again since",
            f"Remove that one first: `remove voter {node} directory={old}`.",
        )
    if not follows(quorum, found):
        raise plan_staged.Refused(
            f"controller {node} is {found.lag:,} records behind the log", "Wait until it has caught up."
        )
    if not edit.host:
        raise plan_staged.Refused(
            f"where controller {node} listens is unknown to brokers",
            f"Name it: `add voter {node} at=CONTROLLER://HOST:PORT`, or ask controllers: --bootstrap-controller.",
        )


# -- presentation ------------------------------------------------------------------------------------------------------


AUTO_JOIN = "controller.quorum.auto.join.enable"
"""The config with which a controller makes itself a voter while it runs (since Kafka 4.2)."""
_JOINS_WITHIN = 15.0
"""Maximum seconds until a removed controller with `AUTO_JOIN` requests to join again; Kafka 4.3 needs about 10, the
rest is a margin.
"""


def _joins_itself(snapshot: Snapshot, node: int) -> bool | None:
    """Return whether a controller makes itself a voter; None if its configs are unknown, as when kac is connected to
    brokers.
    """
    configs = snapshot.configs.get(broker_resource(node))
    if configs is None:
        return None
    entry = configs.get(AUTO_JOIN)
    return entry is not None and entry.value == "true"


def _stays_text(node: int, snapshot: Snapshot) -> str:
    """Return a text on what a removed controller that keeps running does afterwards."""
    match _joins_itself(snapshot, node):
        case True:
            return f"{AUTO_JOIN} is true on controller {node}: it votes again within seconds; stop it first"
        case None:
            return (
                f"a controller {node} that runs on votes again within seconds if {AUTO_JOIN} is true on it, which only "
                "controllers say (--bootstrap-controller); else it follows the log as an observer: stop it"
            )
    return f"a controller {node} that runs on follows the log as an observer: stop it, or add it again"


# -- reverting ---------------------------------------------------------------------------------------------------------

_LISTENER, _HOST, _PORT = "listener", "host", "port"


# -- warnings ----------------------------------------------------------------------------------------------------------


def _no_spare(edit: LeaveQuorum, judged: Judged) -> Iterator[str]:
    quorum = judged.before.quorum
    if quorum is None:
        return
    members = _afterwards(quorum, _all_edits(judged.draft, edit))
    if sum(each.follows for each in members) == majority(len(members)):
        yield f"no voter may fail any more without stopping every change of the cluster: {_forecast(members)}"


# -- requests ----------------------------------------------------------------------------------------------------------


def _steps(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return one request for each voter. Additions come first, so that the quorum does not shrink in between; but if a
    controller was formatted again, its old directory is removed before the new one joins.
    """
    joins = [each for each in staged if isinstance(each.edit, JoinQuorum)]
    again = {each.edit.voter_id for each in joins if isinstance(each.edit, JoinQuorum)}
    leaves = [each for each in staged if isinstance(each.edit, LeaveQuorum)]
    first = [each for each in leaves if isinstance(each.edit, LeaveQuorum) and each.edit.voter_id in again]
    ordered = [*first, *joins, *(each for each in leaves if each not in first)]
    found: list[Step] = []
    for number, each in enumerate(ordered):
        # A controller changes one voter at a time, and checks each change against the result of the change before.
        note = "one voter at a time" if len(ordered) > 1 else ""
        found.append(Step(_request(each.edit), (each,), note, tuple(range(number))))
    return found


def _request(edit: Edit) -> AddVoter | RemoveVoter:
    if isinstance(edit, JoinQuorum):
        return AddVoter(edit.voter_id, edit.directory_id, edit.listener, edit.host, edit.port)
    assert isinstance(edit, LeaveQuorum)
    return RemoveVoter(edit.voter_id, edit.directory_id)


def _predict(snapshot: Snapshot, edits: Sequence[VoterEdit]) -> Snapshot:
    quorum = snapshot.quorum
    if quorum is None:
        return snapshot
    voters, observers = list(quorum.voters), list(quorum.observers)
    endpoints = list(quorum.endpoints)
    for edit in edits:
        if isinstance(edit, LeaveQuorum):
            voters = [each for each in voters if VoterTarget(each.id, each.directory_id) != edit.target]
            continue
        found = _observer(quorum, edit)
        joined = found or QuorumReplica(edit.voter_id, -1, -1, directory_id=edit.directory_id)
        voters.append(joined)
        observers = [each for each in observers if each is not found]
        if all(each.id != edit.voter_id for each in endpoints):
            endpoints.append(VoterEndpoint(edit.voter_id, edit.listener, edit.host, edit.port))
    voters.sort(key=lambda each: (each.id, each.directory_id))
    return replace(
        snapshot,
        quorum=replace(quorum, voters=tuple(voters), observers=tuple(observers), endpoints=tuple(endpoints)),
    )


def _command(edit: VoterEdit, _line: DiffLine) -> Command:
    if isinstance(edit, LeaveQuorum):
        which = ("--controller-id", str(edit.voter_id), *option("--controller-directory-id", edit.directory_id))
        return Command(("kafka-metadata-quorum", "remove-controller", *which), connection_at=1)
    note = f"on the host of controller {edit.voter_id}, with its own server.properties for --command-config"
    return Command(("kafka-metadata-quorum", "add-controller"), note=note, connection_at=1)


# -- the kinds of edits ------------------------------------------------------------------------------------------------

VOTERS = edit_kind.Batch(
    stage=edit_kind.Stage.VOTERS, steps=_steps, predict=_predict, commands=edit_kind.each_line(_command)
)


class _VoterKind(edit_kind.EditKind):
    state = QuorumReplica
    batch = VOTERS

    def current(self, edit: VoterEdit, seen: plan_staged.Described) -> plan_staged.Was:
        """Return the voter; None if the quorum has no voter of this id and directory, UNREAD if it was not read."""
        quorum = seen.snapshot.quorum
        return plan_staged.UNREAD if quorum is None else _voter(quorum, edit.target)

    def moved(self, _edit: object, was: QuorumReplica | None, now: QuorumReplica | None) -> bool:
        """Return whether the node became a voter, or is no longer a voter. Nothing else is compared, so a new log
        end offset is no conflict.
        """
        return (was is None) != (now is None)

    def before(self, _edit: object, there: QuorumReplica | None, _inheritance: object) -> EffectiveValue:
        return NOTHING if there is None else EffectiveValue("voter")

    def effects(self, edit: VoterEdit, draft: plan_staged.Draft) -> tuple[str, ...]:
        quorum = draft.snapshot.quorum
        return () if quorum is None else (_forecast(_afterwards(quorum, _all_edits(draft, edit))),)


class _JoinQuorumKind(_VoterKind):
    edit = JoinQuorum
    verb = "add"

    def judge(self, edit: JoinQuorum, draft: plan_staged.Draft) -> plan_staged.Verdict:
        quorum = _known(draft.snapshot)
        if _voter(quorum, edit.target) is not None:
            of = f" with directory {edit.directory_id}" if edit.directory_id else ""
            return plan_staged.Dropped(edit, f"{edit.voter_id} is a voter{of} already")
        _check_quorum(draft.snapshot, quorum)
        _check_joining(edit, quorum, draft)
        _check_majority(edit, quorum, draft)
        return plan_staged.Staged(edit, None)

    def wanted(self, _edit: object, now: QuorumReplica | None) -> bool:
        return now is not None

    def after(self, _edit: object, _there: object, _inheritance: object) -> EffectiveValue:
        return EffectiveValue("voter")

    def phrase(self, edit: JoinQuorum, _line: object, _old: object, _new: object) -> str:
        return f"becomes a voter, at {edit.listener}://{edit.host}:{edit.port}"

    def reversal(self, edit: JoinQuorum, _was: object, _recorded: object) -> edit_kind.Reversal:
        return edit_kind.Reversal((LeaveQuorum(edit.voter_id, edit.directory_id),), plan_staged.UNREAD)


class _LeaveQuorumKind(edit_kind.Removal, _VoterKind):
    edit = LeaveQuorum
    verb = "remove"
    words = "is a voter no more"
    risks = (RiskRule(NO_SPARE_VOTER, _no_spare),)

    def judge(self, edit: LeaveQuorum, draft: plan_staged.Draft) -> plan_staged.Verdict:
        quorum = _known(draft.snapshot)
        _check_quorum(draft.snapshot, quorum)
        there = _voter(quorum, edit.target)
        if there is None:
            others = [each.directory_id for each in quorum.voters if each.id == edit.voter_id]
            if others:
                raise plan_staged.Refused(
                    f"voter {edit.voter_id} has directory {', '.join(others)}, not {edit.directory_id}",
                    "Name that one.",
                )
            return plan_staged.Dropped(edit, f"{edit.voter_id} is no voter")
        _check_majority(edit, quorum, draft)
        return plan_staged.Staged(edit, there)

    def effects(self, edit: VoterEdit, draft: plan_staged.Draft) -> tuple[str, ...]:
        quorum = draft.snapshot.quorum
        if quorum is None:
            return ()
        leads = quorum.leader_id == edit.voter_id
        elected = (f"{edit.voter_id} leads: another voter is elected once it has left",) if leads else ()
        return (*super().effects(edit, draft), *elected, _stays_text(edit.voter_id, draft.snapshot))

    def recorded(self, edit: LeaveQuorum, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the voter's endpoint, which the reversal needs; empty if the quorum does not report it."""
        known = snapshot.quorum.endpoints if snapshot.quorum is not None else ()
        found = next((each for each in known if each.id == edit.voter_id), None)
        return {} if found is None else {_LISTENER: found.listener, _HOST: found.host, _PORT: str(found.port)}

    def reversal(self, edit: LeaveQuorum, _was: object, recorded: Mapping[str, str]) -> edit_kind.Reversal:
        port = recorded.get(_PORT, "")
        back = JoinQuorum(
            edit.voter_id,
            edit.directory_id,
            recorded.get(_LISTENER, ""),
            recorded.get(_HOST, ""),
            int(port) if port.isdecimal() else -1,
        )
        return edit_kind.Reversal((back,), None)

    def relapses(self, edit: LeaveQuorum, snapshot: Snapshot) -> float:
        """Return the seconds within which a removed voter may join again by itself; 0 for a controller that does not
        replicate the log, or whose configs show that it does not join by itself.
        """
        quorum = snapshot.quorum
        follows_on = quorum is not None and any(each.id == edit.voter_id for each in quorum.observers)
        return _JOINS_WITHIN if follows_on and _joins_itself(snapshot, edit.voter_id) is not False else 0.0


KINDS = (_JoinQuorumKind(), _LeaveQuorumKind())
