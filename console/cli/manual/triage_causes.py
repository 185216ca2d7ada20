"""Generates docs/causes.md, the page on the causes that triage names."""

from __future__ import annotations

from collections.abc import Iterator

from console.triage.cause import CauseRule
from console.triage.diagnosis import RULES

_HEAD = """\
<!-- Made by python -m console.cli.manual.pages causes; do not edit. -->
# The causes that triage names

[Triage](triage.md) names a cause only with its direct evidence. The name is that of `--output json`; *from* is the
oldest Kafka that answers what is read.

- `certain`: the evidence is the cause.
- `likely`: there is evidence, and all that the cause predicts is seen.
- `possible`: it only fits. Such a row stands below the others and is not counted.
- Information is no trouble.

"""


def page() -> str:
    """Return the page as Markdown."""
    return _HEAD + "\n".join(_table(sorted(RULES, key=lambda each: each.name))) + "\n"


def _table(rules: list[CauseRule]) -> Iterator[str]:
    yield "| cause | reads | how sure, and what it takes | from |"
    yield "|---|---|---|---|"
    for rule in rules:
        yield f"| `{rule.name}` | {rule.reads} | {rule.takes} | {rule.since} |"
