"""Tests of causes at the clients of groups: they end without leaving, brokers refuse them, they crowd others out, or
transactions of their producers are aborted.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.codes import DEFAULT_CONFIG, ConfigSource
from console.model.config import broker_resource
from console.model.observed_logs import LogOffsets
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.cause import Claim
from console.triage.causes.refused_members import POLICY
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts, Former
from console.triage.memberships import Arrivals, Memberships, unclosed
from tests.support import samples
from tests.unit.test_triage import START, healthy, logs_seen, watched
from tests.unit.test_triage_groups import with_rows
from tests.unit.test_triage_slow_groups import at_rates, since_then, slow


def facts_of(claim: Claim) -> list[str]:
    return [each.fact for each in claim.evidence]


# -- clients that end without leaving their group ----------------------------------------------------------------------


def joining(
    ids: Callable[[int], Sequence[str]], reads: Callable[[int], int], type_: str = "share", ticks: int = 24
) -> Claim:
    """Return the claim about a group that reads `reads` of 50 records from each partition at each tick. ids: tick ->
    the ids of its members.
    """
    rows = at_rates(lambda _: 50, reads)
    (claim,) = slow(rows, ticks, clients=ids, type_=type_)
    return claim


def ghosts(tick: int) -> Sequence[str]:
    return ["app-1", *(f"app-1#{n}" for n in range(10, tick, 2))]


@pytest.mark.parametrize("type_", ["share", "classic"])
def test_a_client_that_comes_again_and_again_without_leaving_is_named(type_: str) -> None:
    claim = joining(ghosts, lambda tick: 50 if tick < 10 else 5, type_)
    assert "app-1@10.0.0.1 comes again and again without leaving" in claim.title
    assert any(
        "app-1@10.0.0.1 joined 7 times since 03:00:55, and 8 such members are there, 1 before" in each
        for each in facts_of(claim)
    )
    assert "look at the logs of these processes" in claim.next[0].text
    assert ("group.share.delivery.count.limit" in claim.next[0].text) is (type_ == "share")


@pytest.mark.parametrize(
    ("ids", "reads"),
    [
        pytest.param(ghosts, lambda tick: 20 if tick < 10 else 30, id="more consumers read more"),
        pytest.param(
            lambda tick: ["app-1", *(f"app-1#{n}" for n in range(6 if tick >= 10 else 0))],
            lambda tick: 50 if tick < 10 else 5,
            id="they come at once",
        ),
        pytest.param(
            lambda tick: ["app-1", *(f"app-{n}" for n in range(2, max(2, min(9, tick - 8))))],
            lambda tick: 50 if tick < 10 else 5,
            id="other hosts",
        ),
    ],
)
def test_members_that_are_added_or_replaced_did_not_end(
    ids: Callable[[int], Sequence[str]], reads: Callable[[int], int]
) -> None:
    claim = joining(ids, reads)
    assert "without leaving" not in claim.title
    assert not any("without closing" in each for each in facts_of(claim))


@pytest.mark.parametrize("session", [100, 6], ids=["added behind one address", "former ones are removed"])
def test_clients_that_came_from_the_first_poll_on_end_if_brokers_remove_former_ones(session: int) -> None:
    """kac did not see how much the group read before. session: ticks after which brokers remove a dead member."""
    claim = joining(lambda tick: ["app-1", *(f"app-1#{n}" for n in range(max(0, tick - session), tick))], lambda _: 5)
    assert ("without leaving" in claim.title) is (session == 6)


def test_a_dead_member_whose_client_came_again_did_not_leave() -> None:
    """A client joins with a new member id before brokers remove its former member: nothing left for good."""

    def ids(tick: int) -> Sequence[str]:
        return (
            ["app-1#a", "app-2"]
            if tick < 10
            else ["app-1#a", "app-1#b", "app-2"]
            if tick < 14
            else ["app-1#b", "app-2"]
        )

    for ticks in (24, 48):  # soon, and when the arrival is no longer remembered
        claim = joining(ids, lambda tick: 50 if tick < 10 else 30, ticks=ticks)
        assert not any("no member came instead" in each for each in facts_of(claim))
    gone = joining(lambda tick: ["app-1", "app-2"] if tick < 14 else ["app-2"], lambda tick: 50 if tick < 10 else 30)
    assert any("app-1@10.0.0.1 left, and no member came instead" in each for each in facts_of(gone))


# -- clients that brokers may refuse -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "policy", "source", "refused"),
    [
        ("classic", "disabled", 4, "consumer"),
        ("classic", "DOWNGRADE", 4, "consumer"),
        ("consumer", "upgrade", 4, ""),  # brokers admit classic clients to a consumer group with every policy
        ("consumer", "disabled", 4, ""),
        ("classic", "upgrade", 4, ""),
        ("consumer", "bidirectional", 4, ""),
        ("classic", "disabled", DEFAULT_CONFIG, ""),  # releases in which no client may use the new protocol
    ],
)
def test_a_protocol_that_may_keep_a_member_out_is_told(type_: str, policy: str, source: int, refused: str) -> None:
    configs = {broker_resource(1): samples.config_set({POLICY: policy}, ConfigSource(int(source)))}
    rows = at_rates(lambda _: 50, lambda tick: 50 if tick < 10 else 30)
    (claim,) = slow(
        rows, 24, clients=lambda tick: ["app-1", "app-2"] if tick < 10 else ["app-1"], type_=type_, configs=configs
    )
    assert any(f"a client with group.protocol={refused} can't join" in each for each in facts_of(claim)) is bool(
        refused
    )
    assert (f"if it is {refused} now" in claim.next[0].text) is bool(refused)
    (whole,) = slow(rows, 24, clients=lambda _: ["app-1", "app-2"], type_=type_, configs=configs)
    assert not any(POLICY in each for each in facts_of(whole)), "no member left"


def test_limits_of_sessions_are_the_last_reason_for_a_member_that_left() -> None:
    """It joined within these limits, and they may stand for years."""
    configs = {broker_resource(1): samples.config_set({"group.max.session.timeout.ms": "30000"}, ConfigSource(4))}
    rows = at_rates(lambda _: 50, lambda tick: 50 if tick < 10 else 30)
    (claim,) = slow(rows, 24, clients=lambda tick: ["app-1", "app-2"] if tick < 10 else ["app-1"], configs=configs)
    assert ["INVALID_SESSION_TIMEOUT" in each.text for each in claim.next] == [False] * (len(claim.next) - 1) + [True]


def test_clients_that_end_are_named_in_one_order() -> None:
    """Which of them came more often changes at each poll."""
    at = [START + timedelta(seconds=5 * n) for n in range(20)]
    group = cluster.Group(
        "g",
        "Stable",
        "classic",
        "consumer",
        members=tuple(cluster.GroupMember(f"{who}-{n}", who, "/h") for who in "ab" for n in range(5)),
    )
    for more, less in ((4, 3), (3, 4)):
        known = {"b@h": Arrivals(1, less, at[0], at[9]), "a@h": Arrivals(1, more, at[1], at[9])}
        assert [*unclosed(Memberships(arrivals={"g": known}), group)] == ["b@h", "a@h"]


# -- workers of Connect ------------------------------------------------------------------------------------------------


def workers(offsets: Callable[[int], tuple[int, int]]) -> Claim:
    """Return the claim about two workers of Connect, the second of which leaves and joins again at each sixth tick.
    offsets: number of its starts -> the positions in the topic of configs that the two report.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick % 6 == 5 else "Stable"
        known = offsets(tick // 6) if state == "Stable" else (None, None)
        members = (
            cluster.GroupMember("w1", "connect-1", "/10.0.0.1", config_offset=known[0]),
            cluster.GroupMember(f"w2-{tick // 6}", "connect-2", "/10.0.0.2", config_offset=known[1]),
        )
        group = cluster.Group("connect", state, "classic", "connect", coordinator=1, members=members)
        return replace(snapshot, groups={"connect": group})

    causes = [each.claim for each in diagnose(watched(change, 20, before=change(healthy(), 0))).causes]
    (claim,) = [each for each in causes if each.cause == "group-rebalancing"]
    return claim


def test_a_worker_that_never_reads_the_configs_of_the_others_may_be_of_another_cluster() -> None:
    claim = workers(lambda _: (4, -1))
    assert any(
        "worker connect-2@10.0.0.2 joined 4 times and had read nothing of its topic of configs each time, "
        "connect-1@10.0.0.1 up to 4" in each
        for each in facts_of(claim)
    )
    assert "compare config.storage.topic" in claim.next[0].text
    assert not any("session" in each.text or "group.instance.id" in each.text for each in claim.next)


@pytest.mark.parametrize(
    "offsets",
    [
        pytest.param(lambda _: (4, 4), id="the same"),
        pytest.param(lambda start: (4, 4 if start else 2), id="behind once"),
        pytest.param(lambda start: (4 + start, 3 + start), id="it reads on"),
    ],
)
def test_a_worker_that_reads_on_is_of_this_cluster(offsets: Callable[[int], tuple[int, int]]) -> None:
    claim = workers(offsets)
    assert not any("topic of configs" in each for each in facts_of(claim))
    assert "logs of these workers" in claim.next[0].text


def test_workers_with_one_client_id_and_host_are_not_told_apart() -> None:
    """Connect's client id is connect-1 everywhere, and an address translation hides the hosts."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick % 6 == 5 else "Stable"
        at = [9 if n <= tick // 6 else 4 for n in range(4)]  # one after the other reads on, and joins again
        members = tuple(
            cluster.GroupMember(f"w{n}-{at[n]}", "connect-1", "/10.0.0.1", config_offset=at[n]) for n in range(4)
        )
        group = cluster.Group("connect", state, "classic", "connect", coordinator=1, members=members)
        return replace(snapshot, groups={"connect": group})

    causes = [each.claim for each in diagnose(watched(change, 17, before=change(healthy(), 0))).causes]
    (claim,) = [each for each in causes if each.cause == "group-rebalancing"]
    assert not any("topic of configs" in each for each in facts_of(claim))
    assert not any("group.id of its own" in each.text for each in claim.next)


# -- a topic that crowds others out ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("begins", "is_told"), [(3, True), (40, False)], ids=["rise", "as before"])
def test_a_topic_whose_writes_rose_soon_after_the_first_poll_is_named(begins: int, *, is_told: bool) -> None:
    """kac saw the group for 15 s before the rise. The topics are young, so that the records' times show little."""
    topics = ("clicks", "orders")

    def rows(tick: int) -> list[tuple[int, int, str]]:
        clicks = sum(map(since(250, 2_000), range(1, tick + 1)))
        return [(100 + min(clicks, 300 * tick), 100 + clicks, "app-1"), (100 + 40 * tick, 100 + 50 * tick, "app-1")]

    def since(before: int, after: int) -> Callable[[int], int]:
        return lambda tick: before if tick <= begins else after

    at = (START).timestamp()
    former = Former(at, 100, ((at - 20, 10),))
    claims = slow(
        rows,
        20,
        topics=topics,
        clients=lambda _: ["app-1"],
        facts=Facts(former={(topic, 0): former for topic in topics}),
    )
    assert ["most of them to clicks" in each.title for each in claims] == [True] * is_told or not is_told
    assert any("look at what writes to clicks" in each.next[0].text for each in claims) is is_told


def test_topics_that_are_read_up_do_not_wait_behind_another() -> None:
    """Some records always wait. Only the lag of clicks grows."""
    at = START.timestamp()

    def rows(tick: int) -> list[tuple[int, int, str]]:
        clicks = sum(250 if each <= 3 else 2_000 for each in range(1, tick + 1))
        return [(100 + min(clicks, 300 * tick), 100 + clicks, "app-1"), (95 + 50 * tick, 100 + 50 * tick, "app-1")]

    topics = ("clicks", "orders")
    former = Former(at, 100, ((at - 20, 10),))
    facts = Facts(former={(topic, 0): former for topic in topics})
    claims = slow(rows, 20, topics=topics, clients=lambda _: ["app-1"], facts=facts)
    assert claims
    assert not any("most of them to clicks" in each.title for each in claims)


# -- readers of aborted transactions -----------------------------------------------------------------------------------


def standing(stable: Callable[[int], int], *, moves: bool = False) -> Claim:
    """Return the claim about a group that stands in two partitions from the eighth tick on.

    Args:
        stable: tick -> the last stable offset of its partitions.
        moves: whether a third partition moves on.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = [("orders", n, 100 + min(tick, 8), 110 + 20 * tick, "m1") for n in range(2)]
        rows += [("orders", 2, 100 + 20 * tick, 110 + 20 * tick, "m1")] if moves else []
        return with_rows(snapshot, {"billing": ("Stable", rows)}, {})

    def facts(tick: int) -> Facts:
        def logs(at: int) -> dict[tuple[str, int], LogOffsets]:
            end = 110 + 20 * at
            return {("orders", n): LogOffsets(0, min(stable(at), end), end) for n in range(3)}

        return Facts(logs_seen(tick, logs))

    claims = [each.claim for each in diagnose(watched(change, 24, before=change(healthy(), 0), facts=facts)).causes]
    return next(each for each in claims if each.cause == "consumer-stuck")


def test_a_group_that_stands_while_transactions_end_may_get_aborted_records() -> None:
    claim = standing(lambda tick: 100 + 20 * (tick - tick % 3))
    assert claim.title == "group billing stands still in 2 partitions, where transactions end: they may be aborted"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.POSSIBLE)
    assert "fenced producers" in claim.next[0].text
    assert claim.next[1].text.startswith("look at the log of its consumer")
    assert claim.next[2].text.startswith("look at the record")


@pytest.mark.parametrize(
    ("stable", "moves"),
    [
        pytest.param(lambda tick: 110 + 20 * tick, False, id="no transactions"),
        pytest.param(lambda tick: 108 + 20 * tick, False, id="short transactions"),
        pytest.param(lambda tick: 100 + 20 * (tick - tick % 3), True, id="other partitions move"),
    ],
)
def test_a_group_that_stands_for_another_reason_is_not_told_of_transactions(
    stable: Callable[[int], int], *, moves: bool
) -> None:
    claim = standing(stable, moves=moves)
    assert "transactions" not in claim.title
    assert not any("transactions" in each for each in facts_of(claim))


@pytest.mark.parametrize(("is_held", "severity"), [(True, Severity.INFO), (False, Severity.HIGH)])
def test_records_that_a_transaction_holds_back_do_not_make_a_group_slow(severity: Severity, *, is_held: bool) -> None:
    """A group reads the records of a transaction after its end: they wait for as long as it is open."""
    rows = at_rates(lambda _: 50, since_then(50, 30))

    def facts(tick: int) -> Facts:
        def logs(at: int) -> dict[tuple[str, int], LogOffsets]:
            end = 100 + 50 * at
            return {("orders", n): LogOffsets(0, end - 50 * (at % 4) * is_held, end) for n in range(6)}

        return Facts(logs_seen(tick, logs))

    claims = slow(rows, 18, facts_at=facts)
    assert {each.severity for each in claims} == {severity}
