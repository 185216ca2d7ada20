"""Tests of restarts: a broker that hands its leaders over before it stops is named as restarting; one that stops
answering first is named as down.
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.cluster import Broker, LogDir, QuorumReplica, ReplicaSize, ReplicaSizes
from console.model.codes import STATIC_BROKER_CONFIG
from console.model.config import broker_resource, topic_resource
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import Observations, after, begin
from console.triage.symptoms import Poll, Subject
from tests.unit.test_triage import (
    PARTS,
    START,
    TOPIC_CONFIG,
    claims_of,
    config,
    each_of_orders,
    healthy,
    named,
    now_ms,
    watched,
    with_quorum,
    without_broker,
)

SECOND = timedelta(seconds=1)
STOPS = 5
"""The second in which a broker's former partitions are first seen with other leaders."""
NEVER = range(0)


def answering(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot in which every broker is up, so that replicas out of the ISR are only behind."""
    topic = snapshot.topics["orders"]
    behind = replace(topic, partitions=tuple(each._replace(offline=()) for each in topic.partitions))
    return replace(snapshot, cluster=healthy().cluster, topics={"orders": behind})


class Watch:
    """Polls of a cluster, one per second, and the verdict after each."""

    def __init__(self, base: Snapshot | None = None, well: int = STOPS) -> None:
        """Poll the healthy cluster `well` times. base: its snapshot; None for the usual one."""
        self.base = base or healthy()
        self.verdicts: list[Verdict] = []
        self._observations: Observations | None = None
        self.poll(well)

    @property
    def observations(self) -> Observations:
        """The observations of all polls so far."""
        assert self._observations is not None
        return self._observations

    def poll(
        self,
        seconds: int,
        *,
        fenced: int = 0,
        behind: int = 0,
        silent: int = 0,
        hangs: bool = False,
        epoch: int = 7,
        topics_too: bool = True,
    ) -> list[Verdict]:
        """Poll `seconds` times, once per second, and return the verdicts.

        Args:
            seconds: the number of polls.
            fenced: the broker that is fenced and leads no partition; 0 for none.
            behind: the broker that is up, but leads no partition and is in no ISR; 0 for none.
            silent: the broker that refuses connections or, with `hangs`, does not answer; 0 for none.
            epoch: the leader epoch of the quorum.
            topics_too: whether the topics were also described after the change.
        """
        begins = len(self.verdicts)
        for second in range(begins, begins + seconds):
            snapshot = without_broker(self.base, [fenced or behind]) if fenced or behind else self.base
            snapshot = with_quorum(answering(snapshot) if behind else snapshot, leader_epoch=epoch)
            if not topics_too:
                snapshot = replace(snapshot, topics=self.base.topics)
            at = START + second * SECOND
            quiet = frozenset({silent}) if silent else frozenset()
            poll = Poll(at, replace(snapshot, read_at=dict.fromkeys(PARTS, at)), quiet, frozenset() if hangs else quiet)
            self._observations = begin(poll) if self._observations is None else after(self._observations, poll)
            self.verdicts.append(diagnose(self._observations))
        return self.verdicts[begins:]


def only(verdict: Verdict) -> tuple[str, str, str]:
    """Return name, severity and title of the only cause in a verdict."""
    assert not verdict.unexplained
    (one,) = verdict.causes
    return one.claim.cause, one.claim.severity.value, one.claim.title


STOPPED = "broker 3 was stopped in order, its leaders were handed over at 03:00:05"
FEWER = "; 6 partitions have one replica fewer until it"


def test_a_restart_in_order_is_no_trouble_until_it_is_over() -> None:
    """A restart with a controlled shutdown is one row without trouble, from the broker's stop until it has caught up.
    The broker hands its leaders over for 2 s, ends, is fenced, comes back after 20 s, and catches up for 15 s.
    """
    watch = Watch()
    watch.poll(2, behind=3)
    watch.poll(1, behind=3, silent=3)
    watch.poll(20, fenced=3)
    watch.poll(15, behind=3)
    assert all(each.is_calm for each in watch.verdicts)
    assert {only(each) for each in watch.verdicts if each.causes} == {
        ("broker-restarting", "info", f"{STOPPED}{FEWER} is back"),
        ("broker-restarting", "info", f"broker 3 is back since 03:00:28, and catches up{FEWER} has"),
    }
    assert not watch.poll(1)[0].causes
    assert not watch.verdicts[STOPS - 1].causes


def test_one_that_is_gone_or_refuses_right_before_its_leaders_moved_was_stopped_in_order() -> None:
    """If a broker's leaders move at the moment when it refuses connections or is no longer listed, triage names a
    controlled shutdown: after a crash, they would move only when its session times out, after 9 s.
    """
    watch = Watch()
    assert only(watch.poll(3, fenced=3)[-1]) == ("broker-restarting", "info", f"{STOPPED}{FEWER} is back")
    watch = Watch()
    assert not watch.poll(1, silent=3)[-1].causes
    assert only(watch.poll(1, fenced=3)[-1])[:2] == ("broker-restarting", "info")


def test_one_that_is_fenced_before_its_topics_are_described_again_was_stopped_in_order() -> None:
    """A restart with a controlled shutdown is no trouble, even if kac sees the broker fenced before it sees the new
    leaders, because it lists brokers and describes topics at different times.
    """
    watch = Watch()
    watch.poll(2, fenced=3, topics_too=False)
    watch.poll(1, fenced=3)
    watch.poll(2, behind=3)
    watch.poll(1)
    assert all(each.is_calm for each in watch.verdicts)
    assert {only(each)[0] for each in watch.verdicts if each.causes} == {"broker-restarting"}
    assert not watch.verdicts[-1].causes


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("silent_for", [4, 9])
def test_one_that_is_fenced_after_its_silence_is_down(silent_for: int, *, hangs: bool) -> None:
    watch = Watch()
    watch.poll(silent_for, silent=3, hangs=hangs)
    watch.poll(2, fenced=3, topics_too=False)
    assert only(watch.poll(1, fenced=3)[-1])[:2] == ("broker-down", "critical")


@pytest.mark.parametrize("hangs", [False, True])
@pytest.mark.parametrize("silent_for", [2, 6, 9])
def test_a_broker_that_was_silent_before_its_leaders_moved_is_down(silent_for: int, *, hangs: bool) -> None:
    """A broker that did not answer until its leaders moved is named as down: the controller moves the leaders when the
    session times out, which may be set shorter than usual.
    """
    watch = Watch()
    watch.poll(silent_for, silent=3, hangs=hangs)
    assert watch.verdicts[-1].is_calm is (hangs and silent_for == 2)  # one missing response is no trouble yet
    verdict = watch.poll(3, fenced=3)[-1]
    assert only(verdict)[:2] == ("broker-down", "critical")


def test_a_broker_that_stays_away_is_a_warning_after_ten_minutes() -> None:
    watch = Watch()
    before = watch.poll(600, fenced=3)
    assert all(each.causes[0].claim.is_guess for each in before if not each.is_calm)
    cause, severity, title = only(watch.poll(2, fenced=3)[-1])
    assert (cause, severity) == ("broker-restarting", "warning")
    assert title == f"{STOPPED}, and it did not come back{FEWER} is back"


@pytest.mark.parametrize("way", ["killed", "hangs"])
def test_a_broker_that_fails_after_its_restart_is_down(way: str) -> None:
    watch = Watch()
    watch.poll(20, fenced=3)
    watch.poll(10)
    watch.poll(9, silent=3, hangs=way == "hangs")
    assert not watch.verdicts[-1].is_calm
    assert only(watch.poll(2, fenced=3)[-1])[:2] == ("broker-down", "critical")


def test_one_that_hands_over_and_hangs_or_goes_on_to_answer_is_no_restart() -> None:
    """A broker that is not fenced after it handed its leaders over is not named as restarting: it is unresponsive if it
    hangs, and its replication is broken if it answers.
    """
    watch = Watch()
    watch.poll(1, behind=3)
    verdict = watch.poll(40, behind=3, silent=3, hangs=True)[-1]
    assert only(verdict)[:2] == ("broker-unresponsive", "critical")
    watch = Watch()
    assert all(each.is_calm for each in watch.poll(30, behind=3))
    assert only(watch.poll(5, behind=3)[-1])[:2] == ("replication-broken", "high")


def test_a_broker_that_comes_back_catches_up_for_five_minutes_after_its_last_progress() -> None:
    """A broker that comes back, also after a crash, is named as catching up until five minutes after its last progress;
    after that its replication is named as broken.
    """
    watch = Watch()
    watch.poll(9, silent=3)
    watch.poll(10, fenced=3)
    assert only(watch.poll(290, behind=3)[-1])[:2] == ("broker-restarting", "info")
    assert only(watch.poll(30, behind=3)[-1])[:2] == ("replication-broken", "high")


def test_one_that_falls_behind_long_after_it_came_back_is_broken() -> None:
    watch = Watch()
    watch.poll(9, silent=3)
    watch.poll(10, fenced=3)
    watch.poll(20)
    watch.base = each_of_orders(
        watch.base, lambda p: p._replace(isr=tuple(b for b in p.isr if b != 3)) if p.leader != 3 else p
    )
    assert ("replication-broken", Subject(broker=3)) in named(watch.poll(5)[-1])


@pytest.mark.parametrize(("wanted", "severity"), [("3", Severity.HIGH), ("1", Severity.INFO)])
def test_too_few_replicas_are_trouble_from_the_first_moment(wanted: str, severity: Severity) -> None:
    """A restart is a trouble at once if writes with acks=all fail meanwhile, as with min.insync.replicas=3 and three
    replicas.
    """
    configs = {topic_resource("orders"): config("min.insync.replicas", wanted, TOPIC_CONFIG)}
    watch = Watch(replace(healthy(), configs=configs))
    verdict = watch.poll(2, fenced=3)[-1]
    (mine,) = claims_of(verdict, "broker-restarting")
    assert mine.severity is severity


def test_partitions_without_a_leader_are_trouble_from_the_first_moment() -> None:
    """A restart is a critical trouble at once if the broker has the only replica of some partitions."""
    watch = Watch(each_of_orders(healthy(), lambda p: p._replace(replicas=(3,), isr=(3,), leader=3) if p.number else p))
    verdict = watch.poll(2, fenced=3)[-1]
    assert not verdict.is_calm
    (mine,) = claims_of(verdict, "broker-restarting")
    assert mine.severity is Severity.CRITICAL


@given(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3, unique=True), st.booleans())
def test_a_rolling_restart_with_planned_elections_is_calm(brokers: list[int], back_too: bool) -> None:
    """A rolling restart is no trouble: each broker in turn shuts down, a controller resigns with it, and another one
    may resign when the broker is back.
    """
    watch, epoch = Watch(well=0), 7
    for broker in brokers:
        watch.poll(10, epoch=epoch)
        watch.poll(1, behind=broker, epoch=epoch)
        epoch += 1
        watch.poll(15, fenced=broker, epoch=epoch)
        epoch += back_too
        watch.poll(10, behind=broker, epoch=epoch)
    watch.poll(20, epoch=epoch)
    assert all(each.is_calm for each in watch.verdicts), [named(each) for each in watch.verdicts if not each.is_calm]


def test_elections_that_go_on_after_a_restart_are_a_trouble() -> None:
    watch = Watch()
    watch.poll(15, fenced=3, epoch=8)
    for epoch in (9, 10, 11):
        watch.poll(25, epoch=epoch)
    assert ("quorum-unstable", Subject()) in named(watch.verdicts[-1])


def test_leaders_that_are_elsewhere_after_a_restart_are_elected_by_the_brokers_themselves() -> None:
    watch = Watch()
    watch.poll(15, fenced=3)
    watch.base = each_of_orders(watch.base, lambda p: p._replace(leader=p.replicas[1]) if p.leader == 3 else p)
    assert only(watch.poll(1)[-1])[:2] == ("leader-skew", "info")
    assert only(watch.poll(590)[-1])[:2] == ("leader-skew", "info")
    assert only(watch.poll(20)[-1])[:2] == ("leader-skew", "warning")


@pytest.mark.parametrize(
    ("others", "took", "seconds", "is_long"),
    [
        ((1, 2), 10, 58, False),
        ((1, 2), 10, 70, True),
        ((1, 2), 20, 70, False),
        ((1,), 20, 70, False),
        ((1,), 20, 90, True),
        ((), 0, 70, False),  # many logs, or a new pod, take minutes
        ((), 0, 290, False),
        ((), 0, 310, True),
    ],
)
def test_a_restart_that_takes_far_longer_than_others_of_the_same_roll(
    others: tuple[int, ...], took: int, seconds: int, *, is_long: bool
) -> None:
    """In a rolling restart, triage names the broker that is away for much longer than the others were; its file may
    have a line that it refuses.
    """
    watch = Watch()
    for broker in others:
        watch.poll(2, behind=broker)
        watch.poll(took - 2, fenced=broker)
        watch.poll(5)
    watch.poll(2, behind=3)
    last = watch.poll(seconds, fenced=3)[-1]
    name, severity, title = only(last)
    assert (name, severity) == ("broker-restarting", "warning" if is_long else "info")
    assert (f"and is not back after more than {1 if others else 5} min" in title) is is_long
    assert (f"broker{'s' * (len(others) > 1)} {', '.join(map(str, others))} took {took} s" in title) is (
        is_long and bool(others)
    )
    claim = last.causes[0].claim
    assert claim.is_guess is is_long
    assert ("line of its file" in claim.next[0].text) is is_long
    assert watch.poll(5)[-1].is_calm


def test_a_long_restart_shows_what_changed_in_the_files_of_other_brokers() -> None:
    """If all brokers get the same new file and one of them does not start with it, its row shows which keys changed in
    the other brokers' files.
    """
    file = {broker_resource(1): config("num.io.threads", "8", STATIC_BROKER_CONFIG)}
    watch = Watch(replace(healthy(), configs=file))
    watch.poll(10, fenced=1)
    watch.base = replace(watch.base, configs={broker_resource(1): config("num.io.threads", "2", STATIC_BROKER_CONFIG)})
    watch.poll(5)
    (mine,) = (each.claim for each in watch.poll(70, fenced=3)[-1].causes if each.claim.subject.broker == 3)
    assert [each.fact for each in mine.evidence][-1] == "broker 1 came back with another num.io.threads"


@pytest.mark.parametrize("seconds", [61, 130])
def test_the_row_of_a_long_restart_keeps_its_text(seconds: int) -> None:
    watch = Watch()
    watch.poll(10, fenced=2)
    watch.poll(40)
    titles = {only(each)[2] for each in watch.poll(seconds + 30, fenced=3)[seconds:]}
    assert len(titles) == 1


@pytest.mark.parametrize(
    ("held", "then", "is_emptied"),
    [(10**9, 10**6, True), (10**9, 9 * 10**8, False), (10**6, 0, False), (10**9, 2 * 10**8, False)],
)
def test_a_broker_that_comes_back_without_its_logs_is_told_so(held: int, then: int, *, is_emptied: bool) -> None:
    """If a broker comes back with much smaller replicas than before, the row says that its disks are empty: a volume
    may not be mounted, or another host may run with its id. The row gives no alarm, because the disk may have
    been replaced on purpose.
    """

    def holding(size: int) -> Snapshot:
        replicas = ReplicaSizes([ReplicaSize("orders", 0, size, 0, False)])
        return replace(healthy(), log_dirs={3: (LogDir("/data", replicas, 10**12, 9 * 10**11),)})

    watch = Watch(holding(held))
    watch.poll(2, behind=3)
    watch.poll(10, fenced=3)
    watch.base = holding(then)
    verdict = watch.poll(5, behind=3)[-1]
    name, severity, title = only(verdict)
    assert (name, severity) == ("broker-restarting", "info")
    assert (", with empty disks; 6 partitions" in title) is is_emptied
    assert any("volume is mounted" in each.text for each in verdict.causes[0].claim.next) is is_emptied


class QuorumWatch(Watch):
    """Polls of a cluster whose broker 3, which is no voter, fetches the metadata log until a certain second."""

    def __init__(self, until: int) -> None:
        self.until = until
        super().__init__()

    def poll(self, seconds: int, **how: Any) -> list[Verdict]:  # type: ignore[override]
        """Poll `seconds` times, with the quorum's description at each poll, and return the verdicts. how: as for
        `Watch.poll`.
        """
        found = []
        for _ in range(seconds):
            now = now_ms(0) + 1000 * len(self.verdicts)
            last = min(now, now_ms(0) + 1000 * self.until)
            voters = tuple(QuorumReplica(n, 100, 0, now, now) for n in (1, 2))
            follower = QuorumReplica(3, 100, 0, last, last)
            self.base = with_quorum(healthy(), leader_id=1, voters=voters, observers=(follower,))
            found += super().poll(1, **how)
        return found


@pytest.mark.parametrize(("silent_for", "is_cut_off"), [(9, True), (12, True), (0, False), (2, False)])
def test_a_broker_that_answered_and_heard_nothing_of_controllers_did_not_stop_in_order(
    silent_for: int, *, is_cut_off: bool
) -> None:
    """If a broker that answered until it was fenced last fetched the metadata log long before that, triage names it as
    cut off from the controllers. silent_for: the seconds between.
    """
    watch = QuorumWatch(STOPS + 10 - silent_for)
    watch.poll(10)
    verdict = watch.poll(21, fenced=3)[-1]
    name, severity, title = only(verdict)
    if is_cut_off:
        assert (name, severity) == ("broker-cut-off", "critical")
        assert title == "broker 3 was fenced while it answered: the controllers hear nothing of it"
        assert not any(each.command for each in verdict.causes[0].claim.next)
    else:
        assert (name, severity) == ("broker-restarting", "info")
    assert watch.poll(40, fenced=3)[-1].causes[0].claim.cause == name
    assert watch.poll(3)[-1].is_calm


@pytest.mark.parametrize(("silent_for", "certainty"), [(9, Certainty.LIKELY), (0, Certainty.CERTAIN)])
def test_a_rack_that_answers_until_it_is_fenced_has_lost_the_controllers(silent_for: int, certainty: Certainty) -> None:
    """If all brokers of a rack, 2, 4 and 6, answer until they are fenced, triage names the rack as cut off from the
    controllers. silent_for: seconds between their last fetch of the metadata log and the fencing.
    """
    base, fenced_at = healthy(brokers=6, racks=2), 20

    def poll(second: int) -> Poll:
        now, at = now_ms(0) + 1000 * second, START + second * SECOND
        last = min(now, now_ms(0) + 1000 * (fenced_at - silent_for))
        voters = tuple(QuorumReplica(n, 100, 0, now, now) for n in (1, 3, 5))
        followers = tuple(QuorumReplica(n, 100, 0, last, last) for n in (2, 4, 6))
        known = with_quorum(base, leader_id=1, voters=voters, observers=followers)
        known = without_broker(known, (2, 4, 6)) if second >= fenced_at else known
        return Poll(at, replace(known, read_at=dict.fromkeys(PARTS, at)))

    observations = begin(poll(0))
    for second in (*range(1, 41), *range(60, 1960, 20)):  # longer than events are kept
        observations = after(observations, poll(second))
        if second not in {40, 1940}:
            continue
        (claim,) = [each.claim for each in diagnose(observations).causes if each.claim.cause == "rack-down"]
        assert (claim.certainty, "while they answered" in claim.title) == (certainty, silent_for == 9)
        assert ("the controllers" in claim.next[0].text) is (silent_for == 9)


def test_a_crash_is_no_way_to_the_controllers_that_is_cut() -> None:
    watch = QuorumWatch(STOPS)
    watch.poll(9, silent=3)
    assert only(watch.poll(5, fenced=3)[-1])[0] == "broker-down"


# -- restarts of several brokers ---------------------------------------------------------------------------------------

OVERLAP, KILLED = ("restarts-overlap", Subject()), ("brokers-killed", Subject())


@pytest.mark.parametrize(
    ("wanted", "first_is_back", "is_named"), [("2", False, True), ("1", False, False), ("2", True, False)]
)
def test_two_brokers_that_are_stopped_at_once_are_one_trouble(
    wanted: str, *, first_is_back: bool, is_named: bool
) -> None:
    """Two brokers that are stopped at once are one trouble if too few replicas stay in sync: partitions have three
    replicas, so one broker that is stopped alone leaves two in sync.
    """
    configs = {topic_resource("orders"): config("min.insync.replicas", wanted, TOPIC_CONFIG)}
    well = replace(healthy(), configs=configs)
    watch = Watch(well)
    watch.poll(8, fenced=1)
    watch.base = well if first_is_back else without_broker(well, [1])
    if first_is_back:
        watch.poll(3)
    verdict = watch.poll(5, fenced=3)[-1]
    assert (OVERLAP in named(verdict)) is is_named
    if is_named:
        (claim,) = (each.claim for each in verdict.causes)
        assert claim.severity is Severity.HIGH
        assert claim.title == (
            "brokers 1 and 3 are stopped at the same time: broker 3 was stopped 8 s after broker 1, before that was in "
            "sync again; 6 partitions below min ISR"
        )
        watch.base = well
        assert OVERLAP not in named(watch.poll(2, fenced=3)[-1])


def test_a_broker_that_is_back_and_catches_up_is_waited_for() -> None:
    """If broker 2 is stopped before broker 1, which answers again, is in sync, triage proposes to wait for broker 1."""
    well = replace(healthy(), configs={topic_resource("orders"): config("min.insync.replicas", "2", TOPIC_CONFIG)})
    watch = Watch(well)
    watch.poll(20, fenced=1)
    watch.poll(10, behind=1)
    both = without_broker(well, [1, 2])
    brokers = tuple(replace(each, fenced=each.id == 2) for each in well.cluster.brokers)
    catching_up = each_of_orders(both, lambda each: each._replace(offline=(2,)))
    watch.base = replace(catching_up, cluster=replace(well.cluster, brokers=brokers))
    (claim,) = (each.claim for each in watch.poll(3)[-1].causes if each.claim.cause == OVERLAP[0])
    assert claim.title.startswith("restarts of brokers 1 and 2 overlap: broker 2 was stopped 30 s after broker 1")
    assert "wait until broker 1 is in sync, and start broker 2 again" in claim.next[0].text


def test_brokers_that_share_no_partition_may_be_stopped_at_once() -> None:
    """Stopping several brokers at once is no trouble if they share no partition, like the brokers of one rack, where
    each partition has one replica.
    """
    topic = healthy(6).topics["orders"]
    apart = tuple(
        each._replace(replicas=ids, isr=ids, leader=ids[0])
        for each, ids in zip(topic.partitions, [(1, 2, 3), (3, 2, 4), (6, 4, 2)] * 4, strict=True)
    )
    well = replace(healthy(6), topics={"orders": replace(topic, partitions=apart)})
    watch = Watch(replace(well, configs={topic_resource("orders"): config("min.insync.replicas", "3", TOPIC_CONFIG)}))
    watch.poll(8, fenced=1)
    watch.base = without_broker(watch.base, [1])
    assert OVERLAP not in named(watch.poll(5, fenced=6)[-1])


@pytest.mark.parametrize(("silent", "is_killed"), [(9, True), (0, False)])
def test_brokers_that_go_one_after_the_other_without_a_handover(silent: int, *, is_killed: bool) -> None:
    """Two brokers that stop one after the other without handing their leaders over are named as killed in a rolling
    restart; one such broker is not, nor are two that handed over.
    """
    watch = Watch()
    for number, broker in enumerate((1, 2)):
        watch.poll(silent, silent=broker)
        watch.poll(5, fenced=broker)
        found = watch.poll(10)[-1]
        assert (KILLED in named(found)) is (is_killed and number == 1)
    if is_killed:
        (claim,) = (each.claim for each in found.causes if each.claim.cause == "brokers-killed")
        assert claim.is_guess
        assert claim.title.startswith("brokers 1, 2 went away one after the other without handing their leaders over")
        file = config("controlled.shutdown.enable", "false", STATIC_BROKER_CONFIG)
        watch.base = replace(watch.base, configs={broker_resource(each): file for each in (1, 2, 3)})
        (claim,) = (each.claim for each in watch.poll(2)[-1].causes if each.claim.cause == "brokers-killed")
        assert not claim.is_guess
        assert KILLED not in named(watch.poll(600)[-1])


def killed(watch: Watch) -> bool:
    """Return whether a verdict of the watched polls has the cause that brokers are killed, not shut down."""
    return any(KILLED in named(each) for each in watch.verdicts)


def test_a_broker_that_closes_its_logs_for_long_handed_its_leaders_over() -> None:
    """A broker that is fenced 18 s after it handed its leaders over, because it closes its logs, still counts as shut
    down.
    """
    watch = Watch()
    for broker in (1, 2):
        watch.poll(18, behind=broker)
        watch.poll(20, fenced=broker)
        watch.poll(20)
    assert not killed(watch)


def test_a_broker_that_is_stopped_again_while_it_catches_up_has_nothing_to_hand_over() -> None:
    watch = Watch()
    for broker in (1, 2):
        for _ in range(2):
            watch.poll(1, behind=broker)
            watch.poll(15, fenced=broker)
            watch.poll(8, behind=broker)
        watch.poll(20)
    assert not killed(watch)


@pytest.mark.parametrize("silent", [0, 9])
def test_brokers_without_replicas_have_nothing_to_hand_over(silent: int) -> None:
    brokers = (*healthy().cluster.brokers, *(Broker(each, "127.0.0.1", 9000 + each, "r") for each in (4, 5)))
    watch = Watch(replace(healthy(), cluster=replace(healthy().cluster, brokers=brokers)))
    for broker in (4, 5):
        watch.poll(silent, silent=broker)
        watch.poll(10, fenced=broker)
        watch.poll(10)
    assert not killed(watch)


@pytest.mark.parametrize("silent", [0, 9])
def test_leaders_without_followers_cannot_be_handed_over(silent: int) -> None:
    watch = Watch(each_of_orders(healthy(), lambda each: each._replace(replicas=(each.leader,), isr=(each.leader,))))
    for broker in (1, 2, 3):
        watch.poll(silent, silent=broker)
        watch.poll(10, fenced=broker)
        watch.poll(10)
    assert not killed(watch)


def test_polls_that_are_far_apart_do_not_prove_a_kill() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        away = next((broker for broker in (1, 2, 3) if 6 * broker - 3 <= tick < 6 * broker), 0)
        return without_broker(snapshot, [away]) if away else snapshot

    assert KILLED not in named(diagnose(watched(change, 14)))
