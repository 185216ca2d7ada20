"""Every line of docs/kafka-tools.md is one that kac takes, and does something with each of its options."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import cast

import pytest

from console.cli.main import COMMANDS, command_parser
from console.cli.moves import misused
from console.cli.noun import Asked, Found
from console.cli.nouns import NAMES, noun
from console.language.grammar import parse
from console.language.statements import Where
from console.operations.goals import goal_of
from console.plan.risk_rules import NAMES as RISKS

TEXT = (Path(__file__).parents[2] / "docs" / "kafka-tools.md").read_text(encoding="utf-8")
TABLES = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| `kafka-")]
LINES = [text for row in TABLES for text in re.findall(r"`(kac [^`]+)`", row[1])]
TOOLS = {text.split()[0] for row in TABLES for text in re.findall(r"`(kafka-[^`]+)`", row[0])}


@pytest.mark.parametrize("line", LINES)
def test_each_line_is_taken(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "FILE").write_text('{"partitions": [{"topic": "T", "partition": 0, "offset": 9}]}')
    monkeypatch.chdir(tmp_path)
    _, name, *words = shlex.split(line)
    given = command_parser(next(each for each in COMMANDS if each.name == name)).parse_args(words)
    if name in NAMES:
        assert set(re.findall(r"[a-z-]+", given.accept)[:1]) <= set(RISKS)
        asked = Asked(given)
        meant = noun(name).meaning(cast(argparse.Namespace, asked), noun(name).action_of(given))
        asked.asked |= {"if_exists", "if_not_exists"}
        assert asked.idle() == []
        if isinstance(meant, tuple) and not isinstance(meant, Found):
            assert parse("\n".join(meant))
    elif name == "run":
        assert parse("\n".join(given.execute), Where.RUN)
    elif name == "moves":
        assert misused(given) == ""
        assert not given.goal or goal_of(given.goal)


def test_no_tool_is_left_out() -> None:
    """The commands in Kafka's bin folder that are about a cluster."""
    assert {
        "kafka-acls",
        "kafka-broker-api-versions",
        "kafka-client-metrics",
        "kafka-cluster",
        "kafka-configs",
        "kafka-console-consumer",
        "kafka-consumer-groups",
        "kafka-delegation-tokens",
        "kafka-delete-records",
        "kafka-features",
        "kafka-get-offsets",
        "kafka-groups",
        "kafka-leader-election",
        "kafka-log-dirs",
        "kafka-metadata-quorum",
        "kafka-reassign-partitions",
        "kafka-replica-verification",
        "kafka-share-groups",
        "kafka-streams-application-reset",
        "kafka-streams-groups",
        "kafka-topics",
        "kafka-transactions",
    } == TOOLS
