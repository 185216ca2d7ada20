"""Helpers for tests of changes to groups' offsets, on any cluster: they stage and apply commands of kac, and run the
clients that make the groups.
"""

from collections.abc import Mapping

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]
from aiokafka.structs import OffsetAndMetadata  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.groups import group_positions
from console.contexts.context import Context
from console.language.given_files import with_file
from console.language.grammar import parse
from console.language.interpret import to_edits
from console.language.needs import needs_of_script
from console.language.statements import EditStatement
from console.model.cluster import CommittedOffset, GroupPosition
from console.plan.plan import StageReport
from console.plan.reconcile import DEFAULTS, ApplyOptions, ApplyReport
from console.session.journal_changes import RevertReport, stage_revert
from console.session.reading import read_needs
from console.session.session import Session
from tests.support.changing import apply_plan

ASSIGNED = ApplyOptions(risks=frozenset({"assigned-consumers"}))


def session_of(client: AdminClient) -> Session:
    """Return a new session of kac on the client's cluster."""
    return Session(client, Context("test", "tests", client.settings), "test")


async def stage(session: Session, *commands: str) -> StageReport:
    """Read everything that the commands need, then stage each command in order. Return the report of the last
    command.
    """
    statements = [with_file(each) for each in parse("\n".join(commands))]
    await read_needs(session, needs_of_script(statements))
    for each in statements:
        assert isinstance(each, EditStatement)
        report = session.stage(to_edits(each, session.snapshot, plan=session.plan))
    return report


async def change(client: AdminClient, *commands: str, options: ApplyOptions = DEFAULTS) -> ApplyReport:
    """Stage commands in a new session and apply its plan. Raises AssertionError if a command is refused, or no command
    changes anything.
    """
    session = session_of(client)
    report = await stage(session, *commands)
    assert report.added, report
    assert not report.refused, report
    return await apply_plan(session, options)


async def revert(client: AdminClient, report: ApplyReport) -> tuple[RevertReport, ApplyReport]:
    """Stage the revert of an applied change, and apply it."""
    assert report.ok, report
    assert report.change is not None
    session = session_of(client)
    staged = await stage_revert(session, report.change)
    return staged, await apply_plan(session, ASSIGNED)


async def position(client: AdminClient, group: str) -> GroupPosition:
    """Return the committed offsets and log ranges of a group, read from the brokers. Raises AssertionError if the read
    fails.
    """
    found, failures = await client.run(group_positions, [group])
    assert not failures, failures
    return found[group]


async def offsets(client: AdminClient, group: str) -> dict[int, int]:
    """Return partition -> the group's committed offset, read from the brokers, for a group that has offsets in one
    topic.
    """
    return {number: each.offset for (_, number), each in (await position(client, group)).committed.items()}


async def write(bootstrap: str, topic: str, counts: Mapping[int, int], *, first_ms: int = 1_700_000_000_000) -> None:
    """Write records to a topic. counts: partition -> number of its records. first_ms: timestamp of each partition's
    first record, in ms since 1970; each further record is 1 s later.
    """
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for partition, count in counts.items():
            for number in range(count):
                at = first_ms + 1_000 * number
                await producer.send(topic, b"%d" % number, partition=partition, timestamp_ms=at)
        await producer.flush()
    finally:
        await producer.stop()


async def read_up_to(bootstrap: str, topic: str, group: str, at: Mapping[int, CommittedOffset]) -> None:
    """Join a group as its only member, commit these offsets, and leave. at: partition number -> offset to commit."""
    consumer = await member(bootstrap, topic, group)
    try:
        await consumer.commit(
            {
                TopicPartition(topic, number): OffsetAndMetadata(each.offset, each.metadata)
                for number, each in at.items()
            }
        )
    finally:
        await consumer.stop()


async def member(bootstrap: str, topic: str, group: str) -> AIOKafkaConsumer:
    """Return a consumer that has joined a group and subscribes to a topic. The caller stops it."""
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, client_id="reader", enable_auto_commit=False
    )
    await consumer.start()
    return consumer
