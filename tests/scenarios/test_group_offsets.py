"""Tests of changes to groups' offsets: the same cases on embedded clusters of two releases and on real brokers, 4.3 and
3.9.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.groups import find_coordinators
from console.admin.link import Link, broker
from console.admin.settings import ConnectionSettings
from console.answers.plan_results import runbook_commands
from console.cli import main as cli
from console.contexts.context import parse_bootstrap
from console.embedded import faults, newer_groups, record_batch, replicas, spec
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.group_coordinator import GROUP_TOPIC, ensure_topic, partition_of
from console.embedded.groups import Committed, Group, Member
from console.embedded.partition_log import PartitionLog
from console.embedded.scenarios.seed import batch_of
from console.embedded.state import ClusterState
from console.language.errors import CommandError
from console.model.changes import Status
from console.model.cluster import CommittedOffset
from console.plan.edits import CommitOffset
from console.plan.kinds.group_offsets import REQUEST_BYTES
from console.plan.reconcile import ApplyOptions
from tests.broker.test_nouns import in_process
from tests.broker.test_read_groups import joining
from tests.support import changing, kafka_commands, kafka_messages, lags, worlds
from tests.support.group_flows import (
    change,
    member,
    offsets,
    position,
    read_up_to,
    revert,
    session_of,
    stage,
    write,
)
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import settled

Case = Callable[[AdminClient, str, str, Path], Awaitable[None]]
"""A case; its arguments are a client, its bootstrap servers, a topic of three partitions, and a folder for files."""
FIRST_MS = 1_700_000_000_000


async def _group(bootstrap: str, topic: str) -> str:
    """Write 10, 20 and 0 records to the three partitions of a topic. For a new group, commit offset 4 with metadata in
    partition 0, and offset 20 in partition 1. Return the group's id.
    """
    await write(bootstrap, topic, {0: 10, 1: 20}, first_ms=FIRST_MS)
    group = f"group-of-{topic}"
    await read_up_to(bootstrap, topic, group, {0: CommittedOffset(4, -1, "a text"), 1: CommittedOffset(20)})
    return group


async def resets_and_their_ways_back(client: AdminClient, bootstrap: str, topic: str, folder: Path) -> None:
    """Each form of reset commits the offsets that it names; its revert restores the former offsets with their
    metadata.
    """
    group = await _group(bootstrap, topic)
    was = await position(client, group)
    assert {number: each[::2] for (_, number), each in was.committed.items()} == {0: (4, "a text"), 1: (20, "")}
    file = folder / "offsets.csv"
    file.write_text(f"{group},{topic},0,3\n{group},{topic},2,0\nother,{topic},1,1\n")
    forms = {
        f"reset group {group} to earliest": {0: 0, 1: 0},
        f"reset group {group} to latest": {0: 10, 1: 20},
        f"reset group {group} topic {topic} to earliest": {0: 0, 1: 0, 2: 0},
        f"reset group {group} topic {topic} partition 1 to offset 7": {0: 4, 1: 7},
        f"reset group {group} to time 2023-11-14T22:13:25Z": {0: 5, 1: 5},
        f"reset group {group} topic {topic} partition 0 to by -3": {0: 1, 1: 20},
        f"reset group {group} topic {topic} partition 0 to by +2": {0: 6, 1: 20},
        f"reset group {group} topic {topic} partition 0 to by -30": {0: 0, 1: 20},
        f"reset group {group} topic {topic} to current": {0: 4, 1: 20, 2: 0},
        f"reset group {group} to file {file}": {0: 3, 1: 20, 2: 0},
        f"skip group {group} topic {topic} partition 0": {0: 5, 1: 20},
        f"skip group {group} topic {topic} partition 0 6": {0: 10, 1: 20},
    }
    for command, wanted in forms.items():
        report = await change(client, command)
        assert report.ok, (command, report)
        assert await offsets(client, group) == wanted, command
        staged, back = await revert(client, report)
        assert not staged.moved, command
        assert back.ok, (command, back)
        now = await position(client, group)
        assert now.committed == was.committed, command


async def a_member_stops_it(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """Brokers refuse a reset if a member joins the group after the plan was made, even if the user forces the apply."""
    group = await _group(bootstrap, topic)
    session = session_of(client)
    report = await stage(session, f"reset group {group} to earliest")
    assert len(report.added) == 2
    consumer = await member(bootstrap, topic, group)
    try:
        stopped = await changing.apply_plan(session)
        assert not stopped.sent
        assert {each.why for each in stopped.conflicts} == {f"group {group} has a member: reader at 127.0.0.1"}
        forced = await changing.apply_plan(session, ApplyOptions(force=True))
        outcomes = [outcome for result in forced.results for outcome in result.outcomes]
        assert {outcome.status for outcome in outcomes} == {Status.FAILED}
        assert {outcome.failure.name for outcome in outcomes if outcome.failure} == {"NON_EMPTY_GROUP"}
        assert await offsets(client, group) == {0: 4, 1: 20}
        again = await stage(session_of(client), f"reset group {group} to latest", f"delete group {group}")
        (refused,) = again.refused
        assert "reader at 127.0.0.1" in refused.reason
    finally:
        await consumer.stop()


async def what_is_not_there(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """kac refuses groups, topics and partitions that do not exist, and offsets outside of the log."""
    group = await _group(bootstrap, topic)

    async def said(command: str) -> str:
        try:
            report = await stage(session_of(client), command)
        except CommandError as error:
            return error.message
        return "; ".join([each.reason for each in report.refused] + [each.reason for each in report.dropped])

    assert await said("reset group no-such to earliest") == "there is no group 'no-such'"
    assert await said("delete group no-such") == "there is no group 'no-such'"
    assert await said(f"reset group {group} topic no-such to earliest") == "there is no topic 'no-such'"
    assert "has no partition 9" in await said(f"reset group {group} topic {topic} partition 9 to earliest")
    assert "no offset of" in await said(f"skip group {group} topic {topic} partition 2")
    outside = await said(f"reset group {group} topic {topic} partition 0 to offset 11")
    assert outside == f"offset 11 is outside of the log of {topic}/0, 0 to 10"
    assert "at offset 4 already" in await said(
        f"reset group {group} topic {topic} partition 0 to offset 4 metadata 'a text'"
    )


async def a_new_group(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """A clone of a group has the same offsets and metadata. Its revert deletes the clone's offsets and no others."""
    group = await _group(bootstrap, topic)
    twin = f"{group}-twin"
    report = await change(client, f"clone group {group} to {twin}")
    assert report.ok, report
    made = await position(client, twin)
    assert made.committed == (await position(client, group)).committed
    staged, back = await revert(client, report)
    assert back.ok, back
    assert not (await position(client, twin)).committed
    assert all("the group stays" in note for note in staged.notes)


async def deletions_and_their_ways_back(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """The revert of a deletion restores the group, or the group's offsets of the topic, with metadata."""
    group = await _group(bootstrap, topic)
    was = (await position(client, group)).committed
    for command in (f"delete group {group} topic {topic}", f"delete group {group}"):
        report = await change(client, command)
        assert report.ok, (command, report)
        assert not (await position(client, group)).committed
        _, back = await revert(client, report)
        assert back.ok, (command, back)
        assert (await position(client, group)).committed == was, command


async def a_share_group(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """From 4.1 on, a reset creates a missing share group with start offsets, and a revert restores a deleted share
    group.
    """
    await write(bootstrap, topic, {0: 10, 1: 20}, first_ms=FIRST_MS)
    group = f"share-of-{topic}"
    report = await change(client, f"reset share group {group} topic {topic} to latest")
    if not report.ok:
        outcomes = [outcome for result in report.results for outcome in result.outcomes]
        told = {outcome.failure.message for outcome in outcomes if outcome.failure}
        assert [each.partition(", and")[0] for each in told] == ["alter_share_group_offsets needs Kafka ≥ 4.1"]
        return
    assert await offsets(client, group) == {0: 10, 1: 20, 2: 0}
    described = (await position(client, group)).group
    assert described is not None
    assert described.type == "share"
    deleted = await change(client, f"delete group {group}")
    assert deleted.ok, deleted
    _, back = await revert(client, deleted)
    assert back.ok, back
    assert await offsets(client, group) == {0: 10, 1: 20, 2: 0}
    with_text = await stage(session_of(client), f"reset group {group} topic {topic} to offset 0 metadata text")
    assert {each.reason for each in with_text.refused} == {"a share group keeps no metadata of an offset"}


async def the_group_with_the_empty_name(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """Brokers let old clients commit for the group with the id "", and describe, list and delete it. No member can join
    it, and its offsets can't be deleted one by one.
    """
    await write(bootstrap, topic, {0: 10}, first_ms=FIRST_MS)
    made = await change(client, f"reset group '' topic {topic} partition 0 to offset 3")
    assert made.ok, made
    described = (await position(client, "")).group
    assert described is not None
    assert (described.state, described.type) == ("Empty", "classic")
    assert (await client.run(lags.group_lag, "")).total == 7
    meant = ApplyOptions(risks=frozenset({"assigned-consumers"}))
    for command in ("reset group '' to latest", f"clone group '' to {topic}-twin"):
        report = await change(client, command, options=meant)
        assert report.ok, (command, report)
    assert await offsets(client, f"{topic}-twin") == {0: 10}
    single = await stage(session_of(client), f"delete group '' topic {topic} partition 0")
    assert [each.remedy for each in single.refused] == ["Delete the group."]
    gone = await change(client, "delete group ''")
    assert gone.ok, gone
    assert not (await position(client, "")).committed


CASES: tuple[Case, ...] = (
    resets_and_their_ways_back,
    a_member_stops_it,
    what_is_not_there,
    a_new_group,
    deletions_and_their_ways_back,
    a_share_group,
    the_group_with_the_empty_name,
)


def named(case: Case) -> str:
    return case.__name__


parameters = pytest.mark.parametrize("case", CASES, ids=named)


# -- the same cases on embedded clusters of two releases and on real brokers, 4.3 and 3.9 ------------------------------

STATIC = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(params=["4.4", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(spec.ClusterSpec(brokers=1, versions=request.param, static_configs=STATIC)) as running:
        running.state.put_topic(replicas.new_topic("orders", replicas.striped([1], 3, 1), [1]))
        yield running


embedded_client = worlds.client("cluster", visible_timeout=0.05)


@pytest.fixture(params=["like 4.4", "like 3.9", "plain_cluster", "kafka39"])
async def bootstrap(request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """Provide the bootstrap servers of an embedded cluster of a release, or of a real cluster."""
    _, is_embedded, release = request.param.rpartition("like ")
    if is_embedded:
        async with EmbeddedCluster(spec.ClusterSpec(brokers=1, versions=release, static_configs=STATIC)) as running:
            yield ",".join(f"{host}:{port}" for host, port in running.addresses.values())
    else:
        yield request.getfixturevalue(request.param).bootstrap


@parameters
async def test_cases(case: Case, bootstrap: str, name: str, tmp_path: Path) -> None:
    settings = ConnectionSettings(parse_bootstrap(bootstrap), visible_timeout=0.05)
    async with worlds.linked(settings) as link:
        await changing.make_topic(link, name, partitions=3, retention_ms="-1")
    with AdminClient(settings) as client:
        await case(client, bootstrap, name, tmp_path)


LOST = {
    "offset_commit": "reset group billing to earliest",
    "offset_delete": "delete group billing topic orders",
    "delete_groups": "delete group billing",
    "alter_share_group_offsets": "reset group sharing to earliest",
    "delete_share_group_offsets": "delete group sharing topic orders",
}


@pytest.mark.parametrize("moment", list(faults.Moment), ids=lambda each: each.value)
@pytest.mark.parametrize("api", LOST)
async def test_a_lost_answer_is_looked_for_and_nothing_is_sent_twice(api: str, moment: faults.Moment) -> None:
    """If the answer to a change is lost, kac sends the request only once. The outcome is applied if the cluster shows
    the change, and unknown if not.
    """
    async with EmbeddedCluster(spec.ClusterSpec(brokers=1, static_configs=STATIC)) as running:
        running.state.put_topic(replicas.new_topic("orders", replicas.striped([1], 2, 1), [1]))
        ensure_topic(running.state)
        for name, newer in (("billing", None), ("sharing", newer_groups.NewerGroup("share", "Empty", 1, 1))):
            group = Group(name, protocol_type="consumer", written=True, newer=newer)
            group.offsets |= {("orders", number): Committed(4, 0) for number in range(2)}
            running.state.groups[name] = group
        (address,) = running.addresses.values()
        running.state.logs["orders", 0], running.state.logs["orders", 1] = PartitionLog(), PartitionLog()
        with AdminClient(ConnectionSettings((address,), visible_timeout=0.05, lost_answer_timeout=0.3)) as made:
            running.faults.add(faults.Fault(faults.Cut(moment), api=api, times=1))
            report = await change(made, LOST[api])
        statuses = {outcome.status for result in report.results for outcome in result.outcomes}
        assert statuses == {Status.APPLIED if moment is faults.Moment.AFTER else Status.UNKNOWN}, report
        assert running.counters.total(api).requests == 1
        offsets = running.state.groups["billing"].offsets if "billing" in running.state.groups else {}
        if moment is faults.Moment.BEFORE:
            assert offsets["orders", 0].offset == 4


async def test_a_member_that_joins_in_the_last_gap_is_named_as_the_reason(
    cluster: EmbeddedCluster, embedded_client: AdminClient
) -> None:
    """If the coordinator refuses a reset because a member joined after kac's last check, the outcome names this
    member.
    """
    worlds.group("billing", {("orders", 0): 4}, protocol_type="consumer")(cluster)
    group = cluster.state.groups["billing"]
    cluster.state.logs["orders", 0] = PartitionLog()

    def join(state: ClusterState) -> None:
        group.members["m"] = Member("m", None, "late", "/10.0.0.9", 9.0, 9.0, (("range", b""),))

    cluster.faults.add(faults.Fault(faults.Meanwhile(join), api="offset_commit", times=1))
    report = await change(embedded_client, "reset group billing topic orders partition 0 to offset 0")
    (outcome,) = (outcome for result in report.results for outcome in result.outcomes)
    assert outcome.status is Status.FAILED
    assert outcome.failure is not None
    assert outcome.failure.name == "NON_EMPTY_GROUP"
    assert outcome.failure.message == "group billing has members now (UNKNOWN_MEMBER_ID): one has joined"
    assert outcome.failure.remedy == "The group has members: stop its consumers first."
    assert group.offsets["orders", 0].offset == 4


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_a_group_of_very_many_partitions_takes_few_requests(count: int) -> None:
    """For a group with very many partitions, staging, apply and revert send few requests, not one for each partition,
    and each request has a bounded size.
    """
    async with EmbeddedCluster(spec.ClusterSpec(brokers=1, static_configs=STATIC)) as running:
        running.state.put_topic(replicas.new_topic("orders", replicas.striped([1], count, 1), [1]))
        ensure_topic(running.state)
        group = Group("billing", protocol_type="consumer", written=True)
        for number in range(count):
            group.offsets["orders", number] = Committed(0, 0)
            running.state.logs["orders", number] = PartitionLog()
        running.state.groups["billing"] = group
        (address,) = running.addresses.values()
        with AdminClient(ConnectionSettings((address,))) as made:
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
            # kac reads the cluster's id before each step, and on the connection of each change.
            assert running.counters.total().requests < 50 + 25 * commits


@pytest.mark.parametrize("held", [True, False])
async def test_a_transaction_where_a_groups_offsets_are_is_in_the_forecast(
    *, held: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The forecast of a reset names a hanging transaction in the partition of __consumer_offsets that has the group's
    offsets. It does not name a hanging transaction in another partition.
    """
    with run_in_thread(spec.ClusterSpec(brokers=1, static_configs=STATIC)) as running:

        def seed(cluster: EmbeddedCluster) -> None:
            state, now = cluster.state, int(cluster.clock.time() * 1000)
            state.put_topic(replicas.new_topic("orders", replicas.striped([1], 1, 1), [1]))
            ensure_topic(state)
            state.logs["orders", 0] = log = PartitionLog()
            log.append(record_batch.read_batch(batch_of([b"one", b"two"], now, b"k"), 0), 0)
            state.groups["invoices"] = Group("invoices", protocol_type="consumer", written=True)
            state.groups["invoices"].offsets["orders", 0] = Committed(2, 0)
            number = partition_of("invoices", len(state.topics[GROUP_TOPIC].partitions))
            place = GROUP_TOPIC, number if held else number ^ 1
            offsets = state.logs.setdefault(place, PartitionLog())
            batch = record_batch.read_batch(batch_of([b"offset"], now - 3_600_000, b"k"), 0)
            offsets.append(record_batch.transactional_batch(batch, 77, 0, 0), 0)

        running.call(seed)
        arguments = ["run", "-b", running.bootstrap, "-e", "reset group invoices to earliest; plan"]
        code = await asyncio.to_thread(cli.run, arguments)
        out = capsys.readouterr().out
        assert code == 3, out  # staged, not applied
        assert ("the transaction of producer 77 is open in __consumer_offsets/" in " ".join(out.split())) is held
        assert "up to 2 records are read again" in out


# -- on real brokers --------------------------------------------------------------------------------------------------


client = worlds.client("kafka", visible_timeout=0.05)

FORMS = (
    ("to earliest", ["--to-earliest"]),
    ("to latest", ["--to-latest"]),
    ("to offset 3", ["--to-offset", "3"]),
    ("to time 2023-11-14T22:13:25.000Z", ["--to-datetime", "2023-11-14T22:13:25.000Z"]),
    ("to time 2023-11-14T22:13:25.000+02:00", ["--to-datetime", "2023-11-14T22:13:25.000+02:00"]),
    ("to time 2033-01-01T00:00:00Z", ["--to-datetime", "2033-01-01T00:00:00.000Z"]),
    ("to by -2", ["--shift-by", "-2"]),
    ("to by +3", ["--shift-by", "3"]),
)

SCOPES = (
    ("", ["--all-topics"]),
    ("topic {topic} ", ["--topic", "{topic}"]),
    ("topic {topic} partition 1 ", ["--topic", "{topic}:1"]),
)

tool = worlds.running(kafka_commands.KafkaCommands, scope="module")


async def test_every_form_is_what_kafkas_own_tool_exports(
    kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tool: kafka_commands.KafkaCommands, tmp_path: Path
) -> None:
    """For each form of reset, kac stages the offsets in the CSV that kafka-consumer-groups exports in a dry run. A
    reset from this CSV file gives the same edits.
    """
    await changing.make_topic(link, name, partitions=2, retention_ms="-1")
    await write(kafka.bootstrap, name, {0: 10, 1: 20})
    group = f"group of {name}"
    await read_up_to(kafka.bootstrap, name, group, {0: CommittedOffset(4), 1: CommittedOffset(12)})

    def exported(options: list[str]) -> str:
        words = ["--bootstrap-server", kafka.bootstrap, "--group", group, "--reset-offsets", "--dry-run", "--export"]
        ran = tool.run(kafka_commands.GROUPS, [*words, *options])
        assert ran.code == 0, ran
        # The tool warns of a time after all records, on the same output.
        return "".join(f"{line}\n" for line in ran.out.splitlines() if line and not line.startswith("Warn: "))

    async def staged(command: str) -> set[str]:
        report = await stage(session_of(client), command)
        assert not report.refused, report
        edits = [*(each.edit for each in report.added), *(each.edit for each in report.dropped)]
        assert all(isinstance(edit, CommitOffset) and edit.group == group for edit in edits)
        return {f"{e.topic},{e.partition},{e.offset}" for e in edits if isinstance(e, CommitOffset)}

    compared = 0
    for words, options in FORMS:
        for scope, scope_options in SCOPES:
            theirs = exported([*options, *(each.format(topic=name) for each in scope_options)])
            lines = set(theirs.split())
            assert len(lines) == (1 if "partition" in scope else 2), theirs
            assert await staged(f"reset group '{group}' {scope.format(topic=name)}{words}") == lines, (words, scope)
            compared += 1
            (tmp_path / "offsets.csv").write_text(theirs)
            assert await staged(f"reset group '{group}' to file '{tmp_path}/offsets.csv'") == lines
    assert compared == 24


async def test_the_runbook_does_what_the_plan_does(
    kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tool: kafka_commands.KafkaCommands
) -> None:
    """Kafka's own tool, run with each command of the plan's runbook, commits the offsets of the plan."""
    await changing.make_topic(link, name, partitions=3, retention_ms="-1")
    await write(kafka.bootstrap, name, {0: 10, 1: 20, 2: 5})
    group = f"group-of-{name}"
    await read_up_to(
        kafka.bootstrap, name, group, {0: CommittedOffset(4), 1: CommittedOffset(12), 2: CommittedOffset(1)}
    )

    async def by_runbook(command: str) -> None:
        session = session_of(client)
        report = await stage(session, command)
        assert report.added, report
        for each in runbook_commands(session.plan, session.snapshot, client.settings):
            assert each.words[0] == "kafka-consumer-groups", each
            words = list(each.words[1:])
            ran = tool.run(kafka_commands.GROUPS, words)
            assert ran.code == 0, ran

    await by_runbook(f"reset group {group} topic {name} to offset 5")
    assert await offsets(client, group) == dict.fromkeys(range(3), 5)
    await by_runbook(f"reset group {group} to by -1")
    assert await offsets(client, group) == dict.fromkeys(range(3), 4)
    await by_runbook(f"delete group {group} topic {name} partition 1")
    assert await offsets(client, group) == {0: 4, 2: 4}
    await by_runbook(f"delete group {group}")
    assert (await position(client, group)).group is None


async def _share_group(client: AdminClient, link: Link, group: str, topic: str) -> None:
    """Let a member of a share group read the topic and then leave, so that the group exists without members."""
    (coordinator,) = (await find_coordinators(link, [group], is_change=True))[0].values()

    async def beat(epoch: int) -> Any:
        return await link.call(
            "share_group_heartbeat",
            kafka_messages.with_fields(
                group_id=group, member_id="a-member", member_epoch=epoch, subscribed_topic_names=[topic]
            ),
            to=broker(coordinator),
            change=True,
        )

    assert (await settled(lambda: beat(0), lambda answer: answer.error_code != 0)).error_code == 0
    assert (await beat(-1)).error_code == 0
    described = (await position(client, group)).group
    assert described is not None
    assert (described.type, described.state) == ("share", "Empty")


async def test_a_share_group_gets_its_start_offsets(plain_cluster: KafkaCluster, name: str) -> None:
    """kac sets the start offsets of a share group (KIP-932), reverts them, and deletes them for a topic or with the
    group.
    """
    client = AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses, visible_timeout=0.05))
    client.start()
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    try:
        await changing.make_topic(link, name, partitions=2, retention_ms="-1")
        await write(plain_cluster.bootstrap, name, {0: 10, 1: 20})
        group = f"share-{name}"
        await _share_group(client, link, group, name)
        first = await change(client, f"reset group {group} topic {name} to offset 5")
        assert first.ok, first
        assert await offsets(client, group) == {0: 5, 1: 5}
        again = await change(client, f"reset group {group} to latest")
        assert await offsets(client, group) == {0: 10, 1: 20}
        staged, back = await revert(client, again)
        assert back.ok, back
        assert all("records in flight are not restored" in note for note in staged.notes)
        assert await offsets(client, group) == {0: 5, 1: 5}
        half = await change(client, f"delete group {group} topic {name} partition 1")
        (outcome,) = half.results[0].outcomes
        assert outcome.failure is not None
        assert outcome.failure.name == "WHOLE_TOPICS_ONLY"
        gone = await change(client, f"delete group {group} topic {name}")
        assert gone.ok, gone
        assert await offsets(client, group) == {}
        _, back = await revert(client, gone)
        assert back.ok, back
        assert await offsets(client, group) == {0: 5, 1: 5}
        whole = await change(client, f"delete group {group}")
        assert whole.ok, whole
        assert (await position(client, group)).group is None
        _, back = await revert(client, whole)
        assert back.ok, back
        described = (await position(client, group)).group
        assert described is not None
        assert described.type == "share", "it comes back as what it was"
        assert await offsets(client, group) == {0: 5, 1: 5}
    finally:
        await link.close()
        client.close()


@pytest.mark.parametrize("protocol", ["consumer", "streams"])
async def test_groups_of_the_newer_protocols(plain_cluster: KafkaCluster, name: str, protocol: str) -> None:
    """For consumer and streams groups (KIP-848, KIP-1071), a reset is refused with a reason while the group has a
    member. Without a member it is applied and reverted.
    """
    client = AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses, visible_timeout=0.05))
    client.start()
    link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
    try:
        await changing.make_topic(link, name, partitions=1, retention_ms="-1")
        await write(plain_cluster.bootstrap, name, {0: 10})
        (coordinator,) = (await find_coordinators(link, [name], is_change=True))[0].values()

        async def beat(epoch: int) -> Any:
            def build(kio: ModuleType) -> Any:
                request = joining(protocol, name)(kio)
                leaves = {"topology": None} if protocol == "streams" else {}
                return request if not epoch else replace(request, member_epoch=epoch, **leaves)

            return await link.call(f"{protocol}_group_heartbeat", build, to=broker(coordinator), change=True)

        assert (await settled(lambda: beat(0), lambda answer: answer.error_code != 0)).error_code == 0
        report = await stage(session_of(client), f"reset group {name} topic {name} to earliest")
        (refused,) = report.refused
        assert refused.reason.startswith(f"group {name} has a member: ")
        assert (await beat(-1)).error_code == 0
        first = await change(client, f"reset group {name} topic {name} to offset 7")
        assert first.ok, first
        again = await change(client, f"reset group {name} to by -2")
        assert await offsets(client, name) == {0: 5}
        described = (await position(client, name)).group
        assert described is not None
        assert (described.type, described.state) == (protocol, "Empty")
        for each, left in ((again, {0: 7}), (first, {})):
            _, back = await revert(client, each)
            assert back.ok, back
            assert await offsets(client, name) == left
        assert (await change(client, f"delete group {name}")).ok
    finally:
        await link.close()
        client.close()


def test_the_noun_deletes_groups_and_their_offsets(plain_cluster: KafkaCluster, name: str) -> None:
    """`kac groups --delete` asks for the confirmations that a plan needs, and accepts --yes in their place."""
    bootstrap = plain_cluster.bootstrap

    async def made() -> None:
        link = Link(ConnectionSettings(bootstrap=plain_cluster.addresses))
        await changing.make_topic(link, name, partitions=1, retention_ms="-1")
        await link.close()
        await write(bootstrap, name, {0: 10})
        await read_up_to(bootstrap, name, name, {0: CommittedOffset(4)})

    asyncio.run(made())
    common = ("groups", "-b", bootstrap, "--delete", "--group", name)
    code, _, err = in_process(*common)
    assert (code, "yes" in err) == (1, True), err
    code, out, err = in_process(*common, "--topic", name, "--yes")
    assert (code, err) == (0, ""), err
    assert f"{name}/0" in out
    code, out, err = in_process(*common, "--yes")
    assert code == 0, err
    code, _, err = in_process(*common, "--yes")
    assert (code, f"there is no group '{name}'" in err) == (1, True), err
