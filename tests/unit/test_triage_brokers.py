"""Tests of symptoms that brokers explain: lags right after a broker stopped or came back, and leaders without
followers.
"""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model import cluster
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, trends_after, with_failures
from console.triage.diagnosis import diagnose
from console.triage.observations import after, begin
from console.triage.symptoms import Poll, Subject
from tests.support import samples
from tests.unit import test_triage as triage


@pytest.mark.parametrize("fenced", [True, False])
def test_a_rack_is_known_when_its_brokers_are_listed_no_more(*, fenced: bool) -> None:
    """Triage names a rack as down even if its brokers are no longer listed, as before Kafka 4.0. If a broker was never
    listed, its rack is unknown, and triage names the single brokers.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.without_broker(snapshot, [2, 4, 6], fenced=fenced) if tick >= 2 else snapshot

    observations = triage.watched(change, before=triage.healthy(brokers=6, racks=2))
    assert triage.named(diagnose(observations)) == {("rack-down", Subject(rack="rack-0"))}
    away = {("broker-down", triage.BROKER[n]) for n in (2, 4, 6)}
    later = triage.watched(lambda snapshot, _: snapshot, before=observations.last.snapshot)
    assert triage.named(diagnose(later)) == ({("rack-down", Subject(rack="rack-0"))} if fenced else away)


COPY = ", and no broker that is up has all records of orders/0"


@pytest.mark.parametrize(
    ("isr", "logs", "said", "is_needed"),
    [
        ((3,), None, COPY, True),
        ((), cluster.ReplicaLogs(eligible=(3,), last_known=(3,)), COPY, True),
        ((), cluster.ReplicaLogs(eligible=(2, 3)), "", True),
        ((), None, "", True),  # the eligible replicas were not read yet
        ((2, 3), None, "", True),
        ((2,), cluster.ReplicaLogs(eligible=()), "", False),
    ],
)
def test_a_broker_with_the_only_complete_copy_is_started_and_not_drained(
    isr: tuple[int, ...], logs: cluster.ReplicaLogs | None, said: str, *, is_needed: bool
) -> None:
    """If a broker that is down has the only complete copy of a partition, triage proposes to start it, and not to drain
    it. The partition has replicas on brokers 2 and 3 and no leader; broker 3 is down.
    """

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        known = triage.without_broker(snapshot, [3])
        lost = triage.first_of_orders(known, replicas=(2, 3), isr=isr, leader=-1, offline=(3,))
        return replace(lost, replica_logs={("orders", 0): logs} if logs is not None else {})

    (down,) = triage.claims_of(diagnose(triage.watched(change)), "broker-down")
    assert down.title == f"broker 3 is down{said}"
    loses = (
        "orders/0 has replicas 2, 3, of which 3 is in sync or eligible: with another leader, an unclean one, it loses"
    )
    assert any(each.fact.startswith(loses) for each in down.evidence) is bool(said)
    assert any("drain" in each.text for each in down.next) is not is_needed
    assert any(each.text.startswith("start broker 3 again") for each in down.next) is is_needed


@pytest.mark.parametrize(("ticks", "is_slow"), [(5, False), (7, True)])
def test_a_lag_after_a_broker_went_is_a_consumers_only_if_it_stays(ticks: int, is_slow: bool) -> None:
    """Triage names a slow consumer only if the lag still grows more than 20 s after a broker stopped. The broker stops
    at the second poll; polls are 5 s apart.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lagging = triage.moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)})
        return triage.without_broker(lagging, [3]) if tick >= 2 else lagging

    verdict = diagnose(triage.watched(change, ticks=ticks))
    slow = {("consumer-slow", Subject(group="billing"))} if is_slow else set()
    assert triage.named(verdict) == {("broker-down", triage.BROKER[3]), *slow}
    assert not verdict.unexplained


def test_a_broker_that_was_away_from_the_first_poll_holds_back_no_lag() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.without_broker(triage.moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)}), [3])

    first = change(triage.watched(lambda s, _: s, ticks=1).last.snapshot, 0)
    verdict = diagnose(triage.watched(change, ticks=4, before=first))
    assert ("consumer-slow", Subject(group="billing")) in triage.named(verdict)


@pytest.mark.parametrize(
    ("ticks", "cause", "severity"), [(6, "broker-restarting", Severity.INFO), (70, "replication-broken", Severity.HIGH)]
)
def test_a_broker_that_came_back_may_be_catching_up(ticks: int, cause: str, severity: Severity) -> None:
    """A broker that came back and is out of the ISRs is named as restarting at first, and as broken replication if that
    lasts for minutes. It is away for two polls, which are 5 s apart.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        away = triage.without_broker(snapshot, [3])
        if tick <= 3:
            return away if tick >= 2 else snapshot
        topic = away.topics["orders"]
        behind = replace(topic, partitions=tuple(each._replace(offline=()) for each in topic.partitions))
        return replace(away, cluster=snapshot.cluster, topics={"orders": behind})

    verdict = diagnose(triage.watched(change, ticks=ticks))
    found = {each.claim.cause: each.claim for each in verdict.causes}
    assert (found[cause].subject, found[cause].severity) == (triage.BROKER[3], severity)


@pytest.mark.parametrize(("a_poll", "is_named"), [(2, False), (20, True)])
def test_a_trend_of_a_disk_is_believed_for_a_while(a_poll: int, *, is_named: bool) -> None:
    """Triage names a disk as filling only if it will be full within 30 times the time over which its trend was
    observed, here 30 times 40 s. A disk with 900 free bytes that loses 2 bytes per poll of 5 s will be full only
    after that.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        shrunk = cluster.LogDir("/data", cluster.ReplicaSizes(), 1_000, 900 - a_poll * tick)
        return replace(snapshot, log_dirs={**snapshot.log_dirs, 2: (shrunk,)})

    found = triage.named(diagnose(triage.watched(change)))
    assert found == ({("disk-filling", Subject(broker=2, dir="/data"))} if is_named else set())


@pytest.mark.parametrize(("a_poll", "is_named"), [(0, True), (10, False)])
def test_a_commit_beyond_the_end_is_out_of_range_if_it_stands(a_poll: int, *, is_named: bool) -> None:
    """A committed offset beyond the end counts as out of range only if it does not move; one that moves was just read a
    moment later than the end.
    """
    verdict = diagnose(triage.watched(lambda s, t: triage.moved(s, {0: (500 + a_poll * t, 490 + a_poll * t)})))
    assert (("offsets-out-of-range", triage.AT_0) in triage.named(verdict)) is is_named
    assert verdict.is_healthy is not is_named


@pytest.mark.parametrize(
    ("state", "seconds", "is_lost"),
    [
        *(("fenced", 4, False), ("fenced", 7, True), ("refusing", 0, True)),
        *(("silent", 0, False), ("silent", 4, False), ("silent", 7, True)),
    ],
)
def test_without_a_majority_of_voters_the_quorum_is_lost(state: str, seconds: int, *, is_lost: bool) -> None:
    """The quorum counts as lost if a majority of voters does not answer, although the last description of the quorum
    names a leader.

    seconds: for how long brokers have answered since the quorum was last described; at first, silent voters may only be
    on a busy host.
    """
    for away in ((2, 3), (3,)):
        late = {**triage.healthy().read_at, "cluster": triage.START + timedelta(seconds=seconds)}
        known = replace(triage.healthy(), read_at=late)
        poll = Poll(
            triage.START + timedelta(seconds=seconds),
            triage.without_broker(known, away) if state == "fenced" else known,
            frozenset(away) if state != "fenced" else frozenset(),
            frozenset(away) if state == "refusing" else frozenset(),
        )
        observations = after(begin(Poll(triage.START - timedelta(seconds=1), triage.healthy())), poll)
        assert (("quorum-lost", Subject()) in triage.named(diagnose(observations))) is (is_lost and away == (2, 3))


LEADS, ALL, OTHERS = "controller 1 leads", "every broker answers in time", "every other broker answers in time"


@pytest.mark.parametrize(
    ("silent", "fenced", "said"),
    [((2,), (), {LEADS}), ((1,), (), set()), ((), (2,), {LEADS, OTHERS}), ((), (1,), {OTHERS})],
)
def test_what_does_not_answer_rules_nothing_out(
    silent: tuple[int, ...], fenced: tuple[int, ...], said: set[str]
) -> None:
    """A controller that does not answer does not rule out a lost quorum, even if it led when the quorum was described;
    nor do fenced brokers, which kac does not ask.
    """
    known = triage.without_broker(triage.healthy(), fenced) if fenced else triage.healthy()
    poll = Poll(triage.START, known, frozenset(silent), frozenset())
    reasons = [each.why for each in diagnose(after(begin(Poll(triage.START, triage.healthy())), poll)).ruled_out]
    assert {text for text in (LEADS, ALL, OTHERS) for why in reasons if why.startswith(text)} == said


@pytest.mark.parametrize(("seconds", "is_lost"), [(10, False), (20, True)])
def test_a_quorum_that_is_not_described_while_brokers_answer_is_lost(seconds: int, *, is_lost: bool) -> None:
    """The quorum counts as lost if it is not described for some time while all brokers answer, as when controllers that
    are not brokers have lost their majority.
    """

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return replace(snapshot, read_at={**snapshot.read_at, "cluster": triage.START + timedelta(seconds=seconds)})

    assert (("quorum-lost", Subject()) in triage.named(diagnose(triage.watched(change)))) is is_lost


@pytest.mark.parametrize(("seconds", "is_lost"), [(10, False), (16, True)])
def test_a_quorum_that_was_never_described_is_lost_if_it_was_asked_about(seconds: int, *, is_lost: bool) -> None:
    """If the quorum was never described since the console opened, it counts as lost only while brokers hold the request
    back; not if the request was refused, or no request is pending.
    """

    def unknown(snapshot: Snapshot, *, is_asked: bool) -> Snapshot:
        read_at = {part: at for part, at in snapshot.read_at.items() if part != "quorum"}
        asked = read_at["cluster"] - timedelta(seconds=seconds) if is_asked else None
        return replace(snapshot, quorum=None, quorum_asked=asked, read_at=read_at)

    asked = diagnose(triage.watched(lambda snapshot, _: unknown(snapshot, is_asked=True)))
    refused = diagnose(triage.watched(lambda snapshot, _: unknown(snapshot, is_asked=False)))
    assert (("quorum-lost", Subject()) in triage.named(asked)) is is_lost
    assert ("quorum-lost", Subject()) not in triage.named(refused)
    assert (asked.is_healthy, refused.is_healthy) == (False, True), "nobody knows yet whether there is a leader"


@pytest.mark.parametrize(("seconds", "is_healthy"), [(4, True), (7, False)])
def test_brokers_that_wait_for_a_leader_are_not_called_healthy(seconds: int, *, is_healthy: bool) -> None:
    """If brokers do not answer about the quorum, the verdict is healthy only for the first seconds, in which an
    election may be running.
    """
    late = {**triage.healthy().read_at, "cluster": triage.START + timedelta(seconds=seconds)}
    known = with_failures(
        replace(triage.healthy(), read_at=late), "quorum", [("quorum", Failure("TIMED_OUT", "no answer"))]
    )
    verdict = diagnose(begin(Poll(triage.START + timedelta(seconds=seconds), known)))
    assert verdict.is_healthy is is_healthy
    assert verdict.blind == (() if is_healthy else ("quorum",))


def test_a_lag_that_can_not_be_read_fades() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        lagging = triage.moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)})
        failure = Failure("UNREACHABLE", "broker 1 is away")
        return with_failures(lagging, "lag of", [("billing", failure)]) if tick > 6 else lagging

    assert ("consumer-slow", Subject(group="billing")) in triage.named(diagnose(triage.watched(change, ticks=6)))
    (claim,) = triage.claims_of(diagnose(triage.watched(change, ticks=7)), "consumer-slow")
    assert claim.severity is Severity.WARNING, "its lag may grow still"
    assert diagnose(triage.watched(change, ticks=12)).is_healthy, "it was unread for as long as it had grown"


def test_replicas_that_are_offline_on_a_broker_that_is_up_are_of_a_failed_directory() -> None:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        topic = snapshot.topics["orders"]
        first, *rest = topic.partitions
        others = tuple(each for each in first.isr if each != 3)
        offline = first._replace(isr=others, leader=others[0], offline=(3,))
        return replace(snapshot, topics={"orders": replace(topic, partitions=(offline, *rest))})

    verdict = diagnose(triage.watched(change))
    assert triage.named(verdict) == {("log-dir-failed", triage.BROKER[3])}
    assert not verdict.unexplained


@pytest.mark.parametrize(
    ("at", "ticks", "is_named"),
    [
        ((2, 8, 14), 15, False),
        (range(2, 12), 9, True),
        (range(2, 12), 7, False),
        (range(2, 20, 2), 14, True),
        (range(2, 20, 2), 25, False),
    ],
    ids=["a deployment", "for 30 s", "for 25 s", "half the time", "it is over"],
)
def test_a_group_that_rebalances_half_of_a_minute_is_named(at: Sequence[int], ticks: int, *, is_named: bool) -> None:
    """Triage names a group that rebalances throughout 30 s; polls are 5 s apart."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.moved(snapshot, {0: (100 * tick, 100 * tick)}, "PreparingRebalance" if tick in at else "Stable")

    verdict = diagnose(triage.watched(change, ticks=ticks))
    assert triage.named(verdict) == ({("group-rebalancing", Subject(group="billing"))} if is_named else set())
    # A rebalance that does not end is not called repeated.
    titles = [each.claim.title for each in verdict.causes]
    assert titles == ([f"group billing rebalances {'for long' if 3 in at else 'again and again'}"] if is_named else [])


@pytest.mark.parametrize(("ticks", "severity"), [(14, Severity.INFO), (30, Severity.INFO), (44, Severity.HIGH)])
def test_rebalances_that_may_be_a_deployment_are_a_possible_cause_of_lag(ticks: int, severity: Severity) -> None:
    """A few rebalances, which may be a deployment, are only a possible cause of a lag: each member leaves and joins
    once, so a group of one member rebalances a few times.

    Polls are 5 s apart, rebalances 30 s.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick % 6 == 2 else "Stable"
        return triage.moved(snapshot, {0: (100, 100 + 50 * tick)}, state)

    observations = triage.watched(change, ticks=ticks)
    found = triage.claims_of(diagnose(observations), "group-rebalancing")
    assert [(each.certainty, each.severity) for each in found] == [(Certainty.POSSIBLE, severity)]


def test_a_group_that_rebalances_once_is_no_trouble() -> None:
    verdict = diagnose(
        triage.watched(lambda s, t: triage.moved(s, {0: (100, 100)}, state="PreparingRebalance" if t > 7 else "Stable"))
    )
    assert verdict.is_healthy
    assert not verdict.causes


@pytest.mark.parametrize(
    ("moves", "certainties"), [(True, [Certainty.LIKELY, Certainty.LIKELY]), (False, [Certainty.POSSIBLE])]
)
def test_partitions_that_stand_still_all_at_once_are_less_surely_stuck(
    certainties: list[Certainty], *, moves: bool
) -> None:
    """If the committed offsets of all partitions of a group do not advance, triage names one cause, the group, and
    proposes to skip no record.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        end, at = 100 + 50 * tick, 100 + 50 * min(tick, 8)
        return triage.moved(snapshot, {0: (at, end), 1: (at, end)} | ({2: (end, end)} if moves else {}))

    found = triage.claims_of(diagnose(triage.watched(change, ticks=14)), "consumer-stuck")
    assert [each.certainty for each in found] == certainties
    logs = [step.text for each in found for step in each.next if "if this record alone breaks it" in step.text]
    assert len(logs) == (2 if moves else 0)
    assert moves or found[0].subject == Subject(group="billing", topic="orders")


@pytest.mark.parametrize(("count", "partitions"), [(1, [0]), (5, [None])])
def test_a_coordinator_without_a_leader_is_named_beside_the_broker_that_is_away(
    count: int, partitions: list[int | None]
) -> None:
    """Triage names a coordinator's partition without a leader in addition to the broker that is down; several such
    partitions are one cause.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        alone = tuple(cluster.Partition(number, 3, (3,), (3,)) for number in range(count))
        name = "__consumer_offsets"
        topics = {**snapshot.topics, name: replace(snapshot.topics["orders"], name=name, partitions=alone)}
        changed = replace(snapshot, topics=topics)
        return triage.without_broker(changed, [3]) if tick > 2 else changed

    verdict = diagnose(triage.watched(change))
    subjects = {Subject(topic="__consumer_offsets", partition=number) for number in partitions}
    assert triage.named(verdict) == {("broker-down", triage.BROKER[3])} | {
        ("coordinator-unavailable", each) for each in subjects
    }
    assert not verdict.unexplained


def test_a_lag_in_partitions_that_stand_still_is_possibly_slowness_until_they_are_stuck() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return triage.moved(snapshot, {0: (100, 100 + 50 * tick), 1: (5 + 10 * tick, 5 + 10 * tick)})

    early = diagnose(triage.watched(change, ticks=2))
    assert {(each.claim.cause, each.claim.certainty) for each in early.causes} == {
        ("consumer-slow", Certainty.POSSIBLE)
    }
    assert triage.named(diagnose(triage.watched(change))) == {("consumer-stuck", triage.AT_0)}


@pytest.mark.parametrize(
    ("quota", "cause", "certainty"),
    [
        (None, "consumer-stuck", Certainty.LIKELY),
        (10**6, "consumer-stuck", Certainty.LIKELY),
        (1_200, "consumer-stuck", Certainty.POSSIBLE),
        (900, "quota-exceeded", Certainty.LIKELY),
    ],
)
def test_who_is_written_more_than_its_quota_is_throttled_and_not_stuck(
    quota: float | None, cause: str, certainty: Certainty
) -> None:
    """A group whose committed offsets do not advance is named as throttled if its quota is below the bytes that are
    written for it, here fifty records of 100 bytes every 5 s; otherwise as stuck.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        sized = triage._at_its_quota(snapshot, tick)
        entity = QuotaEntity.of({"client-id": "c"})
        limits = {entity: {"consumer_byte_rate": float(quota)}} if quota is not None else {}
        return replace(triage.moved(sized, {0: (100, 100 + 50 * tick)}), quotas=limits)

    stuck = [each.claim for each in diagnose(triage.watched(change, ticks=70, facts=triage._whole_logs)).causes]
    assert [(each.cause, each.certainty) for each in stuck] == [(cause, certainty)]


@pytest.mark.parametrize(("commits", "is_slow"), [(True, True), (False, False)])
def test_a_lag_is_slowness_only_where_commits_go_on(*, commits: bool, is_slow: bool) -> None:
    """A growing lag is likely slowness only if commits continue. Without commits, slowness is only possible until
    the next commit is overdue. The last commit is from the poll in which the lag first grew.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        committed = 100 + 50 * min(tick, 4) + (5 * (tick - 4) if commits and tick > 4 else 0)
        return triage.moved(snapshot, {0: (committed, 100 + 50 * tick)})

    claims = [each.claim for each in diagnose(triage.watched(change, ticks=6)).causes]
    certainty = Certainty.LIKELY if is_slow else Certainty.POSSIBLE
    assert [(each.cause, each.certainty) for each in claims] == [("consumer-slow", certainty)]


@pytest.mark.parametrize(
    ("read", "grows", "is_trouble"),
    [(97, False, False), (80, True, False), (50, True, True)],
    ids=["noise", "8 s behind", "20 s behind"],
)
def test_a_lag_that_grows_by_little_of_what_is_written_is_noise(read: int, *, grows: bool, is_trouble: bool) -> None:
    """A group that reads 97 of a hundred records per poll is not slow. If it reads 80, it is slow, and if it reads 50,
    it is also a trouble. It reads for 40 s; polls are 5 s apart.
    """
    verdict = diagnose(triage.watched(lambda s, t: triage.moved(s, {0: (100 + read * t, 100 + 100 * t)})))
    assert (("consumer-slow", Subject(group="billing")) in triage.named(verdict)) is grows
    assert verdict.is_healthy is not is_trouble


@pytest.mark.parametrize(("ended", "is_stopped"), [(6, True), (8, False)])
def test_a_group_without_members_is_stopped_once_its_commits_rest(ended: int, *, is_stopped: bool) -> None:
    """A group without members counts as stopped only once its committed offsets do not advance, because a program may
    commit without being a member. The group commits every 5 s up to the poll `ended` of eight, and has no members
    from the fifth poll on.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state, member = ("Empty", "") if tick >= 5 else ("Stable", "m1")
        return triage.moved(snapshot, {0: (100 + 10 * min(tick, ended), 100 + 50 * tick)}, state, member)

    verdict = diagnose(triage.watched(change))
    assert triage.named(verdict) == {("group-stopped" if is_stopped else "consumer-slow", Subject(group="billing"))}
    assert not verdict.unexplained
    assert verdict.causes[0].claim.certainty is (Certainty.CERTAIN if is_stopped else Certainty.POSSIBLE)


def test_a_lag_while_members_join_is_possibly_slowness() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "PreparingRebalance" if tick == 3 else "Stable"
        return triage.moved(snapshot, {0: (100 + 5 * tick, 100 + 50 * tick)}, state)

    found = [diagnose(triage.watched(change, ticks=ticks)).causes for ticks in (4, 14)]
    assert [[each.claim.certainty for each in causes] for causes in found] == [
        [Certainty.POSSIBLE],
        [Certainty.LIKELY],
    ]


def _rolling(snapshot: Snapshot, tick: int) -> Snapshot:
    """Return the snapshot at a tick: each broker in turn is away for two polls, and the quorum elects a leader when it
    stops.
    """
    away = [1 + tick // 4] if tick % 4 in (2, 3) and tick < 12 else []
    return triage.without_broker(triage.with_quorum(snapshot, leader_epoch=7 + (tick + 2) // 4), away)


def test_elections_of_a_rolling_restart_are_announced_with_it_and_lost_candidacies_are_one_failover() -> None:
    observations = triage.watched(_rolling, ticks=14)
    assert diagnose(observations, triage.BROKER.values()).is_healthy
    assert ("quorum-unstable", Subject()) in triage.named(diagnose(observations))
    assert ("quorum-unstable", Subject()) in triage.named(diagnose(observations, [triage.BROKER[1]]))

    # The epoch rises by five until a leader is elected, and each epoch is read.
    def fails_over(snapshot: Snapshot, tick: int) -> Snapshot:
        epoch = 7 + min(tick, 5)
        return triage.with_quorum(snapshot, leader_id=-1 if 0 < tick < 5 else 2, leader_epoch=epoch)

    assert ("quorum-unstable", Subject()) not in triage.named(diagnose(triage.watched(fails_over, ticks=8)))


def test_a_restless_quorum_is_more_than_a_failover_and_the_way_back() -> None:
    """Triage names a restless quorum only after a third failover: first its leader stops and comes back, then the next
    leader, and then the third.
    """

    def crashes(snapshot: Snapshot, tick: int) -> Snapshot:
        times = tick // 10
        away = [1 + (times - 1) % 3] if times and tick % 10 < 5 else []
        return triage.without_broker(
            triage.with_quorum(snapshot, leader_id=1 + times % 3, leader_epoch=7 + times), away
        )

    for ticks, is_named in ((22, False), (28, False), (32, True)):
        found = triage.named(diagnose(triage.watched(crashes, ticks=ticks)))
        assert (("quorum-unstable", Subject()) in found) is is_named, ticks


@pytest.mark.parametrize(("every", "ends"), [(1, 12), (5, 15)])
def test_a_quorum_that_elects_no_more_is_calm_again(every: int, ends: int) -> None:
    """If there were four elections while all voters were up, the row about the quorum disappears after a minute
    without an election, or after three times the interval of the elections if that is longer.
    """

    def restless(snapshot: Snapshot, tick: int) -> Snapshot:
        times = min(tick // every, 4)
        return triage.with_quorum(snapshot, leader_id=1 + times % 3, leader_epoch=7 + times)

    last = 4 * every
    for ticks, is_named in ((2 * every, False), (3 * every, True), (last + ends, True), (last + ends + 1, False)):
        found = triage.named(diagnose(triage.watched(restless, ticks=ticks)))
        assert (("quorum-unstable", Subject()) in found) is is_named, ticks


def test_what_an_announced_broker_explains_is_no_trouble_by_another_name() -> None:
    """If an announced restart's broker has the only replica of a partition, the partition's missing leader counts as
    announced, too.
    """

    def lonely(snapshot: Snapshot, tick: int) -> Snapshot:
        changed = triage.first_of_orders(snapshot, replicas=(3,), isr=(3,), leader=3)
        return triage.without_broker(changed, [3]) if tick > 2 else changed

    observations = triage.watched(lonely, before=lonely(triage.healthy(), 0))
    assert diagnose(observations, [triage.BROKER[3]]).is_healthy
    assert not diagnose(observations).is_healthy


def _with(snapshot: Snapshot, leader: int, *, spared: int | None = None) -> Snapshot:
    def changed(each: cluster.Partition) -> cluster.Partition:
        is_alone = each.leader == leader and each.number != spared
        return each._replace(isr=(leader,)) if is_alone else each

    return triage.each_of_orders(snapshot, changed)


def test_a_leader_that_nobody_follows_is_named_and_one_that_is_followed_somewhere_is_not() -> None:
    verdict = diagnose(triage.watched(lambda snapshot, _: _with(snapshot, 1)))
    assert triage.named(verdict) == {("replication-broken", triage.BROKER[1])}
    assert not verdict.unexplained
    led = next(
        each.number
        for each in triage.watched(lambda s, _: s).last.snapshot.topics["orders"].partitions
        if each.leader == 1
    )
    verdict = diagnose(triage.watched(lambda snapshot, _: _with(snapshot, 1, spared=led)))
    assert not triage.named(verdict)
    assert [each.symptom for each in verdict.unexplained] == ["under-replicated"]


def test_a_burst_that_arrives_for_three_seconds_is_no_trouble() -> None:
    """If records arrive faster than they are read for three polls, one second apart, kac names the slow consumer
    without an alarm.
    """
    second = timedelta(seconds=1)
    written = [50 * tick for tick in range(12)]
    written += [written[-1] + 1_000 * burst for burst in (1, 2, 3)] + [written[-1] + 3_000] * 20
    read = [50 * tick for tick in range(12)] + [600 + 250 * tick for tick in range(23)]
    observations, trends, told = None, {}, set()
    for tick, (end, offset) in enumerate(zip(written, read, strict=True)):
        at = triage.START + tick * second
        snapshot = triage.moved(triage.fresh(triage.healthy(), tick), {0: (min(end, offset), end)})
        trends = trends_after(trends, snapshot.lags, at)
        poll = Poll(at, replace(snapshot, lag_trends=trends))
        observations = begin(poll) if observations is None else after(observations, poll)
        verdict = diagnose(observations)
        assert verdict.is_healthy, (tick, triage.named(verdict))
        told |= triage.named(verdict)
    assert told == {("consumer-slow", Subject(group="billing"))}


def _with_spare(snapshot: Snapshot, *, fenced: bool) -> Snapshot:
    """Return the snapshot with a further broker 4, which has no replicas. fenced: whether it is fenced."""
    there = (*snapshot.cluster.brokers, cluster.Broker(4, "127.0.0.1", 9004, "rack-1", fenced=fenced))
    return replace(snapshot, cluster=replace(snapshot.cluster, brokers=there))


def test_a_broker_without_replicas_that_is_shut_down_alarms_nobody() -> None:
    """A fenced broker without replicas is named without an alarm, with the step that ends the row: unregister it."""

    verdict = diagnose(triage.watched(lambda snapshot, tick: _with_spare(snapshot, fenced=tick >= 2)))
    assert triage.named(verdict) == {("broker-down", triage.BROKER[4])}
    assert verdict.is_healthy
    (down,) = (each.claim for each in verdict.causes)
    assert down.title == "broker 4 is down, and has no replicas"
    assert down.next[-1].command == "unregister broker 4"

    silent = diagnose(triage.watched(lambda snapshot, _: _with_spare(snapshot, fenced=False), silent=[4]))
    assert triage.named(silent) == {("broker-unresponsive", triage.BROKER[4])}, "while it shuts down"
    assert silent.is_healthy

    verdict = diagnose(triage.watched(lambda snapshot, tick: _with_spare(snapshot, fenced=tick % 2 == 1), 8))
    assert ("broker-flapping", triage.BROKER[4]) in triage.named(verdict)
    assert verdict.is_healthy


@pytest.mark.parametrize(
    "how", ["a replica", "a vote", "topics unseen", "no topics", "some topics", "no quorum", "no directories"]
)
def test_a_broker_that_somebody_may_miss_is_a_trouble(how: str) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        snapshot = _with_spare(snapshot, fenced=tick >= 2)
        match how:
            case "a replica":
                replicas = snapshot.topics["orders"].partitions[0].replicas
                return triage.first_of_orders(snapshot, replicas=(*replicas, 4))
            case "some topics":
                return replace(snapshot, log_dirs={**snapshot.log_dirs, 2: (samples.held(("hidden", 0, 1)),)})
            case "no quorum":
                return replace(snapshot, quorum=None)
            case "no directories":
                return replace(snapshot, log_dirs={})
            case "a vote":
                assert snapshot.quorum is not None
                voters = (*snapshot.quorum.voters, replace(snapshot.quorum.voters[0], id=4))
                return triage.with_quorum(snapshot, voters=voters)
            case "topics unseen":
                return with_failures(snapshot, "topics", [("", Failure("TOPIC_AUTHORIZATION_FAILED"))])
            case _:
                return replace(snapshot, topics={})

    verdict = diagnose(triage.watched(change))
    (down,) = triage.claims_of(verdict, "broker-down")
    assert (down.subject, down.severity) == (triage.BROKER[4], Severity.CRITICAL)


def test_a_member_that_stays_behind_the_groups_epoch_is_evidence() -> None:
    """Evidence names the member whose epoch stays behind the group's, because the other members wait for the partitions
    that it still has (KIP-848).
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        known = triage.moved(snapshot, {0: (100 * tick, 100 * tick)}, "Reconciling")
        group = known.groups["billing"]
        late = cluster.GroupMember("m-9", "app-9", "/10.0.0.9", epoch=4)
        members = tuple(replace(each, epoch=9) for each in group.members or ())
        newer = replace(group, type="consumer", members=(*members, late), epoch=9, assignment_epoch=9)
        return replace(known, groups={**known.groups, "billing": newer})

    (found,) = diagnose(triage.watched(change, ticks=9)).causes
    assert found.claim.cause == "group-rebalancing"
    assert "app-9@10.0.0.9 is at epoch 4 of 9" in [each.fact for each in found.claim.evidence]


@pytest.mark.parametrize(("ticks", "is_offered"), [(8, False), (119, False), (124, True)])
def test_a_broker_that_crashed_is_drained_only_after_10_minutes(ticks: int, *, is_offered: bool) -> None:
    """Draining a crashed broker is proposed only after 10 minutes, because it may be reading its segments; the text
    mentions it at once. The broker stops at the second poll; polls are 5 s apart.
    """
    observations = triage.watched(lambda s, t: triage.without_broker(s, [3]) if t >= 2 else s, ticks=ticks)
    (down,) = [each.claim for each in diagnose(observations).causes]
    assert any(each.command == "drain broker 3" for each in down.next) is is_offered
    assert any("kac moves drain 3" in each.text for each in down.next)


@pytest.mark.parametrize(("ticks", "severity"), [(1, Severity.INFO), (2, Severity.CRITICAL)])
def test_one_response_that_is_missing_is_no_trouble_yet(ticks: int, severity: Severity) -> None:
    (silent,) = [each.claim for each in diagnose(triage.watched(lambda s, _: s, ticks=ticks, silent=[2])).causes]
    assert (silent.cause, silent.severity, silent.certainty) == ("broker-unresponsive", severity, Certainty.POSSIBLE)


def test_a_silence_with_replicas_that_leave_is_trouble_at_once() -> None:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        return triage.each_of_orders(
            snapshot, lambda p: p._replace(isr=tuple(b for b in p.isr if b != 2 or p.leader == 2))
        )

    (silent,) = [each.claim for each in diagnose(triage.watched(change, ticks=1, silent=[2])).causes]
    assert (silent.severity, silent.certainty) == (Severity.CRITICAL, Certainty.LIKELY)


def test_leaders_do_not_go_back_to_a_broker_that_answers_slowly() -> None:
    skewed = triage._skewed(triage.healthy(), 0)

    def poll(tick: int) -> Poll:
        took = {1: 0.01, 2: 0.01, 3: 0.8 if tick > 10 else 0.01}
        return Poll(triage.START + tick * triage.TICK, skewed, took=took)

    observations = begin(poll(0))
    for tick in range(1, 25):
        observations = after(observations, poll(tick))
    steps = {each.claim.cause: each.claim.next for each in diagnose(observations).causes}
    assert "broker-slow" in steps
    assert [(each.command, "it answers slowly" in each.text) for each in steps["leader-skew"]] == [("", True)]


@pytest.mark.parametrize("ails", ["", "flaps", "disk"])
def test_leaders_go_back_only_to_a_broker_that_is_well(ails: str) -> None:
    """If broker 3 leads none of the partitions that prefer it, triage proposes to elect it only if it is healthy: not
    if it stopped four times before, or one of its disks failed.
    """
    skewed = triage._skewed(triage.healthy(), 0)

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if ails == "flaps" and tick in (2, 4, 6, 8):
            return triage.without_broker(snapshot, [3])
        if ails == "disk":
            failed = (cluster.LogDir("/data", cluster.ReplicaSizes(), failure=Failure("KAFKA_STORAGE_ERROR", "")),)
            return replace(snapshot, log_dirs={**snapshot.log_dirs, 3: failed})
        return snapshot

    verdict = diagnose(triage.watched(change, ticks=12, before=skewed))
    steps = {each.claim.cause: each.claim.next for each in verdict.causes}
    commands = {each.command for each in steps.get("leader-skew", ())}
    assert commands == ({"elect preferred broker 3"} if not ails else {""} if "leader-skew" in steps else set())


@pytest.mark.parametrize(
    ("level", "ticks", "is_named"),
    [(25, 125, True), (27, 125, False), (0, 125, False), (25, 8, False)],
    ids=["behind", "not behind", "unknown", "it may just restart"],
)
def test_a_removed_broker_that_is_registered_may_hold_up_the_metadata_version(
    level: int, ticks: int, *, is_named: bool
) -> None:
    """The row about a removed broker that is still registered says that it may prevent a higher metadata.version,
    because controllers check all registrations; its severity does not change, because upgrades are finalized days
    later.
    """

    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        known = cluster.BrokerVersion("4.3", {}, {"metadata.version": (7, 27)}, {"metadata.version": level}, 9)
        return replace(_with_spare(snapshot, fenced=True), versions=dict.fromkeys((1, 2, 3), known))

    verdict = diagnose(triage.watched(change, ticks, before=change(triage.healthy(), 0)))
    (down,) = (each.claim for each in verdict.causes if each.claim.cause == "broker-down")
    assert (down.severity, down.certainty) == (Severity.INFO, Certainty.CERTAIN)
    assert down.title == "broker 4 is down, and has no replicas"
    assert any("metadata.version is 25" in each.fact for each in down.evidence) is is_named
    assert down.next[-1].command == "unregister broker 4"
