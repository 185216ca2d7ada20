"""What `kac` and Kafka's own tool say of the same cluster: the values of both, whatever the columns."""

import csv
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from typing import Any, TextIO, cast

from console.cli.main import BY_NAME, command_parser
from console.cli.noun_command import NounCommand
from console.cli.opening import client_of, context_of
from console.terminal import Harmless
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import CLUSTER, KafkaCommands, Ran


def kac(kafka: KafkaCluster, name: str, words: Sequence[str]) -> Ran:
    """A command of `kac` in this process."""
    command = BY_NAME[name]
    out, err = StringIO(), StringIO()
    with redirect_stderr(err):
        options = command_parser(command).parse_args(["-b", kafka.bootstrap, *words])
        made = NounCommand(
            BY_NAME[name].noun(), options, out=cast(TextIO, Harmless(out)), err=cast(TextIO, Harmless(err))
        )
        code = made.run(lambda: context_of(options), client_of)
    return Ran(code, out.getvalue(), err.getvalue())


def kac_data(kafka: KafkaCluster, name: str, words: Sequence[str]) -> Any:
    """The JSON that a command of `kac` prints."""
    ran = kac(kafka, name, [*words, "--output", "json"])
    assert ran.out, ran
    return json.loads(ran.out)


def theirs_run(kafka: KafkaCluster, commands: KafkaCommands, tool: str, words: Sequence[str]) -> Ran:
    """A command of Kafka's tool; kafka-cluster wants its subcommand first."""
    first = 1 if tool == CLUSTER else 0
    return commands.run(tool, [*words[:first], "--bootstrap-server", kafka.bootstrap, *words[first:]])


def rows(text: str, *headers: str) -> list[dict[str, str]]:
    """The rows of a table of Kafka's that stand below these headers, each with a name of its own; cells in their
    order, and of equal width in a column. Groups with a table each have all their rows here."""
    found: list[dict[str, str]] = []
    spans: dict[str, slice] = {}
    for line in text.splitlines():
        heads = [(match.group(), match.start()) for match in re.finditer(r"\S+(?: \(ID\))?", line)]
        if {*headers} <= {name for name, _ in heads}:
            ends = [*(start for _, start in heads[1:]), None]
            spans = {name: slice(start, end) for (name, start), end in zip(heads, ends, strict=True)}
        elif not line.strip():
            spans = {}
        elif spans:
            found.append({header: line[spans[header]].strip() for header in headers})
    return found


def tabbed(text: str) -> list[dict[str, str]]:
    """The rows of a table of Kafka's whose columns end with a tab."""
    header, *lines = ([cell.strip() for cell in line.split("\t")][:-1] for line in text.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def counted(text: str) -> int | None:
    """A number of Kafka's table, None where it has a dash."""
    return None if text in ("-", "None") else int(text)


def exported(text: str) -> dict[tuple[str, ...], int]:
    """Offsets as --export writes them: (topic, partition), or with the group first -> offset."""
    return {tuple(row[:-1]): int(row[-1]) for row in csv.reader(text.splitlines()) if row[1:]}


def picked(row: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Some values of a row."""
    return tuple(row[name] for name in names)
