"""The app: one session, one view at a time, and the lines around it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from console.commands.events import PlanChanged, SessionEvent, SnapshotChanged
from console.contexts.console_settings import PANES as PANE_NAMES
from console.contexts.console_settings import ConsoleSettings
from console.model.acl import Acl
from console.model.changes import Target
from console.model.codes import TOPIC
from console.model.config import ConfigResource, topic_resource
from console.model.quota import QuotaEntity
from console.plan.edits import Edit
from console.present.changed import Changed, changes
from console.present.failures import failure_text, staged_text
from console.present.header import Facts, Who, facts, header
from console.present.names import plural
from console.present.sanitize import clean
from console.present.spans import Line
from console.tui import chrome, keymap
from console.tui.bar import Bar
from console.tui.conditions import State, reason
from console.tui.key_order import KeysInOrder
from console.tui.keymap import BY_ID, GLOBAL, Key, keys_of
from console.tui.live import DUTY, Live, Pace
from console.tui.messages import ClusterLost, ClusterReached, Said, SessionTold
from console.tui.panes.view import View, bindings
from console.tui.places import PANES, SECTIONS, Place, pane, up
from console.tui.text_lines import TextLines, wrap
from themes import DEFAULTS, THEMES, native_ansi, suitable
from widgets.command_bar import CommandBar
from widgets.lean_driver import LeanDriver
from widgets.line_view import LineView

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.commands.session import Session
    from console.commands.statements import Subject
    from console.contexts import Context
    from console.tui.applying import Applying

SWEEP_CHUNK = 2_000
"""Resources that a background sweep reads at once, before it rests."""
VITALS_EVERY = 10.0
"""Seconds between looks at what the header tells, while another view is open."""
TRAIL = 50
MESSAGE_LINES = 3
INTERNAL = "something went wrong in kac itself, and the log has it: $XDG_STATE_HOME/kac/kac.log; please report it"

log = logging.getLogger(__name__)


class Console(KeysInOrder["Context"]):
    """Shows the session, and turns keys into navigation, staged edits and reads."""

    CSS_PATH = "app.tcss"
    TITLE = "kac"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = bindings(keymap.EVERYWHERE)

    def __init__(self, session: Session, settings: ConsoleSettings | None = None) -> None:
        super().__init__(driver_class=LeanDriver, ansi_color=native_ansi(os.environ))
        self.session = session
        self.settings = settings or ConsoleSettings()
        self.changed = Changed()
        self.place = pane(PANE_NAMES.index(self.settings.start_pane) + 1)
        self.lost: ClusterLost | None = None
        self._before: Place | None = None
        self._trail: list[Place] = []
        self._section = keymap.CONFIGS
        self._views: dict[str, View] = {}
        self._said: Line = []
        self._said_at = 0
        self._counted: tuple[object, object, Facts] = (None, None, facts(session.snapshot))
        self._footer_actions: tuple[str, ...] = ()
        self._vitals = Pace(VITALS_EVERY)
        self._topics = Pace(self.settings.refresh * 0.9)
        self.live = Live(self._read, self.settings.refresh)
        self.bar = Bar(self)
        self._header, self._tabs = TextLines(id="header"), TextLines(id="tabs")
        self._message, self._footer = TextLines(id="message"), TextLines(id="footer")
        self.animation_level = "none"
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = suitable(self.settings.theme, color_system=self.console.color_system, no_color=self.no_color)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The meanings of the colours, for themes that do not name them."""
        return DEFAULTS

    def compose(self) -> ComposeResult:
        """Header, panes, the view, the message line, the keys."""
        view = self._view(self.place.view)
        view.place = self.place
        yield self._header
        yield self._tabs
        with Container(id="body"):
            yield view
        yield self.bar.line
        yield self._message
        yield self._footer

    def on_mount(self) -> None:
        """Begin to read."""
        self.set_keymap({action: ",".join(remap.keys) for action, remap in self.settings.keys.items()})
        self.session.subscribe(self._listen)
        self._arrive()
        self.run_worker(self.live.run(), group="live", name="live")
        self.run_worker(self._read_more(), group="more", name="more")

    def _listen(self, event: SessionEvent) -> None:
        self.post_message(SessionTold(event))

    @property
    def view(self) -> View:
        """The view that is shown."""
        return self._views[self.place.view]

    def _view(self, name: str) -> View:
        if name not in self._views:
            from console.tui.panes import make_view

            self._views[name] = make_view(name)
        return self._views[name]

    # -- going about ---------------------------------------------------------------------------------------------------

    async def goto(self, place: Place, *, remember: bool = True) -> None:
        """Show a place. `remember`: Esc comes back to where this was."""
        if place == self.place:
            return
        here = self.place
        if remember:
            self._trail = (
                self._trail[: self._trail.index(place)] if place in self._trail else [*self._trail, here][-TRAIL:]
            )
        self._before = here
        old = self.view
        new = self._view(place.view)
        self.place = place
        self._said = []
        with self.batch_update():
            if new is not old:
                old.display = False
                if not new.is_attached:
                    await self.query_one("#body").mount(new)
                new.display = True
            self.changed.clear()
            self._arrive()

    def _arrive(self) -> None:
        view = self.view
        view.show(self.place)
        view.take_focus()
        self._tell_tabs()
        self._tell_header()
        self._tell_footer()
        self._tell_message()
        self.live.now()
        self.run_worker(self._read_more(), group="more", name="more", exclusive=True)

    def open_resource(self, resource: ConfigResource) -> None:
        """Show an entity inside the pane that is open: its configs, or of a topic the part that was last looked at."""
        section = self._section if resource.type == TOPIC and self.place.view == keymap.TOPICS else keymap.CONFIGS
        self.run_worker(self.goto(Place(section, self.place.pane, resource)), group="goto")

    def open_target(self, target: Target | None) -> None:
        """Show what an edit is about."""
        match target:
            case ConfigResource():
                self.open_resource(target)
            case QuotaEntity():
                self.run_worker(self.goto(pane(PANES.index(keymap.QUOTAS) + 1)), group="goto")
            case Acl():
                self.run_worker(self.goto(pane(PANES.index(keymap.ACLS) + 1)), group="goto")
            case str():
                self.open_resource(topic_resource(target))

    async def do_section(self, step: int = 1) -> None:
        """The next part of the topic."""
        place = SECTIONS.index(self.place.view)
        self._section = SECTIONS[(place + step) % len(SECTIONS)]
        await self.goto(self.place._replace(view=self._section), remember=False)

    async def do_section_back(self) -> None:
        """The part before."""
        await self.do_section(-1)

    async def do_back(self) -> None:
        """A filter goes first, then the view."""
        if self.view.filter_text:
            self.view.take_filter("")
        elif self._trail:
            await self.goto(self._trail.pop(), remember=False)
        elif (above := up(self.place)) is not None:
            await self.goto(above, remember=False)

    async def do_last(self) -> None:
        """The view before this one."""
        if self._before is not None:
            await self.goto(self._before)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """What the conditions of keys look at."""
        context, plan = self.session.context, self.session.plan
        return State(
            read_only=f"context {clean(context.name, 60)}" if context.read_only else None,
            row=self.view.has_row(),
            list_key=self.view.on_list_key(),
            topic=self.place.topic is not None,
            staged=bool(plan.staged),
            past=bool(plan.past),
            future=bool(plan.future),
        )

    async def action_do(self, action: str) -> None:
        """Carry out a key: the view's own way of it, else the app's; or say why not."""
        if not BY_ID[action].where & {self.place.view, keymap.EVERYWHERE}:
            return
        if why := reason(BY_ID[action], self.state()):
            self.say(why, "muted")
            return
        if action in keymap.PANE_KEYS:
            await self.goto(pane(keymap.PANE_KEYS.index(action) + 1))
            return
        name = f"do_{action.replace('-', '_')}"
        result = getattr(self.view, name, None) or getattr(self, name)
        done = result()
        if inspect.isawaitable(done):
            await done
        self._tell_footer()

    def do_refresh(self) -> None:
        """Read now; what changed has been seen."""
        self.changed.clear()
        self.view.update()
        self.live.now()
        self.run_worker(self._read_more(), group="more", name="more", exclusive=True)

    def do_pause(self) -> None:
        """Stop the live refresh, or go on."""
        self.live.paused = not self.live.paused
        self.live.now()
        self._tell_tabs()
        self.say("paused: nothing is read until `p` or `r`" if self.live.paused else "live again", "muted")

    def do_copy(self) -> None:
        """Copy through the terminal."""
        text = self.view.copied()
        if not text:
            self.say("there is nothing to copy here", "muted")
            return
        self.copy_to_clipboard(text)
        self.say(f"copied: {clean(text, 200)}", "muted")

    def do_undo(self) -> None:
        """Take back the last change to the plan."""
        self.session.undo()
        self.say(f"undone; {plural(len(self.session.plan), 'edit')} staged")

    def do_redo(self) -> None:
        """Put back what was undone."""
        self.session.redo()
        self.say(f"done again; {plural(len(self.session.plan), 'edit')} staged")

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show something to read above the panes; `make` gives the lines for a width."""
        from console.tui.screens.text import TextScreen

        self.push_screen(TextScreen(title, make))

    def do_help(self) -> None:
        """The keys of this view."""
        from console.tui.help import help_lines

        keys, state = self.keys_here(), self.state()
        self.show_text(f"keys: {self.place.view}", lambda _width: help_lines(keys, state, self._keys_of))

    def do_palette(self) -> None:
        """Find an action by its name."""
        self.bar.palette()

    def keys_here(self) -> list[Key]:
        """The keys of this view, and those that work everywhere."""
        return [*keys_of(self.place.view), *GLOBAL]

    def reason(self, key: Key) -> str:
        """Why a key does nothing now, ``""`` where it works."""
        return reason(key, self.state())

    def _keys_of(self, action: str) -> str:
        remap = self.settings.keys.get(action)
        return ",".join(remap.keys) if remap else BY_ID[action].keys

    # -- the command bar -----------------------------------------------------------------------------------------------

    def do_command(self) -> None:
        """Type a command."""
        self.prefill("")

    def prefill(self, text: str) -> None:
        """Open the command bar with a text that the operator goes on with."""
        self.bar.command(text)

    def do_filter(self) -> None:
        """Type a filter; it holds while it is typed."""
        self.bar.filter(self.view.filter_text)

    def edit_entities(self, entities: Sequence[Subject], key: str = "") -> None:
        """Open the command bar to set something on an entity, or on all that are marked."""
        from console.commands.quoting import quote
        from console.commands.unparse import subject_text

        if len(entities) == 1:
            self.prefill(f"set {subject_text(entities[0])} " + (f"{quote(key)}=" if key else ""))
        elif entities:
            self.say(f"for the {len(entities)} that are marked", "muted")
            self.prefill("set ")

    # -- the plan ------------------------------------------------------------------------------------------------------

    def stage(self, edits: Sequence[Edit]) -> None:
        """Put edits into the plan and say what became of them."""
        from console.commands.session import Refused

        try:
            report = self.session.stage(edits)
        except Refused as refused:
            self.say(failure_text(refused.failure), "failed")
            return
        self.say(*staged_text(report))

    @cached_property
    def applying(self) -> Applying:
        """The way from the plan to the brokers."""
        from console.tui.applying import Applying

        return Applying(self)

    async def do_check(self) -> None:
        """Let the brokers validate the plan."""
        self.applying.check()

    def do_apply(self) -> None:
        """Ask, then send the plan."""
        self.applying.ask_and_apply()

    def show_script(self) -> None:
        """The plan as a script."""
        self.applying.show_script()

    def do_quit(self) -> None:
        """Leave; where edits are staged, ask."""
        self.applying.ask_and_quit()

    # -- reading -------------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """One look at what is visible, and at what the header tells when that is due."""
        from console.admin.errors import AdminError, AuthenticationFailed
        from console.commands.session import Refused

        session = self.session
        try:
            if not session.snapshot.cluster.brokers:
                await asyncio.gather(session.read_cluster(), self.view.read())
            else:
                await self.view.read()
            if self._vitals.due():
                with self._vitals:
                    await asyncio.gather(session.read_cluster(), session.read_quorum(), session.read_versions())
                    await self.read_all_topics()
        except AdminError as error:
            self.post_message(ClusterLost(error.failure, isinstance(error, AuthenticationFailed)))
        except Refused as refused:
            self.post_message(ClusterLost(refused.failure, final=True))
        except Exception:  # the loop has to go on, whatever one read ran into
            log.exception("reading for %s", self.place.view)
            self.post_message(Said(INTERNAL, "failed"))
        else:
            self.post_message(ClusterReached())

    async def _read_more(self) -> None:
        """The slow reads of the visible view, with rest between them."""
        from console.admin.errors import AdminError

        pace = Pace(self.settings.refresh * 12)
        while True:
            await asyncio.sleep(0.5)
            if self.live.paused or self.lost is not None or not pace.due():
                continue
            try:
                with pace:
                    await self.view.read_more()
            except AdminError as error:
                log.info("background read: %s", error.failure)
            except Exception:  # as above
                log.exception("background read for %s", self.place.view)

    async def read_all_topics(self) -> None:
        """All topics, where that is due: Metadata for everything is read no oftener than its cost allows."""
        if self._topics.due():
            with self._topics:
                await self.session.read_topics()

    async def sweep(self, resources: Sequence[ConfigResource]) -> None:
        """Read the configs of many resources, with nine parts rest to one part work."""
        loop = asyncio.get_running_loop()
        for start in range(0, len(resources), SWEEP_CHUNK):
            began = loop.time()
            await self.session.read_configs(resources[start : start + SWEEP_CHUNK])
            if start + SWEEP_CHUNK < len(resources):
                await asyncio.sleep((DUTY - 1) * (loop.time() - began))

    @on(SessionTold)
    def _session_told(self, message: SessionTold) -> None:
        match message.event:
            case SnapshotChanged(old=old, new=new):
                self.changed.note(changes(old, new), datetime.now(UTC))
                self._tell_header()
            case PlanChanged():
                self._tell_tabs()
        self.view.update()
        self._tell_footer()
        self._tell_message()

    @on(ClusterReached)
    def _cluster_reached(self) -> None:
        if self.lost is not None:
            self.lost = None
            self._said = []
            self._tell_message()

    @on(ClusterLost)
    def _cluster_lost(self, message: ClusterLost) -> None:
        log.warning("the cluster is out of reach: %s", message.failure)
        self.lost = message
        if message.final:
            self.live.paused = True
            self._tell_tabs()
        self.view.redraw()
        self._tell_message()

    def _handle_exception(self, error: Exception) -> None:
        """A mistake of ours ends the console with a line, not a traceback; the log has the rest."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        log.critical("the console ended", exc_info=error)
        self.exit(return_code=1, message=f"kac: {INTERNAL}")

    # -- the lines around the view -------------------------------------------------------------------------------------

    def say(self, text: str, meaning: str = "") -> None:
        """Put a line on the message line, until the cursor moves or another view opens."""
        self._said = [(text, meaning)]
        self._said_at = self.keys_seen
        self._tell_message()

    @on(Said)
    def _said_so(self, message: Said) -> None:
        self.say(message.text, message.meaning)

    def _tell_message(self) -> None:
        line = self._said or self._lost_line() or [*self.view.note()]
        lines = wrap(line, max(20, self.size.width - 2))[:MESSAGE_LINES]
        if self._message.size.height != (height := max(1, len(lines))):
            self._message.styles.height = height
        self._message.set(*([(" ", ""), *part] for part in lines))

    def _lost_line(self) -> Line:
        if self.lost is None:
            return []
        if not self.view.known():
            return [("not connected", "failed"), ("" if self.lost.final else ": trying again; r tries now", "")]
        return [("not connected: ", "failed"), (failure_text(self.lost.failure), "")]

    def _tell_header(self) -> None:
        snapshot = self.session.snapshot
        if self._counted[0] is not snapshot.topics or self._counted[1] is not snapshot.cluster:
            self._counted = (snapshot.topics, snapshot.cluster, facts(snapshot))
        self._header.set(header(snapshot, self._counted[2], self._who(), self.size.width))

    def _who(self) -> Who:
        context = self.session.context
        return Who(context.name, context.read_only, principal(context))

    def _tell_tabs(self) -> None:
        self._tabs.set(chrome.tabs(self.place.pane, len(self.session.plan), self.live.paused))

    def _tell_footer(self) -> None:
        state = self.state()
        keys = [key for key in (*keys_of(self.place.view), *GLOBAL) if not reason(key, state)]
        line, self._footer_actions = chrome.footer(chrome.hints(keys, self.view.ENTER), self.size.width)
        self._footer.set(line)

    @on(LineView.Highlighted)
    def _cursor_moved(self) -> None:
        # A refresh moves the cursor too, where its row is gone; that is no reason to take a message away.
        if self.keys_seen > self._said_at:
            self._said = []
        self._tell_message()
        self._tell_footer()

    def on_resize(self) -> None:
        """The lines are made for a width."""
        self._tell_header()
        self._tell_footer()
        self.view.tell_where()

    @on(CommandBar.Changed, "#bar")
    def _bar_changed(self, message: CommandBar.Changed) -> None:
        self.bar.changed(message)

    @on(CommandBar.Closed, "#bar")
    def _bar_closed(self, message: CommandBar.Closed) -> None:
        self.bar.closed(message)

    @on(CommandBar.Submitted, "#bar")
    def _bar_submitted(self, message: CommandBar.Submitted) -> None:
        self.bar.submitted(message)

    @on(TextLines.Pressed, "#tabs")
    async def _tab_pressed(self, message: TextLines.Pressed) -> None:
        number = chrome.tab_at(message.lines.piece_at(message.x))
        if number is not None:
            await self.goto(pane(number))

    @on(TextLines.Pressed, "#footer")
    async def _footer_pressed(self, message: TextLines.Pressed) -> None:
        piece = message.lines.piece_at(message.x)
        if piece is not None and self._footer_actions[piece]:
            await self.action_do(self._footer_actions[piece])


def principal(context: Context) -> str:
    """Who the brokers take us for, as far as the connection's settings say; brokers may map a certificate otherwise."""
    settings = context.settings
    if settings.sasl is not None:
        return settings.sasl.username or settings.sasl.mechanism
    if settings.tls is not None and settings.tls.key_store is not None:
        return "certificate"
    return "ANONYMOUS"


def run_console(client: AdminClient, context: Context, settings: ConsoleSettings | None = None) -> int:
    """Open the console on a client that was started; the result is the exit code.

    settings: of our own file, which is read where they are not given. Going to another context ends the app and opens
    it again on a client of its own.
    """
    from console.admin.client import AdminClient as Another

    if settings is None:
        from console.contexts import load

        settings = load(os.environ, Path.home()).settings
    chosen: Context | None = context
    mine = client
    while chosen is not None:
        app = Console(_session(mine, chosen), settings)
        chosen = app.run(mouse=app.settings.mouse)
        if app.return_code:
            return app.return_code
        if chosen is not None:
            mine.close()
            mine = Another(chosen.settings)
            mine.start()
    mine.close()
    return 0


def _session(client: AdminClient, context: Context) -> Session:
    """A session whose first reads are on their way."""
    from console.admin import cluster, topics
    from console.commands.session import Session
    from console.tui.head_start import HeadStart

    ahead = HeadStart(client, [(cluster.describe_cluster, ()), (topics.describe_topics, (None,))])
    return Session(ahead, context)
