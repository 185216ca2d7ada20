"""A console on an embedded cluster in this terminal, for tests: the key F12 appends the screen and the plan to a file.

``python -m tests.tui.typed_console FILE``: each F12 writes a line of JSON, after all work of the keys before it is
done.
"""

import asyncio
import json
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from console.admin.client import AdminClient
from console.cli.demo import context_of
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.model import half_hour
from console.plan.diff import diff
from console.session.session import Session
from console.tui.app import Console
from console.tui.key_order import PASSING, TYPING
from widgets.line_view import LineView


class TypedConsole(Console):
    """A console that writes its screen to a file at each F12."""

    CSS_PATH = str(Path(sys.modules[Console.__module__].__file__ or "").with_name("app.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f12", "write_down", priority=True)]
    into: Path

    def action_write_down(self) -> None:
        """Start a worker that writes the screen after all keys that were typed together with this one."""
        self.run_worker(self._write_down(), group="writing", name="writing")

    async def _write_down(self) -> None:
        """Wait until no work is in progress, and write the screen.

        If rows arrive while keys are typed, the cursor's line keeps its place on the screen, so the scroll offset
        depends on the moment. Therefore scroll each list so that the cursor is in the middle, write it, and scroll it
        back.
        """
        before = None
        moved: Counter[LineView] = Counter()
        while True:
            for lines in self.screen.query(LineView):
                top = lines.scroll_y
                lines.scroll_y = max(0, min(lines.cursor_index - lines.size.height // 2, lines.max_scroll_y))
                moved[lines] += int(top - lines.scroll_y)
            await asyncio.sleep(0.02)
            at_work = self.keys_under_way or any(
                worker.name in (*PASSING, TYPING) and not worker.is_finished for worker in self.workers
            )
            at_work |= "applying" in self.__dict__ and self.applying.busy
            waits = "bar" in self.__dict__ and self.bar.asks
            screens = [strip.text.rstrip() for strip in self.screen._compositor.render_strips()]
            if (
                (not at_work or waits)
                and self.reading.resting
                and (self.view.known() or not self.view.OF_CLUSTER)
                and screens == before
            ):
                break
            before = screens
        plan = [[str(line) for line in group.lines] for group in diff(self.session.plan, self.session.snapshot)]
        shown = {"screen": before, "plan": plan, "bar": self.bar.line.text if self.bar.line.is_open else None}
        with self.into.open("a") as file:
            file.write(json.dumps(shown) + "\n")
        for lines, by in moved.items():
            lines.scroll_y += by


def main() -> None:
    """Run the console until the user ends it."""
    half_hour.own_values = lambda *_: {}  # its samples depend on the console's start time
    logging.basicConfig(filename=Path(sys.argv[1]).with_suffix(".log"), level=logging.INFO)
    with run_in_thread(ClusterSpec(scenario="incident", cluster_id="typed-console-000000")) as cluster:
        context = context_of("demo", cluster.bootstrap, 1)
        client = AdminClient(context.settings)
        client.start()
        settings = ConsoleSettings(start_pane="topics")  # not Now, whose causes change by themselves
        app = TypedConsole(Session(client, context), settings, contexts=Given([context]))
        app.into = Path(sys.argv[1])
        app.run()
        client.close()


if __name__ == "__main__":
    main()
