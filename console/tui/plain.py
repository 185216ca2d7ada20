"""``--plain``: the console as lines of text, for screen readers, braille displays and pipes.

It runs the same app on a driver that draws nothing. The views, their keys, the command language and the apply flow are
those of the screen; this module reads their rows, messages and questions, and prints them as lines. It writes no escape
sequence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from signal import SIGINT
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console as RichConsole
from textual.events import Key as KeyEvent

from console import event_loop
from console.model.numbers import plural
from console.present import in_words
from console.present.text import clean, plain
from console.tui import keymap, places
from console.tui.frame import ActiveKeys, Frame, sign, signs
from console.tui.key_order import KeysInOrder
from console.tui.pane_lines import TEXT_WIDTH, PaneLines
from console.tui.reading import start
from console.tui.screens import Confirm, TextScreen, Waiting
from console.tui.voice import InputLines, SilentDriver, Voice
from widgets.command_bar import COMMAND, SECRET, CommandBar

if TYPE_CHECKING:
    from console.contexts import Context
    from console.language.errors import LanguageError
    from console.tui.applying import Applying
    from console.tui.bar import Bar
    from console.tui.tools import Tools

SIZE = (1000, 40)
"""Columns and rows of the invisible screen; it is wide, so that nothing is cut or wrapped."""
TICK = 0.25
"""Seconds between two checks for changes."""
PATIENCE = 60.0
"""Maximum seconds for which the next typed line waits for the work of the line before it."""
MOST_CANDIDATES = 8
YES, NO = frozenset({"y", "yes"}), frozenset({"n", "no", "esc", "escape", "back"})

HELP = (
    "Type a line and Enter. Lines with a time in front are changes, told as they happen.",
    "A number: the details of that row. enter, or enter NUMBER: open it. back: where you were before.",
    "now, topics, groups, brokers, configs, quotas, acls, plan, events, history, lint: open a pane.",
    "again: tell the pane once more. more: its next rows. / and words: only rows with them. / alone: all rows.",
    "keys: what can be done in this pane; each has a letter and a word, and both can be typed: F or fix. keys all: "
    "what can be done in every pane.",
    "A command changes something: set topic orders retention.ms=1d. It is staged only: plan says what is staged, "
    "check lets the brokers check it, apply sends it after a question.",
    "help WORD: a command and its examples. help commands: all of them.",
    "A line that ends in the Tab key: what can follow. Nothing is done then.",
    "sort COLUMN: rows in its order, then the other way round. sort alone: by which columns.",
    "graphs: the last half hour as sentences. mark NUMBER: mark a row, so that a command applies to all marked ones.",
    "changes off, changes on: do not tell changes, tell them. quit, or Ctrl-D: leave.",
)


_BY_LINES = frozenset({"command", "palette", "suspend", "help", "copy", "filter", "find", "earlier", "later"})
"""Ids of keys that do not work in lines: they open an input, or act on a screen or a graph, and lines have commands
instead.
"""


_VIEWS = frozenset({keymap.LINT, *places.NODES, *keymap.OF_CONNECT})
"""Views that can be opened by name in lines; on the screen, the Tab key leads to them."""


class Plain:
    """Prints the content of the app's views as lines, and passes typed lines to the app. Each run of an app needs a new
    object.
    """

    def __init__(
        self,
        app: KeysInOrder[Context],
        tools: Tools,
        keys: ActiveKeys,
        frame: Frame,
        bar: Callable[[], Bar],
        applying: Callable[[], Applying],
        act: Callable[[str], Awaitable[None]],
    ) -> None:
        """Create the console as lines; `run` starts the app.

        Args:
            app: has the screens, and runs the workers.
            tools: the objects that panes use.
            keys: the keys that work in the visible view.
            frame: the lines around the view, with messages.
            bar: returns the command bar, created on first use.
            applying: returns the object that applies the plan, created on first use.
            act: runs the action of a key, by the action's id.
        """
        self._app, self._tools, self._keys, self._frame = app, tools, keys, frame
        self._bar, self._applying, self._act = bar, applying, act
        self._cluster, self._navigator = tools.cluster, tools.navigator
        self._voice = Voice(lambda: tools.cluster.session.clock.now())
        self._pane = PaneLines(tools.cluster, tools.navigator, self._voice)
        self._state: tuple[object, ...] = ()
        self._is_pane_said = self._was_known = False
        self._staged = 0
        self._note, self._is_current = "", True
        self._question: object | None = None
        self._question_lines = 0
        self._is_prompted = False
        self._begun = ""

    def run(self, lines: InputLines) -> Context | None:
        """Run the app until the operator leaves.

        Args:
            lines: the lines that the operator types.

        Returns:
            The context that the operator switched to; None to exit.
        """
        app, self._lines = self._app, lines
        app.driver_class = SilentDriver
        app.error_console = RichConsole(stderr=True, color_system=None, markup=False, highlight=False)
        try:
            return event_loop.run(app.run_async(mouse=False, size=SIZE, auto_pilot=self._talk))
        finally:
            lines.echo(True)
            self._voice.say("left")

    # -- the dialogue with the operator --------------------------------------------------------------------------------

    async def _talk(self, _pilot: object) -> None:
        app, context = self._app, self._cluster.session.context
        with suppress(ValueError, RuntimeError, NotImplementedError):  # only the main thread can handle signals
            asyncio.get_running_loop().add_signal_handler(SIGINT, lambda: self._applying().do_quit())
        mode = "read-only" if context.read_only else "read and write"
        self._voice.say(f"{clean(context.name, 80) or 'cluster'}, {mode}. help says what can be typed, quit leaves.")
        await self._bar().ready()
        await self._settled()
        while app.is_running:
            self._tell()
            if (line := self._lines.next()) is not None:
                before = self._voice.count
                await self._take(line)
                await self._settled()
                self._tell()
                if self._voice.count == before and app.is_running:
                    self._voice.say("done")
            elif self._lines.ended:
                self._leave()
                return
            else:
                await asyncio.sleep(TICK)

    def _leave(self) -> None:
        """Exit at the end of the input, which can't answer a question: with exit code 3 if staged edits are lost, else
        0. During an apply, wait for it as a quit does.
        """
        app = self._app
        if self._cluster.session.work.is_under_way or self._applying().busy:
            self._applying().do_quit()
            return
        if count := len(self._cluster.session.plan):
            self._voice.say(f"{plural(count, 'staged edit')} {'is' if count == 1 else 'are'} not kept")
        app.exit(return_code=3 if count else 0)

    async def _settled(self) -> None:
        """Wait until the app has no work left or asks something, at most `PATIENCE` seconds; print its messages
        meanwhile.
        """
        app, end = self._app, monotonic() + PATIENCE
        while app.is_running and monotonic() < end:
            is_busy = app.is_busy(KeyEvent("enter", None))
            await app.no_messages()
            self._tell_messages()
            is_unfinished = isinstance(app.screen, Confirm) and not app.screen.whole
            if self._is_asked() or not (is_busy or is_unfinished):
                return
            await asyncio.sleep(TICK / 5)

    def _is_asked(self) -> bool:
        """Return whether the app waits for an answer to a complete question, or for the text of an open input line."""
        top = self._app.screen
        if isinstance(top, Confirm):
            return top.whole
        return isinstance(top, Waiting) or self._bar().line.is_open

    async def _take(self, line: str) -> None:
        """Handle one typed line: as the answer to a question, a secret, the rest of a begun command, or a command."""
        app, bar = self._app, self._bar()
        top = app.screen
        if isinstance(top, Confirm | Waiting):
            self._answer(top, line.strip())
            return
        if bar.line.is_open:  # the line can only be open for a secret
            self._lines.echo(True)
            if line:
                bar.submitted(CommandBar.Submitted(bar.line, SECRET.name, line))
            else:
                bar.line.close()
                bar.closed(CommandBar.Closed(bar.line, SECRET.name, ""))
            return
        begun, self._begun = self._begun, ""
        if begun:
            if not line.strip():
                self._voice.say("nothing was begun")
                return
            line = line if line.lstrip().startswith(begun.strip()) else begun + line.lstrip()
        if line.endswith("\t"):
            self._begun = begun and line.rstrip("\t")
            self._tell_candidates(line.rstrip("\t"))
            return
        await self._carry_out(line.strip())

    def _answer(self, top: Confirm | Waiting, text: str) -> None:
        word = text.lower()
        if isinstance(top, Waiting):
            if word in ("q", "quit", "leave"):
                top.action_leave()
            elif word in NO or word == "stay":
                top.action_stay()
            else:
                self._voice.say(_prompt(top))
        elif top.names and top.take_name(text):
            self._is_prompted = False
        elif word in NO:
            top.action_refuse()
        elif top.names:
            self._voice.say(f"that is not {top.names[0][0]}; {_prompt(top)}")
        elif word in YES:
            top.action_agree()
        else:
            self._voice.say(_prompt(top))

    async def _carry_out(self, text: str) -> None:
        first, _, rest = text.partition(" ")
        match first, rest.strip():
            case "", _:
                self._voice.say("help says what can be typed")
            case "help", "":
                for each in HELP:
                    self._voice.say(each)
            case "help", "commands":
                self._run("help")
            case (("keys" | "?"), ("" | "all") as word):
                self._tell_keys(everywhere=bool(word))
            case "again", "":
                self._is_pane_said = False
            case "more", "":
                self._pane.tell_more()
            case "sort", word:
                self._is_pane_said = not self._pane.sort(word)
            case "graphs", "":
                self._pane.tell_graphs()
            case "changes", ("on" | "off") as word:
                self._pane.says_changes = word == "on"
                self._voice.say(f"changes are {'on' if self._pane.says_changes else 'off'}")
            case (("mark" | "enter" | "open" | "⏎"), number) if not number or number.isdecimal():
                if self._pane.goes_to(number):
                    self._pane.mark() if first == "mark" else self._navigator.view.lines.action_select()
            case number, "" if number.isdecimal():
                if self._pane.goes_to(number):
                    self._pane.tell_details()
            case (("y" | "copy"), ""):
                self._voice.say(self._navigator.view.copied() or "there is nothing to copy here")
            case _ if text.startswith("//"):
                self._run(f"find {text[2:].strip()}")
            case _ if text.startswith("/"):
                self._filter(text[1:].strip())
            case _:
                await self._key_or_command(text.removeprefix(":").strip())

    async def _key_or_command(self, text: str) -> None:
        key = self._key_of(text)
        if key is None and text in _VIEWS:
            await self._navigator.goto(places.view_place(text))
        elif key is None:
            self._run(text)
        elif key.needs and "row" in key.needs and not self._pane.goes_to(""):
            return
        else:
            await self._act(key.id)

    def _key_of(self, text: str) -> keymap.Key | None:
        """Return the key of the visible view whose sign, id or label is the text; None if there is none."""
        here = [key for key in self._keys.here() if key.id not in _BY_LINES]
        for key in here:
            names = [name.strip() for name in self._keys.of(key.id).split(",")]
            if not text.isdecimal() and (text in names or text in map(sign, names)):
                return key
        word = text.lower()
        by_id = next((key for key in here if word in (key.id, key.id.replace("-", " "))), None)
        return by_id or next((key for key in here if word == key.label), None)

    def _run(self, text: str) -> None:
        """Execute commands of the language; print the error if one has a mistake."""
        from console.language.errors import LanguageError
        from console.language.grammar import parse
        from console.language.statements import Where

        self._bar().remembered(text)
        try:
            statements = parse(text, Where.BAR)
        except LanguageError as error:
            self._complain(error, text)
            return

        async def work() -> None:
            if (error := await self._tools.execute(statements)) is not None:
                self._complain(error, text)

        start(self._app, work, group="command", name="command")

    def _complain(self, error: LanguageError, text: str) -> None:
        at = f", at {clean(text[error.span.start : error.span.end], 80)}" if error.span is not None else ""
        self._voice.say(f"not done: {error.message}{at}" + (f"; {error.hint}" if error.hint else ""))

    def _filter(self, text: str) -> None:
        view = self._navigator.view
        try:
            view.take_filter(text)
        except ValueError as error:
            self._voice.say(f"not filtered: {error}")
            return
        self._is_pane_said = False

    def _tell_keys(self, *, everywhere: bool) -> None:
        keys, view = self._keys, self._navigator.view
        shown = keymap.GLOBAL if everywhere else keymap.keys_of(view.NAME)
        for key in shown:
            if key.id in _BY_LINES:
                continue
            letters = "" if key.id in keymap.PANE_KEYS else f"{in_words.spoken(signs(keys.of(key.id)))} or "
            why = keys.reason(key)
            self._voice.say(f"{letters}{key.id}: {key.help}" + (f" (not now: {why})" if why else ""))
        if not everywhere:
            self._voice.say(f"{f'enter: {view.ENTER}; ' if view.ENTER else ''}keys all says more")

    def _tell_candidates(self, text: str) -> None:
        found = self._bar().complete(text, len(text)) if text else ()
        words = [f"{clean(each.display, 80)} ({each.meta})" if each.meta else clean(each.display, 80) for each in found]
        more = f", and {len(words) - MOST_CANDIDATES:,} more" if len(words) > MOST_CANDIDATES else ""
        self._voice.say(
            f"can follow: {', '.join(words[:MOST_CANDIDATES])}{more}" if words else "nothing is known to follow"
        )

    # -- changes -------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Print everything that is new: messages, questions, the pane, and changes."""
        app = self._app
        if not app.is_running:
            return
        self._tell_messages()
        self._tell_contact()
        top = app.screen
        if isinstance(top, TextScreen):
            self._voice.say_all(in_words.sentences(top.told(TEXT_WIDTH), TEXT_WIDTH))
            top.action_close()
            return
        if isinstance(top, Confirm | Waiting):
            self._tell_question(top)
            return
        self._question, self._question_lines = None, 0
        self._tell_bar()
        self._tell_place()

    def _tell_messages(self) -> None:
        message = self._tools.message
        heard, message.heard = message.heard, []
        for text in heard:
            self._voice.say(in_words.spoken(text))

    def _tell_contact(self) -> None:
        note = self._frame.note()
        text = in_words.spoken(plain(note)) if any(meaning in ("failed", "danger") for _, meaning in note) else ""
        if text and text != self._note:
            self._voice.say_at(text)
        self._note = text
        is_current = self._cluster.contact.is_current
        if is_current and not self._is_current:
            self._voice.say_at("the cluster answers again")
        self._is_current = is_current

    def _tell_question(self, top: Confirm | Waiting) -> None:
        """Print the lines of a question that were not printed yet; once the question is complete, also the answers that
        it accepts.
        """
        if top is not self._question:
            self._question, self._question_lines, self._is_prompted = top, 0, False
        lines = in_words.sentences(top.told, TEXT_WIDTH)
        new, self._question_lines = lines[self._question_lines :], len(lines)
        if isinstance(top, Waiting):
            for each in new[:-1]:
                self._voice.say(each)
        else:
            for each in new:
                self._voice.say(each)
        if (new or not self._is_prompted) and (isinstance(top, Waiting) or top.whole):
            self._is_prompted = True
            self._voice.say(_prompt(top))

    def _tell_bar(self) -> None:
        """Print what to type into an opened input line: a secret, or the rest of a command. Then close the line, unless
        it waits for a secret.
        """
        line = self._bar().line
        if not line.is_open or self._question is line:
            return
        if line.mode == SECRET:
            self._question = line
            self._lines.echo(False)
            self._voice.say(f"{self._bar().asked_for}: type it; it is not shown. An empty line cancels.")
            return
        if line.mode == COMMAND and line.text.strip():
            self._begun = line.text
            self._voice.say(f"begun: {line.text.strip()}")
            self._tell_candidates(line.text)
            self._voice.say("type the rest of the command; an empty line drops it")
        else:
            self._voice.say("help says what can be typed")
        line.close()

    def _tell_place(self) -> None:
        """Print the pane if another one is visible than before; otherwise print the changes in it."""
        view = self._navigator.view
        state = (self._navigator.place, view.filter_text, view.only_trouble)
        if state != self._state or not self._is_pane_said or (view.known() and not self._was_known):
            self._state, self._is_pane_said, self._was_known = state, True, view.known()
            self._pane.note_troubles()
            self._pane.tell()
            return
        if (staged := len(self._cluster.session.plan)) != self._staged:
            if staged > self._staged:
                edits = plural(staged, "edit")
                self._voice.say(f"the plan has {edits}, the last is: {self._last_edit()}")
                self._voice.say("plan says all and their risks, apply sends them after a question, undo takes one back")
            elif not staged:
                self._voice.say("the plan is empty")
            self._staged = staged
        if view.known() and self._cluster.contact.is_current:
            self._pane.tell_changes()

    def _last_edit(self) -> str:
        from console.language.interpret import command_of

        return clean(command_of(self._cluster.session.plan.staged[-1].edit), 400)


def _prompt(question: Confirm | Waiting) -> str:
    """Return the line that lists the answers which a question accepts."""
    if isinstance(question, Waiting):
        return "leave: do not wait; stay: stay in the console"
    if question.names:
        what, name = question.names[0]
        return f"type {clean(name, 250)}, {what}; no goes back"
    return f"yes: {question.yes}; no: goes back"
