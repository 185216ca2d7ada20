"""``kac leftovers``: finds replication throttles that no reassignment uses any more."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from console.answers.results import Column, Row, Table
from console.cli.opening import DONE, with_session
from console.language.needs import Needs
from console.language.quoting import quote
from console.language.unparse import subject_text
from console.model.codes import BROKER, TOPIC
from console.model.config import CLUSTER_DEFAULT
from console.model.snapshot import Snapshot
from console.plan.edits import SubtractConfig
from console.plan.stale_throttles import LOG_DIRS_RATE, RATES, StaleThrottle, stale_throttles
from console.present import names
from console.present.values import config_value
from console.session.reading import read_needs
from console.terminal import put

if TYPE_CHECKING:
    from console.session.session import Session


def leftovers_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``kac leftovers``."""
    parser.set_defaults(run=run_leftovers)
    parser.add_argument("--script", action="store_true", help="print the commands that remove them, for kac run -f -")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the results")


def run_leftovers(options: argparse.Namespace) -> int:
    """0 looked, whatever was found; 1 failed, 2 no context."""
    from console.answers.text import Printer

    async def work(session: Session) -> int:
        found = await read_stale_throttles(session)
        if options.script:
            put("".join(f"{removal_command(each)}\n" for each in found))
            return DONE
        Printer(options.output)(stale_throttles_table(found, session.snapshot))
        if found and options.output == "text":
            put("\nto remove them: kac leftovers --script | kac run -f -   (and apply --yes after a look)\n")
        return DONE

    return with_session(options, "leftovers", work)


# `kac leftovers`: replication throttles that no reassignment uses any more, and the commands that remove them.

_NEEDS = Needs(
    parts=frozenset({"cluster", "reassignments", "log_dirs", "topics"}),
    every=frozenset({BROKER, TOPIC}),
    resources=frozenset({CLUSTER_DEFAULT}),
)
_COLUMNS = tuple(map(Column, ("Entity", "Key", "Value", "Why")))


async def read_stale_throttles(session: Session) -> tuple[StaleThrottle, ...]:
    """Read what tells of them, and find them. What could not be read is in the snapshot's failures."""
    await read_needs(session, _NEEDS)
    return stale_throttles(session.snapshot)


def stale_throttles_table(found: tuple[StaleThrottle, ...], snapshot: Snapshot) -> Table:
    """What could go, and why; and what could not be looked at."""
    rows = tuple(
        Row(
            (names.target(each.edit.target), each.edit.key, _value(each), each.why),
            {
                "entity": names.target(each.edit.target),
                "key": each.edit.key,
                "value": each.value,
                "why": each.why,
                "command": removal_command(each),
            },
        )
        for each in found
    )
    looked_at = ("reassignments", "log_dirs", "topics", "configs")
    problems = tuple(failed for failed in snapshot.failures if failed.part in looked_at)
    return Table("leftovers", _COLUMNS, rows, empty="no throttle is left over", problems=problems)


def _value(each: StaleThrottle) -> str:
    human = config_value(each.edit.key, each.value) if each.edit.key in (*RATES, LOG_DIRS_RATE) else ""
    return f"{each.value} ({human})" if human else each.value


def removal_command(each: StaleThrottle) -> str:
    """The command of the language that stages its removal."""
    if isinstance(each.edit, SubtractConfig):
        return f"subtract {subject_text(each.edit.resource)} {quote(each.edit.key)}={quote(each.edit.value)}"
    return f"unset {subject_text(each.edit.resource)} {quote(each.edit.key)}"
