"""Tests of records that a shorter retention deletes: from any source of the value, with one cause for each change, and
without a step once the former value is back.
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model import config
from console.model.cluster import LogRange, Partition, Topic
from console.model.codes import ConfigSource
from console.model.observed_logs import Jump, LogOffsets, Newest, ObservedLogs
from console.model.rates import SHORTEST, Counter, Rates
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.present.triage import MUTED_FOR, cause_id, cause_rows
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from console.triage.facts import Facts
from console.triage.observations import Observations, after, begin
from console.triage.past import MOST, ConfigChange, Cut, _losses, is_tighter
from console.triage.symptoms import Poll
from tests.support import samples
from tests.unit import test_triage as triage

TOPIC, BROKER, DEFAULT, STATIC = (ConfigSource(n) for n in (1, 2, 3, 4))
ORDERS = config.topic_resource("orders")

Own = Mapping[config.ConfigResource, Mapping[str, str]]
"""Resource (a topic, a broker, or the default of all brokers) -> the configs that it sets."""


def configured(snapshot: Snapshot, own: Own) -> Snapshot:
    """Return the snapshot with these configs, as brokers describe them; the brokers' files set a retention of a day."""
    default = own.get(config.CLUSTER_DEFAULT, {})
    configs = {
        config.CLUSTER_DEFAULT: config.ConfigSet(
            tuple(config.ConfigEntry(key, default[key], DEFAULT) for key in sorted(default))
        )
    }
    for broker in (1, 2, 3):
        mine = own.get(config.broker_resource(broker), {})
        keys = sorted({"log.retention.hours", "log.retention.bytes", "log.cleanup.policy", *default, *mine})
        of_file = {"log.retention.hours": "24", "log.retention.bytes": "-1", "log.cleanup.policy": "delete"}
        entries = (
            config.ConfigEntry(key, mine[key], BROKER)
            if key in mine
            else config.ConfigEntry(key, default[key], DEFAULT)
            if key in default
            else config.ConfigEntry(key, of_file.get(key), STATIC)
            for key in keys
        )
        configs[config.broker_resource(broker)] = config.ConfigSet(tuple(entries))
    of_topic = {"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": str(triage.DAY_MS)}
    topics_own = own.get(ORDERS, {})
    configs[ORDERS] = config.ConfigSet(
        tuple(
            config.ConfigEntry(key, topics_own.get(key, value), TOPIC if key in topics_own else STATIC)
            for key, value in of_topic.items()
        )
    )
    return replace(snapshot, configs=configs)


def observed(
    states: Mapping[int, Own],
    logs: Mapping[int, LogOffsets],
    ticks: int = 12,
    newest: Mapping[tuple[str, int], Newest] | None = None,
) -> Observations:
    """Return the observations of a cluster after `ticks` polls.

    states, logs: tick -> the configs, and the offsets of orders/0, from that tick on. newest: the newest records; None
    for none.
    """

    def poll(tick: int) -> Poll:
        own = states[max(at for at in states if at <= tick)]
        facts = Facts(triage.logs_at(tick, {0: LogOffsets(0, 900, 900), **logs}), newest=newest or {})
        known, at = configured(triage.fresh(triage.healthy(), tick), own), triage.START + tick * triage.TICK
        return Poll(at, replace(known, read_at={**known.read_at, "configs": at}), facts=facts)

    observations = begin(poll(0))
    for tick in range(1, ticks + 1):
        observations = after(observations, poll(tick))
    return observations


def deletions(verdict: Verdict) -> list[tuple[str, Severity, list[str]]]:
    """Return id, severity and the commands of the step of each cause `records-deleted`, the oldest first."""
    found = triage.claims_of(verdict, "records-deleted")
    return [
        (cause_id(each), each.severity, [command_of(edit) for step in each.next for edit in step.edits])
        for each in sorted(found, key=lambda claim: claim.since or triage.START)
    ]


CUT = {4: LogOffsets(700, 900, 900)}


@pytest.mark.parametrize(
    ("before", "then", "undone"),
    [
        ({}, {config.CLUSTER_DEFAULT: {"log.retention.ms": "1000"}}, "unset broker <default> log.retention.ms"),
        (
            {},
            {config.CLUSTER_DEFAULT: {"log.retention.minutes": "1"}},
            "unset broker <default> 'log.retention.minutes'",
        ),
        ({}, {config.broker_resource(1): {"log.retention.ms": "5000"}}, "unset broker 1 log.retention.ms"),
        (
            {config.CLUSTER_DEFAULT: {"log.retention.bytes": "9000000"}},
            {config.CLUSTER_DEFAULT: {"log.retention.bytes": "9"}},
            "set broker <default> log.retention.bytes=9000000",
        ),
        (
            {config.broker_resource(1): {"log.retention.ms": "-1"}},
            {},
            "set broker 1 log.retention.ms=-1",
        ),
        ({}, {ORDERS: {"retention.bytes": "1"}}, "unset topic orders retention.bytes"),
    ],
)
def test_a_cut_counts_wherever_the_value_is_from(before: Own, then: Own, undone: str) -> None:
    ((_, severity, staged),) = deletions(diagnose(observed({0: before, 3: then}, CUT)))
    assert severity is Severity.HIGH
    assert staged == [undone]


@pytest.mark.parametrize(
    "then",
    [
        {config.broker_resource(2): {"log.retention.ms": "1000"}},  # another broker leads the partition
        {config.CLUSTER_DEFAULT: {"log.retention.ms": str(7 * triage.DAY_MS)}},  # a longer retention
        {config.CLUSTER_DEFAULT: {"log.retention.hours": "24"}},  # the same retention
        {config.CLUSTER_DEFAULT: {"log.cleaner.threads": "2"}},
    ],
)
def test_what_does_not_reach_the_log_is_not_to_blame(then: Own) -> None:
    assert deletions(diagnose(observed({0: {}, 3: then}, CUT))) == []


def test_a_topics_own_value_shields_it() -> None:
    own = {ORDERS: {"retention.ms": str(triage.DAY_MS)}}
    assert (
        deletions(diagnose(observed({0: own, 3: {**own, config.CLUSTER_DEFAULT: {"log.retention.ms": "1"}}}, CUT)))
        == []
    )


def test_each_change_is_a_cause_also_the_same_one_twice_and_what_was_put_back_is_past() -> None:
    """If a topic's own retention is shortened and restored, and then the default is shortened, the second deletion of
    records is named as caused by the default, not by the topic's retention.
    """
    states: dict[int, Own] = {
        0: {},
        2: {ORDERS: {"retention.ms": "60000"}},
        5: {},
        8: {config.CLUSTER_DEFAULT: {"log.retention.ms": "1000"}},
    }
    logs = {3: LogOffsets(100, 900, 900), 9: LogOffsets(900, 900, 900)}
    first, second = deletions(diagnose(observed(states, logs)))
    assert (first[1:], second[1:]) == (
        (Severity.INFO, []),
        (Severity.HIGH, ["unset broker <default> log.retention.ms"]),
    )
    assert first[0] != second[0]
    cut: Own = {ORDERS: {"retention.ms": "60000"}}
    states: dict[int, Own] = {0: {}, 2: cut, 5: {}, 8: cut}
    logs = {3: LogOffsets(100, 900, 900), 9: LogOffsets(900, 900, 900)}
    first, second = deletions(diagnose(observed(states, logs)))
    assert [first[1], second[1]] == [Severity.INFO, Severity.HIGH]
    assert first[0] != second[0]


@pytest.mark.parametrize(
    ("place", "key", "undone"),
    [
        (ORDERS, "retention.ms", "unset topic orders retention.ms"),
        (config.CLUSTER_DEFAULT, "log.retention.ms", "unset broker <default> log.retention.ms"),
    ],
)
def test_a_cut_that_is_changed_into_another_one_goes_on(place: config.ConfigResource, key: str, undone: str) -> None:
    """If a shortened retention of one second becomes two, and records are still deleted, the step sets the value from
    before both changes.
    """
    states: dict[int, Own] = {0: {}, 2: {place: {key: "1000"}}, 6: {place: {key: "2000"}}}
    ((_, severity, staged),) = deletions(diagnose(observed(states, CUT)))
    assert (severity, staged) == (Severity.INFO, [])
    more = {**CUT, 9: LogOffsets(800, 900, 900)}
    verdict = diagnose(observed(states, more))
    ((_, severity, staged),) = deletions(verdict)
    assert (severity, staged) == (Severity.HIGH, [undone])
    (claim,) = triage.claims_of(verdict, "records-deleted")
    assert (claim.times, claim.title[:19]) == (2, "orders: 800 offsets")
    ((_, severity, staged),) = deletions(diagnose(observed({**states, 11: {}}, more)))
    assert (severity, staged) == (Severity.INFO, [])


def test_one_change_of_many_topics_is_one_cause() -> None:
    """A change that deletes records of many topics is one cause, whose title has the number of topics."""
    observations = observed({0: {}, 3: {config.CLUSTER_DEFAULT: {"log.retention.ms": "1000"}}}, CUT)
    (loss,) = observations.past.losses
    more = tuple(loss._replace(jump=loss.jump._replace(topic=f"topic-{n}")) for n in range(4))
    past = replace(observations.past, losses=(loss, *more))
    (named,) = [c for c in diagnose(replace(observations, past=past)).causes if c.claim.cause == "records-deleted"]
    assert named.claim.title.startswith("orders, topic-0, topic-1 and 2 more: 3,500 offsets")


def test_a_mute_ends_with_the_next_loss() -> None:
    cut: Own = {ORDERS: {"retention.ms": "60000"}}
    logs = {3: LogOffsets(100, 900, 900)}
    verdict = diagnose(observed({0: {}, 2: cut}, logs))
    (row,) = cause_rows(verdict, {})
    muted = {cause_id(row.claim): verdict.at + MUTED_FOR}
    assert [each.muted is not None for each in cause_rows(verdict, muted)] == [True]
    later = diagnose(observed({0: {}, 2: cut}, {**logs, 14: LogOffsets(300, 900, 900)}, ticks=14))
    assert cause_id(later.causes[0].claim) == cause_id(row.claim)
    assert [each.muted for each in cause_rows(later, muted)] == [None]
    assert later.at - verdict.at < timedelta(minutes=1)


def values() -> st.SearchStrategy[str | None]:
    return st.one_of(st.none(), st.integers(-1, 10**18).map(str), st.sampled_from(["", "delete", "compact", "x"]))


@given(st.sampled_from(["retention.ms", "retention.bytes", "cleanup.policy"]), values(), values())
def test_of_two_values_at_most_one_way_is_shorter(key: str, one: str | None, other: str | None) -> None:
    assert not (is_tighter(key, one, other) and is_tighter(key, other, one))


@given(st.lists(st.integers(0, 3), max_size=8))
def test_of_changes_of_which_none_is_in_force_none_is_to_mend(settings: Iterable[int]) -> None:
    """If no shortened retention is in force at the end, no cause has an edit to stage."""
    lengths = ("1", "1000", "60000", str(triage.DAY_MS - 1))
    states: dict[int, Own] = {0: {}}
    for place, each in enumerate(settings):
        states[2 + 2 * place] = {config.CLUSTER_DEFAULT: {"log.retention.ms": lengths[each]}}
    states[2 + 2 * len(states)] = {}
    logs = {tick: LogOffsets(10 * tick, 900, 900) for tick in range(1, 24)}
    for _, severity, staged in deletions(diagnose(observed(states, logs, ticks=24))):
        assert (severity, staged) in ((Severity.INFO, []), (Severity.HIGH, []))


def test_what_was_read_of_other_resources_does_not_move_the_time_of_a_change() -> None:
    """The time range of a changed default begins at its own last read, a minute ago, although a pane reads the configs
    of one topic again and again.
    """
    base, cut = (
        configured(triage.healthy(), {}),
        configured(triage.healthy(), {config.CLUSTER_DEFAULT: {"log.retention.ms": "1"}}),
    )
    minute = dict.fromkeys(base.configs, triage.START)

    def poll(tick: int, configs: Snapshot) -> Poll:
        at = triage.START + tick * triage.TICK
        read_at = {**configs.read_at, "configs": at}
        known = replace(triage.fresh(configs, tick), configs_at=minute, read_at=read_at)
        return Poll(at, known, facts=Facts(triage.logs_at(tick, {0: LogOffsets(0, 900, 900), **CUT})))

    observations = begin(poll(0, base))
    for tick in range(1, 9):
        observations = after(observations, poll(tick, cut if tick >= 6 else base))
    ((_, severity, staged),) = deletions(diagnose(observations))
    assert (severity, staged) == (Severity.HIGH, ["unset broker <default> log.retention.ms"])


def test_a_mute_ends_with_the_next_unclean_election() -> None:
    """Two unclean elections of one partition are one row, that of the last one, so a mute of the first does not hide
    it.
    """
    observations = triage.watched(triage._unclean)
    (led,) = observations.past.unclean
    (row,) = [each for each in cause_rows(diagnose(observations), {}) if each.claim.cause == "unclean-election"]
    muted = {cause_id(row.claim): led.at + triage.TICK + MUTED_FOR}
    assert [
        each.muted is not None for each in cause_rows(diagnose(observations), muted) if each.claim == row.claim
    ] == [True]
    second = led._replace(leader=3, epoch=9, at=led.at + 2 * triage.TICK)
    later = diagnose(replace(observations, past=replace(observations.past, unclean=(led, second))))
    (again,) = [each for each in cause_rows(later, muted) if each.claim.cause == "unclean-election"]
    assert (again.muted, again.claim.times, again.claim.since) == (None, 2, second.at)
    assert cause_id(again.claim) == cause_id(row.claim)


@pytest.mark.parametrize(
    ("committed", "member", "kept", "severity", "certainty", "said"),
    [
        (95, "m1", 3_600_000, Severity.INFO, Certainty.CERTAIN, "had read all of them"),
        (95, "m1", 604_800, Severity.WARNING, Certainty.CERTAIN, "604,800 s are 7 days"),
        (95, "m1", 600_000, Severity.INFO, Certainty.CERTAIN, "had read all of them"),
        (40, "m1", 604_800, Severity.HIGH, Certainty.CERTAIN, "604,800 s are 7 days"),
        (40, "m1", 3_600_000, Severity.HIGH, Certainty.CERTAIN, "group billing had not read 50 of them"),
        (40, "", 3_600_000, Severity.WARNING, Certainty.POSSIBLE, "group billing had not read 50 of them"),
        (None, "", 3_600_000, Severity.WARNING, Certainty.POSSIBLE, ""),
        (None, "", 60_000, Severity.HIGH, Certainty.CERTAIN, ""),
    ],
    ids=[
        "read",
        "read, in seconds",
        "read, minutes",
        "unread, in seconds",
        "unread",
        "a group that nobody uses",
        "no group",
        "kept for no time",
    ],
)
def test_what_no_reader_misses_was_perhaps_deleted_on_purpose(
    committed: int | None, member: str, kept: int, severity: Severity, certainty: Certainty, said: str
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        cut = triage.kept_for(snapshot, kept if tick >= 3 else triage.DAY_MS)
        if committed is None:
            return replace(cut, groups={}, lags={})
        return triage.moved(cut, {0: (committed, 100)}, "Stable" if member else "Empty", member)

    before = change(triage.healthy(), 0)
    verdict = diagnose(triage.watched(change, before=before, facts=lambda t: Facts(triage._deleted(t).logs)))
    (claim,) = triage.claims_of(verdict, "records-deleted")
    assert (claim.severity, claim.certainty) == (severity, certainty)
    assert said in " ".join(each.fact for each in claim.evidence)
    assert ("not read" in " ".join(each.fact for each in claim.evidence)) is (committed == 40)


@pytest.mark.parametrize(("policy", "is_table"), [("delete", True), ("compact,delete", False)])
def test_keys_of_a_table_are_lost_although_its_group_had_read_them(policy: str, *, is_table: bool) -> None:
    verdict = diagnose(
        observed(
            {0: {ORDERS: {"cleanup.policy": "compact"}}, 3: {ORDERS: {"cleanup.policy": policy}}},
            {4: LogOffsets(50, 900, 900)},
        )
    )
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "records-deleted"]
    assert any("start again from its beginning" in each.fact for each in claim.evidence) is is_table
    assert (claim.severity is Severity.HIGH) is is_table


@pytest.mark.parametrize(("usable", "is_put_back"), [(80, False), (500, True)])
def test_a_retention_that_rescues_a_full_disk_is_not_put_back(usable: int, *, is_put_back: bool) -> None:
    """If a shorter retention freed a nearly full disk, no step restores the former retention."""

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        left = usable if tick < 3 else 700
        cut = triage.kept_for(snapshot, 60_000 if tick >= 3 else triage.DAY_MS)
        dirs = {broker: (samples.held(total=1_000, usable=left),) for broker in (1, 2, 3)}
        return replace(triage.moved(cut, {0: (40, 100)}), log_dirs=dirs)

    before = change(triage.healthy(), 0)
    verdict = diagnose(triage.watched(change, before=before, facts=lambda t: Facts(triage._deleted(t).logs)))
    (claim,) = triage.claims_of(verdict, "records-deleted")
    assert bool(claim.next[0].edits) is is_put_back
    assert ("was nearly full" in claim.next[0].text) is not is_put_back


LEADER, MINUTE_OLD = config.broker_resource(1), {("orders", 0): Newest(triage.now_ms(0) - 60_000, 650)}
HALF_A_DAY = {LEADER: {"log.retention.ms": "43200000"}}


@pytest.mark.parametrize(
    ("own", "newest", "command"),
    [
        ({LEADER: {"log.retention.ms": "5000"}}, {}, "set broker 1 log.retention.ms=86400000"),
        ({LEADER: {"log.retention.bytes": "4096"}}, MINUTE_OLD, "set broker 1 log.retention.bytes=-1"),
        ({LEADER: {"log.retention.bytes": "4096"}}, {}, ""),
        ({config.broker_resource(2): {"log.retention.ms": "5000"}}, {}, ""),
        ({config.CLUSTER_DEFAULT: {"log.retention.ms": "5000"}}, {}, ""),
        ({LEADER: {"log.retention.ms": "5000"}, ORDERS: {"retention.ms": "86400000"}}, {}, ""),
        ({LEADER: {"log.retention.bytes": "1000000000000"}, ORDERS: {"retention.ms": "60000"}}, {}, ""),
        ({**HALF_A_DAY, ORDERS: {"retention.bytes": "4096"}}, {}, ""),
        ({**HALF_A_DAY, ORDERS: {"cleanup.policy": "compact"}}, {}, ""),
        (HALF_A_DAY, MINUTE_OLD, ""),
    ],
    ids=[
        "time",
        "size",
        "size, but the time limit of all brokers may delete them",
        "another broker's",
        "every broker's",
        "the topic has its own",
        "the topic's own time limit may delete them",
        "the topic's own size limit may delete them",
        "compacted",
        "younger than the leader's limit",
    ],
)
def test_a_leader_that_alone_keeps_records_for_less_time_deleted_them(
    own: Own, newest: Mapping[tuple[str, int], Newest], command: str
) -> None:
    """If only the leader's own settings give a shorter retention, set before kac was opened, triage names them for
    deleted records; kac reads the topic's configs from another broker.
    """
    verdict = diagnose(observed({0: own}, CUT, newest=newest))
    found = [each.claim for each in verdict.causes if each.claim.cause == "records-deleted"]
    if command:
        (claim,) = found
        assert (claim.subject.broker, claim.certainty) == (1, Certainty.LIKELY)
        assert "broker 1, the leader, has log.retention" in " ".join(each.fact for each in claim.evidence)
        assert [command_of(edit) for edit in claim.next[0].edits] == [command]
    else:
        assert not any(claim.subject.broker for claim in found)
    if own is HALF_A_DAY or "cleanup.policy" in own.get(ORDERS, {}):
        assert [claim.certainty for claim in found] == [Certainty.CERTAIN]  # only a request deletes them


def test_the_limit_of_a_leader_is_told_in_its_own_unit_and_ends_with_it() -> None:
    own = {LEADER: {"log.retention.hours": "12"}}
    (claim,) = triage.claims_of(diagnose(observed({0: own}, CUT)), "records-deleted")
    assert "broker 1, the leader, has log.retention.hours=12; the other brokers have 24" in [
        each.fact for each in claim.evidence
    ]
    assert [command_of(edit) for edit in claim.next[0].edits] == ["set broker 1 'log.retention.hours'=24"]
    (claim,) = triage.claims_of(diagnose(observed({0: own, 6: {}}, CUT)), "records-deleted")
    assert (claim.severity, claim.next) == (Severity.INFO, ())
    assert claim.title.endswith("; it was changed since")


@pytest.mark.parametrize(("full_from", "is_meant"), [(0, True), (5, False), (99, False)])
def test_a_short_retention_that_another_client_sets_on_a_full_disk_may_be_meant(
    full_from: int, *, is_meant: bool
) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        cut = triage.kept_for(snapshot, 1_000 if tick >= 3 else triage.DAY_MS)
        usable = 80 if tick >= full_from else 500
        dirs = {broker: (samples.held(("orders", 0, 900), total=1_000, usable=usable),) for broker in (1, 2, 3)}
        return replace(triage.moved(cut, {0: (95, 100)}), log_dirs=dirs)

    verdict = diagnose(triage.watched(change, before=change(triage.healthy(), 0), facts=triage._whole_logs))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause == "changed-lately"]
    assert (claim.severity is Severity.INFO) is is_meant
    assert any(step.edits for step in claim.next) is not is_meant


def test_a_longer_retention_on_a_full_disk_is_no_rescue() -> None:
    """A change to a longer retention does not count as freeing a full disk."""
    places, shortest = [("orders", number) for number in range(6)], int(SHORTEST)
    came, more = (
        {place: Counter(0.0, 0, 0.0, 0, SHORTEST, rate * shortest) for place in places} for rate in (1_000, 100_000)
    )

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        kept = triage.kept_for(snapshot, 30 * triage.DAY_MS if tick >= 3 else 60_000)
        held = samples.held(*((*place, 10**6) for place in places), total=10**10, usable=8 * 10**8)
        return replace(
            triage.moved(kept, {0: (95, 100)}),
            log_dirs=dict.fromkeys((1, 2, 3), (held,)),
            log_ranges=dict.fromkeys(places, LogRange(0, 900)),
            rates=Rates(came, more),
        )

    verdict = diagnose(triage.watched(change, before=change(triage.healthy(), 0), facts=triage._whole_logs))
    (claim,) = triage.claims_of(verdict, "changed-lately")
    assert (claim.severity, claim.certainty) == (Severity.WARNING, Certainty.CERTAIN)
    assert not any("meant to help" in each.fact for each in claim.evidence)


def test_jumps_that_are_not_kept_are_not_examined_again() -> None:
    """If there are more deletions of records than kac keeps, the newest stay from poll to poll, and dropped ones are
    not examined again. A change that is read later is examined.
    """
    names = [f"t{number}" for number in range(MOST + 100)]
    topics = {name: Topic(name, (Partition(0, 1, (1,), (1,)),), topic_id=name) for name in names}
    start = triage.START.timestamp()
    logs = ObservedLogs(start + 5, {}, tuple(Jump(name, 0, 0, 100, start + 4, start + 5) for name in names))

    def poll(tick: int, logs: ObservedLogs = logs) -> Poll:
        at = triage.START + tick * triage.TICK
        return Poll(at, replace(triage.healthy(), topics=topics), facts=Facts(logs))

    def cut(tick: int, resource: config.ConfigResource, broker: int | None) -> Cut:
        at = triage.START + tick * triage.TICK
        change = ConfigChange(resource, "retention.ms", "9", "1", triage.START, at, "9", "1")
        return Cut(change, "retention.ms", "9", "1", broker)

    of_broker = cut(1, config.broker_resource(1), 1)
    first = tuple(_losses((), poll(0, ObservedLogs(start)), poll(1), [of_broker], {}))[-MOST:]
    assert [each.jump.topic for each in first] == names[-MOST:]
    assert tuple(_losses(first, poll(1), poll(2), [of_broker], {})) == first
    late = cut(3, config.topic_resource("t0"), None)
    found = _losses(first, poll(2), poll(3), [late], {})
    assert [each.jump.topic for each in found if each.change == late.change] == ["t0"]
    assert not _losses((), poll(3), poll(40), [late], {}), "the change was read long after the deletion"


# -- records that a retention deletes before a slow group reads them -------------------------------------------------


def overtaken(change: triage.Change, ticks: int = 12, *, deletes: bool = True) -> list[Claim]:
    before = change(triage.healthy(), 0)
    facts = triage.overtaken if deletes else triage._whole_logs
    verdict = diagnose(triage.watched(change, ticks, before=before, facts=facts))
    return triage.claims_of(verdict, "records-overtaken")


def kept(retention_ms: int) -> triage.Change:
    """Return a change of the cluster: a slow group, and this retention.ms of its topic."""
    return lambda snapshot, tick: triage.kept_for(triage.slow(snapshot, tick), retention_ms)


def test_a_slow_group_that_its_retention_overtakes_is_named_with_the_limit() -> None:
    (claim,) = overtaken(kept(25_000))
    assert claim.title == "group billing: 45 records of orders were deleted before it read them"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.CERTAIN)
    assert any("retention.ms is 25,000" in each.fact for each in claim.evidence)
    assert [command_of(edit) for edit in claim.next[0].edits] == ["set topic orders retention.ms=50000"]

    def of_size(snapshot: Snapshot, tick: int) -> Snapshot:
        known = triage.slow(snapshot, tick)
        values = {"cleanup.policy": "delete", "retention.bytes": "1000", "retention.ms": "25000"}
        return replace(known, configs={ORDERS: samples.config_set(values, TOPIC)})

    (claim,) = overtaken(of_size)
    assert not claim.next[0].edits, "either limit may have deleted them"
    assert claim.next[0].text.endswith("retention.ms or retention.bytes")


@pytest.mark.parametrize("retention_ms", [300_000, 7 * triage.DAY_MS])
def test_records_younger_than_the_retention_may_have_been_deleted_by_a_request(retention_ms: int) -> None:
    """If the deleted records were younger than the retention (the group's next record is 25 s old), the first step
    names a DeleteRecords request and retention.ms as possible reasons, and no step has an edit.
    """
    (claim,) = overtaken(kept(retention_ms))
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert not any(step.edits for step in claim.next)
    assert "DeleteRecords" in claim.next[0].text
    assert "retention.ms" in claim.next[0].text


@pytest.mark.parametrize("retention_ms", [2**63 - 1, 2**62])
def test_a_retention_longer_than_timestamps_deletes_nothing(retention_ms: int) -> None:
    change = kept(retention_ms)
    verdict = diagnose(triage.watched(change, 12, before=change(triage.healthy(), 0), facts=triage.overtaken))
    (claim,) = [each.claim for each in verdict.causes if each.claim.cause.startswith("records-")]
    assert claim.cause == "records-deleted"
    assert not any(step.edits for step in claim.next)
    assert any("keeps records for ever" in each.fact for each in claim.evidence)


def _at(committed: int, member: str = "m1", policy: str = "delete") -> triage.Change:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        state = "Stable" if member else "Empty"
        known = triage.moved(triage.kept_for(snapshot, 300_000), {0: (committed, 100 + 50 * tick)}, state, member)
        values = {"cleanup.policy": policy, "retention.bytes": "-1", "retention.ms": "300000"}
        return replace(known, configs={ORDERS: samples.config_set(values, TOPIC)})

    return change


@pytest.mark.parametrize(
    "change",
    [_at(150), _at(100, ""), _at(140), _at(100, policy="compact"), triage.as_it_was],
    ids=["ahead of the start", "a group that nobody uses", "a few records", "compacted", "has read all"],
)
def test_who_misses_no_record_is_not_overtaken(change: triage.Change) -> None:
    assert not overtaken(change)


def test_a_cut_that_is_read_after_the_deletion_is_the_cause_instead() -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        return replace(
            triage.slow(snapshot, tick), configs=triage.kept_for(snapshot, 10**9 if tick < 8 else 1000).configs
        )

    verdict = diagnose(triage.watched(change, 12, before=change(triage.healthy(), 0), facts=triage.overtaken))
    assert {"records-deleted"} == {each.claim.cause for each in verdict.causes if "records" in each.claim.cause}


@pytest.mark.parametrize(
    ("retention_ms", "ticks", "words"),
    [(300_000, 54, "before it reads them, in "), (600_000, 54, ""), (200_000, 54, ""), (300_000, 70, "at any time")],
    ids=["near", "far", "too short", "beyond"],
)
def test_a_group_near_the_end_of_the_retention_is_warned_of(retention_ms: int, ticks: int, words: str) -> None:
    """Triage warns before retention deletes records that a group has not read; at each poll the group's next record is
    5 s older.
    """
    found = overtaken(kept(retention_ms), ticks, deletes=False)
    expected = [(Severity.WARNING, Certainty.LIKELY)] if words else []
    assert [(each.severity, each.certainty) for each in found] == expected
    assert all(each.title.startswith(f"group billing: records of orders may be deleted {words}") for each in found)
