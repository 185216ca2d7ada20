"""The Textual app: one session, one visible view, and the lines around it (header, panes, message, footer)."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import Screen

from console.contexts.configured import Choice, Configured
from console.contexts.console_settings import PANES as PANE_NAMES
from console.contexts.console_settings import ConsoleSettings
from console.log_file import INTERNAL
from console.present.changed import Changed, changes
from console.session.snapshot_reader import PlanChanged, Progress, SessionEvent, SnapshotChanged
from console.terminal import for_clipboard
from console.tui import clipboard, keymap
from console.tui import frame as chrome
from console.tui import reading as contact
from console.tui.editing import Editing
from console.tui.frame import ActiveKeys, Frame
from console.tui.key_order import PASSING, TYPING, KeysInOrder
from console.tui.keymap import BY_ID
from console.tui.navigator import Navigator
from console.tui.panes import make_view
from console.tui.panes.view import View, bindings
from console.tui.past import Journal, OpenLake
from console.tui.places import Place, pane, part_titled, view_place
from console.tui.polling import ClusterLost, ClusterReached, FirstReads, Polling
from console.tui.reading import Reading, SessionChanged, StatusMessage
from console.tui.text_lines import MessageLine, TextLines
from console.tui.theme_choice import ThemeChoice
from console.tui.tools import Tools
from console.tui.watch import HalfHourWatch, LintWatch, ShownCluster, Watch, watching_of
from themes import DEFAULTS, THEMES, native_ansi
from widgets.lean_driver import AskingDriver, Background, LeanDriver
from widgets.line_painting import MovedWidgets
from widgets.line_view import LineView

if TYPE_CHECKING:
    from console.contexts import Context  # a type argument of the base class
    from console.language.errors import LanguageError
    from console.language.statements import Statement
    from console.session.command_history import CommandHistory
    from console.session.session import Applied, Session
    from console.tui.applying import Applying
    from console.tui.bar import Bar
    from console.tui.operating import Operating
    from console.tui.prefetch import SessionFactory
    from console.tui.screen_keys import ScreenKeys
    from console.tui.topic_analyses import TopicAnalyses
    from console.tui.voice import InputLines

log = logging.getLogger(__name__)


def _first_place(context: Context, settings: ConsoleSettings) -> Place:
    """Return the place at which the console opens.

    Returns:
        The quorum for a context of controllers; the watched entities if the settings name a set that the context
        defines; otherwise the pane that the settings name.
    """
    if context.settings.controllers:
        return view_place(keymap.QUORUM)
    if settings.watch in context.watch:
        return view_place(keymap.WATCH)
    return pane(PANE_NAMES.index(settings.start_pane) + 1)


class Console(KeysInOrder["Context"]):
    """The app of the screen: shows the session's data, and turns keys into navigation, staged edits and reads."""

    CSS_PATH = "app.tcss"
    TITLE = "kac"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(keymap.EVERYWHERE)
    WATCH: ClassVar[type[Watch]] = Watch
    HALF_HOUR: ClassVar[type[HalfHourWatch]] = HalfHourWatch
    KEYS: ClassVar[type[ActiveKeys]] = ActiveKeys
    FRAME: ClassVar[type[Frame]] = Frame

    def __init__(
        self,
        session: Session,
        settings: ConsoleSettings | None = None,
        history: CommandHistory | None = None,
        contexts: Choice | None = None,
        lake: str | None = None,
        prefetched: SessionFactory | None = None,
    ) -> None:
        """Create the app; it reads nothing before its first frame is drawn.

        Args:
            session: the session on the first context.
            settings: the settings of the console; None for the defaults.
            history: the file of earlier commands; None to keep no history.
            contexts: the contexts that the operator can switch to; None for the configured ones.
            lake: value of ``--lake``, which overrides the configured one; None without the option.
            prefetched: begins the first reads when the first frame is drawn; None for ordinary first reads.
        """
        super().__init__(driver_class=LeanDriver, ansi_color=native_ansi(os.environ))
        settings = settings or ConsoleSettings()
        self.session = session
        self.contexts: Choice = contexts or Configured(os.environ, Path.home())
        self.lake = OpenLake(lake, session.context.lake)
        self.message_line = MessageLine(lambda: self.frame.note(), lambda: self.keys_seen)
        self.reading = Reading(session, settings.refresh)
        self.triage = self.WATCH(self, self.reading, lambda: self.frame.write_tabs(), lambda: self.view.update())
        self.journal = Journal(
            self, self.reading, self.message_line, lambda: self.view.update(), lambda: self.frame.write_header()
        )
        half_hour = self.HALF_HOUR(self.triage, self.journal, lambda: self.view.update(), in_words=settings.slow_link)
        lint = LintWatch(self.triage, lambda: self.view.update())
        watching = watching_of(session.context, settings.watch)
        self.cluster = ShownCluster(
            self.reading, self.triage, half_hour, Changed(), lint, lambda: self.analyses, watching
        )
        self.editing = Editing(
            self.cluster,
            self.message_line,
            lambda text: self.bar.command(text),
            lambda prompt: self.bar.ask_secret(prompt),
        )
        self.body = Container(id="body")
        first = _first_place(session.context, settings)
        self.navigator = Navigator(first, self._make_view, self.body, self._leave_place, self._enter_place)
        self.keys = self.KEYS(self.cluster, self.navigator, settings.keys)
        self.frame = self.FRAME(self.cluster, self.navigator, self.keys, self.journal, self.message_line)
        self.polling = Polling(self.reading, lambda: self.view, self.post_message)
        self._first_reads = FirstReads(self, self.cluster, prefetched)
        self._remaps, self._history = settings.keys, history
        self._applied: Applied | None = None
        self.animation_level = "none"
        for theme in THEMES:
            self.register_theme(theme)
        self.themes = ThemeChoice(self, settings.theme, self.message_line)
        if self.themes.asks:
            self.driver_class = AskingDriver
        self.themes.show()

    @cached_property
    def tools(self) -> Tools:
        """The parts of the console that panes use."""
        return Tools(
            self.cluster,
            self.navigator,
            self.editing,
            self.message_line,
            self.journal,
            self.lake,
            self.contexts,
            operating=lambda: self.operating,
            execute=self.execute,
            look_back=self.look_back,
        )

    def _make_view(self, name: str) -> View:
        return make_view(name, self.tools)

    def run_as_lines(self, lines: InputLines) -> Context | None:
        """Run without a screen: print lines of text, and read commands from `lines`. Return the context that the
        operator switched to; None to exit.
        """
        from console.tui.plain import Plain

        bar, applying = (lambda: self.bar), (lambda: self.applying)
        return Plain(self, self.tools, self.keys, self.frame, bar, applying, self.action_do).run(lines)

    def on_background(self, message: Background) -> None:
        """Apply the theme for the colour of the terminal's background, unless the operator chose a theme."""
        self.themes.reported(message.is_light)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return meaning -> colour, for the meanings that the app's theme does not define."""
        return DEFAULTS

    def get_default_screen(self) -> Screen[object]:
        """Return the screen of the panes; unlike Textual's, it repaints every widget that a layout has moved."""
        screen: Screen[object] = super().get_default_screen()
        screen._compositor = MovedWidgets()
        return screen

    def compose(self) -> ComposeResult:
        """Yield the header, the line of panes, the visible view, the message line and the footer."""
        yield self.frame.header
        yield self.frame.tabs
        with self.body:
            yield self.view
        yield self.message_line
        yield self.frame.footer

    def on_mount(self) -> None:
        """Subscribe to the session, handle signals, show the first view and warnings about the settings, and start the
        reads.
        """
        self.set_keymap({action: ",".join(remap.keys) for action, remap in self._remaps.items()})
        self.session.subscribe(self._listen)
        with suppress(ValueError, RuntimeError, NotImplementedError):  # only the main thread can handle signals
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._ended, int(number))
        self.frame.put_color()
        self.navigator.show()
        if exposures := self.session.context.settings.exposures:
            self.message_line.say(f"warning: {' · '.join(exposures)}", "failed")
        # Begin reading after the first frame: work that keeps the interpreter busy would delay it, and later reads
        # would delay the first rows.
        self.call_after_refresh(self._first_reads.begin)

    async def on_unmount(self) -> None:
        """Stop running operations, wait until no check or apply is in progress, and close the lake. kac does not
        wait for the response to a request if the operator chose to leave without it.
        """
        await self.operating.leave()
        await self.session.work.wait()
        self.lake.close()

    def _ended(self, number: int) -> None:
        self.applying.ended(number)

    def _listen(self, event: SessionEvent) -> None:
        self.post_message(SessionChanged(event))

    @property
    def view(self) -> View:
        """The visible view."""
        return self.navigator.view

    def _leave_place(self, old: Place, new: Place) -> None:
        """Clear the message and the read failure of the old place, and the cursor in time (the marked column of the
        graphs). If the pane changes, also clear the marks of changes, since the operator has seen them.
        """
        if new.pane != old.pane:
            self.cluster.changed.clear()
        self.cluster.half_hour.leave_moment()
        self.reading.contact = contact.elsewhere(self.reading.contact)
        self.message_line.forget()

    def _enter_place(self) -> None:
        """Write the lines around the view for the new place, and read the place's data."""
        self.frame.all()
        self.reading.tick()
        self.polling.restart_slow()

    def is_busy(self, event: events.Event) -> bool:
        """Return whether a key that was typed ahead has to wait for the work that earlier keys began.

        A key waits for an apply under way, a command, a view that is still being read, or a read of names for a
        completion. A key does not wait while a question is visible, since it may be the answer.
        """
        if "applying" in self.__dict__ and self.applying.busy:
            return True
        bar = self.__dict__.get("bar")
        asks = bar is not None and bar.asks
        if not asks and any(worker.name in PASSING and not worker.is_finished for worker in self.workers):
            return True
        if bar is not None and bar.line.is_open:
            is_text = isinstance(event, events.Paste) or (isinstance(event, events.Key) and event.is_printable)
            return not is_text and any(w.name == TYPING and not w.is_finished for w in self.workers)
        return not self.view.known() and self.reading.contact.is_current and not self.reading.resting

    def busy_with(self) -> str:
        """Return the work that must not be interrupted, as text: an apply under way; ``""`` if there is none."""
        return "a change is on its way" if self.session.work.is_under_way else ""

    def tell(self, text: str) -> None:
        """Show a message on the message line."""
        self.message_line.say(text, "muted")

    async def action_do(self, action: str) -> None:
        """Run the action of a key: call the method ``do_ID`` of the first receiver that has it. If no receiver has it,
        open the view whose name is the id. If the key works in the current view but is inactive now, only show the
        reason.

        Args:
            action: id of a key in `keymap`. If the key does not work in the current view, nothing happens.
        """
        if not BY_ID[action].where & {self.navigator.place.view, keymap.EVERYWHERE}:
            return
        if why := self.keys.reason(BY_ID[action]):
            self.message_line.say(why, "muted")
            return
        await self.bar.ready()
        if action in keymap.PANE_KEYS:
            await self.navigator.goto(pane(keymap.PANE_KEYS.index(action) + 1))
            return
        name = f"do_{action.replace('-', '_')}"
        carry_out = next((getattr(who, name) for who in self._receivers() if hasattr(who, name)), None)
        if carry_out is None:
            await self.navigator.goto(view_place(action))
        elif inspect.isawaitable(done := carry_out()):
            await done
        self.frame.write_footer()

    def _receivers(self) -> Iterator[object]:
        """Yield the objects whose methods ``do_ID`` handle keys, in order of precedence. The last ones are created only
        if no object before them has the method.
        """
        yield from (*self.view.receivers, self.navigator, self.editing, self.bar, self)
        yield self.screen_keys
        yield self.applying
        yield self.operating

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text to the terminal's clipboard (OSC 52), without control characters, so that a shell does not run it
        when pasted.
        """
        self._clipboard = for_clipboard(text)
        if self._driver is not None and (told := clipboard.sequence(self._clipboard, os.environ)):
            self._driver.write(told)

    async def look_back(self, at: datetime) -> None:
        """Suspend the console, and replay the flight record in memory from `at` on. Returns when the operator leaves
        the replay.
        """
        from console.tui.look_back import look_back

        session = self.session
        cluster_id = session.snapshot.cluster.cluster_id or ""
        self.message_line.say(await look_back(self, session.recorder, session.context.name, cluster_id, at), "muted")

    def go_to_time(self, text: str) -> None:  # noqa: ARG002 - a replay uses it
        """Show a message that only a replay of a record can go to a time."""
        self.message_line.say("only a record has times to go to: kac replay FILE", "failed")

    @cached_property
    def screen_keys(self) -> ScreenKeys:
        """The receiver of the keys that act on the screen itself, such as refresh and copy; created on first use."""
        from console.tui.screen_keys import ScreenKeys

        return ScreenKeys(self, self.cluster, self.navigator, self.keys, self.frame, self.polling)

    @cached_property
    def analyses(self) -> TopicAnalyses:
        """The runner of topic analyses; created on first use."""
        from console.tui.topic_analyses import TopicAnalyses

        session, tell = self.session, self.message_line.say
        return TopicAnalyses(self, lambda: session.records, session.learn, lambda: self.view.update(), tell)

    @cached_property
    def operating(self) -> Operating:
        """The runner of operations, such as drains; created on first use."""
        from console.tui.operating import Operating

        return Operating(self, self.cluster, self.journal, self.message_line)

    @cached_property
    def applying(self) -> Applying:
        """The object that checks and applies the plan, created on first use."""
        from console.tui.applying import Applying

        return Applying(self, self.cluster, self.message_line, self.journal, self.operating, self.contexts)

    @cached_property
    def bar(self) -> Bar:
        """The command bar; created after the first rows are on the screen."""
        from console.tui.bar import Bar

        return Bar(
            self,
            self.cluster,
            self.navigator,
            self.keys,
            self.contexts,
            self._history,
            act=self.action_do,
            execute=self.execute,
        )

    async def execute(self, statements: Sequence[Statement]) -> LanguageError | None:
        """Execute commands in order. Return the error if a command has a mistake in the language, else None; other
        errors go to the message line.
        """
        from console.tui.execute import Executor

        executor = Executor(
            self,
            self.cluster,
            self.navigator,
            self.editing,
            self.applying,
            self.operating,
            self.themes,
            go_to_time=self.go_to_time,
        )
        return await executor.run(statements)

    async def action_quit(self) -> None:
        """Handle Textual's own quit key, which works on any screen: quit as `Applying.do_quit` does."""
        self.applying.do_quit()

    def action_help_quit(self) -> None:
        """Handle Ctrl-C: quit."""
        self.applying.do_quit()

    @on(SessionChanged)
    def _session_told(self, message: SessionChanged) -> None:
        match message.event:
            case SnapshotChanged(old=old, new=new):
                self.cluster.changed.note(changes(old, new), self.session.clock.now())
                self.journal.snapshot_changed(new)
                self.frame.write_header()
            case PlanChanged():
                if (applied := self.session.applied) is not None and applied is not self._applied:
                    self.navigator.clear_marks()
                self._applied = applied
                self.frame.write_tabs()
            case Progress(what=what, done=done, total=total):
                if self.reading.held:
                    self.message_line.say(f"{what}: {done} of {total}", "pending", is_progress=True)
                return
        self.view.update()
        self.message_line.write()
        self.frame.write_footer()

    @on(ClusterReached)
    def _cluster_reached(self, message: ClusterReached) -> None:
        now = self.session.clock.now()
        if message.unread is None:
            self._touch(contact.answered(now, message.silent))
        elif message.place == self.navigator.place:
            self._touch(contact.heard(self.reading.contact, now, message.silent, message.unread, message.since))
        self.journal.read_once()
        self.call_after_refresh(lambda: self.bar.ready())

    @on(ClusterLost)
    def _cluster_lost(self, message: ClusterLost) -> None:
        # Stop reading after wrong credentials: sending them every few seconds would lock the account.
        self.reading.paused |= message.final
        self._touch(
            contact.lost(self.reading.contact, message.failure, message.final, self.session.snapshot.read_at.values())
        )

    def _touch(self, known: contact.Contact) -> None:
        """Store whether the cluster answers, and redraw if that changed. If only the time of the last response is
        newer, draw nothing: the time is shown only while the cluster does not answer.
        """
        before, self.reading.contact = self.reading.contact, known
        if before.answered_at is None:
            self.frame.write_header()
        if replace(known, answered_at=before.answered_at) == before:
            return
        if failure := known.lost or known.unread:
            log.warning("%s: %s", "the cluster does not answer" if known.lost else "not read", failure)
        self.frame.write_header()
        self.view.redraw()
        if known.is_current:
            self.message_line.write()
        else:
            self.message_line.forget()

    @on(StatusMessage)
    def _worker_said(self, message: StatusMessage) -> None:
        self.message_line.say(message.text, message.meaning)

    def _handle_exception(self, error: Exception) -> None:
        """Exit with one line for the operator, and log the traceback. In a headless console, as in tests, let Textual
        handle the exception.
        """
        if self.is_headless:
            super()._handle_exception(error)
            return
        log.critical("the console ended", exc_info=error)
        self.exit(return_code=1, message=f"kac: {INTERNAL}")

    @on(LineView.Highlighted)
    def _cursor_moved(self) -> None:
        self.message_line.forget(moved=True)
        self.message_line.write()
        self.frame.write_footer()

    def on_resize(self) -> None:
        """Write the lines around the view for the new width."""
        self.frame.all()
        self.view.tell_where()

    @on(TextLines.Pressed)
    async def _line_pressed(self, message: TextLines.Pressed) -> None:
        if message.lines is self.frame.tabs:
            if (number := chrome.tab_at(message.lines.piece_at(message.x))) is not None:
                await self.navigator.goto(pane(number))
        elif message.lines is self.frame.footer and (action := self.frame.action_at(message.x)):
            await self.action_do(action)
        elif message.lines is self.view.where and (
            part := part_titled(self.navigator.place, message.lines.text_at(message.x))
        ):
            await self.navigator.show_part(part)
