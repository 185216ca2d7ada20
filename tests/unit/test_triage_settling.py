"""Tests of how triage keeps its causes stable: a cause is named for a minute while its evidence lasts, but a cause that
is worse or more certain appears at once.
"""

from datetime import timedelta

import pytest

from console.model.severity import Certainty, Severity
from console.triage import diagnosis
from console.triage.cause import CauseRule, Claim, Evidence, predict
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import after, begin
from console.triage.settling import HELD
from console.triage.symptoms import UNDER_REPLICATED, Poll, Subject
from tests.unit.test_triage import START, first_of_orders, healthy

HERE = Subject(topic="orders", partition=0)
SECOND = timedelta(seconds=1)
OUT = first_of_orders(healthy(), isr=(healthy().topics["orders"].partitions[0].leader,))
"""A snapshot in which two replicas of a partition are out of sync, for which no rule has a cause."""


def a_claim(name: str, severity: Severity = Severity.HIGH, certainty: Certainty = Certainty.LIKELY) -> Claim:
    return Claim(
        cause=name,
        subject=HERE,
        severity=severity,
        certainty=certainty,
        evidence=(Evidence("it is so", "a look"),),
        title=name,
        predicted=predict(UNDER_REPLICATED, subject=HERE),
    )


class Watched:
    """A cluster in which a partition is out of sync, with rules that return the claims given by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.claims: list[Claim] = []
        rules = (CauseRule("first", lambda _observations: self.claims),)
        monkeypatch.setattr(diagnosis, "RULES", rules)
        self.observations = begin(Poll(START, healthy()))
        self.verdict: Verdict | None = None

    def named(self, seconds: int, *claims: Claim, is_ill: bool = True) -> list[str]:
        """Poll for `seconds` seconds while the rules return these claims, and return the names of the rows.

        is_ill: whether the partition is out of sync.
        """
        self.claims = [*claims]
        poll = Poll(self.observations.last.at + seconds * SECOND, OUT if is_ill else healthy())
        self.observations = after(self.observations, poll)
        self.verdict = diagnose(self.observations, (), self.verdict)
        unexplained = [f"unexplained {each.symptom}" for each in self.verdict.unexplained]
        return [each.claim.cause for each in self.verdict.causes] + unexplained


@pytest.fixture
def it(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_a_name_stays_for_a_minute(it: Watched) -> None:
    slow, stuck = a_claim("slow"), a_claim("stuck")
    assert it.named(1, slow) == ["slow"]
    assert it.named(1, stuck) == ["slow"], "another name for what is seen"
    assert it.named(1) == ["slow"], "and none"
    assert it.named(1, slow) == ["slow"]
    assert it.named(59, stuck) == ["slow"], "a minute since it was claimed"
    assert it.named(1, stuck) == ["stuck"]
    assert it.named(round(HELD.total_seconds())) == ["unexplained under-replicated"]


@pytest.mark.parametrize(
    "better",
    [
        a_claim("lost", Severity.CRITICAL, Certainty.POSSIBLE),
        a_claim("known", Severity.HIGH, Certainty.CERTAIN),
    ],
)
def test_what_is_worse_or_surer_is_named_at_once(it: Watched, better: Claim) -> None:
    assert it.named(1, a_claim("slow")) == ["slow"]
    assert it.named(1, better) == [better.cause]


def test_a_row_goes_when_its_facts_do(it: Watched) -> None:
    assert it.named(1, a_claim("slow")) == ["slow"]
    assert it.named(1, is_ill=False) == []
    assert it.named(1, a_claim("stuck")) == ["stuck"]


def test_an_announced_restart_holds_no_name(it: Watched) -> None:
    assert it.named(1, a_claim("slow")) == ["slow"]
    poll = Poll(it.observations.last.at + SECOND, OUT)
    it.claims = []
    again = diagnose(after(it.observations, poll), [HERE], it.verdict)
    assert not again.causes
    assert not again.held
