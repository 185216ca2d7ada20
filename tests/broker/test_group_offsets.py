"""Groups' offsets on real brokers, 4.3 and 3.9."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from console.answers.plan_results import runbook_commands
from console.model.cluster import CommittedOffset
from console.plan.edits import CommitOffset
from tests.support.changing import make_topic
from tests.support.group_flow_cases import Case, parameters
from tests.support.group_flows import offsets, position, read_up_to, session_of, stage, write
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import GROUPS, KafkaCommands


@pytest.fixture
async def client(kafka: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=kafka.addresses, visible_timeout=0.05))
    made.start()
    yield made
    made.close()


@parameters
async def test_cases(
    case: Case, kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tmp_path: Path
) -> None:
    await make_topic(link, name, partitions=3)
    await case(client, kafka.bootstrap, name, tmp_path)


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


@pytest.fixture(scope="module")
def tool() -> Iterator[KafkaCommands]:
    with KafkaCommands() as running:
        yield running


async def test_every_form_is_what_kafkas_own_tool_exports(
    kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tool: KafkaCommands, tmp_path: Path
) -> None:
    """The dry run's CSV of kafka-consumer-groups is what is staged, and read from a file gives that again."""
    await make_topic(link, name, partitions=2)
    await write(kafka.bootstrap, name, {0: 10, 1: 20})
    group = f"group of {name}"
    await read_up_to(kafka.bootstrap, name, group, {0: CommittedOffset(4), 1: CommittedOffset(12)})

    def exported(options: list[str]) -> str:
        words = ["--bootstrap-server", kafka.bootstrap, "--group", group, "--reset-offsets", "--dry-run", "--export"]
        ran = tool.run(GROUPS, [*words, *options])
        assert ran.code == 0, ran
        # A time after all records is warned about, on the same output.
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
    kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tool: KafkaCommands
) -> None:
    """Each command of the runbook, run by Kafka's own tool, makes what the plan says."""
    await make_topic(link, name, partitions=3)
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
            ran = tool.run(GROUPS, words)
            assert ran.code == 0, ran

    await by_runbook(f"reset group {group} topic {name} to offset 5")
    assert await offsets(client, group) == dict.fromkeys(range(3), 5)
    await by_runbook(f"reset group {group} to by -1")
    assert await offsets(client, group) == dict.fromkeys(range(3), 4)
    await by_runbook(f"delete group {group} topic {name} partition 1")
    assert await offsets(client, group) == {0: 4, 2: 4}
    await by_runbook(f"delete group {group}")
    assert (await position(client, group)).group is None
