"""Compares the values that `kac` and Kafka's own tools print for the same cluster; the tables may have different
columns.
"""

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
    """Run a command of `kac` in this process. Return its exit code and its output. name: the command. words: its
    arguments after the cluster's address.
    """
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
    """Return the parsed JSON that a command of `kac` prints with ``--output json``. Raises AssertionError if it prints
    nothing.
    """
    ran = kac(kafka, name, [*words, "--output", "json"])
    assert ran.out, ran
    return json.loads(ran.out)


def theirs_run(kafka: KafkaCluster, commands: KafkaCommands, tool: str, words: Sequence[str]) -> Ran:
    """Run a command class of Kafka with ``--bootstrap-server``. For `CLUSTER`, the option goes after the subcommand,
    which is the first word.
    """
    first = 1 if tool == CLUSTER else 0
    return commands.run(tool, [*words[:first], "--bootstrap-server", kafka.bootstrap, *words[first:]])


def rows(text: str, *headers: str) -> list[dict[str, str]]:
    """Return the rows of all tables in Kafka's output that have these headers, each row as header -> cell.

    A cell is the text below its header, up to the next header. A blank line ends a table.
    """
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
    """Return the rows of a Kafka table, each as header -> cell. Every cell ends with a tab; the first line has the
    headers.
    """
    header, *lines = ([cell.strip() for cell in line.split("\t")][:-1] for line in text.splitlines())
    return [dict(zip(header, line, strict=True)) for line in lines]


def counted(text: str) -> int | None:
    """Return the number in a cell of Kafka's table; None if the cell is "-" or "None"."""
    return None if text in ("-", "None") else int(text)


def exported(text: str) -> dict[tuple[str, ...], int]:
    """Parse the CSV that ``--export`` of kafka-consumer-groups wrote. Return (topic, partition), or (group, topic,
    partition) if it has groups, -> the offset.
    """
    return {tuple(row[:-1]): int(row[-1]) for row in csv.reader(text.splitlines()) if row[1:]}


def picked(row: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    """Return the values of a row under these names, in this order."""
    return tuple(row[name] for name in names)
