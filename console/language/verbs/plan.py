"""``plan``: shows the staged edits."""

from __future__ import annotations

from console.language.arguments import filter_text
from console.language.quoting import quote, quoted
from console.language.reader import Reader, Role
from console.language.statements import INTERACTIVE, Statement, joined
from console.language.verb import PLAN, StatementKind, Verb

RUNBOOK = "--runbook"


class ShowPlan(Statement, frozen=True):
    """The statement ``plan``; in the command bar it may have a filter for the rows."""

    filter: str = ""
    runbook: bool = False
    """Whether to print commands of Kafka's own tools that have the effect of the plan."""


def _parse(reader: Reader) -> ShowPlan:
    if reader.take_keyword(RUNBOOK, role=Role.FLAG):
        return ShowPlan(runbook=True)
    return ShowPlan(filter_text(reader) if reader.where & INTERACTIVE else "")


def _text(statement: ShowPlan) -> str:
    if statement.runbook:
        return f"plan {RUNBOOK}"
    written = quoted if statement.filter == RUNBOOK else quote
    return joined("plan", written(statement.filter) if statement.filter else "")


VERBS = (
    Verb(
        "plan",
        PLAN,
        ("plan [--runbook]",),
        "Every staged edit as a difference: old and new value, old and new source",
        "With --runbook kac prints shell commands of kafka-topics, kafka-configs and kafka-acls that make the "
        "same changes.",
        ("plan", "plan --runbook"),
        rank=1,
        parse=_parse,
        statements=(StatementKind(statement=ShowPlan, text=_text),),
    ),
)
