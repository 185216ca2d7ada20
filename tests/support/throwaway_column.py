"""Columns that nouns of kac do not have: what adds them to a copy of the tree, and a walk through kac with them.

As a script it walks, in the tree that is first on the path, and prints what each step said as JSON.
"""

from __future__ import annotations

import asyncio
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.walking import Said, completed, kac, tell

if TYPE_CHECKING:
    from console.embedded.brokers import ThreadedCluster
    from console.present.columns import Columns

SIZE = (200, 40)
TOPIC = "checkout.orders"


class Added(NamedTuple):
    """A column. table: the noun's file; before: what it is put before there."""

    table: str
    before: str
    column: str


COLUMNS = {
    "topics": Added(
        "console/present/topics.py",
        "    columns.overrides_column(lambda row: row.facts.overrides(row.topic.name), 70),\n",
        """    columns.Column(
        "leads",
        columns.EVERYWHERE | columns.DETAIL,
        lambda row: len({each.leader for each in row.topic.partitions}),
        "number",
        title="Led by",
        layout=ScreenColumn("leads", "Lead", width=5, align="right", priority=88, sort_key="K"),
    ),
""",
    ),
    "usage": Added(
        "console/present/lake_rows.py",
        '    columns.Column("throttled_requests", columns.OBJECT,',
        """    columns.Column(
        "times",
        columns.OBJECT | columns.SHOWN,
        lambda row: len(row.series),
        "number",
        title="Minutes",
        layout=ScreenColumn("times", "Min", width=5, align="right", priority=90, sort_key="M"),
    ),
""",
    ),
    "events": Added(
        "console/present/events.py",
        '    Column("key", OBJECT, lambda event: event.place.key),\n',
        """    Column(
        "many",
        OBJECT | SCREEN,
        lambda event: event.count > 1,
        "boolean",
        cell=lambda event: "many" if event.count > 1 else "one",
        layout=ScreenColumn("many", "Many", width=5, priority=96),
    ),
""",
    ),
    "moves": Added(
        "console/present/moves.py",
        """    columns.Column(
        "time_left",
""",
        """    columns.Column(
        "targets",
        columns.OBJECT | columns.SHOWN,
        lambda row: len(row.after),
        "number",
        title="Targets",
        layout=ScreenColumn("targets", "Targ", width=5, align="right", priority=94, sort_key="T"),
    ),
""",
    ),
}
"""By noun. Topics are what `list` takes, with filters; the others have a pane and a command of their own."""


def add_to(tree: Path, noun: str) -> tuple[str, ...]:
    """Add a noun's column to a tree, and return the files that this takes."""
    table, before, column = COLUMNS[noun]
    text = (tree / table).read_text()
    assert text.count(before) == 1
    (tree / table).write_text(text.replace(before, column + before))
    return (table,)


def walk() -> Said:
    """Go through kac with the columns, on an embedded cluster: by step the exit code, and what was said."""
    from console.cli.manual import pages
    from console.embedded.brokers import run_in_thread
    from console.embedded.spec import ClusterSpec
    from console.tui.key_help import keys_page

    said: dict[str, tuple[int, str]] = {}
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        at = ("-b", cluster.bootstrap)
        said["listed"] = kac("run", *at, "-e", f"list topics {TOPIC}")
        said["filtered"] = kac("run", *at, "-e", "list topics leads>99")
        said["as JSON"] = kac("run", *at, "--output", "json", "-e", "list topics leads>0")
        said["described"] = kac("run", *at, "--output", "json", "-e", f"describe topic {TOPIC}")
        code, text = kac("topics", *at, "--list", "--topic", TOPIC, "--output", "csv")
        said["as CSV"] = code, " ".join(next(csv.reader(io.StringIO(text))))
        said["moves"] = kac("moves", *at)
        said["drawn"], said["sorted"] = asyncio.run(_shown(cluster))
    said["completed"] = 0, " ".join(completed("list topics lea"))
    said["in the manual"] = 0, pages.reference()
    said["among the keys"] = 0, keys_page()
    return said | _of_rows()


async def _shown(cluster: ThreadedCluster) -> tuple[tuple[int, str], tuple[int, str]]:
    """The pane of topics as it is drawn, and once it is sorted by the column."""
    from console.admin.client import AdminClient
    from console.cli.demo import context_of
    from console.contexts.configured import Given
    from console.contexts.console_settings import ConsoleSettings
    from console.session.session import Session
    from console.tui.app import Console

    context = context_of("quiet", cluster.bootstrap, 1)
    with AdminClient(context.settings) as client:
        app = Console(Session(client, context), ConsoleSettings(), contexts=Given([context]))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("2")
            while TOPIC not in _text(app):
                await pilot.pause()
            drawn = _text(app)
            await pilot.press("K")
            while "Lead▾" not in _text(app):
                await pilot.pause()
            return (0, drawn), (0, _text(app))


def _text(app: Any) -> str:
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def _of_rows() -> dict[str, tuple[int, str]]:
    """What the nouns say of a row that no cluster has to be asked for: titles and texts, JSON, and the screen."""
    from console.answers.lake_tables import usage_table
    from console.answers.operations import running_moves_table
    from console.answers.results import render, to_data
    from console.lake.reader import Pair, Usage
    from console.model.changes import BrokerTarget
    from console.model.cluster import Reassignment
    from console.model.snapshot import Snapshot
    from console.present.events import EVENTS
    from console.present.lake_rows import USAGE
    from console.present.moves import MOVES, running_rows
    from console.triage.cause import Severity
    from console.triage.events import Event, Kind, Place
    from console.tui.panes import sort_columns

    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    pair = Pair("alice", None, "producer_byte_rate")
    usage = Usage("c", pair, 1, 2e6, 3, 1e6, 1e6, 0.5, 0, 0, 1e6, None, "", ((at, 1e6), (at, 1e6), (at, 1e6)))
    snapshot = Snapshot(reassignments=(Reassignment("orders", 0, (1, 2, 3, 4), (4,), (1,)),))
    event = Event(Kind.BROKER, (Place(Kind.BROKER, BrokerTarget(3)),), 1, 1, None, "up", None, at, Severity.INFO)
    usages, moves = usage_table([usage], clusters=False), running_moves_table(snapshot)
    return {
        "usage": (0, render(usages)),
        "usage as JSON": (0, json.dumps(to_data(usages))),
        "usage drawn": (0, _drawn(USAGE, usage)),
        "usage sorted": (0, " ".join(f"{column.sort_key}" for column in sort_columns("usage"))),
        "moves by text": (0, render(moves)),
        "moves as JSON": (0, json.dumps(to_data(moves))),
        "moves drawn": (0, _drawn(MOVES, running_rows(snapshot, ())[0])),
        "events as JSON": (0, json.dumps(EVENTS.data(event))),
        "events drawn": (0, _drawn(EVENTS, event)),
    }


def _drawn(columns: Columns[Any], row: Any) -> str:
    from console.present.text import plain

    cells = zip(columns.layout, columns.cells(row), strict=True)
    return "; ".join(f"{column.label}: {plain(cell)}" for column, cell in cells)


if __name__ == "__main__":
    tell(walk)
