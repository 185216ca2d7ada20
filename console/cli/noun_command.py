"""Carries out a noun's command: answers its statements, or stages, checks and applies them in one go."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct, field

from console.answers.data_forms import write
from console.cli.noun import Noun, OptionsError, Statements
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.statements import EditStatement, QueryStatement, Statement
from console.model.secret import Secret
from console.present.failures import failure_text
from console.present.text import clean
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Refused
from console.session.terminal_front import Operator, Terminal, TerminalFront
from console.terminal import stderr, stdout

if TYPE_CHECKING:
    from console.contexts import Context
    from console.language.secret_values import SecretSlot
    from console.plan.plan import StageReport
    from console.plan.settle import ApplyReport
    from console.session.script_runner import Closing

DONE, FAILED, USAGE, DENIED = 0, 1, 2, 3


class NounCommand(Struct):
    """One run of a noun's command. operator: who is there to be asked."""

    noun: Noun
    given: argparse.Namespace
    operator: Operator = field(default_factory=Terminal)
    out: TextIO = field(default_factory=stdout)
    err: TextIO = field(default_factory=stderr)

    def run(self, context: Callable[[], Context | None], connect: Callable[[Context], Closing]) -> int:
        """0 done, 1 failed, 2 not understood and nothing done, 3 with --exit-code: something is denied."""
        action = self.given.action
        try:
            texts = self.noun.statements(self.given, action)
            statements = parse("\n".join(texts))
        except OptionsError as error:
            self._complain(str(error))
            return USAGE
        except LanguageError as error:
            self._complain_of(error)
            return USAGE
        chosen = context()
        if chosen is None:
            return USAGE
        client = connect(chosen)
        try:
            return asyncio.run(self._on(Session(client, chosen, self.noun.name), action, texts, statements))
        finally:
            client.close()

    async def _on(self, session: Session, action: str, texts: Statements, statements: Sequence[Statement]) -> int:
        from console.admin.errors import AdminError
        from console.language.offset_files import with_file

        try:
            statements = [with_file(each) for each in statements]
            await read_needs(session, needs_of_script(statements))
            queries = [each for each in statements if isinstance(each, QueryStatement)]
            if queries:
                return self._answer(session, queries)
            if await self._is_needless(session):
                return DONE
            return await self._change(session, action, texts, statements)
        except LanguageError as error:
            self._complain_of(error)
        except (AdminError, Refused) as error:
            self._complain(failure_text(error.failure))
        return FAILED

    def _answer(self, session: Session, queries: Sequence[QueryStatement]) -> int:
        from console.answers.queries import answer

        results = [answer(query, session.snapshot) for query in queries]
        write(results, self.given.output, self.out)
        problems = [problem for result in results for problem in result.problems]
        if self.given.output == "csv":
            for problem in problems:
                self._complain(f"{problem.part} {problem.entity}: {failure_text(problem.failure)}")
        if problems:
            return FAILED
        if getattr(self.given, "exit_code", False):
            from console.answers.explain import is_denied

            return DENIED if is_denied(results) else DONE
        return DONE

    async def _is_needless(self, session: Session) -> bool:
        """Whether --if-exists or --if-not-exists says that nothing is to be done."""
        if_exists, if_not = (getattr(self.given, name, False) for name in ("if_exists", "if_not_exists"))
        if not (if_exists or if_not):
            return False
        topic = self.given.topic
        await session.read_topics([topic])
        exists = topic in session.snapshot.topics
        if (if_exists and not exists) or (if_not and exists):
            self._complain(f"topic {topic} {'exists already' if exists else 'does not exist'}: nothing to do")
            return True
        return False

    async def _change(self, session: Session, action: str, texts: Statements, statements: Sequence[Statement]) -> int:
        from console.language.interpret import to_edits
        from console.language.secret_values import resolve_secrets
        from console.session.applying import check_plan
        from console.session.former_changes import former_lines

        for line in await former_lines(session):
            self._complain(line)
        for statement in statements:
            assert isinstance(statement, EditStatement)
            secrets = await resolve_secrets(statement, self._ask)
            report = session.stage(to_edits(statement, session.snapshot, plan=session.plan, secrets=secrets))
            if self._refusals(report):
                return FAILED
        if not session.plan:
            return DONE
        if self.given.validate_only:
            return self._show(await check_plan(session), "check")
        return await self._apply(session, action, texts)

    async def _apply(self, session: Session, action: str, texts: Statements) -> int:
        """What can't be taken back asks, and so does a context that wants its name typed, unless --yes says not to."""
        from console.plan.settle import ApplyOptions
        from console.session.apply_flow import Asks, Flags, NotApplied, apply_flow

        def show(report: ApplyReport) -> None:
            self._show(report, "apply")

        front = TerminalFront(session, self.operator, show, self._complain, [f"  {text}" for text in texts])
        yes = self.given.yes
        asks = Asks(plan=action in self.noun.destructive, name=not yes, silent=yes)
        options = ApplyOptions(risks=frozenset(name for name in self.given.accept.split(",") if name))
        try:
            reports = await apply_flow(session, front, options, asks, Flags(confirm="write --yes"))
        except NotApplied as refused:
            raise CommandError(refused.message, refused.hint) from None
        return DONE if reports[-1].ok else FAILED

    def _refusals(self, report: StageReport) -> bool:
        from console.present import names

        for dropped in report.dropped:
            self._complain(f"not needed: {names.target(dropped.edit.target)} {dropped.edit.key}: {dropped.reason}")
        for refused in report.refused:
            what = f"{names.target(refused.edit.target)} {refused.edit.key}".rstrip()
            self._complain(f"{what}: {refused.reason}. {refused.remedy}".rstrip())
        return bool(report.refused)

    def _show(self, report: ApplyReport, verb: str) -> int:
        from console.answers.plan_results import report_tables

        write(report_tables(report, verb), self.given.output, self.out)
        return DONE if report.ok else FAILED

    async def _ask(self, slot: SecretSlot) -> Secret:
        if not self.operator.answers:
            raise CommandError(f"{slot.prompt}: there is no terminal to ask on", "give --password-file FILE")
        return await self.operator.secret(slot.prompt)

    def _complain_of(self, error: LanguageError) -> None:
        # Without its place: it is one in a generated text.
        self._complain("; ".join(part for part in (error.message, error.hint) if part))

    def _complain(self, text: str) -> None:
        self.err.write(f"kac: {clean(text, 2_000)}\n")
