"""Compares kac's RowTable with Textual's DataTable, both in a pseudo-terminal of 100×30: times in the app, bytes in the
terminal.

``python -m benchmarks.row_table [--rounds 5] [--quick]``, in an environment with Textual: about three minutes,
`--quick` leaves out the DataTable of 100,000 rows. Medians of processes that take turns, a line of JSON each: `shown`,
ms from before the widget is made until its first rows are written; `filter`, ms for one more character of a query,
searched and painted, the slowest of six, and `filter_cpu`, its CPU time in ms, which a busy machine does not change;
`page_cpu`, ms of CPU time for a page down; `key`, `value` and `scroll`, bytes written for moving the cursor down, for a
changed cell, and for scrolling by one line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from benchmarks.figures import report, report_ratio
from benchmarks.terminal import Terminal

if TYPE_CHECKING:
    from textual.app import App

WIDTH, HEIGHT = 100, 30
LABELS = ("Name", "Parts", "RF", "URP", "Over", "Size")
QUERY = "svc-71"
PAGES = 20
KEYS = 20
OWN, PEER = "RowTable", "DataTable"
MANY = 100_000
LIMITS = {"shown": 150.0, "filter": 20.0, "filter_cpu": 20.0, "page_cpu": 16.0, "key": 700, "scroll": 700, "value": 300}


def make_row(index: int) -> list[str]:
    """Return the cells of a row, like those of a list of topics, by its number."""
    return [
        f"team-{index // 50}.svc-{index % 80}.orders{'-dlq' if index % 2 else ''}",
        str(index % 12 + 1),
        "3",
        str(index % 7) if index % 17 == 3 else "",
        str(index % 5),
        f"{index % 900} GiB",
    ]


# -- the measured app --------------------------------------------------------------------------------------------------


class Measured(Protocol):
    """A table and the operations that are measured. The result of each operation is painted when the app is idle
    again.
    """

    def show(self) -> None:
        """Make the table and mount it."""

    def page_down(self) -> None:
        """Move the cursor a page down."""

    def first(self) -> None:
        """Move the cursor to the first row."""

    def narrow(self, query: str) -> None:
        """Show only the rows that match a query."""

    def change(self) -> None:
        """Change the value of one cell."""


def own_table(app: App[None], rows: list[list[str]]) -> Measured:
    """Return the operations on a RowTable with `rows`."""
    from widgets.row_source import Cell, Column, ListRows
    from widgets.row_table import RowTable, RowView, TextSearch

    changed: dict[int, Cell] = {}

    def cells(index: int) -> Sequence[Cell]:
        return [*rows[index][:5], changed.get(index, rows[index][5])]

    source = ListRows(range(len(rows)), lambda index: index, cells)
    search = TextSearch(" ".join(row) for row in rows)
    columns = [Column("name", "Name", flex=1, min_width=20), *(Column(i, i, align="right") for i in LABELS[1:])]

    class Own:
        def show(self) -> None:
            self.table = RowTable(columns, source)
            app.mount(self.table)
            self.table.focus()

        def page_down(self) -> None:
            self.table.action_page(1)

        def first(self) -> None:
            self.table.action_first()

        def narrow(self, query: str) -> None:
            self.table.set_rows(RowView(source, search.hits(query)))

        def change(self) -> None:
            changed[5] = "changed"
            self.table.set_rows(source)

    return Own()


def peer_table(app: App[None], rows: list[list[str]]) -> Measured:
    """Return the operations on a DataTable with `rows`."""
    from textual.coordinate import Coordinate
    from textual.widgets import DataTable

    from widgets.row_table import TextSearch

    search = TextSearch(" ".join(row) for row in rows)

    class Peer:
        def show(self) -> None:
            self.table: DataTable[str] = DataTable(cursor_type="row")
            self.table.add_columns(*LABELS)
            self.table.add_rows(rows)
            app.mount(self.table)
            self.table.focus()

        def page_down(self) -> None:
            self.table.action_page_down()

        def first(self) -> None:
            self.table.move_cursor(row=0)

        def narrow(self, query: str) -> None:
            self.table.clear()
            self.table.add_rows(rows[index] for index in search.hits(query))

        def change(self) -> None:
            self.table.update_cell_at(Coordinate(5, 5), "changed")

    return Peer()


def run_app(widget: str, count: int, figures: Path) -> None:
    """Run the app and measure a table with `count` rows, write the times to the file `figures`, then react to keys
    until killed. widget: which table.
    """
    from textual.app import App
    from textual.binding import BindingType

    from themes import DARK, DEFAULTS
    from widgets.lean_driver import LeanDriver

    rows = [make_row(index) for index in range(count)]

    class Measuring(App[None]):
        BINDINGS: ClassVar[list[BindingType]] = [("x", "change", "Change")]

        def __init__(self) -> None:
            super().__init__(driver_class=LeanDriver if widget == OWN else None)
            self.animation_level = "none"
            self.register_theme(DARK)
            self.theme = DARK.name
            self.measured = (own_table if widget == OWN else peer_table)(self, rows)

        def get_theme_variable_defaults(self) -> dict[str, str]:
            return DEFAULTS

        def on_mount(self) -> None:
            self.run_worker(self.measure())

        async def timed(self, act: Callable[[], object]) -> tuple[float, float]:
            """Return wall and CPU milliseconds from an action until its result is painted."""
            await asyncio.sleep(0.05)
            painted = asyncio.Event()
            wall, cpu = time.perf_counter(), time.process_time()
            act()
            self.call_after_refresh(painted.set)
            await painted.wait()
            return (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3

        async def measure(self) -> None:
            await asyncio.sleep(0.3)
            table = self.measured
            shown, _ = await self.timed(table.show)
            pages = [(await self.timed(table.page_down))[1] for _ in range(PAGES)]
            table.first()
            queries = [QUERY[:end] for end in range(1, len(QUERY) + 1)]
            filters = [await self.timed(partial(table.narrow, query)) for query in queries]
            await self.timed(partial(table.narrow, ""))
            await self.timed(table.first)
            taken = {
                "shown": shown,
                "filter": max(wall for wall, _ in filters),
                "filter_cpu": max(cpu for _, cpu in filters),
                "page_cpu": statistics.median(pages),
            }
            figures.write_text(json.dumps(taken))  # noqa: ASYNC240 - nothing is measured any more

        def action_change(self) -> None:
            self.measured.change()

    Measuring().run()


# -- the terminal around the app ---------------------------------------------------------------------------------------


def measure(widget: str, count: int, figures: Path) -> dict[str, float]:
    """Run `run_app` in a new process in a terminal, and return figure -> its value. Raises TimeoutError if it has
    written none after 300 s.
    """
    figures.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.row_table", "--app", widget, str(count), str(figures)]
    with Terminal(command, columns=WIDTH, rows=HEIGHT, environ={"COLORTERM": "truecolor"}) as terminal:
        end = time.monotonic() + 300
        while not figures.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{widget} with {count} rows")
            terminal.settle(quiet=0.2, timeout=1.0)
        terminal.settle()

        def written_for(keys: bytes) -> int:
            terminal.press(keys)
            return len(terminal.listen(0.3))

        taken: dict[str, float] = json.loads(figures.read_text())
        taken["key"] = statistics.median(written_for(b"\x1b[B") for _ in range(KEYS))
        taken["value"] = written_for(b"x")
        written_for(b"\x1b[B" * 10)
        taken["scroll"] = statistics.median(written_for(b"\x1b[B") for _ in range(KEYS))
        return taken


def main() -> None:
    """Compare the tables; with the arguments of a child process, run `run_app`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--app", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.app:
        run_app(arguments.app[0], int(arguments.app[1]), Path(arguments.app[2]))
        return
    cases = [(OWN, 4_000), (OWN, MANY), (PEER, 4_000)]
    taken: dict[tuple[str, int], list[dict[str, float]]] = {case: [] for case in cases}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        for _ in range(arguments.rounds):
            for case in cases:
                taken[case].append(measure(*case, file))
        if not arguments.quick:
            taken[PEER, MANY] = [measure(PEER, MANY, file)]
    for (widget, count), runs in taken.items():
        medians = {what: round(statistics.median(run[what] for run in runs), 2) for what in LIMITS}
        report("table", who=widget, rows=count, runs=len(runs), **medians)
    for what, limit in LIMITS.items():
        report_ratio(f"{OWN}, {MANY} rows: {what}", statistics.median(run[what] for run in taken[OWN, MANY]), limit)


if __name__ == "__main__":
    main()
