"""Tests of the replication between brokers that are up: which brokers do not follow which, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.model.acl import Acl
from console.model.certificates import Certificate, Listener
from console.model.cluster import Partition, ScramCredential
from console.model.codes import STATIC_BROKER_CONFIG, ScramMechanism
from console.model.config import broker_resource
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.plan.edits import AddAcl
from console.triage.cause import Claim
from console.triage.diagnosis import diagnose
from console.triage.facts import Facts
from console.triage.symptoms import Subject
from tests.support import samples
from tests.unit import test_triage_restarts
from tests.unit.test_triage import PARTS, START, TICK, config, each_of_orders, healthy, named, watched, without_broker
from tests.unit.test_triage_restarts import Watch

CLUSTER = "replication-broken", Subject()


def leader_only(each: Partition) -> Partition:
    return each._replace(isr=(each.leader,))


def test_brokers_that_do_not_follow_one_another_are_one_row() -> None:
    verdict = diagnose(watched(lambda s, tick: each_of_orders(s, leader_only) if tick >= 3 else s))
    assert named(verdict) == {CLUSTER}
    assert not verdict.unexplained
    (claim,) = (each.claim for each in verdict.causes)
    assert claim.title == "brokers 1, 2, 3 do not follow one another: 6 partitions have only the leader in sync"
    assert (claim.severity, claim.certainty) == (Severity.HIGH, Certainty.LIKELY)
    assert claim.since == START + 3 * TICK
    assert "CLUSTER_ACTION" in claim.next[-1].text


@pytest.mark.parametrize("followed", [0, 3])
def test_a_follower_in_sync_where_another_is_not_is_no_trouble_of_all(followed: int) -> None:
    """If some replica of a partition is in sync, triage does not say that all brokers fail to follow one another."""

    def isr(each: Partition) -> Partition:
        return each._replace(isr=each.replicas[:2]) if each.number == followed else leader_only(each)

    assert CLUSTER not in named(diagnose(watched(lambda s, _: each_of_orders(s, isr))))


def test_one_broker_that_is_cut_off_both_ways_is_no_trouble_of_all() -> None:
    """If each partition with a replica on broker 3 lacks one of its two replicas, triage names broker 3, not all
    brokers.
    """

    def two(each: Partition) -> Partition:
        replicas = each.replicas[:2]
        return each._replace(replicas=replicas, isr=(each.leader,) if 3 in replicas else replicas)

    verdict = diagnose(watched(lambda s, tick: each_of_orders(s, two) if tick >= 3 else s))
    assert CLUSTER not in named(verdict)
    assert any(cause == "replication-broken" for cause, _ in named(verdict))


def test_followers_that_are_away_are_not_expected() -> None:
    def change(snapshot: Snapshot, _tick: int) -> Snapshot:
        brokers = tuple(replace(each, fenced=each.id != 1) for each in snapshot.cluster.brokers)
        alone = each_of_orders(snapshot, lambda each: each._replace(leader=1, isr=(1,)))
        return replace(alone, cluster=replace(snapshot.cluster, brokers=brokers))

    assert CLUSTER not in named(diagnose(watched(change)))


def of_cluster(operation: str) -> Acl:
    """Return an ACL that allows the brokers' user an operation on the cluster."""
    return samples.acl("User:broker", "kafka-cluster", operation, on="CLUSTER")


@pytest.mark.parametrize(
    ("acl", "lost_at", "is_named", "has_edit"),
    [
        (of_cluster("CLUSTER_ACTION"), 3, True, True),
        (of_cluster("ALL"), 3, True, False),  # it may have been taken from another user for good reason
        (of_cluster("DESCRIBE"), 3, False, False),
        (of_cluster("CLUSTER_ACTION"), 8, False, False),  # after they left
        (samples.acl("User:shop", "orders", "WRITE"), 3, False, False),
    ],
)
def test_a_right_that_brokers_lost_is_the_reason(acl: Acl, lost_at: int, *, is_named: bool, has_edit: bool) -> None:
    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        acls = () if tick >= lost_at else (acl,)
        at = START + tick * TICK
        known = replace(snapshot, acls=acls, read_at={**snapshot.read_at, Part.ACLS: at})
        return each_of_orders(known, leader_only) if tick >= 5 else known

    causes = diagnose(watched(change, 10, before=change(healthy(), 0))).causes
    (claim,) = (each.claim for each in causes if each.claim.cause == CLUSTER[0])
    assert ("was removed" in claim.title) is is_named, claim.title
    assert (claim.next[0].edits == (AddAcl(acl),)) is has_edit


CONTRACTOR = samples.acl("User:contractor", "kafka-cluster", "ALL", on="CLUSTER")


def with_rights(rights: Callable[[int], Sequence[Acl]], out: Callable[[Partition], Partition], at: int) -> Claim:
    """Return the claim about the replication 12 ticks after replicas left ISRs.

    Args:
        rights: tick -> the ACLs.
        out: returns a partition after replicas left its ISR.
        at: the tick at which they leave.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        read_at = {**snapshot.read_at, Part.ACLS: START + tick * TICK}
        known = replace(snapshot, acls=tuple(sorted(rights(tick))), read_at=read_at)
        return each_of_orders(known, out) if tick >= at else known

    causes = diagnose(watched(change, at + 6, before=change(healthy(), 0))).causes
    (claim,) = (each.claim for each in causes if each.claim.cause == CLUSTER[0])
    return claim


def test_a_right_that_was_given_back_is_no_reason() -> None:
    claim = with_rights(lambda tick: () if 2 <= tick < 4 else (of_cluster("CLUSTER_ACTION"),), leader_only, 5)
    assert "was removed" not in claim.title
    assert not any(each.edits for each in claim.next)


def test_several_rights_that_were_lost_are_all_named_and_none_is_given_back() -> None:
    mine = of_cluster("CLUSTER_ACTION")
    claim = with_rights(lambda tick: [] if tick >= 4 else [mine] if tick >= 2 else [mine, CONTRACTOR], leader_only, 6)
    assert "; ALLOW CLUSTER_ACTION for User:broker on the cluster was removed at 03:00:20, ALLOW ALL" in claim.title
    assert not any(each.edits for each in claim.next)


def broker_3_out(each: Partition) -> Partition:
    return each._replace(isr=tuple(b for b in each.isr if b != 3 or b == each.leader))


def test_the_right_of_another_user_is_not_why_one_broker_is_behind() -> None:
    mine = of_cluster("CLUSTER_ACTION")
    claim = with_rights(lambda tick: [mine] if tick >= 2 else [mine, CONTRACTOR], broker_3_out, 30)
    assert claim.title == "broker 3 is out of the ISR of 4 partitions"
    assert not any(each.edits for each in claim.next)


def test_new_replicas_are_expected_only_once_the_moves_are_known() -> None:
    """If all partitions get a second replica, and the reassignments are read some seconds after the topics, triage does
    not name broken replication meanwhile.
    """
    one = each_of_orders(healthy(), lambda each: each._replace(replicas=(each.leader,), isr=(each.leader,)))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        read_at = {**snapshot.read_at, Part.REASSIGNMENTS: START + tick // 4 * 4 * TICK}
        wider = each_of_orders(snapshot, lambda each: each._replace(replicas=(each.leader, each.leader % 3 + 1)))
        return replace(wider if tick >= 2 else snapshot, read_at=read_at)

    for ticks, severity in ((3, Severity.INFO), (6, Severity.HIGH)):
        causes = diagnose(watched(change, ticks, before=one)).causes
        (found,) = (each.claim.severity for each in causes if each.claim.subject == CLUSTER[1])
        assert found is severity, ticks


def of_broker_3(watch: Watch) -> Claim:
    (found,) = (each.claim for each in watch.verdicts[-1].causes if each.claim.subject == Subject(broker=3))
    return found


SCRAM = "sasl.mechanism.inter.broker.protocol"


@pytest.mark.parametrize(
    ("mechanism", "deleted_before", "is_named"),
    [("SCRAM-SHA-512", True, True), ("PLAIN", True, False), ("SCRAM-SHA-512", False, False)],
)
def test_a_scram_user_of_brokers_that_was_deleted_before_a_restart(
    mechanism: str, *, deleted_before: bool, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_triage_restarts, "PARTS", (*PARTS, Part.SCRAM))
    file = {SCRAM: mechanism, "inter.broker.listener.name": "INSIDE"}
    configs = {broker_resource(each): samples.config_set(file, STATIC_BROKER_CONFIG) for each in (1, 2, 3)}
    user = {"broker": (ScramCredential(ScramMechanism(1), 4096),)}
    base = replace(healthy(), configs=configs, scram=user)
    watch = Watch(base)
    for is_now in (deleted_before, True):
        watch.base = replace(base, scram={} if is_now else user)
        watch.poll(10, fenced=3 if is_now == deleted_before else 0)
        watch.poll(1)
    watch.poll(70, behind=3)
    claim = of_broker_3(watch)
    assert claim.cause == "replication-broken"
    assert ("SCRAM user broker was deleted" in claim.title) is is_named, claim.title


@pytest.mark.parametrize(
    ("key", "is_named"), [("security.inter.broker.protocol", True), ("num.io.threads", False), ("super.users", True)]
)
def test_a_line_of_the_file_with_which_a_broker_came_back(key: str, *, is_named: bool) -> None:
    watch = Watch(replace(healthy(), configs={broker_resource(3): config(key, "a", STATIC_BROKER_CONFIG)}))
    watch.poll(10, fenced=3)
    watch.base = replace(watch.base, configs={broker_resource(3): config(key, "b", STATIC_BROKER_CONFIG)})
    watch.poll(2)
    watch.poll(70, behind=3)
    claim = of_broker_3(watch)
    assert claim.cause == "replication-broken"
    assert claim.title.endswith(f"; broker 3 came back with another {key}") is is_named, claim.title
    assert claim.next[0].text.startswith(f"compare {key} in server.properties of broker 3") is is_named


def test_a_line_with_which_a_broker_was_in_sync_is_no_reason() -> None:
    watch = Watch(replace(healthy(), configs={broker_resource(3): config("super.users", "a", STATIC_BROKER_CONFIG)}))
    watch.poll(10, fenced=3)
    watch.base = replace(watch.base, configs={broker_resource(3): config("super.users", "b", STATIC_BROKER_CONFIG)})
    watch.poll(150)
    watch.poll(70, behind=3)
    assert of_broker_3(watch).title == "broker 3 is out of the ISR of 6 partitions"


@pytest.mark.parametrize(
    ("users", "in_sync", "words"),
    [
        (("broker", "shop"), 1, "; 2 SCRAM users were changed or deleted (broker, shop), before the restart"),
        (("shop",), 1, "; SCRAM user shop was deleted at 03:00:05, before the restart"),
        (("shop",), 150, ""),  # the brokers reached one another for a while
    ],
)
def test_scram_users_that_changed_before_a_restart(
    users: tuple[str, ...], in_sync: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(test_triage_restarts, "PARTS", (*PARTS, Part.SCRAM))
    file = {SCRAM: "SCRAM-SHA-512", "inter.broker.listener.name": "INSIDE"}
    configs = {broker_resource(each): samples.config_set(file, STATIC_BROKER_CONFIG) for each in (1, 2, 3)}
    known = {each: (ScramCredential(ScramMechanism(1), 4096),) for each in ("broker", "shop")}
    watch = Watch(replace(healthy(), configs=configs, scram=known))
    for user in reversed(users):
        known = {name: each for name, each in known.items() if name != user}
        watch.base = replace(watch.base, scram=known)
        watch.poll(10)
    watch.poll(10, fenced=3)
    watch.poll(in_sync)
    watch.poll(70, behind=3)
    assert of_broker_3(watch).title == f"broker 3 is out of the ISR of 6 partitions{words}"


# -- replicas that leave ISRs and come back ----------------------------------------------------------------------------

LAG_TIME, WAIT = "replica.lag.time.max.ms", "replica.fetch.wait.max.ms"


def flapping(times: int, *, brokers: tuple[int, ...] = (2,), lag: str = "30000") -> Watch:
    """Return polls in which replicas are out of ISRs for 3 s of every 10 s.

    Args:
        times: how often they leave.
        brokers: the brokers of these replicas.
        lag: the brokers' replica.lag.time.max.ms.
    """
    file = samples.config_set({LAG_TIME: lag, WAIT: "500"}, STATIC_BROKER_CONFIG)
    base = replace(healthy(), configs={broker_resource(each): file for each in (1, 2, 3)})
    watch = Watch(base)

    def out(each: Partition) -> Partition:
        return each._replace(isr=tuple(b for b in each.isr if b not in brokers or b == each.leader))

    for _ in range(times):
        watch.base = each_of_orders(base, out)
        watch.poll(3)
        watch.base = base
        watch.poll(7)
    return watch


def isr_flaps(watch: Watch) -> list[Claim]:
    return [each.claim for each in watch.verdicts[-1].causes if each.claim.cause == "isr-flaps"]


@pytest.mark.parametrize(("times", "is_named"), [(3, False), (4, True), (6, True)])
def test_replicas_that_leave_isrs_again_and_again(times: int, *, is_named: bool) -> None:
    watch = flapping(times)
    assert bool(isr_flaps(watch)) is is_named
    if is_named:
        (claim,) = isr_flaps(watch)
        assert claim.subject == Subject(broker=2)
        assert claim.title == "the replicas of broker 2 leave ISRs and come back again and again"
        assert (claim.severity, claim.certainty, claim.times) == (Severity.WARNING, Certainty.LIKELY, times)
        watch.poll(30)
        assert not isr_flaps(watch), "it is over"


def test_a_lag_time_of_one_fetch_is_why_all_replicas_flap() -> None:
    (claim,) = isr_flaps(flapping(4, brokers=(1, 2, 3), lag="500"))
    assert claim.subject == Subject()
    assert claim.title.startswith("the replicas of brokers 1, 2, 3 leave ISRs")
    assert claim.title.endswith(f": {LAG_TIME} is 500 ms")
    assert claim.next[0].text.startswith(f"set {LAG_TIME} to Kafka's default")


@pytest.mark.parametrize(("short", "is_named"), [((2,), False), ((1, 3), True), ((1,), False)])
def test_the_lag_times_of_all_leaders_may_be_why_a_follower_flaps(short: tuple[int, ...], *, is_named: bool) -> None:
    """If the leaders have a short replica.lag.time.max.ms, triage names it as why a follower leaves ISRs again and
    again: a leader removes followers by its own value.
    """
    watch = flapping(4)
    watch.base = replace(
        watch.base,
        configs={
            broker_resource(each): samples.config_set(
                {LAG_TIME: "500" if each in short else "30000", WAIT: "500"}, STATIC_BROKER_CONFIG
            )
            for each in (1, 2, 3)
        },
    )
    watch.poll(1)
    (claim,) = isr_flaps(watch)
    assert claim.title.endswith(f": {LAG_TIME} is 500 ms") is is_named
    assert claim.next[0].text.startswith(f"set {LAG_TIME}") is is_named


def without_2(each: Partition) -> Partition:
    return each._replace(isr=tuple(b for b in each.isr if b != 2 or b == each.leader))


def test_replicas_that_leave_isrs_one_by_one_are_one_episode() -> None:
    base, out = healthy(6), list[int]()
    places = [each.number for each in base.topics["orders"].partitions if 2 in each.isr and each.leader != 2]
    watch = Watch(base)
    watch.poll(10)
    for number in places[:4]:
        out.append(number)
        watch.base = each_of_orders(base, lambda each: without_2(each) if each.number in out else each)
        watch.poll(1)
    watch.poll(3)
    watch.base = base
    watch.poll(3)
    assert watch.observations.left
    assert not any(each.claim.cause == "isr-flaps" for verdict in watch.verdicts for each in verdict.causes)


def test_the_row_of_flapping_replicas_stays_at_a_steady_pace() -> None:
    watch = Watch(healthy())
    for _ in range(9):
        watch.base = each_of_orders(healthy(), without_2)
        watch.poll(3)
        watch.base = healthy()
        watch.poll(77)
    shown = [any(each.claim.cause == "isr-flaps" for each in verdict.causes) for verdict in watch.verdicts]
    assert any(shown)
    assert all(shown[shown.index(True) :])


def test_replicas_that_moves_add_do_not_flap() -> None:
    def base(number: int) -> Snapshot:
        return each_of_orders(
            healthy(6), lambda each: each._replace(replicas=(*each.isr[:2], 6)) if each.number == number else each
        )

    watch = Watch(healthy(6))
    for number in range(6):
        watch.base = base(number)
        watch.poll(3)
        watch.base = healthy(6)
        watch.poll(7)
    assert not isr_flaps(watch)


def test_a_broker_that_restarts_again_and_again_is_no_flapping_replica() -> None:
    watch = Watch()
    for _ in range(5):
        watch.poll(2, behind=3)
        watch.poll(3, fenced=3)
        watch.poll(2, behind=3)
        watch.poll(5)
        assert not isr_flaps(watch)


def test_replicas_that_stay_out_are_broken() -> None:
    watch = flapping(5)
    watch.base = each_of_orders(
        watch.base, lambda each: each._replace(isr=tuple(b for b in each.isr if b != 2 or b == each.leader))
    )
    watch.poll(32)
    assert not isr_flaps(watch)
    assert ("replication-broken", Subject(broker=2)) in named(watch.verdicts[-1])


# -- sessions of brokers that are short --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "silent", "refuses", "is_short"),
    [("2000", 0, 0, True), ("9000", 0, 0, False), ("2000", 3, 0, False), ("2000", 0, 3, False)],
    ids=["short", "the default", "it did not answer before", "it does not answer while it is fenced"],
)
def test_a_short_session_may_be_why_a_broker_is_fenced_again_and_again(
    session: str, silent: int, refuses: int, *, is_short: bool
) -> None:
    """If a broker is fenced again and again and its session timeout is short, the evidence names the timeout. The
    certainty stays the same, because the controllers' value counts, which no API shows.
    """
    file = samples.config_set(
        {"broker.session.timeout.ms": session, "broker.heartbeat.interval.ms": "2000"}, STATIC_BROKER_CONFIG
    )
    watch = Watch(replace(healthy(), configs={broker_resource(each): file for each in (1, 2, 3)}))
    for _ in range(4):
        watch.poll(6)
        watch.poll(4, silent=silent)
        watch.poll(2, fenced=3, silent=refuses)
    (claim,) = (each.claim for each in watch.verdicts[-1].causes if each.claim.cause == "broker-flapping")
    assert (claim.title, claim.certainty) == ("broker 3 goes down and up", Certainty.CERTAIN)
    told = [each.fact for each in claim.evidence if "broker.session.timeout.ms of broker 3 is 2,000" in each.fact]
    assert bool(told) is is_short
    assert "what kills it" in claim.next[0].text
    assert any("broker.session.timeout.ms=9000" in each.text for each in claim.next) is is_short


# -- certificates of another authority ---------------------------------------------------------------------------------


def shown(*issuers: str) -> Facts:
    """Return facts with a certificate on the listener INSIDE of each broker, from 1 on. issuers: of these
    certificates.
    """
    ends = START + timedelta(days=300)
    mine = (
        Certificate(Listener(broker, f"b{broker}", 9094, "INSIDE"), "CN=b", issuer, START, ends)
        for broker, issuer in enumerate(issuers, 1)
    )
    return Facts(certificates=tuple(mine))


@pytest.mark.parametrize(
    ("issuers", "between", "is_told"),
    [
        (("old", "old", "new"), {"inter.broker.listener.name": "INSIDE"}, True),
        (("old", "old", "new"), {"security.inter.broker.protocol": "INSIDE"}, True),
        (("old", "old", "new"), {"inter.broker.listener.name": "REPLICATION"}, False),
        (("old", "old", "new"), {}, False),
        (("old", "old", "old"), {"inter.broker.listener.name": "INSIDE"}, False),
        (("a", "b", "c"), {"inter.broker.listener.name": "INSIDE"}, False),
        (("old", "new"), {"inter.broker.listener.name": "INSIDE"}, False),
    ],
    ids=[
        "other",
        "the listener is called like the protocol",
        "a listener of clients",
        "unknown listener",
        "one authority",
        "each broker has its own authority",
        "two brokers",
    ],
)
def test_another_authority_may_be_why_a_broker_does_not_follow(
    issuers: tuple[str, ...], between: dict[str, str], *, is_told: bool
) -> None:
    """If a broker does not follow the others and its certificate has another issuer than theirs, the evidence names
    both issuers. If the broker follows the others, the issuers are no cause, because the brokers trust each
    other.
    """

    def out(each: Partition) -> Partition:
        return each._replace(isr=tuple(b for b in each.isr if b != 3 or b == each.leader))

    file = samples.config_set(between, STATIC_BROKER_CONFIG)
    base = replace(healthy(), configs={broker_resource(each): file for each in (1, 2, 3)})
    assert not diagnose(watched(lambda s, _: s, facts=lambda _: shown(*issuers), before=base)).causes
    verdict = diagnose(
        watched(
            lambda s, tick: each_of_orders(s, out) if tick >= 3 else s, facts=lambda _: shown(*issuers), before=base
        )
    )
    (mine,) = (each.claim for each in verdict.causes if each.claim.cause == "replication-broken")
    assert "certificate" not in mine.title
    words = "broker 3 shows a certificate of new on INSIDE, the others of old: they may not trust one another"
    assert (words in [each.fact for each in mine.evidence]) is is_told
    assert any("the authorities of both old and new" in each.text for each in mine.next) is is_told


def test_a_certificate_from_before_a_restart_is_told_by_no_row() -> None:
    """After a controlled shutdown, a broker's certificate that was read before is not evidence, because the broker may
    have another one; kac reads it again.
    """

    def out(each: Partition) -> Partition:
        return each._replace(isr=tuple(b for b in each.isr if b != 3 or b == each.leader))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        if 3 <= tick < 5:
            return without_broker(snapshot, [3])
        return each_of_orders(snapshot, out) if tick >= 10 else snapshot

    file = samples.config_set({"inter.broker.listener.name": "INSIDE"}, STATIC_BROKER_CONFIG)
    base = replace(healthy(), configs={broker_resource(each): file for each in (1, 2, 3)})
    verdict = diagnose(watched(change, 40, facts=lambda _: shown("old", "old", "new"), before=base))
    (mine,) = (each.claim for each in verdict.causes if each.claim.cause == "replication-broken")
    assert not any("certificate" in each.fact for each in mine.evidence)
