"""Tests of causes that follow from comparing brokers and partitions: a slow broker, one that stops answering again and
again, and one whose partitions no group reads.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, trends_after
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from console.triage.symptoms import Poll
from tests.unit import test_triage as triage

USUAL = {1: 0.005, 2: 0.006, 3: 0.004}
SECOND = timedelta(seconds=1)


def probed(rounds: Iterable[Mapping[int, float]], silent: Iterable[Iterable[int]] = ()) -> Verdict:
    """Return the verdict after rounds of probes, one per second. rounds: broker -> seconds of its answer. silent: the
    brokers that do not answer in each round.
    """
    snapshot, away = triage.healthy(), [*map(frozenset, silent)]
    observations: Observations | None = None
    for second, took in enumerate(rounds):
        at = triage.START + second * SECOND
        now = triage.fresh(snapshot, second // 5)
        poll = Poll(at, now, silent=away[second] if away else frozenset(), took={**took})
        observations = begin(poll) if observations is None else after(observations, poll)
    assert observations is not None
    return diagnose(observations)


def with_two(seconds: float) -> dict[int, float]:
    """Return broker -> seconds of its answer: the usual times, but `seconds` for broker 2."""
    return {**USUAL, 2: seconds}


@pytest.mark.parametrize(
    ("rounds", "is_slow"),
    [
        ([*[with_two(0.006)] * 10, *[with_two(0.6)] * 10], True),
        ([with_two(0.6)] * 20, False),
        ([*[with_two(0.006)] * 10, *[with_two(0.6)] * 10, *[with_two(0.08)] * 10], True),
        ([*[with_two(0.006)] * 10, *[with_two(0.6)] * 10, *[with_two(0.04)] * 10], False),
        ([*[with_two(0.006)] * 10, *[with_two(0.6)] * 4], False),
        ([*[with_two(0.006)] * 10, *[with_two(0.09)] * 10], False),
        ([with_two(0.15)] * 20, False),
        ([*[USUAL] * 10, *[dict.fromkeys(USUAL, 0.6)] * 10], False),
        ([*[{1: 0.005, 2: 0.006}] * 10, *[{1: 0.005, 2: 0.6}] * 10], False),
    ],
    ids=[
        "became slow",
        "far away from the start",
        "nearly fast",
        "fast again",
        "a pause",
        "fast enough",
        "far away",
        "all are slow",
        "of two",
    ],
)
def test_a_broker_that_answers_far_later_than_the_others_is_slow(
    rounds: list[dict[int, float]], *, is_slow: bool
) -> None:
    found = [each.claim for each in probed(rounds).causes]
    if not is_slow:
        assert not found
        return
    (claim,) = found
    assert (claim.cause, claim.subject, claim.severity) == ("broker-slow", triage.BROKER[2], Severity.WARNING)
    assert claim.title.startswith("broker 2 takes ")
    assert claim.title.endswith(" ms to answer, the others 4 ms")


def test_a_broker_that_starts_may_answer_slowly_at_first() -> None:
    """After a broker did not answer for a while, triage does not compare its answer times with those before, because it
    may be a new process.
    """
    slow = [*[USUAL] * 10, *[{1: 0.005, 3: 0.004}] * 3, *[with_two(0.6)] * 5, *[USUAL] * 5]
    silent = [*[()] * 10, *[(2,)] * 3, *[()] * 10]
    assert not probed(slow, silent).causes


@pytest.mark.parametrize(
    ("times", "others", "is_named"),
    [(4, (), True), (3, (), False), (4, (3,), False)],
    ids=["four times", "three times", "another one too"],
)
def test_a_broker_that_stops_answering_again_and_again_is_named_in_between(
    times: int, others: tuple[int, ...], *, is_named: bool
) -> None:
    silent = [*([(), (), (2, *others), (2, *others), (), ()] * times), ()]
    verdict = probed([USUAL] * len(silent), silent)
    if not is_named:
        assert not verdict.causes
        return
    (named,) = verdict.causes
    assert (named.claim.cause, named.claim.subject) == ("broker-unresponsive", triage.BROKER[2])
    assert (named.claim.times, named.claim.certainty) == (4, Certainty.LIKELY)
    assert not probed([USUAL] * 60, [*silent, *[()] * (60 - len(silent))]).causes, "after a long rest it is over"


@pytest.mark.parametrize(("seconds", "severity"), [(1, Severity.INFO), (4, Severity.WARNING)])
def test_short_pauses_of_a_broker_that_stays_in_sync_are_information(seconds: int, severity: Severity) -> None:
    silent = [*([*[()] * 10, *[(2,)] * seconds, *[()] * 10] * 5), ()]
    (named,) = probed([USUAL] * len(silent), silent).causes
    assert (named.claim.title, named.claim.severity) == ("broker 2 stops answering again and again", severity)


LED = {topic: tuple(1 + number % 3 for number in range(6)) for topic in ("orders", "clicks")}
"""Topic -> the broker id of the leader of each partition."""


def _with_topics(snapshot: Snapshot) -> Snapshot:
    topics = {
        name: cluster.Topic(
            name,
            tuple(
                cluster.Partition(number, leader, by_preference, by_preference, leader_epoch=1)
                for number, leader in enumerate(leaders)
                for by_preference in ((leader, *({1, 2, 3} - {leader})),)
            ),
            topic_id=name,
        )
        for name, leaders in LED.items()
    }
    return replace(snapshot, topics=topics, groups={}, lags={})


def _read(
    snapshot: Snapshot,
    tick: int,
    groups: Mapping[str, str],
    still: Iterable[tuple[str, int]],
    holder: Callable[[int], int] = lambda number: number // 2,
) -> Snapshot:
    """Return the snapshot at a tick in which each group reads its topic, but commits nothing in the partitions `still`
    from the third tick on. holder: partition -> the number of the member that has it.
    """
    stands = set(still)
    lags = {
        group: cluster.GroupLag(
            tuple(
                cluster.PartitionLag(topic, number, now, 50 * tick, 50 * tick - now, f"m{holder(number)}")
                for number in range(6)
                for now in (50 * min(tick, 3) if (topic, number) in stands else 50 * tick,)
            )
        )
        for group, topic in groups.items()
    }
    made = {
        group: cluster.Group(
            group,
            "Stable",
            "consumer",
            coordinator=1,
            members=tuple(
                cluster.GroupMember(f"m{n}", f"c{n}", "/h", tuple((topic, p) for p in range(6) if holder(p) == n))
                for n in range(3)
            ),
        )
        for group, topic in groups.items()
    }
    return replace(snapshot, groups=made, lags=lags)


OF_BROKER_2 = [
    (topic, number) for topic, leaders in LED.items() for number, leader in enumerate(leaders) if leader == 2
]


@pytest.mark.parametrize(
    ("groups", "still", "is_one"),
    [
        ({"billing": "orders", "counts": "clicks"}, OF_BROKER_2, True),
        ({"billing": "orders"}, [each for each in OF_BROKER_2 if each[0] == "orders"], False),
        ({"billing": "orders", "counts": "clicks"}, [*OF_BROKER_2, ("orders", 0)], False),
        ({"billing": "orders", "counts": "clicks"}, OF_BROKER_2[:3], False),
    ],
    ids=["all of a leader", "one group", "of another leader too", "a part of a leader's"],
)
def test_what_several_groups_do_not_read_has_one_leader(
    groups: dict[str, str], still: list[tuple[str, int]], *, is_one: bool
) -> None:
    causes = _causes(groups, still)
    assert causes, "the groups do not get on in any case"
    if is_one:
        (claim,) = causes
        assert (claim.cause, claim.subject) == ("leader-not-read", triage.BROKER[2])
        assert claim.title == "2 groups stand still in the partitions that broker 2 leads"
    else:
        assert "leader-not-read" not in {each.cause for each in causes}


def test_members_that_hang_with_their_host_are_not_blamed_on_the_leader_of_their_partitions() -> None:
    """If all partitions of a hanging member have the same leader, because of the range assignor, triage does not name
    the leader.
    """
    causes = _causes({"billing": "orders", "counts": "clicks"}, OF_BROKER_2, holder=lambda number: number % 3)
    assert causes
    assert "leader-not-read" not in {each.cause for each in causes}


def _causes(groups: dict[str, str], still: list[tuple[str, int]], **how: Callable[[int], int]) -> list[Claim]:
    """Return the claims after 19 ticks. how: arguments of `_read`."""
    base = _with_topics(triage.healthy())
    first = _read(base, 0, groups, still, **how)
    trends = trends_after({}, first.lags, triage.START)
    observations = begin(Poll(triage.START, replace(first, lag_trends=trends)))
    for tick in range(1, 20):
        at = triage.START + tick * triage.TICK
        snapshot = _read(triage.fresh(base, tick), tick, groups, still, **how)
        trends = trends_after(trends, snapshot.lags, at)
        observations = after(observations, Poll(at, replace(snapshot, lag_trends=trends)))
    return [each.claim for each in diagnose(observations).causes]
