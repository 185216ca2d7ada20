"""Tests of a quota below the rate of writes: it is named as the only cause of a group's lag, and the step raises it."""

from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from console.language.interpret import command_of
from console.model.acl import Acl
from console.model.cluster import GroupLag, LogDir, PartitionLag, ReplicaSize, ReplicaSizes
from console.model.quota import QuotaEntity
from console.model.rates import Rates, with_dirs
from console.model.severity import Certainty
from console.model.snapshot import Snapshot
from console.plan.edits import SetQuota
from console.triage.cause import Claim
from console.triage.diagnosis import Verdict, diagnose
from tests.support import samples
from tests.unit.test_triage import START, TICK, _whole_logs, healthy, moved, watched

Quotas = Mapping[tuple[tuple[str, str | None], ...], float]
"""Quota entity -> its consumer_byte_rate in bytes per second."""


def starved(
    quotas: Quotas, read: int, written: int = 50, clients: int = 1, fraud: int = 0, *, side: bool = False
) -> list[Claim]:
    """Return the claims about groups that lag in six partitions with records of 100 bytes; each broker leads two of
    these partitions.

    Args:
        read: records that each group reads from each partition in 5 s.
        written: records that are written to each partition in 5 s.
        clients: the number of groups, each with its own client.
        fraud: the records that another group reads in 5 s, whose client has no quota; 0 for no such group.
        side: whether the groups also read a topic of unknown size, to which nothing is written.
    """

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        rows = dict.fromkeys(range(6), (100 + read * tick, 100 + written * tick))
        sizes = ReplicaSizes([ReplicaSize("orders", n, 10_000, 0, False) for n in range(6)])
        dirs = {broker: (LogDir("/data", sizes, 10**9, 9 * 10**8),) for broker in (1, 2, 3)}
        limits = {QuotaEntity.of(dict(entity)): {"consumer_byte_rate": value} for entity, value in quotas.items()}
        known = moved(snapshot, rows)
        group, lag = known.groups["billing"], known.lags["billing"]
        if side:
            lag = GroupLag((*lag.partitions, PartitionLag("side", 0, tick, 500, 500 - tick, "m1")))
            orders = known.topics["orders"]
            known = replace(known, topics={"orders": orders, "side": replace(orders, name="side", topic_id="side")})
        names = ["billing", *(f"g{n}" for n in range(1, clients))]
        ids = {name: "c" if name == "billing" else name for name in names}
        members = {name: tuple(replace(each, client_id=ids[name]) for each in group.members or ()) for name in names}
        groups = {name: replace(group, name=name, members=members[name]) for name in names}
        lags = dict.fromkeys(names, lag)
        if fraud:
            slower = moved(snapshot, {n: (100 + fraud * tick, end) for n, (_, end) in rows.items()})
            who = tuple(replace(each, client_id="another") for each in group.members or ())
            groups["fraud"], lags["fraud"] = replace(group, name="fraud", members=who), slower.lags["billing"]
        return replace(known, log_dirs=dirs, quotas=limits, groups=groups, lags=lags)

    return [each.claim for each in diagnose(watched(change, ticks=30, facts=_whole_logs)).causes]


@pytest.mark.parametrize("read", [0, 10])
@pytest.mark.parametrize("entity", [(("client-id", "c"),), (("client-id", None),), (("user", None),)])
def test_it_is_the_cause_in_one_row(entity: tuple[tuple[str, str | None], ...], read: int) -> None:
    """A quota is named as the only cause, in one row, whether or not the group commits: 2,000 bytes per second are
    written to each broker, and clients may read 400.
    """
    (only,) = starved({entity: 400.0}, read)
    assert (only.cause, only.certainty) == ("quota-exceeded", Certainty.LIKELY)
    assert only.evidence[1].fact.startswith("2,000 bytes/s are written to broker ")
    (edit,) = only.next[0].edits
    assert isinstance(edit, SetQuota)
    assert (edit.entity, edit.value) == (QuotaEntity.of(dict(entity)), 4_000.0)
    assert command_of(edit)


def test_a_topic_of_unknown_size_that_is_only_read_hides_no_writes() -> None:
    assert "quota-exceeded" in {claim.cause for claim in starved({(("client-id", "c"),): 400.0}, 10, side=True)}


@pytest.mark.parametrize("clients", [2, 5])
def test_clients_that_one_default_holds_back_are_one_row(clients: int) -> None:
    (only,) = starved({(("client-id", None),): 400.0}, 10, clients=clients)
    assert (only.subject.entity, only.title) == (
        "client-id <default>",
        f"{clients} groups are held back by the quota of their client",
    )
    (edit,) = only.next[0].edits
    assert isinstance(edit, SetQuota)
    assert edit.value == 4_000.0


def test_a_quota_above_what_is_written_or_below_a_more_specific_one_is_not_the_cause() -> None:
    assert "quota-exceeded" not in [each.cause for each in starved({(("client-id", "c"),): 9_000.0}, 10)]
    # The quota of all users has precedence over that of a client.
    quotas: Quotas = {(("client-id", "c"),): 400.0, (("user", None),): 9_000.0}
    assert "quota-exceeded" not in [each.cause for each in starved(quotas, 10)]


def test_where_users_have_quotas_of_their_own_it_is_possible() -> None:
    """If there are quotas of users, a client's quota is only named as possible, because no response contains the users
    of a group's members.
    """
    quotas: Quotas = {(("client-id", "c"),): 400.0, (("user", "alice"),): 10.0**9}
    found = {each.cause: each for each in starved(quotas, 10)}
    assert found["quota-exceeded"].certainty is Certainty.POSSIBLE
    assert "consumer-slow" in found
    others: Quotas = {(("client-id", "c"),): 400.0, (("user", "alice"), ("client-id", "other")): 10.0**9}
    assert [each.certainty for each in starved(others, 10)] == [Certainty.LIKELY]


@pytest.mark.parametrize(("fraud", "is_offered"), [(20, False), (50, True)])
def test_a_client_is_not_allowed_more_beside_a_group_that_lags_without_a_quota(fraud: int, *, is_offered: bool) -> None:
    claims = starved({(("client-id", "c"),): 400.0}, 10, fraud=fraud)
    (claim,) = [each for each in claims if each.cause == "quota-exceeded"]
    assert bool(claim.next[0].edits) is is_offered
    assert ("taken from them" in claim.next[0].text) is not is_offered


ALICE, SHOP = QuotaEntity.of({"user": "alice"}), QuotaEntity.of({"user": "alice", "client-id": "shop"})
RAISED = 10
"""The poll at which the quota of alice is raised."""


def written_at(
    load: Callable[[int], int],
    before: Mapping[QuotaEntity, float],
    after: Mapping[QuotaEntity, float],
    ticks: int,
    acls: tuple[Acl, ...] = (),
) -> Verdict:
    """Return the verdict after producers' quotas changed at `RAISED`.

    Args:
        load: poll -> the bytes per second that are written to orders until it.
        before, after: the quotas, bytes per second.
    """
    rates, size = [Rates()], 0
    for poll in range(ticks + 2):
        size += 5 * load(poll - 1)
        dirs = {broker: (samples.held(("orders", 0, size)),) for broker in (1, 2, 3)}
        rates.append(with_dirs(rates[-1], healthy().topics, dirs, START + poll * TICK))

    def change(snapshot: Snapshot, tick: int) -> Snapshot:
        quotas = {each: {"producer_byte_rate": value} for each, value in (after if tick >= RAISED else before).items()}
        at = {**snapshot.read_at, "quotas": START + tick * TICK}
        return replace(snapshot, rates=rates[tick + 1], quotas=quotas, acls=acls, read_at=at)

    return diagnose(watched(change, ticks, before=change(healthy(), 0)))


def in_bursts(poll: int) -> int:
    """Return the load of a producer that brokers limit to 100 kB per second: a batch of 1 MB, and then silence."""
    return 15_000 if poll < RAISED else 200_000 if poll % 10 == 0 else 90_000


@pytest.mark.parametrize(
    ("load", "before", "after", "is_named"),
    [
        (in_bursts, {SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, True),
        (in_bursts, {ALICE: 50_000.0, SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, True),
        (in_bursts, {}, {ALICE: 1e7}, False),  # no other quota
        (in_bursts, {ALICE: 1e7, SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, False),  # for years
        (in_bursts, {ALICE: 1e8, SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, False),  # lowered
        (in_bursts, {SHOP: 100_000.0}, {ALICE: 60_000.0, SHOP: 100_000.0}, False),  # the other one is higher
        (lambda _: 400_000, {SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, False),  # much faster: others write
        (lambda _: 40_000, {SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, False),  # not limited
        (
            in_bursts,
            {QuotaEntity.of({"user": "bob", "client-id": "shop"}): 100_000.0},
            {ALICE: 1e7, QuotaEntity.of({"user": "bob", "client-id": "shop"}): 100_000.0},
            False,
        ),
    ],
)
def test_a_quota_is_raised_in_vain_if_a_more_specific_one_precedes_it(
    load: Callable[[int], int],
    before: Mapping[QuotaEntity, float],
    after: Mapping[QuotaEntity, float],
    *,
    is_named: bool,
) -> None:
    verdict = written_at(load, before, after, 36)
    found = [each.claim for each in verdict.causes if each.claim.cause == "quota-exceeded"]
    assert [each.title for each in found] == [
        "quota of user alice client-id shop, 100,000 bytes/s, precedes that of user alice, raised to 10,000,000: "
        "a topic is written to at that rate"
    ] * is_named
    for claim in found:
        assert claim.certainty is Certainty.POSSIBLE
        assert [each.edits for each in claim.next] == [
            (SetQuota(SHOP, "producer_byte_rate", 1e7),),
        ]
        assert any(each.fact.endswith("or about as much: orders") for each in claim.evidence)
        assert all(command_of(edit) for each in claim.next for edit in each.edits)


def in_vain(verdict: Verdict) -> list[Claim]:
    """Return the claims about quotas that others precede."""
    return [each.claim for each in verdict.causes if "precedes" in each.claim.title]


def test_a_client_that_writes_faster_after_its_quota_was_raised_is_not_held_back() -> None:
    """A mean over a minute that began before the change passes the rates between."""
    for ticks in range(RAISED + 8, 34, 2):
        verdict = written_at(
            lambda poll: 50_000 if poll <= RAISED else 200_000,
            {ALICE: 50_000.0, SHOP: 100_000.0},
            {ALICE: 1e7, SHOP: 100_000.0},
            ticks,
        )
        assert in_vain(verdict) == [], ticks


def test_the_quota_at_whose_rate_a_topic_is_written_to_is_named_among_many() -> None:
    others = {QuotaEntity.of({"user": "alice", "client-id": f"c{n}"}): 1e6 * n for n in range(1, 6)}
    claims = in_vain(written_at(in_bursts, {**others, SHOP: 100_000.0}, {**others, ALICE: 1e7, SHOP: 100_000.0}, 36))
    assert [each.subject.entity for each in claims] == ["user alice client-id shop"]


def test_two_raised_quotas_that_one_precedes_are_one_row() -> None:
    client = QuotaEntity.of({"client-id": "shop"})
    after = {ALICE: 1e7, client: 1e7, SHOP: 100_000.0}
    assert len(in_vain(written_at(in_bursts, {SHOP: 100_000.0}, after, 36))) == 1


def test_a_user_whom_an_acl_denies_to_write_is_not_held_back_by_its_quota() -> None:
    acls = (
        samples.acl("User:alice", operation="WRITE"),
        samples.acl("User:alice", operation="WRITE", permission="DENY"),
    )
    assert in_vain(written_at(in_bursts, {SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, 36, acls)) == []


@pytest.mark.parametrize(("topic", "is_named"), [("orders", True), ("clicks", False)])
def test_a_topic_to_which_the_user_may_not_write_is_not_held_back_by_its_quota(topic: str, *, is_named: bool) -> None:
    acls = (samples.acl("User:alice", topic, "WRITE"),)
    verdict = written_at(in_bursts, {SHOP: 100_000.0}, {ALICE: 1e7, SHOP: 100_000.0}, 36, acls)
    assert ("quota-exceeded" in {each.claim.cause for each in verdict.causes}) is is_named


@pytest.mark.parametrize(
    ("load", "is_said"), [(in_bursts, True), (lambda poll: 100_000 if poll < 12 else 20_000, False)]
)
def test_a_topic_at_a_quota_is_said_for_as_long_as_its_mean_of_a_minute_is_at_it(
    load: Callable[[int], int], *, is_said: bool
) -> None:
    """Brokers let a batch of a limited producer through at once, and then delay it: rates over less time swing."""
    for ticks in range(40, 50, 3):
        hidden = written_at(load, {SHOP: 100_000.0}, {SHOP: 100_000.0}, ticks).unknowable
        assert any("about as fast as the producer_byte_rate" in each.what for each in hidden) is is_said, ticks
