"""What `kac` prints with --output kafka, beside what Kafka's own tool prints: both without what is their own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from typing import TextIO, cast

from console.cli.main import COMMANDS, command_parser
from console.cli.noun_command import NounCommand
from console.cli.nouns import noun
from console.cli.opening import client_of, context_of
from console.terminal import Harmless
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import CLUSTER, KafkaCommands, Ran

Said = tuple[list[str], list[str]]
"""Lines of standard output and of standard error, sorted: Kafka has rows in the order of Java's hashes."""


def kac(kafka: KafkaCluster, name: str, words: Sequence[str]) -> Ran:
    """A command of `kac` in this process, in the place of Kafka's tool."""
    command = next(command for command in COMMANDS if command.name == name)
    out, err = StringIO(), StringIO()
    with redirect_stderr(err):
        options = command_parser(command).parse_args(["-b", kafka.bootstrap, "--output", "kafka", *words])
        made = NounCommand(noun(name), options, out=cast(TextIO, Harmless(out)), err=cast(TextIO, Harmless(err)))
        code = made.run(lambda: context_of(options), client_of)
    return Ran(code, out.getvalue(), err.getvalue())


def theirs_run(kafka: KafkaCluster, commands: KafkaCommands, tool: str, words: Sequence[str]) -> Ran:
    """A command of Kafka's tool; kafka-cluster wants its subcommand first."""
    first = 1 if tool == CLUSTER else 0
    return commands.run(tool, [*words[:first], "--bootstrap-server", kafka.bootstrap, *words[first:]])


_TRACE = re.compile(
    r"$|\t(?:at|\.\.\.|Suppressed:) |Caused by: | at \[Source|"
    r"(?:java|joptsimple|org\.apache\.kafka|com\.fasterxml)\.[\w.]+Exception: "
)
"""Lines of a stack trace."""


def theirs_said(ran: Ran) -> Said:
    """What a tool of Kafka's printed, without stack traces, and without the list of all options below an error."""
    err = [listed(line) for line in re.split(r"\nOption {2,}", ran.err)[0].splitlines()]
    err = [line for line in err if not _TRACE.match(line)]
    return sorted(ran.out.splitlines()), sorted(err)


_LISTS = re.compile(" options| scenarios|Valid ")


def listed(line: str) -> str:
    """A line whose list of options or states is sorted."""
    head, colon, names = line.rpartition(": ")
    return head + colon + ", ".join(sorted(re.findall(r"[^\[\], ]+", names))) if _LISTS.search(head) else line


def ours_said(ran: Ran) -> Said:
    """What kac printed in its place, without its own remarks."""
    err = [listed(line) for line in ran.err.splitlines() if not line.startswith("kac: ") and not _TRACE.match(line)]
    return sorted(ran.out.splitlines()), sorted(err)


def as_it_is(text: str) -> str:
    """A line that is compared as it stands."""
    return text


def compare(
    kafka: KafkaCluster,
    commands: KafkaCommands,
    tool: str,
    command: str,
    lines: Sequence[str],
    less: Callable[[str], str] = as_it_is,
) -> None:
    """Run each line as both; their output is the same. less: takes away from a line what changes with time."""
    problems = []
    for line in lines:
        words = shlex.split(line)
        theirs = theirs_run(kafka, commands, tool, words)
        ours = kac(kafka, command, words)
        expected, got = ([sorted(map(less, some)) for some in said] for said in (theirs_said(theirs), ours_said(ours)))
        if expected != got:
            problems.append(f"{line}\n  Kafka: {expected}\n  kac:   {got}\n  ({ours.err})")
        elif theirs.code and not ours.code:
            problems.append(f"{line}: Kafka ends with {theirs.code}, kac with {ours.code}")
    assert not problems, "\n".join(problems)
