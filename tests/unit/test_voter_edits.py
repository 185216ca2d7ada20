"""Tests of plans that add and remove voters: no step lets the quorum lose its majority."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.settings import ConnectionSettings
from console.answers.plan_results import runbook_text
from console.model import cluster
from console.model.changes import AddVoter, RemoveVoter, VoterTarget
from console.model.failure import Failure
from console.model.parts import Part
from console.model.quorum import follows, majority
from console.model.snapshot import ReadFailure, Snapshot, with_cluster, with_part, with_quorum
from console.plan.compile import compile_plan
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.kinds.voters import JoinQuorum, LeaveQuorum
from console.plan.plan import EMPTY, stage
from console.plan.requests import Facts
from console.plan.risks import effects, risks
from console.plan.staged import Draft, Refused, Staged

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = 1_800_000_000_000


def replica(node: int, *, away: bool = False, directory: str = "") -> cluster.QuorumReplica:
    at = NOW - (60_000 if away else 0)
    return cluster.QuorumReplica(node, 50 if away else 100, 50 if away else 0, at, at, directory or f"of-{node}")


def seen(
    voters: tuple[cluster.QuorumReplica, ...],
    observers: tuple[cluster.QuorumReplica, ...] = (),
    *,
    leader: int = 101,
    kraft: int = 1,
    controllers: tuple[int, ...] = (101, 102, 103, 104),
) -> Snapshot:
    endpoints = tuple(cluster.VoterEndpoint(each, "CONTROLLER", f"c{each}", 9093) for each in controllers)
    quorum = cluster.Quorum(leader, 7, 100, voters, observers, endpoints)
    info = cluster.ClusterInfo(
        "id", leader, (), controllers=tuple(cluster.Broker(each, "h", 1) for each in controllers)
    )
    known = with_quorum(with_cluster(Snapshot(), info, AT), quorum, AT)
    return with_part(Part.FEATURES, cluster.ClusterFeatures({"kraft.version": kraft} if kraft else {}, ()), known, AT)


THREE = (replica(101), replica(102), replica(103))
ONE_AWAY = (replica(101), replica(102), replica(103, away=True))


def join(node: int, directory: str = "") -> JoinQuorum:
    return JoinQuorum(node, directory or f"of-{node}", "CONTROLLER", f"c{node}", 9093)


def leave(node: int, directory: str = "") -> LeaveQuorum:
    return LeaveQuorum(node, directory or f"of-{node}")


def reason(known: Snapshot, *edits: Edit) -> str:
    report = stage(EMPTY, edits, known)
    return report.refused[0].reason if report.refused else ""


def test_a_voter_is_added_with_a_forecast() -> None:
    known = seen(THREE, (replica(1), replica(104)))
    plan = stage(EMPTY, [join(104)], known).plan
    (line,) = effects(plan.staged, known).values()
    assert line == ("voters 101, 102, 103, 104 afterwards: 3 of 4 are needed, all follow, one more may fail",)
    (step,) = compile_plan(plan, Facts())
    assert step.request == AddVoter(104, "of-104", "CONTROLLER", "c104", 9093)
    text = runbook_text(plan, known, ConnectionSettings((("c101", 9093),), controllers=True))
    assert "kafka-metadata-quorum --bootstrap-controller c101:9093 add-controller" in text
    assert "on the host of controller 104" in text


def test_a_voter_is_removed_with_a_warning_and_back() -> None:
    known = seen(THREE)
    plan = stage(EMPTY, [leave(101)], known).plan
    (staged,) = plan.staged
    lines = effects(plan.staged, known)[staged.edit.slot]
    assert lines[0] == "voters 102, 103 afterwards: 2 of 2 are needed, all follow, none may fail"
    assert lines[1] == "101 leads: another voter is elected once it has left"
    assert [risk.name for risk in risks(plan.staged, known)] == ["no-spare-voter"]
    assert compile_plan(plan, Facts())[0].request == RemoveVoter(101, "of-101")
    text = runbook_text(plan, known, ConnectionSettings((("b", 9092),)))
    assert "--controller-id 101 --controller-directory-id of-101" in text
    kind = kind_of(staged.edit)
    back = kind.reversal(staged.edit, staged.was, kind.recorded(staged.edit, known))
    assert back.edits == (join(101),)
    assert kind_of(join(104)).reversal(join(104), None, {}).edits == (leave(104),)


@pytest.mark.parametrize(
    ("known", "edit", "words"),
    [
        (seen(ONE_AWAY), leave(102), "would lose its majority: of voters 101, 103 101 alone follows the log, 2 are"),
        (seen((replica(101),)), leave(101), "101 is the only voter"),
        (seen((replica(101), replica(102, away=True)), (replica(104),)), join(104), ""),
        (seen(THREE, leader=-1), leave(103), "the quorum has no leader"),
        (seen(THREE, kraft=0), leave(103), "the quorum is static (kraft.version 0)"),
        (seen(THREE, (replica(104),), kraft=0), join(104), "the quorum is static"),
        (seen(THREE), join(104), "no controller 104 follows the log"),
        (seen(THREE, (replica(104),)), join(104, "other"), "no controller 104 with directory other follows the log"),
        (seen(THREE, (replica(1),)), join(1), "node 1 is a broker and no controller"),
        (seen(THREE, (replica(104, away=True),)), join(104), "controller 104 is 50 records behind"),
        (seen(THREE, (replica(104),)), JoinQuorum(104, "of-104"), "where controller 104 listens is unknown"),
        (seen(THREE), leave(103, "other"), "voter 103 has directory of-103, not other"),
        (Snapshot(), leave(103), "the quorum is not known here"),
        (Snapshot(), join(104), "the quorum is not known here"),
    ],
)
def test_what_is_refused(known: Snapshot, edit: Edit, words: str) -> None:
    assert reason(known, edit).startswith(words) or words in reason(known, edit)
    assert bool(reason(known, edit)) == bool(words)


def test_what_is_so_already_is_dropped_and_edits_are_judged_together() -> None:
    assert stage(EMPTY, [join(103), leave(7)], seen(THREE)).dropped
    known = seen(THREE)
    report = stage(EMPTY, [leave(103), leave(102), leave(101)], known)
    assert [each.edit for each in report.refused] == [leave(101)]


def test_a_voter_that_was_formatted_again_leaves_before_it_joins() -> None:
    known = seen(ONE_AWAY, (replica(103, directory="new"), replica(104)))
    assert "103 is a voter with directory of-103 already" in reason(known, join(103, "new"))
    plan = stage(EMPTY, [leave(103), join(103, "new"), join(104), leave(102)], known).plan
    assert len(plan.staged) == 4
    requests = [step.request for step in compile_plan(plan, Facts())]
    assert requests == [
        RemoveVoter(103, "of-103"),
        AddVoter(103, "new", "CONTROLLER", "c103", 9093),
        AddVoter(104, "of-104", "CONTROLLER", "c104", 9093),
        RemoveVoter(102, "of-102"),
    ]


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_no_plan_leaves_less_than_a_majority(away: list[bool], data: st.DataObject) -> None:
    voters = (replica(101), *(replica(102 + n, away=each) for n, each in enumerate(away)))
    observers = tuple(replica(120 + n, away=n == 2) for n in range(3))
    known = seen(voters, observers, controllers=tuple(range(101, 130)))
    edits: list[Edit] = [*(leave(each.id) for each in voters), *(join(each.id) for each in observers)]
    plan = stage(EMPTY, data.draw(st.permutations(edits)), known).plan
    if not plan.staged:
        return
    kind = kind_of(plan.staged[-1].edit)
    after = kind.batch.predict(known, [each.edit for each in plan.staged])
    assert after.quorum is not None
    assert known.quorum is not None
    following = [each for each in after.quorum.voters if follows(known.quorum, each)]
    assert len(following) >= majority(len(after.quorum.voters)) > 0


def test_a_removed_voter_is_noticed_by_the_plan() -> None:
    known = seen(THREE)
    (staged,) = stage(EMPTY, [leave(103)], known).plan.staged
    kind = kind_of(staged.edit)
    now = kind.current(staged.edit, Draft((), seen(ONE_AWAY)))
    assert not kind.moved(staged.edit, staged.was, now), "how far it has read is not what was staged on"
    gone = kind.current(staged.edit, Draft((), seen((replica(101), replica(102)))))
    assert kind.moved(staged.edit, staged.was, gone)
    assert kind.wanted(staged.edit, gone)
    again = kind.current(staged.edit, Draft((), seen((*THREE[:2], replica(103, directory="new")))))
    assert again is None, "a voter with another directory is another voter"
    assert staged.edit.target == VoterTarget(103, "of-103")
    assert isinstance(kind.judge(staged.edit, Draft((), known)), Staged)
    with pytest.raises(Refused):
        kind.judge(staged.edit, Draft((), replace(known, quorum=None)))


def test_a_quorum_that_nobody_describes() -> None:
    """If the quorum can't be described, the remedy on controllers is to start more controllers; on brokers it is to
    use --bootstrap-controller.
    """
    away = Failure("UNREACHABLE", "controller 101 at h:1: nothing listens there")
    known = replace(seen(THREE), quorum=None, failures=(ReadFailure("quorum", "quorum", away),))
    for edit in (leave(102), join(104)):
        (refused,) = stage(EMPTY, [edit], known).refused
        assert refused.reason == f"no leader of the quorum answers, which alone can change it: {away.message}"
        assert "Start controllers until most of the voters run" in refused.remedy
        (refused,) = stage(EMPTY, [edit], replace(known, cluster=cluster.ClusterInfo("id", 1, ()))).refused
        assert refused.reason == f"the quorum is not known here: {away.message}"
        assert "--bootstrap-controller" in refused.remedy
