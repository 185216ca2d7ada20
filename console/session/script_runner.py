"""Run a script without a screen. The whole script is parsed before any statement runs; edits are applied only if the
script has an apply statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from console import event_loop
from console.admin.errors import AdminError
from console.answers.results import Printer
from console.language.errors import CommandError, LanguageError, ParseError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.statements import BarStatement, EditStatement, QueryStatement, Statement
from console.language.tokenizer import Span
from console.language.verbs.analyze import Analyze
from console.language.verbs.apply import Apply
from console.language.verbs.check import Check
from console.language.verbs.discard import Discard
from console.language.verbs.history import History
from console.language.verbs.leave import Quit
from console.language.verbs.plan import ShowPlan
from console.language.verbs.records import Records
from console.language.verbs.revert import Revert
from console.language.verbs.undo import Redo, Undo
from console.model.numbers import is_natural, plural
from console.model.secret import Secret
from console.present.text import clean
from console.safe_files import read_stdin, read_text
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Refused
from console.session.terminal_front import Operator, Terminal, TerminalFront
from console.terminal import complain, leave, stderr

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.contexts import Context
    from console.language.statements import SecretSlot
    from console.plan.reconcile import ApplyReport


FLAGS = ("apply --yes", "apply --accept", "apply --force overwrites them")
"""The names of flags in the hints of an apply: arguments of `console.session.apply_flow.Flags`."""
DONE, FAILED, USAGE, UNAPPLIED = 0, 1, 2, 3
LARGEST_SCRIPT = 64 << 20
"""Maximum size of a script in bytes."""
HINTED = 20
"""Maximum number of errors in a run for which the nearest name is searched and shown, since this takes time if there
are many names.
"""
LONGEST_LINE = 1 << 20
"""Maximum number of characters in a line of a script: some ten thousand statements. A longer line means that the file
is not a script, and its parsing would take gigabytes.
"""
LONGEST_SHOWN = 2_000
"""Maximum number of characters of a line that an error message repeats."""


def read_script(texts: Sequence[str] | None, file: str | None) -> str | None:
    """Return the text of a script. Return None if the file can't be read, is larger than LARGEST_SCRIPT, or is not
    UTF-8.

    Args:
        texts: the texts of ``-e`` options, a line of the script each; None if there are no such options.
        file: the path of a file, ``-`` for standard input; ignored if there are texts.
    """
    if texts is not None:
        return "\n".join(texts)
    try:
        return read_stdin(LARGEST_SCRIPT) if file == "-" else read_text(Path(file or ""), LARGEST_SCRIPT)
    except (OSError, ValueError):
        return None


def run_script(
    text: str,
    context: Callable[[], Context | None],
    connect: Callable[[Context], AdminClient],
    *,
    output: str,
) -> int:
    """Run a script: parse all of it, connect, and run its statements.

    Args:
        text: the text of the script.
        context: function that chooses the context, called only if the script is valid. It returns None after it has
            reported an error.
        connect: function that creates the client, called last.
        output: the format of results: table, json, …

    Returns:
        The exit code: 0 if all edits were applied or there were none; 1 if something failed or could not be read; 2 if
        the script is invalid and nothing was done; 3 if edits were left unapplied.
    """
    try:
        # Parse the whole text before a context is chosen or a request sent: a typing error in the last line must not
        # leave half a script done.
        refuse_long_lines(text)
        statements = parse(text)
    except LanguageError as error:
        say_error(error, text)
        return USAGE
    chosen = context()
    if chosen is None:
        return USAGE
    # Connect outside the event loop: the client has its own loop and thread.
    client = connect(chosen)
    try:
        return event_loop.run(Runner(Session(client, chosen, "run"), text, Printer(output)).to_the_end(statements))
    finally:
        client.close()


def refuse_long_lines(text: str) -> None:
    """Raise ParseError if a line of the script has more than `LONGEST_LINE` characters (about a million)."""
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            message = f"the line has {len(line):,} characters; {LONGEST_LINE:,} are allowed"
            raise ParseError(message, Span(start, start, number, 1), "begin a line for each statement")
        start += len(line) + 1


class Runner(Struct):
    """A runner of statements, one after another. After a statement with edits has failed, the next apply sends
    nothing.
    """

    session: Session
    text: str
    printer: Printer = field(default_factory=Printer)
    """The printer of results."""
    operator: Operator = field(default_factory=Terminal)
    """Represents the operator, who confirms an apply and enters secrets."""
    failed: int = 0
    """The number of statements that failed."""
    warned: int = 0
    """The number of statements that failed only because of warnings that are not accepted."""
    unread: bool = False
    """Whether data that a statement asked for could not be read."""
    hears_signals: bool = True
    """Whether an apply handles Ctrl-C, SIGTERM and SIGHUP; if False, the caller does."""
    flags: tuple[str, ...] = FLAGS
    """The names of flags in the hints of an apply: arguments of `apply_flow.Flags`."""
    unapplied: str = "end the script with apply --yes"
    """The hint that is shown if edits are left unapplied."""
    _read_up_to: int = 0

    async def to_the_end(self, statements: Sequence[Statement]) -> int:
        """Run the statements as `run` does, and return the exit code."""
        await self.run(statements)
        return self.exit_code()

    async def run(self, statements: Sequence[Statement]) -> None:
        """Show the open changes of earlier runs, then run all statements up to a ``q``.

        Args:
            statements: the statements of the whole script, already parsed.
        """
        await self._tell_outstanding()
        await self.carry_out(tuple(takewhile(lambda each: not isinstance(each, Quit), statements)))

    async def carry_out(self, statements: Sequence[Statement]) -> None:
        """Run all statements. If one fails, report and count it, and continue with the next; end the run after a lost
        connection. If a file of offsets can't be read, end the run before the first statement.

        Args:
            statements: the statements of the whole script. What they need is read ahead, up to the next apply.
        """
        from console.language.given_files import with_file

        try:
            # Read all files before the first statement, as the text is parsed before: if one is missing, nothing is
            # done.
            statements = [with_file(each) for each in statements]
        except LanguageError as error:
            self.failed += 1
            say_error(error, self.text)
            return
        for index, statement in enumerate(statements):
            try:
                await self._read_ahead(statements, index)
                await self._one(statement)
            except LanguageError as error:
                self.failed += 1
                say_error(error, self.text, search=self.failed <= HINTED)
            # Continue after a refusal, which concerns this statement; after a lost connection each of the next ones
            # would fail with a timeout.
            except Refused as refused:
                self.failed += 1
                complain(refused.failure.told)
            except AdminError as error:
                self.failed += 1
                complain(error.failure.told.rstrip(". ") + ".")
                return

    async def _tell_outstanding(self) -> None:
        """Show the open changes of earlier runs. Show nothing if the cluster does not answer, which the statements
        report.
        """
        from console.session.former_changes import former_lines

        try:
            lines = await former_lines(self.session)
        except (AdminError, Refused) as error:
            complain(f"the journal was not looked at: {error.failure}")
            return
        for line in lines:
            complain(line)

    def exit_code(self) -> int:
        """Return the exit code, and print a line about edits that are left unapplied.

        Returns:
            FAILED if a statement failed for another reason than a warning that is not accepted. Otherwise UNAPPLIED if
            such warnings stopped edits, or edits are still staged. Otherwise FAILED if requested data could not be
            read, and DONE if all was read.
        """
        if self.failed:
            return FAILED if self.failed > self.warned else UNAPPLIED
        if self.session.plan:
            return leave(
                UNAPPLIED, f"{plural(len(self.session.plan), 'edit')} staged and not applied: {self.unapplied}"
            )
        return FAILED if self.unread else DONE

    async def _read_ahead(self, statements: Sequence[Statement], index: int) -> None:
        """Read what this statement and the following ones up to the next apply need, in one go. index: the index of
        this statement.
        """
        if index < self._read_up_to:
            return
        end = index + 1
        # Stop at an apply: it changes the values that the statements after it read.
        while end < len(statements) and not isinstance(statements[end - 1], Apply):
            end += 1
        self._read_up_to = end
        await read_needs(self.session, needs_of_script(statements[index:end]))

    async def _one(self, statement: Statement) -> None:
        session = self.session
        if isinstance(statement, QueryStatement):
            from console.answers.queries import answer

            result = answer(statement, session.snapshot, plan=session.plan)
            self.unread = self.unread or bool(result.problems)
            self.printer(result)
            return
        if isinstance(statement, Records):
            from console.answers.records import records_result
            from console.session.record_reading import is_masked

            found = await session.records.read(statement)
            await session.records.learn(found.records)
            read = await session.records.readable(found)
            masked, fields = is_masked(session.context, statement), session.context.mask
            self.printer(records_result(statement, read, masked=masked, fields=fields))
            return
        if isinstance(statement, Analyze):
            await self._analyze(statement)
            return
        from console.answers.plan_results import plan_table, report_table

        match statement:
            case ShowPlan(runbook=True):
                self._runbook()
            case ShowPlan():
                from console.session.plan_facts import read_for_risks
                from console.session.retention_reading import read_deletions

                facts = await read_for_risks(session, session.plan.staged)
                deletions = await read_deletions(session)
                self.printer(plan_table(session.plan, session.snapshot, deletions=deletions, facts=facts))
            case Check():
                from console.session.applying import check_plan
                from console.session.retention_reading import read_deletions

                report = await check_plan(session)
                self.failed += not report.ok
                self.printer(report_table(report, "check", await read_deletions(session)))
            case Apply():
                await self._apply(statement)
            case Discard(entity=entity, key=key):
                gone = session.discard(entity.subject if entity else None, key.name if key else None)
                self.printer.note(f"{gone} edits dropped", {"dropped": gone})
            case Undo() | Redo():
                moved = session.undo() if isinstance(statement, Undo) else session.redo()
                self.printer.note(
                    f"{len(session.plan)} edits staged" if moved else "nothing to take back", {"moved": moved}
                )
            case Revert(change=change):
                await self._revert(change, statement)
            case History():
                await self._history(statement)
            case BarStatement():
                await self._elsewhere(statement)
            case EditStatement():
                await self._stage(statement)

    async def _analyze(self, statement: Analyze) -> None:
        from console.answers.topic_analysis import analysis_result
        from console.session.record_reading import is_masked
        from console.session.topic_analyzing import analyzed, kept

        session = self.session
        found = await analyzed(session.records, statement, session.clock)
        session.learn(kept(found))
        self.unread = self.unread or bool(found.facts.problems)
        masked, fields = is_masked(session.context, statement), session.context.mask
        self.printer(analysis_result(statement, found, masked=masked, fields=fields))

    async def _stage(self, statement: EditStatement) -> None:
        from console.answers.plan_results import stage_table
        from console.language.interpret import to_edits
        from console.language.secret_values import resolve_secrets
        from console.language.verbs.passed_over import refuse_outdated
        from console.session.record_writing import with_records

        self.session.refuse_if_read_only()
        secrets = await resolve_secrets(statement, self._ask_secret)
        session = self.session

        def tell(line: str) -> None:
            self.printer.note(line, {"kept": line})

        snapshot = session.snapshot  # records and edits are made from the same snapshot
        statement = await with_records(session.records, session.context, statement, secrets, snapshot, tell)
        edits = to_edits(statement, snapshot, plan=session.staging(), secrets=secrets)
        refuse_outdated(edits, snapshot, session.snapshot)
        report = session.stage(edits, statement.holds_ms)
        self.failed += bool(report.refused)
        self.printer(stage_table(report, session.staging().draft))

    async def _elsewhere(self, statement: BarStatement) -> None:
        """Raise CommandError for a statement that is meant for another front end and has no effect in a script."""
        raise CommandError("this works only on the screen", "see kac --help", statement.span)

    async def _ask_secret(self, slot: SecretSlot) -> Secret:
        from console.language.secret_values import nobody_to_ask

        if not self.operator.keeps_secrets:
            raise nobody_to_ask(slot)
        return await self.operator.secret(slot.prompt)

    def _runbook(self) -> None:
        from console.answers.plan_results import runbook_commands
        from console.language.quoting import shell_text

        commands = runbook_commands(self.session.plan, self.session.snapshot, self.session.context.settings)
        data = [{"command": list(each.words), "stdin": each.stdin, "note": each.note} for each in commands]
        self.printer.note(shell_text(commands) or "# nothing is staged", {"runbook": data})

    async def _apply(self, statement: Apply) -> None:
        from console.plan.reconcile import ApplyOptions
        from console.session.apply_flow import Asks, Flags, NotApplied, apply_flow

        if not self.session.plan:
            self.printer.note("nothing is staged", {"outcomes": []})
            return
        # Edits may depend on each other: half of a plan is sent only if the script allows it.
        if self.failed and not statement.valid_only:
            raise CommandError(
                "nothing was sent: something above failed", "mend it, or apply --valid-only", statement.span
            )
        front = TerminalFront(self.session.context.name, self.operator, self._show, complain)
        options = ApplyOptions(statement.valid_only, statement.force, risks=frozenset(statement.accept))
        try:
            asks = Asks(silent=statement.yes, signals=self.hears_signals)
            reports = await apply_flow(self.session, front, options, asks, Flags(*self.flags))
        except NotApplied as refused:
            self.warned += bool(refused.risks)
            raise CommandError(refused.message, refused.hint, statement.span) from None
        self.failed += not reports[-1].ok

    def _show(self, report: ApplyReport) -> None:
        from console.answers.plan_results import report_tables

        for table in report_tables(report, "apply"):
            self.printer(table)

    async def _revert(self, change: str, statement: Revert) -> None:
        from console.answers.history_results import revert_tables
        from console.answers.plan_results import stage_table
        from console.session.journal_changes import stage_revert

        if not is_natural(change):
            raise CommandError("CHANGE must be the number of a change", "history shows them", statement.span)
        ask = self.operator.secret if self.operator.keeps_secrets else None
        report = await stage_revert(self.session, int(change), ask)
        self.failed += bool(report.staging.refused) or not report.staging.added
        stage = stage_table(report.staging, self.session.staging().draft)
        for table in revert_tables(stage, report.notes, report.moved):
            self.printer(table)

    async def _history(self, statement: History) -> None:
        from console.session.former_changes import reconcile_open
        from console.session.journal_changes import read_history_table

        session = self.session
        journal = await session.journal()
        await reconcile_open(session.client, session.context, session.snapshot, journal)
        # A program filters by itself and gets all changes; an operator gets a table of the last ones.
        everything = self.printer.output == "json"
        self.printer(await read_history_table(journal, statement.entity, statement.filter, all_=everything))


def say_error(error: LanguageError, text: str, *, search: bool = True) -> None:
    """Print an error, and its line of the script with a mark below the position. A line with a secret is printed
    redacted and without the mark.

    Args:
        text: the whole script.
        search: whether to search for the nearest name as a hint, which takes time.
    """
    from console.language.secret_values import redact
    from widgets.cells import cell_width

    if not text:  # without a text the statement was not typed, and no line can be shown
        complain(f"{error.message}; {error.hint}" if error.hint else error.message)
        return
    complain(str(error) if search or not error.searches else error.placed)
    if error.span is None:
        return
    # Find the line by its offset, without splitting the text: a long script may have an error in each line.
    start, end = text.rfind("\n", 0, error.span.start) + 1, text.find("\n", error.span.start)
    line = text[start:end] if end >= 0 else text[start:]
    if len(line) > LONGEST_SHOWN:
        return
    shown = redact(line)
    mark = ""
    if shown == line:
        mark = f"\n  {' ' * cell_width(clean(line[: error.span.column - 1], LONGEST_SHOWN))}^"
    stderr().write(f"  {clean(shown, LONGEST_SHOWN)}{mark}\n")
