"""Runs a noun's command: answers its queries, or stages, checks and applies its edits."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, TextIO, cast

from msgspec import Struct, field

from console import event_loop
from console.answers.data_forms import write
from console.cli import noun as nouns
from console.cli.noun import Answers, Change, Found, OptionsError
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.statements import EditStatement, QueryStatement, SecretSlot, Statement
from console.model.failure import sentences
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.edits import Edit
from console.plan.plan import Plan, StageReport
from console.present.failures import failure_text
from console.present.text import clean
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Client, Refused
from console.session.terminal_front import Operator, Terminal, TerminalFront
from console.terminal import stderr, stdout, write_folded

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.answers.results import Result
    from console.contexts import Context
    from console.plan.reconcile import ApplyReport

DONE, FAILED, USAGE, DENIED, UNAPPLIED = 0, 1, 2, 3, 3


class _NotAccepted(CommandError):
    """Nothing was sent, because the plan has warnings that the options do not accept."""


class NounCommand(Struct):
    """One run of the command of a noun, such as ``kac topics``."""

    noun: nouns.Noun
    given: argparse.Namespace
    operator: Operator = field(default_factory=Terminal)
    """Answers the questions of an apply."""
    out: TextIO = field(default_factory=stdout)
    err: TextIO = field(default_factory=stderr)
    """The stream for all output except results."""

    def run(self, context: Callable[[], Context | None], connect: Callable[[Context], AdminClient]) -> int:
        """Parse the options, connect, and run the action.

        Args:
            context: returns the context, or prints the reason and returns None. Called only once the options are valid.
            connect: opens the client, which this method closes.

        Returns:
            The exit code: 0 done; 1 failed; 2 invalid arguments, nothing done; 3 warnings are not accepted and nothing
            was sent, or with --exit-code an access is denied.
        """
        try:
            action = self.noun.action_of(self.given)
            meant = self._meant(action)
        except OptionsError as error:
            return self._refuse(str(error))
        except LanguageError as error:
            self._complain_of(error)
            return USAGE
        if isinstance(meant, Found):
            return self._show_found(meant.results)
        chosen = context()
        if chosen is None:
            return USAGE
        client = connect(chosen)
        try:
            return event_loop.run(self._on(client, chosen, meant, ask=action in self.noun.destructive))
        finally:
            client.close()

    def _refuse(self, text: str) -> int:
        """Print the reason why the command does nothing, and return exit code 2."""
        self._complain(text)
        return USAGE

    def _meant(self, action: str) -> Found | nouns.Carry:
        """Return the results of the action, or the function that runs it.

        Raises:
            OptionsError: an option is missing, or the action does not use a given one.
            LanguageError: the values of options are invalid in a statement.
        """
        given = nouns.Asked(self.given)
        meant = self.noun.meaning(cast("argparse.Namespace", given), action)
        if not callable(meant) and not isinstance(meant, Found):
            meant = self._by_language(meant, given)
        if idle := given.idle():
            raise OptionsError(f"{self.noun.spelled(action)} takes no {', '.join(idle)}")
        return meant

    def _by_language(self, texts: nouns.Statements, given: nouns.Asked) -> nouns.Carry:
        """Return the function that runs an action that consists only of statements. Raises LanguageError: a statement
        is invalid.
        """
        statements = parse("\n".join(texts))
        is_query = any(isinstance(each, QueryStatement) for each in statements)
        # Mark these options as read; `_answer` and `_is_needless` will read them.
        given.asked |= {"exit_code"} if is_query else {"if_exists", "if_not_exists"}

        async def carry(_client: Client, _context: Context) -> Change | Answers | Found:
            return Answers(statements) if is_query else Change(texts)

        return carry

    async def _on(self, client: Client, context: Context, carry: nouns.Carry, *, ask: bool) -> int:
        from console.admin.errors import AdminError

        session = Session(client, context, self.noun.name)
        try:
            step = await carry(client, context)
            if isinstance(step, Answers):
                await read_needs(session, needs_of_script(step.queries))
                return self._answer(session.snapshot, step)
            if isinstance(step, Change):
                return await self._changed(session, step, ask=ask)
            return self._show_found(step.results)
        except OptionsError as error:
            return self._refuse(str(error))
        except LanguageError as error:
            self._complain_of(error)
            return UNAPPLIED if isinstance(error, _NotAccepted) else FAILED
        except (AdminError, Refused) as error:
            self._complain(failure_text(error.failure))
            return FAILED

    def _answer(self, snapshot: Snapshot, step: Answers) -> int:
        from console.answers.queries import answer

        results = [answer(each, snapshot) for each in step.queries if isinstance(each, QueryStatement)]
        if step.parts is not None:
            from console.answers.results import with_parts

            results = [with_parts(result, step.parts) for result in results]
        code = self._show_found(results)
        if code == DONE and getattr(self.given, "exit_code", False):
            from console.answers.explain import is_denied

            return DENIED if is_denied(results) else DONE
        return code

    def _show_found(self, results: Sequence[Result]) -> int:
        """Print results, and return the exit code: 1 if a result has a problem, else 0."""
        if results:
            write(results, self.given.output, self.out)
        problems = [problem for result in results for problem in result.problems]
        if self.given.output == "csv":
            for problem in problems:
                self._complain(f"{problem.what}: {failure_text(problem.failure)}")
        return FAILED if problems else DONE

    def _is_needless(self, topics: Collection[str]) -> bool:
        """Return whether the action has nothing to do because of --if-exists or --if-not-exists; if so, print that.
        topics: the names of the topics that exist.
        """
        (topic,) = self.given.topic
        exists = topic in topics
        if self.given.if_not_exists if exists else self.given.if_exists:
            self._complain(f"topic {topic} {'exists already' if exists else 'does not exist'}: nothing to do")
            return True
        return False

    async def _changed(self, session: Session, change: Change, *, ask: bool) -> int:
        """Read the parts that the statements need, stage their edits, and check and apply them. With --validate-only
        they are checked but not sent.

        Args:
            ask: whether the apply asks for consent.

        Returns:
            The exit code.

        Raises:
            LanguageError: a statement names an entity that the cluster does not have, or the operator did not consent.
            Refused, AdminError: from the session.
        """
        from console.answers.plan_results import dropped_lines
        from console.language.given_files import with_file
        from console.plan.reconcile import ApplyOptions
        from console.plan.risk_rules import accepted
        from console.session.apply_flow import Asks, Flags, NotApplied, apply_flow
        from console.session.applying import check_plan
        from console.session.former_changes import former_lines

        if any(getattr(self.given, name, False) for name in ("if_exists", "if_not_exists")):
            await session.read_cluster()  # checks the cluster's id: topics of another cluster must not count
            await session.read_topics(self.given.topic)
            if self._is_needless(session.snapshot.topics):
                return DONE
        statements = [with_file(each) for each in parse("\n".join(change.texts))]
        await read_needs(session, needs_of_script(statements))
        edits = await self._edits(statements, session.snapshot, session.plan)
        staged = session.stage(edits)  # stage all edits at once, as there may be thousands
        if self._refused(staged):
            return FAILED
        if change.lines is not None:
            self.out.writelines(f"{line}\n" for line in change.lines(edits))
            return DONE
        for line in (*dropped_lines(staged.dropped), *await former_lines(session)):
            self._complain(line)
        if change.to == "show":
            return self._show_plan(session.plan, session.snapshot)
        if not session.plan:
            return DONE
        if self.given.validate_only or change.to == "check":
            return self._show(await check_plan(session), "check")
        lines = [f"  {text}" for text in change.texts]
        front = TerminalFront(session.context.name, self.operator, self._show_applied, self._complain, lines)
        options = ApplyOptions(risks=frozenset(accepted(self.given.accept)))
        asks, flags = Asks(plan=ask, name=not self.given.yes, silent=self.given.yes), Flags(confirm="write --yes")
        try:
            reports = await apply_flow(session, front, options, asks, flags)
        except NotApplied as refused:
            kind = _NotAccepted if refused.risks else CommandError
            raise kind(refused.message, refused.hint) from None
        return DONE if reports[-1].ok else FAILED

    async def _edits(self, statements: Sequence[Statement], snapshot: Snapshot, plan: Plan) -> list[Edit]:
        from console.language.interpret import to_edits
        from console.language.secret_values import resolve_secrets

        edits: list[Edit] = []
        for statement in statements:
            assert isinstance(statement, EditStatement)
            secrets = await resolve_secrets(statement, self._ask)
            edits += to_edits(statement, snapshot, plan=plan, secrets=secrets)
        return edits

    def _show_plan(self, plan: Plan, snapshot: Snapshot) -> int:
        from console.answers.plan_results import plan_table

        self._write([plan_table(plan, snapshot)])
        if not getattr(self.given, "dry_run", False):
            self._complain("nothing was changed: --execute does it")
        return DONE

    def _show_applied(self, report: ApplyReport) -> None:
        self._show(report, "apply")

    def _refused(self, report: StageReport) -> bool:
        """Return whether any edit was refused when it was staged; if so, print the reasons."""
        from console.present import names

        for refused in report.refused:
            what = f"{names.target(refused.edit.target)} {refused.edit.key}".rstrip()
            self._complain(f"{what}: {sentences(refused.reason, refused.remedy)}")
        return bool(report.refused)

    def _show(self, report: ApplyReport, verb: str) -> int:
        from console.answers.plan_results import report_tables

        self._write(report_tables(report, verb))
        return DONE if report.ok else FAILED

    def _write(self, results: Sequence[Result]) -> None:
        write(results, self.given.output, self.out)

    async def _ask(self, slot: SecretSlot) -> Secret:
        if not self.operator.answers:
            raise CommandError(f"{slot.prompt}: there is no terminal to ask on", "give --password-file FILE")
        return await self.operator.secret(slot.prompt)

    def _complain_of(self, error: LanguageError) -> None:
        # Leave out the error's place, which is in a generated text.
        self._complain("; ".join(part for part in (error.message, error.hint) if part))

    def _complain(self, text: str) -> None:
        """Print a line on standard error."""
        write_folded(self.err, f"kac: {clean(text, 2_000)}")
