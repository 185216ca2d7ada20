"""Generates docs/causes.md, the page on the causes that triage names."""

from __future__ import annotations

from collections.abc import Iterator

from console.triage.cause import CauseRule
from console.triage.diagnosis import RULES

_HEAD = """\
<!-- Made by python -m console.cli.manual.pages causes; do not edit. -->
# The causes that triage names

[Triage](triage.md) names a cause only if it has direct evidence. The names are those of `--output json`. *From* is the
oldest release of Kafka that answers the requests.

- `certain`: the evidence is the cause.
- `likely`: there is evidence, and kac sees everything that the cause predicts.
- `possible`: the cause fits, but kac can't prove it. Its row is below the others and does not count.
- `information`: an operation that is running, or a state that is no trouble.

"""


def page() -> str:
    """Return the page docs/causes.md."""
    return _HEAD + "\n".join(_table(sorted(RULES, key=lambda each: each.name))) + "\n"


def _table(rules: list[CauseRule]) -> Iterator[str]:
    yield "| cause | what kac reads | certainty and condition | from |"
    yield "|---|---|---|---|"
    for rule in rules:
        yield f"| `{rule.name}` | {rule.reads} | {rule.takes} | {rule.since} |"
