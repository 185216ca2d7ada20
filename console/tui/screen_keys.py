"""The actions of keys that act on the screen itself: refresh, pause, copy, help, save the record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from console.present.names import plural
from console.present.text import clean

if TYPE_CHECKING:
    from console.contexts import Context
    from console.tui.frame import ActiveKeys, Frame
    from console.tui.key_order import KeysInOrder
    from console.tui.navigator import Navigator
    from console.tui.polling import Polling
    from console.tui.watch import ShownCluster

LONGEST_COPY = 100_000
"""Maximum number of characters that are copied; for comparison, a config value has at most 32,767."""


class ScreenKeys:
    """Runs the actions of keys that act on the whole screen. Created when the operator presses the first of them."""

    def __init__(
        self,
        app: KeysInOrder[Context],
        cluster: ShownCluster,
        navigator: Navigator,
        keys: ActiveKeys,
        frame: Frame,
        polling: Polling,
    ) -> None:
        """Create the object.

        Args:
            app: shows the help, and has the clipboard.
            cluster: the visible session and its reads.
            navigator: the navigator, which has the visible view.
            keys: the keys that work in the visible view.
            frame: the lines around the view, with the message line.
            polling: the reads of the visible view.
        """
        self._app, self._cluster, self._navigator = app, cluster, navigator
        self._keys, self._frame, self._polling = keys, frame, polling

    def do_refresh(self) -> None:
        """Read everything that the screen shows now, and clear the marks of changes."""
        self._cluster.changed.clear()
        self._navigator.view.update()
        self._cluster.reading.now()
        self._polling.restart_slow()

    def do_pause(self) -> None:
        """Pause the live refresh, or resume it."""
        reading = self._cluster.reading
        reading.paused = not reading.paused
        reading.tick()
        self._frame.write_header()
        self._navigator.view.tell_where()
        at = self._cluster.session.clock.now().astimezone().strftime("%H:%M:%S")
        text = f"paused at {at}: nothing is read until p or r" if reading.paused else "live again"
        self._frame.message.say(text, "muted")

    def do_suspend(self) -> None:
        """Stop kac, and return to the shell until ``fg`` continues it."""
        self._app.suspend_job()

    def do_add_watch(self) -> None:
        """Add the marked entities, or the entity under the cursor, to the watched ones."""
        from console.language.verbs.watch import subject_text

        added = self._cluster.watching().add(self._navigator.view.targets())
        said = subject_text(added[0]) if len(added) == 1 else plural(len(added), "row")
        text = f"watched: {clean(said, 200)}; ^W shows what is watched" if added else "this can't be watched"
        self._frame.message.say(text, "muted")

    async def do_copy(self) -> None:
        """Copy the text of `View.copied`, and show a message with the outcome; if there is no text, the message says
        so.
        """
        if not (text := self._navigator.view.copied()):
            self._frame.message.say("there is nothing to copy here", "muted")
            return
        from console.tui.clipboard import copy

        said, meaning = await copy(self._app, clean(text, LONGEST_COPY), os.environ)
        self._frame.message.say(f"{said}: {clean(text, 200)}", meaning)

    def do_help(self) -> None:
        """Show the help about the keys of this view."""
        from console.tui.key_help import INDENT, help_lines, sorts_of
        from console.tui.screens import TextScreen
        from console.tui.text_lines import wrap_all

        keys, state, sorts = self._keys.here(), self._keys.state(), sorts_of(self._navigator.view.lines)
        title = f"keys: {self._navigator.place.view}"
        lines = help_lines(keys, state, self._keys.of, sorts)

        self._app.push_screen(TextScreen(title, lambda width: wrap_all(lines, width, INDENT)))

    async def do_save_record(self) -> None:
        """Write the flight record in memory to a new file."""
        from console.tui.keep_record import keep_record

        session = self._cluster.session
        cluster_id = session.snapshot.cluster.cluster_id or ""
        await keep_record(session.recorder, session.context.name, cluster_id, self._frame.message.say)
