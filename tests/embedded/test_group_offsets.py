"""Groups' offsets on embedded clusters of each release: the cases that real brokers pass too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.faults import Cut, Fault, Meanwhile, Moment
from console.embedded.group_coordinator import GROUP_TOPIC, ensure_topic, partition_of
from console.embedded.groups import Committed, Group, Member
from console.embedded.newer_groups import NewerGroup
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import read_batch, transactional_batch
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import batch_of
from console.embedded.spec import ClusterSpec
from console.embedded.state import ClusterState
from console.model.changes import Status
from console.plan.kinds.group_offsets import REQUEST_BYTES
from tests.support.group_flow_cases import Case, parameters
from tests.support.group_flows import change, revert

STATIC = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(params=["4.4", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=request.param, static_configs=STATIC)) as running:
        running.state.put_topic(new_topic("orders", striped([1], 3, 1), [1]))
        yield running


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(tuple(cluster.addresses.values()), visible_timeout=0.05))
    made.start()
    yield made
    made.close()


@parameters
async def test_cases(case: Case, cluster: EmbeddedCluster, client: AdminClient, tmp_path: Path) -> None:
    (address,) = cluster.addresses.values()
    await case(client, f"{address[0]}:{address[1]}", "orders", tmp_path)


LOST = {
    "offset_commit": "reset group billing to earliest",
    "offset_delete": "delete group billing topic orders",
    "delete_groups": "delete group billing",
    "alter_share_group_offsets": "reset group sharing to earliest",
    "delete_share_group_offsets": "delete group sharing topic orders",
}


@pytest.mark.parametrize("moment", list(Moment), ids=lambda each: each.value)
@pytest.mark.parametrize("api", LOST)
async def test_a_lost_answer_is_looked_for_and_nothing_is_sent_twice(api: str, moment: Moment) -> None:
    """What the cluster shows is applied, anything else is unknown."""
    async with EmbeddedCluster(ClusterSpec(brokers=1, static_configs=STATIC)) as running:
        running.state.put_topic(new_topic("orders", striped([1], 2, 1), [1]))
        ensure_topic(running.state)
        for name, newer in (("billing", None), ("sharing", NewerGroup("share", "Empty", 1, 1))):
            group = Group(name, protocol_type="consumer", written=True, newer=newer)
            group.offsets |= {("orders", number): Committed(4, 0) for number in range(2)}
            running.state.groups[name] = group
        (address,) = running.addresses.values()
        running.state.logs["orders", 0], running.state.logs["orders", 1] = PartitionLog(), PartitionLog()
        made = AdminClient(ConnectionSettings((address,), visible_timeout=0.05, lost_answer_timeout=0.3))
        made.start()
        try:
            running.faults.add(Fault(Cut(moment), api=api, times=1))
            report = await change(made, LOST[api])
        finally:
            made.close()
        statuses = {outcome.status for result in report.results for outcome in result.outcomes}
        assert statuses == {Status.APPLIED if moment is Moment.AFTER else Status.UNKNOWN}, report
        assert running.counters.total(api).requests == 1
        offsets = running.state.groups["billing"].offsets if "billing" in running.state.groups else {}
        if moment is Moment.BEFORE:
            assert offsets["orders", 0].offset == 4


async def test_a_member_that_joins_in_the_last_gap_is_named_as_the_reason(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    """Between the last look and the request's arrival: the coordinator refuses, and that is said."""
    group = Group("billing", protocol_type="consumer", written=True)
    group.offsets["orders", 0] = Committed(4)
    ensure_topic(cluster.state)
    cluster.state.groups["billing"] = group
    cluster.state.logs["orders", 0] = PartitionLog()

    def join(state: ClusterState) -> None:
        group.members["m"] = Member("m", None, "late", "/10.0.0.9", 9.0, 9.0, (("range", b""),))

    cluster.faults.add(Fault(Meanwhile(join), api="offset_commit", times=1))
    report = await change(client, "reset group billing topic orders partition 0 to offset 0")
    (outcome,) = (outcome for result in report.results for outcome in result.outcomes)
    assert outcome.status is Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.name == "NON_EMPTY_GROUP"
    assert outcome.failure.message == "group billing has members now (UNKNOWN_MEMBER_ID): one has joined"
    assert outcome.failure.remedy == "The group has members: stop its consumers first."
    assert group.offsets["orders", 0].offset == 4


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_a_group_of_very_many_partitions_takes_few_requests(count: int) -> None:
    """Staged, sent and taken back: no request for a single partition, and none without bounds."""
    async with EmbeddedCluster(ClusterSpec(brokers=1, static_configs=STATIC)) as running:
        running.state.put_topic(new_topic("orders", striped([1], count, 1), [1]))
        ensure_topic(running.state)
        group = Group("billing", protocol_type="consumer", written=True)
        for number in range(count):
            group.offsets["orders", number] = Committed(0, 0)
            running.state.logs["orders", number] = PartitionLog()
        running.state.groups["billing"] = group
        (address,) = running.addresses.values()
        made = AdminClient(ConnectionSettings((address,)))
        made.start()
        try:
            text = "x" * 400
            report = await change(made, f"reset group billing to offset 0 metadata {text}")
            assert report.ok
            assert {each.metadata for each in group.offsets.values()} == {text}
            at_once = REQUEST_BYTES // (90 + len(f"billingorders{text}"))
            commits = running.counters.total("offset_commit").requests
            assert commits == -(-count // at_once)
            _, back = await revert(made, report)
            assert back.ok
            assert {each.metadata for each in group.offsets.values()} == {""}
            # Which cluster answers is asked before each step, and on the connection of each change.
            assert running.counters.total().requests < 50 + 25 * commits
        finally:
            made.close()


@pytest.mark.parametrize("held", [True, False])
async def test_a_transaction_where_a_groups_offsets_are_is_in_the_forecast(
    *, held: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """It hangs in the partition of the offsets' topic that the group's name has, or in another one."""
    with run_in_thread(ClusterSpec(brokers=1, static_configs=STATIC)) as running:

        def seed(cluster: EmbeddedCluster) -> None:
            state, now = cluster.state, int(cluster.clock.time() * 1000)
            state.put_topic(new_topic("orders", striped([1], 1, 1), [1]))
            ensure_topic(state)
            state.logs["orders", 0] = log = PartitionLog()
            log.append(read_batch(batch_of([b"one", b"two"], now, b"k"), 0), 0)
            state.groups["invoices"] = Group("invoices", protocol_type="consumer", written=True)
            state.groups["invoices"].offsets["orders", 0] = Committed(2, 0)
            number = partition_of("invoices", len(state.topics[GROUP_TOPIC].partitions))
            place = GROUP_TOPIC, number if held else number ^ 1
            offsets = state.logs.setdefault(place, PartitionLog())
            batch = read_batch(batch_of([b"offset"], now - 3_600_000, b"k"), 0)
            offsets.append(transactional_batch(batch, 77, 0, 0), 0)

        running.call(seed)
        arguments = ["run", "-b", running.bootstrap, "-e", "reset group invoices to earliest; plan"]
        code = await asyncio.to_thread(cli.run, arguments)
        out = capsys.readouterr().out
        assert code == 3, out  # staged, and not applied
        assert ("the transaction of producer 77 is open in __consumer_offsets/" in " ".join(out.split())) is held
        assert "up to 2 records are read again" in out
