"""Tests of troubles of the console itself: brokers throttle it, or a broker refuses its login."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from console.model.failure import Failure
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import ReadFailure, Snapshot
from console.plan.edits import UnsetQuota
from console.triage.dependencies import configs_of
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import after, begin
from console.triage.symptoms import OFFSET_OUT_OF_RANGE, UNDER_REPLICATED, Own, Poll, Subject, Symptom
from tests.unit.test_triage import START, healthy

SECOND = timedelta(seconds=1)
ALICE = QuotaEntity.of({"user": "alice"})


def seen(snapshot: Snapshot, **suffers: Any) -> Verdict:
    """Return the verdict after a poll in which the console has these troubles. suffers: fields of its facts."""
    observations = begin(Poll(START, snapshot))
    return diagnose(after(observations, Poll(START + SECOND, snapshot, **suffers)))


def test_a_throttled_console_says_so_and_what_is_older_by_it() -> None:
    limited = replace(healthy(), quotas={ALICE: {"request_percentage": 0.05}})
    verdict = seen(limited, own=Own(430, "alice", "kac"), late=("lags", "topics"))
    (named,) = verdict.causes
    claim = named.claim
    assert (claim.cause, claim.severity, claim.certainty) == (
        "console-throttled",
        Severity.WARNING,
        Certainty.CERTAIN,
    )
    assert "throttled by request_percentage=0.05 (" in claim.title
    assert "alice" in claim.title
    facts = [each.fact for each in claim.evidence]
    assert facts[0] == "brokers delay it by 430 ms of each second"
    assert facts[-1] == "older than usual by it: lags, topics"
    assert not any(each.edits or each.command for each in claim.next), "it can't know who else has this quota"
    assert not verdict.is_healthy
    assert set(verdict.unread) == {"lags", "topics"}


def test_a_quota_that_was_changed_just_now_is_one_row_with_its_way_back() -> None:
    limited = replace(healthy(), quotas={ALICE: {"request_percentage": 0.05}})
    read = {**healthy().read_at, Part.QUOTAS: START}
    observations = begin(Poll(START, replace(healthy(), read_at=read)))
    for second in range(1, 60):
        at, own = START + second * SECOND, Own(430, "alice", "kac") if second > 1 else Own()
        read = replace(limited, read_at={**limited.read_at, Part.QUOTAS: at})
        observations = after(observations, Poll(at, read, own=own))
    (named,) = diagnose(observations).causes
    assert named.claim.cause == "console-throttled"
    assert named.claim.title.startswith("this console is throttled by request_percentage=0.05 (quota of user alice)")
    assert named.claim.next[0].edits == (UnsetQuota(ALICE, "request_percentage"),)


def test_a_console_that_is_hardly_throttled_suffers_nothing() -> None:
    assert seen(healthy(), own=Own(20, "alice", "kac")).is_healthy


def test_a_broker_that_refuses_the_login_answers() -> None:
    one = frozenset({2})
    (named,) = seen(healthy(), silent=one, denying=one).causes
    assert (named.claim.cause, named.claim.subject) == ("console-login-refused", Subject(broker=2))
    assert named.explains == {"broker-silent": 1}


def test_what_a_symptom_depends_on() -> None:
    partition = Symptom(UNDER_REPLICATED, Subject(topic="orders", partition=0), (3,))
    group = Symptom(OFFSET_OUT_OF_RANGE, Subject(group="billing", topic="orders", partition=0))
    found = [f"{each.type.name} {each.name}" for each in configs_of((partition, group), healthy())]
    assert found == ["BROKER ", "TOPIC orders", "BROKER 1", "BROKER 2", "BROKER 3", "GROUP billing"]
    gone = Symptom(UNDER_REPLICATED, Subject(topic="deleted", partition=0))
    assert [each.name for each in configs_of((gone,), healthy())] == [""]


def test_what_is_gone_is_not_unknown() -> None:
    late = Failure("TIMED_OUT", "no answer")
    failures = (
        ReadFailure("members of", "billing", late),
        ReadFailure("members of", "deleted", late),
        ReadFailure("lag of", "deleted", late),
        ReadFailure("configs", "topic orders", late),
        ReadFailure("configs", "topic deleted", Failure("TOPIC_AUTHORIZATION_FAILED", "denied")),
        ReadFailure("group_positions", "billing", Failure("GROUP_ID_NOT_FOUND", "gone")),
    )
    verdict = seen(replace(healthy(), failures=failures))
    assert [each.what.partition(":")[0] for each in verdict.unknowable] == [
        "members of billing",
        "configs topic orders",
    ]
