"""The loop of the shell: reads an entry, runs its statements, and prints results, through a pager if they are long."""

from __future__ import annotations

import asyncio
import io
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from prompt_toolkit.formatted_text import StyleAndTextTuples

from console.admin.errors import AdminError
from console.answers.results import Printer
from console.contexts import Context, ContextError
from console.contexts.configured import Choice
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse
from console.language.needs import needs
from console.language.panes import View
from console.language.quoting import quote
from console.language.snapshot_parts import Needs
from console.language.statements import BarStatement, Statement, Where
from console.language.verbs.go import Help, UseContext
from console.language.verbs.history import History
from console.language.verbs.leave import Quit
from console.language.verbs.listing import List
from console.language.verbs.plan import ShowPlan
from console.model.entity_types import ENTITY_TYPES
from console.present.names import plural
from console.present.text import clean
from console.programs import OF_KEYS, ignoring, is_found, of_user, with_terminal
from console.session.former_changes import NOTHING, FormerChanges, former_changes
from console.session.reading import read_needs
from console.session.script_runner import Runner, say_error
from console.session.session import Session
from console.session.snapshot_reader import Refused
from console.shell.line import Line, ShellCompleter, joined
from console.terminal import complain, harmless, put, stdout

# Output longer than the terminal goes through a pager.

MARGIN = 2
"""Number of lines for the prompt and the toolbar below it."""


def pager(environ: Mapping[str, str]) -> list[str] | None:
    """Return the words of the pager command: $PAGER if it is set, else less or more. Return None on a dumb terminal, or
    if `of_user` refuses the program or does not find it.
    """
    if environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return None
    named = environ.get("PAGER")
    if named is not None:
        try:
            words = shlex.split(named)
        except ValueError:
            words = []
        return words if words and is_found(words[0], environ) else None
    if is_found("less", environ):
        return ["less", "-FRX"]
    return ["more"] if is_found("more", environ) else None


def show(text: str, environ: Mapping[str, str] = os.environ) -> None:
    """Print a text. If standard output is a terminal with fewer lines than the text, print it through the pager; if the
    pager can't be run, print it directly.
    """
    command = pager(environ) if sys.stdout.isatty() else None
    if command is not None and text.count("\n") > shutil.get_terminal_size().lines - MARGIN:
        try:
            paged = {"input": harmless(text), "encoding": sys.stdout.encoding, "errors": sys.stdout.errors}
            with ignoring(*OF_KEYS):
                with_terminal(of_user(command, environ), **paged)
        except OSError:
            pass
        else:
            return
    put(text)


# The statements of an entry, which the runner of `kac run` runs, and the statements that exist only at a prompt.

HELP_WIDTH = 100
_LISTED = frozenset({"acls", *(each.pane for each in ENTITY_TYPES)}) - {"configs"}


class _Gone(Exception):
    """Raised to skip the remaining statements of an entry after the user has asked to exit or to switch the context."""


class EntryRunner(Runner):
    """Runs an entry's statements. It records a request to exit or to switch the context, which the shell then carries
    out.
    """

    leave: bool = False
    """Whether the user asked to exit."""
    context: str | None = None
    """The name of the context that the user asked to switch to; None if the user did not ask."""

    async def carry_out(self, statements: Sequence[Statement]) -> None:
        """Run the statements in order. Stop after one that exits or switches the context."""
        with suppress(_Gone):
            await super().carry_out(statements)

    async def _elsewhere(self, statement: BarStatement) -> None:
        match statement:
            case Quit():
                self.leave = True
                raise _Gone
            case UseContext(name=name):
                self.context = name
                raise _Gone
            case Help(word=word):
                self._help(word)
            case View():
                await self._one(await self._statement_of(statement))

    async def _statement_of(self, view: View) -> Statement:
        """Return the `list` statement that prints the data of a pane with its filter, or the statement for the plan or
        the history. Raises CommandError for a pane whose data no statement lists.
        """

        if view.pane == "plan":
            return ShowPlan()
        if view.pane == "history":
            return History()
        if view.pane not in _LISTED:
            raise CommandError(
                "here configs are shown of one entity", "say which: describe topic NAME, describe broker ID", view.span
            )
        glob = f" *{quote(view.filter)}*" if view.filter else ""
        (statement,) = parse(f"list {view.pane}{glob}", Where.SHELL)
        assert isinstance(statement, List)
        await read_needs(self.session, needs(statement), sparing=True)
        return statement

    def _help(self, word: str) -> None:
        from console.language.verb_help import verb_lines

        for line in verb_lines(word, HELP_WIDTH):
            self.printer.out.write("".join(text for text, _ in line) + "\n")


# The loop of the shell: reads an entry, runs its statements, prints their output, and repeats.


DONE, FAILED, UNAPPLIED = 0, 1, 3
GAVE_UP = "the answer is not waited for"
READING_ENDED = "the reading was ended"


class Shell:
    """The loop of the shell for one user. connect: opens a session on a context, and closes the previous session."""

    def __init__(
        self,
        context: Context,
        connect: Callable[[Context], Session],
        contexts: Choice,
        make_line: Callable[[ShellCompleter, Callable[[], StyleAndTextTuples]], Line],
    ) -> None:
        self._connect = connect
        self._contexts = contexts
        self.session = connect(context)
        completer = ShellCompleter(
            lambda: self.session.snapshot,
            self._read_for_completion,
            contexts.names(),
            lambda: self.session.records.fields,
        )
        self._line = make_line(completer, self.toolbar)
        self._outstanding: FormerChanges = NOTHING
        self._at_work: asyncio.Task[None] | None = None
        self._failed = False
        self._ended = 0

    async def run(self) -> int:
        """Run until the user leaves, and return the exit code.

        Returns:
            0; 1 if the last entry failed or the outcome of a change is unknown; 3 if staged edits were left; 128 plus
            the number of the signal that ended the shell.
        """
        running = asyncio.ensure_future(self._run())
        loop = asyncio.get_running_loop()
        with suppress(ValueError, RuntimeError):  # Python handles signals only in the main thread
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._end, int(number), running)
        try:
            code = await running
        except (asyncio.CancelledError, OSError):  # OSError: a lost connection closed the terminal
            if not self._ended:
                raise
            code = 128 + self._ended
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
        if self.session.work.in_flight is not None:
            with suppress(OSError):
                complain(self.session.work.in_flight.unknown)
            return FAILED
        return code

    def _end(self, number: int, running: asyncio.Task[int]) -> None:
        """Handle SIGTERM or SIGHUP: end the shell, after the response to a request in flight, if there is one. A second
        signal ends the shell without that response.
        """
        if self._ended or not self.session.work.is_under_way:
            self._ended = number
            running.cancel()
            return
        self._ended = number
        self._interrupted()

    async def _run(self) -> int:
        loop = asyncio.get_running_loop()
        await self._begin()
        while True:
            try:
                text = joined(await self._line.entry(f"{clean(self.session.context.name, 40)}> "))
            except KeyboardInterrupt:
                continue
            except EOFError:
                if await self._may_leave():
                    break
                continue
            loop.add_signal_handler(signal.SIGINT, self._interrupted)
            try:
                ends = await self._entry(text)
            finally:
                loop.remove_signal_handler(signal.SIGINT)
            if self._ended:
                return 128 + self._ended
            if ends and await self._may_leave():
                break
        if self.session.plan:
            return UNAPPLIED
        return FAILED if self._failed else DONE

    async def _begin(self) -> None:
        """Print the changes and operations that an earlier run left open in the journal, or the reason why the journal
        was not read.
        """

        try:
            self._outstanding = await former_changes(self.session)
            self.session.former_told = True
        except (AdminError, Refused) as error:
            complain(f"the journal was not looked at: {error.failure}")
            return
        for line in self._outstanding.lines:
            complain(line)

    async def _entry(self, text: str) -> bool:
        """Run one entry. Return True if the shell must end."""
        try:
            statements = parse(text, Where.SHELL)
        except LanguageError as error:
            self._failed = True
            say_error(error, text)
            return False
        out = io.StringIO()
        printer = Printer(out=out, seen_on=stdout())
        runner = EntryRunner(self.session, text, printer=printer, operator=self._line, hears_signals=False)
        self._at_work = asyncio.ensure_future(runner.carry_out(statements))
        try:
            await self._at_work
        except asyncio.CancelledError:
            complain(GAVE_UP if self.session.work.is_under_way else READING_ENDED)
            runner.failed += 1
        except (KeyboardInterrupt, EOFError):  # the operator left a question
            complain("nothing was done")
            runner.failed += 1
        finally:
            self._at_work = None
            show(out.getvalue())
        self._failed = bool(runner.failed)
        if runner.context is not None:
            await self._switch(runner.context)
        return runner.leave

    def _interrupted(self) -> None:
        """Handle Ctrl-C: cancel a read; during an apply, stop after the response to the request in flight. Between two
        commands it does nothing.

        A second Ctrl-C stops without that response; the journal then has the change without an outcome, and a later
        read of the cluster decides it.
        """
        from console.session.apply_flow import stopping_text, unfinished_text

        if self._at_work is None:
            return
        if self.session.work.is_under_way and not self.session.work.stopping:
            if told := stopping_text(self.session.work.stop(), "Ctrl-C once more"):
                with suppress(OSError):
                    complain(told)
            return
        if self.session.work.is_under_way:
            with suppress(OSError):
                complain(unfinished_text(self.session.work.in_flight, self.session.work.committed))
        self._at_work.cancel()

    async def _may_leave(self) -> bool:
        count = len(self.session.plan)
        if not count:
            return True
        answer = await self._line.line(f"{plural(count, 'staged edit')} will not be kept. Leave? Type yes: ")
        return answer.lower() == "yes"

    async def _switch(self, name: str) -> None:
        try:
            context = self._contexts.get(name)
        except ContextError as error:
            self._failed = True
            complain(str(error))
            return
        if self.session.work.in_flight is not None:
            self._failed = True
            complain(f"{self.session.work.in_flight.waiting(datetime.now(UTC))}: stay until it is")
            return
        if not await self._may_leave():
            return
        self.session = self._connect(context)
        self._outstanding = NOTHING
        await self._begin()

    async def _read_for_completion(self, need: Needs) -> None:

        await read_needs(self.session, need, sparing=True)

    def toolbar(self) -> StyleAndTextTuples:
        """Return the styled text below the prompt: the context, whether it is read-only, and the numbers of staged
        edits and of temporary edits that are due to be reverted.
        """
        context, staged = self.session.context, len(self.session.plan)
        parts: StyleAndTextTuples = [("", f" {clean(context.name, 40)}  ")]
        parts.append(("class:toolbar.read-only", "RO") if context.read_only else ("class:toolbar.writable", "RW"))
        if staged:
            parts.append(("class:toolbar.staged", f"  {plural(staged, 'edit')} staged"))
        due = len(self._outstanding.due(datetime.now(UTC)))
        if due:
            parts.append(("class:toolbar.due", f"  {due} due to be taken back"))
        parts.append(("", "   Tab completes  help  Ctrl-D leaves"))
        return parts


def greeting(context: Context) -> str:
    """Return the line that the shell prints at start."""
    mode = "read-only" if context.read_only else "read and write"
    return f"{clean(context.name, 80)}, {mode}. help lists the commands; Ctrl-D leaves."
