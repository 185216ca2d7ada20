"""Tests of the members of groups over several polls: an instance id used by two processes, partitions without a member,
topics that do not exist, and members that left.
"""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.observed_logs import LogOffsets
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.present.triage import subject_text
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.symptoms import Subject
from tests.unit.test_triage import START, TICK, claims_of, healthy, logs_seen, moved, watched

TICKS = 20


def causes(member_id: Callable[[int], str], instance: str | None = "app-0", *, lags: bool = False) -> list[Claim]:
    """Return the claims about a group whose only member has the id `member_id(tick)` at each tick. instance: its
    group.instance.id; None for a dynamic member. lags: whether the group lags.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = moved(snapshot, {0: (100 + tick, 100 + (50 if lags else 1) * tick)})
        who = cluster.GroupMember(member_id(tick), "app", "/10.0.0.7", (("orders", 0),), instance)
        return replace(changed, groups={"billing": replace(changed.groups["billing"], members=(who,))})

    return [each.claim for each in diagnose(watched(change, TICKS)).causes]


@pytest.mark.parametrize("lags", [False, True])
def test_an_instance_id_that_changes_hands_again_and_again_is_named_once(*, lags: bool) -> None:
    (claim,) = causes(lambda tick: f"app-0-{tick // 3}", lags=lags)
    assert (claim.cause, claim.subject) == ("instance-contested", Subject(group="billing"))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert "instance id app-0" in claim.title
    assert "10.0.0.7" in claim.evidence[0].fact
    assert not any(each.edits or each.command for each in claim.next)


@pytest.mark.parametrize(
    ("member_id", "instance"),
    [
        (lambda _tick: "app-0-1", "app-0"),
        (lambda tick: f"app-0-{tick // 10}", "app-0"),  # a restart
        (lambda tick: f"app-{tick}", None),  # no static member: a new id at each start
    ],
    ids=["stays", "restarts", "dynamic"],
)
def test_a_member_that_starts_again_now_and_then_is_no_trouble(
    member_id: Callable[[int], str], instance: str | None
) -> None:
    assert "instance-contested" not in {each.cause for each in causes(member_id, instance)}


def grown(
    *,
    of_members: int,
    committed: int = -1,
    records: int = 5,
    ticks: int = 20,
    joins: int = 5,
    commits: int = 5,
    is_new: bool = False,
    kind: str = "classic",
) -> Verdict:
    """Return the verdict on a topic that grows from two to four partitions at the fifth poll.

    Args:
        of_members: the number of partitions that members have from the poll `joins` on.
        committed: the offset that the group commits in partition 2, from the poll `commits` on; -1 for none.
        records: the number of records in each new partition.
        ticks: the number of polls.
        is_new: whether the group has no offset before the poll `commits`.
        kind: the type of the group.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        is_grown = tick >= 5
        topic = snapshot.topics["orders"]
        first = topic.partitions[0]
        count = 4 if is_grown else 2
        topic = replace(topic, partitions=tuple(first._replace(number=n) for n in range(count)))
        changed = moved(snapshot, {0: (100 + tick, 100 + tick), 1: (100 + tick, 100 + tick)})
        rows = changed.lags["billing"].partitions
        if is_new and tick < commits:
            rows = tuple(each._replace(committed=-1, lag=-1) for each in rows)
        if committed >= 0 and tick >= commits:
            rows = (*rows, rows[0]._replace(partition=2, committed=committed, end=records, lag=records - committed))
        held = tuple(("orders", n) for n in range(of_members if tick >= joins else 2))
        who = cluster.GroupMember("m1", "app", "/10.0.0.7", held)
        read_at = {**snapshot.read_at, "topics": START + tick * TICK}
        return replace(
            changed,
            topics={**snapshot.topics, "orders": topic},
            lags={"billing": cluster.GroupLag(rows)},
            groups={"billing": replace(changed.groups["billing"], members=(who,), type=kind)},
            read_at=read_at,
        )

    def facts(tick: int) -> Facts:
        new = range(2, 4 if tick >= 5 else 2)
        return Facts(logs_seen(tick, lambda _at: {("orders", n): LogOffsets(0, records, records) for n in new}))

    before = change(healthy(), 0)
    return diagnose(watched(change, ticks, before=before, facts=facts))


def not_noticed(verdict: Verdict) -> list[Claim]:
    return claims_of(verdict, "partitions-unread")


def test_new_partitions_that_a_group_does_not_read_are_named() -> None:
    (claim,) = not_noticed(grown(of_members=2, ticks=5 + 6 * 12))
    assert claim.subject == Subject(group="billing", topic="orders")
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.CERTAIN)
    assert claim.title == "group billing reads none of the new partitions of orders"
    assert [each.fact for each in claim.evidence][1:] == ["no member has partitions 2 to 3, where 10 records wait"]
    assert subject_text(claim.subject) == "group billing topic orders"
    assert not any(each.edits or each.command for each in claim.next), "a reset would lose what others read"
    (claim,) = not_noticed(grown(of_members=2, kind="consumer"))  # brokers that assign partitions see new ones at once
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.CERTAIN)


@pytest.mark.parametrize("ticks", [5 + 12, 5 + 6 * 12 - 1], ids=["after 60 s", "before 6 min"])
def test_while_consumers_may_yet_find_new_partitions_it_is_only_possible(ticks: int) -> None:
    """In the first five minutes, the interval at which consumers look for new partitions, triage names partitions
    without a member only as possible.
    """
    verdict = grown(of_members=2, ticks=ticks)
    (claim,) = not_noticed(verdict)
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.POSSIBLE)
    assert claim.title.endswith("of orders yet")
    assert "metadata.max.age.ms" in claim.evidence[-1].fact
    assert not verdict.unexplained


@pytest.mark.parametrize(
    "known",
    [
        {"of_members": 4},
        {"of_members": 2, "committed": 0},
        {"of_members": 2, "records": 0},
        {"of_members": 2, "ticks": 5 + 11},
        {"of_members": 2, "ticks": 5 + 2, "kind": "consumer"},
        {"of_members": 4, "joins": 12},
    ],
    ids=["assigned", "committed", "nothing to read", "not yet", "a moment ago", "assigned late"],
)
def test_new_partitions_that_are_read_or_empty_are_no_trouble(known: dict[str, object]) -> None:
    verdict = grown(**known)  # type: ignore[arg-type]
    assert not_noticed(verdict) == []
    assert not verdict.unexplained


def not_known(verdict: Verdict) -> list[tuple[str, str]]:
    return [(each.what, each.where) for each in verdict.unknowable if "first commits" in each.what]


def test_records_before_the_first_commit_in_a_new_partition_may_never_have_been_read() -> None:
    """Triage names records before a group's first commit in a new partition as possibly unread: a reader that begins at
    the end and a fast reader that begins at the start commit the same offset.
    """
    ((what, where),) = not_known(grown(of_members=4, joins=11, commits=12, committed=700, records=720))
    assert what.startswith("whether group billing read the 700 records before its first commits in the new partition 2")
    assert "reset group billing topic orders partition 2 to earliest" in where
    assert "auto.offset.reset" in where


@pytest.mark.parametrize(
    "known",
    [
        {"committed": 5},
        {"commits": 7},
        {"commits": 999},
        {"is_new": True},
    ],
    ids=["near the beginning", "found at once", "no commit yet", "a new group"],
)
def test_a_group_that_had_nothing_to_pass_over_is_not_asked_about(known: dict[str, int]) -> None:
    about = {"of_members": 4, "joins": 6, "commits": 12, "committed": 700, "records": 720} | known
    assert not_known(grown(**about)) == []  # type: ignore[arg-type]


def waiting(
    *, ticks: int = 60, wanted: str = "order", lag: bool = True, regex: str = "", created: int = 999
) -> list[Claim]:
    """Return the claims about a group whose members wait for a topic from the first tick on.

    Args:
        wanted: the topic that they subscribe to.
        lag: whether the group has offsets of a topic that is written to.
        regex: the pattern of their subscription; ``""`` for none.
        created: the tick at which the topic is created and read.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = moved(snapshot, {0: (100, 100 + tick), 1: (5, 5)})
        held = ((wanted, 0),) if tick >= created else ()
        topics = () if regex else (wanted,)
        who = cluster.GroupMember("m9", "app", "/10.0.0.7", held, topics=topics, regex=regex)
        groups = {"billing": replace(changed.groups["billing"], members=(who,))}
        lags = changed.lags if lag else {}
        return replace(changed, groups=groups, lags=lags)

    return [each.claim for each in diagnose(watched(change, ticks)).causes]


def test_a_group_that_waits_for_a_topic_that_is_not_there_is_named_with_the_one_that_is_meant() -> None:
    (claim,) = [each for each in waiting() if each.cause == "subscription-missing"]
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.CERTAIN)
    assert claim.title == "group billing subscribes to order, which does not exist"
    assert "it is probably orders" in claim.next[0].text
    assert not any(each.edits or each.command for each in claim.next), "an empty topic would hide it"


@pytest.mark.parametrize(
    "known",
    [
        {"ticks": 5},
        {"wanted": "orders"},
        {"created": 5},
        {"lag": False},
        {"regex": "^ord", "ticks": 5},
        {"regex": "^ord", "wanted": "orders", "created": 5},
        {"regex": "^ord", "lag": False},
    ],
    ids=[
        "a moment ago",
        "it is there",
        "created",
        "nothing read yet",
        "a pattern a moment ago",
        "a pattern that fits",
        "a pattern, nothing read yet",
    ],
)
def test_members_that_wait_for_what_comes_or_is_there_are_no_trouble(known: dict[str, int]) -> None:
    assert "subscription-missing" not in {each.cause for each in waiting(**known)}  # type: ignore[arg-type]


def test_a_pattern_that_fits_no_whole_name_is_named() -> None:
    (claim,) = [each for each in waiting(regex="^ord") if each.cause == "subscription-missing"]
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert claim.title == "group billing subscribes to the pattern ^ord, and gets no partition"
    assert "whole name of orders" in claim.next[0].text
    assert not any(each.edits or each.command for each in claim.next)


def not_ready(
    *sources: str, ticks: int = 20, state: str = "NotReady", lag: bool = True, inner: tuple[str, ...] = ()
) -> list[Claim]:
    """Return the claims about a streams group that is in this state from the first tick on. There are topics orders,
    with six partitions, and rates, with two.

    Args:
        sources: the topics of its only subtopology.
        lag: whether there are records that it has not read.
        inner: the topics between its subtopologies that it reads.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = moved(snapshot, {0: (100, 100 + tick if lag else 100), 1: (5, 5)})
        who = cluster.GroupMember("m9", "app", "/10.0.0.7")
        parts = (cluster.Subtopology("0", sources, inner),)
        group = replace(changed.groups["billing"], type="streams", state=state, members=(who,), topology=parts)
        orders = changed.topics["orders"]
        rates = replace(orders, name="rates", partitions=orders.partitions[:2], topic_id="rates")
        return replace(changed, groups={"billing": group}, topics={**changed.topics, "rates": rates})

    return claims_of(diagnose(watched(change, ticks)), "topology-not-ready")


@pytest.mark.parametrize(
    ("sources", "inner", "says", "certainty"),
    [
        (("orders", "prices"), (), ": prices, which it reads, does not exist or is hidden from kac", Certainty.LIKELY),
        (
            ("orders", "prices"),
            ("billing-by-user-repartition",),
            ": prices, which it reads, does not exist or is hidden from kac, nor does its internal topic billing-by",
            Certainty.LIKELY,
        ),
        (("orders", "rates"), (), ": topics that it joins may have different numbers", Certainty.LIKELY),
        (("orders",), ("billing-by-user-repartition",), ": its internal topic billing-by-user", Certainty.LIKELY),
        (("orders",), (), "", Certainty.CERTAIN),
    ],
    ids=["missing", "missing, and an internal one", "not equal", "internal", "another reason"],
)
def test_a_streams_group_that_lacks_topics_is_named_with_them(
    sources: tuple[str, ...], inner: tuple[str, ...], says: str, certainty: Certainty
) -> None:
    (claim,) = not_ready(*sources, inner=inner)
    assert claim.title.startswith(f"streams group billing is not ready{says}")
    assert (claim.severity, claim.certainty) == (Severity.HIGH, certainty)
    assert not claim.next[0].text.startswith("create"), "kac may not be allowed to see the topic"
    (idle,) = not_ready(*sources, inner=inner, lag=False)
    assert idle.severity is Severity.WARNING


@pytest.mark.parametrize("known", [{"ticks": 5}, {"state": "Stable"}], ids=["a moment ago", "ready"])
def test_a_streams_group_that_starts_is_no_trouble(known: dict[str, object]) -> None:
    assert not_ready("orders", "prices", **known) == []  # type: ignore[arg-type]


def slow(members: Callable[[int], tuple[cluster.GroupMember, ...]]) -> Claim:
    """Return the claim about a group whose lag grows while it commits. members: tick -> its members."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = moved(snapshot, {0: (100 + 10 * tick, 100 + 50 * tick), 1: (5 + 10 * tick, 5 + 50 * tick)})
        return replace(changed, groups={"billing": replace(changed.groups["billing"], members=members(tick))})

    (claim,) = claims_of(diagnose(watched(change, TICKS)), "consumer-slow")
    return claim


def member(number: int, *partitions: int) -> cluster.GroupMember:
    return cluster.GroupMember(f"m{number}", f"app-{number}", "/10.0.0.7", tuple(("orders", n) for n in partitions))


def test_more_members_than_partitions_are_told() -> None:
    claim = slow(lambda _tick: (member(1, 0), member(2, 1), member(3)))
    (fact,) = [each.fact for each in claim.evidence if "more members do not help" in each.fact]
    assert fact.startswith("each of its 2 partitions has a member of its own, and 1 more member nothing to read")
    assert "more partitions" in claim.next[0].text
    claim = slow(lambda _tick: (member(1, 0, 1),))  # more members help
    assert not any("more members do not help" in each.fact for each in claim.evidence)


def test_a_member_that_left_is_told_until_another_one_comes() -> None:
    both = (member(1, 0), member(2, 1))
    claim = slow(lambda tick: both if tick < 4 else (member(1, 0, 1),))
    (fact,) = [each.fact for each in claim.evidence if "had 2 until" in each.fact]
    assert "app-2@10.0.0.7 left" in fact
    assert "start what left again" in claim.next[0].text
    back = slow(lambda tick: both if tick < 4 or tick > 8 else (member(1, 0, 1),))
    assert not any("had 2 until" in each.fact for each in back.evidence)
