"""Carries out a noun's command: answers its statements, or stages, checks and applies them in one go."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO, cast

from msgspec import Struct, field

from console import event_loop
from console.answers.data_forms import write
from console.cli.noun import KAFKA, Answers, Asked, Carry, Change, Changed, Noun, OptionsError, Running, Statements
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.statements import EditStatement, QueryStatement, Statement
from console.model.failure import sentences
from console.model.secret import Secret
from console.model.snapshot import with_cluster
from console.present.failures import failure_text
from console.present.text import clean
from console.session.reading import read_needs
from console.session.session import Session
from console.session.snapshot_reader import Refused, SnapshotReader
from console.session.terminal_front import Operator, Terminal, TerminalFront
from console.terminal import stderr, stdout, width_of, write_folded, write_tabbed

if TYPE_CHECKING:
    from console.admin.client import AdminClient
    from console.answers.results import Result
    from console.contexts import Context
    from console.language.statements import SecretSlot
    from console.model.snapshot import Snapshot
    from console.plan.edits import Edit
    from console.plan.plan import StageReport
    from console.plan.reconcile import ApplyOptions, ApplyReport
    from console.session.apply_flow import Asks
    from console.session.snapshot_reader import Client

DONE, FAILED, USAGE, DENIED, UNAPPLIED = 0, 1, 2, 3, 3


class _NotAccepted(CommandError):
    """Nothing was sent, as warnings are not accepted."""


class NounCommand(Struct):
    """One run of a noun's command: a `Running`.

    Attributes:
        operator: answers questions, or says that there is no terminal to ask on.
        err: gets everything but results.
        reports: of the checks and applies so far.
    """

    noun: Noun
    given: argparse.Namespace
    operator: Operator = field(default_factory=Terminal)
    out: TextIO = field(default_factory=stdout)
    err: TextIO = field(default_factory=stderr)
    reports: list[ApplyReport] = field(default_factory=list)

    @property
    def is_kafka(self) -> bool:
        """Whether it stands in for Kafka's own tool."""
        return bool(self.given.output == KAFKA)

    def run(self, context: Callable[[], Context | None], connect: Callable[[Context], AdminClient]) -> int:
        """Parse the options, connect, and carry out the action.

        Args:
            context: returns the context; None after the reason was printed. Called only once the options are
                understood.
            connect: opens the client, which this closes.

        Returns:
            The exit code: 0 done, 1 failed, 2 not understood and nothing done, 3 warnings are not accepted and nothing
            sent, or with --exit-code: something is denied.
        """
        try:
            action = self.noun.action_of(self.given)
            if (lines := self.noun.offline(self.given, action)) is not None:
                self.lines(lines)
                return DONE
            carry = self.noun.carried(self.given, action) or self._by_language(action)
        except OptionsError as error:
            return self.refuse(str(error))
        except LanguageError as error:
            self._complain_of(error)
            return USAGE
        chosen = context()
        if chosen is None:
            return USAGE
        client = connect(chosen)
        try:
            return event_loop.run(self._on(client, chosen, carry))
        finally:
            client.close()

    def refuse(self, text: str) -> int:
        """Print why nothing is done, and return the exit code: Kafka's tools end with 1 and print nothing else."""
        if self.is_kafka:
            write_folded(self.err, clean(text, 2_000))
            return FAILED
        self.complain(text)
        return USAGE

    def _need_own_form(self, action: str) -> None:
        if self.is_kafka:
            raise OptionsError(f"kac {self.noun.name} has no --output kafka for {action}")

    def _by_language(self, action: str) -> Carry:
        """Return what carries out an action that is statements alone. Raises OptionsError, LanguageError."""
        self._need_own_form(action)
        given = Asked(self.given)
        texts = self.noun.statements(cast("argparse.Namespace", given), action)
        statements = parse("\n".join(texts))
        is_query = any(isinstance(each, QueryStatement) for each in statements)
        # `_answer` and `_read_existing` look at them.
        given.asked |= {"exit_code"} if is_query else {"if_exists", "if_not_exists"}
        if idle := given.idle():
            raise OptionsError(f"--{action} takes no {', '.join(idle)}")

        async def carry(_command: Running, client: Client, context: Context) -> int | Change | Answers:
            if is_query:
                return Answers(statements)
            known = await self._read_existing(client, context)
            if known is not None and self._is_needless(known):
                return DONE
            return Change(texts, ask=action in self.noun.destructive, of=known.cluster if known is not None else None)

        return carry

    async def _on(self, client: Client, context: Context, carry: Carry) -> int:
        from console.admin.errors import AdminError

        session = Session(client, context, self.noun.name)
        try:
            step = await carry(self, client, context)
            if isinstance(step, Answers):
                await read_needs(session, needs_of_script(step.queries))
                return self._answer(session.snapshot, step.queries)
            if isinstance(step, Change):
                changed = await self._changed(session, step)
                return changed.code if step.then is None else await step.then(changed)
        except OptionsError as error:
            return self.refuse(str(error))
        except LanguageError as error:
            self._complain_of(error)
            return UNAPPLIED if isinstance(error, _NotAccepted) else FAILED
        except (AdminError, Refused) as error:
            self.complain(failure_text(error.failure))
        else:
            return step
        return FAILED

    def _answer(self, snapshot: Snapshot, statements: Sequence[Statement]) -> int:
        from console.answers.queries import answer

        results = [answer(each, snapshot) for each in statements if isinstance(each, QueryStatement)]
        write(results, self.given.output, self.out)
        problems = [problem for result in results for problem in result.problems]
        if self.given.output == "csv":
            for problem in problems:
                self.complain(f"{problem.part} {problem.entity}: {failure_text(problem.failure)}")
        if problems:
            return FAILED
        if getattr(self.given, "exit_code", False):
            from console.answers.explain import is_denied

            return DENIED if is_denied(results) else DONE
        return DONE

    async def _read_existing(self, client: Client, context: Context) -> Snapshot | None:
        """Return what --if-exists and --if-not-exists depend on, None where neither is given."""
        if not any(getattr(self.given, name, False) for name in ("if_exists", "if_not_exists")):
            return None
        reader = SnapshotReader(client, context)
        await reader.read_cluster()  # whether another cluster has the topic says nothing
        await reader.read_topics(self.given.topic)
        return reader.snapshot

    def _is_needless(self, known: Snapshot) -> bool:
        """Return whether --if-exists or --if-not-exists makes the statement needless, and print it if so."""
        (topic,) = self.given.topic
        exists = topic in known.topics
        if self.given.if_not_exists if exists else self.given.if_exists:
            self.complain(f"topic {topic} {'exists already' if exists else 'does not exist'}: nothing to do")
            return True
        return False

    async def _changed(self, session: Session, change: Change) -> Changed:
        """Read what statements need, stage, check and apply them; with --validate-only they are checked and not sent.

        Raises:
            LanguageError: a statement names what the cluster does not have, or the operator did not consent.
            Refused, AdminError: as the session raises them.
        """
        from console.language.interpret import to_edits
        from console.language.secret_values import resolve_secrets
        from console.session.apply_flow import Flags, NotApplied, apply_flow
        from console.session.applying import check_plan
        from console.session.former_changes import former_lines

        if change.of is not None:
            cluster, at = change.of, session.clock.now()
            session.learn(lambda snapshot: with_cluster(snapshot, cluster, at), "cluster")
        statements = parse("\n".join(change.texts))
        await read_needs(session, needs_of_script(statements))
        for line in await former_lines(session):
            self.complain(line)
        edits: list[Edit] = []
        for statement in statements:
            assert isinstance(statement, EditStatement)
            secrets = await resolve_secrets(statement, self._ask)
            edits += to_edits(statement, session.snapshot, plan=session.plan, secrets=secrets)
        if self._refusals(session.stage(edits)):  # all at once: there may be thousands
            return Changed(FAILED)
        if not session.plan:
            return Changed(DONE)
        if self.given.validate_only:
            return self._ended(self._show(await check_plan(session), "check"))
        front = self._front(session.context, change.texts)
        options, asks = self._consent(ask=change.ask)
        try:
            reports = await apply_flow(session, front, options, asks, Flags(confirm="write --yes"))
        except NotApplied as refused:
            kind = _NotAccepted if refused.risks else CommandError
            raise kind(refused.message, refused.hint) from None
        return self._ended(DONE if reports[-1].ok else FAILED)

    def _ended(self, code: int) -> Changed:
        """Return how a change went, by the reports."""
        outcomes = (outcome for report in self.reports for result in report.results for outcome in result.outcomes)
        return Changed(code, any(report.sent for report in self.reports), tuple(outcomes))

    def _front(self, context: Context, texts: Statements) -> TerminalFront:
        def show(report: ApplyReport) -> None:
            self._show(report, "apply")

        return TerminalFront(context.name, self.operator, show, self.complain, [f"  {text}" for text in texts])

    def _consent(self, *, ask: bool) -> tuple[ApplyOptions, Asks]:
        """Return what was accepted beforehand, and what is asked.

        What can't be undone asks first, and so does a context that wants its name typed, unless --yes was given. In
        place of Kafka's own tool nothing is asked, and warnings are printed; those that have to be typed still need
        --accept.
        """
        from console.plan.reconcile import ApplyOptions
        from console.plan.risk_rules import accepted
        from console.session.apply_flow import Asks

        own, yes = not self.is_kafka, self.given.yes
        options = ApplyOptions(risks=frozenset(accepted(self.given.accept)))
        return options, Asks(plan=ask and own, name=not yes, risks=own, over=own, silent=yes)

    def _refusals(self, report: StageReport) -> bool:
        from console.present import names

        for dropped in report.dropped:
            self.complain(f"not needed: {names.target(dropped.edit.target)} {dropped.edit.key}: {dropped.reason}")
        for refused in report.refused:
            what = f"{names.target(refused.edit.target)} {refused.edit.key}".rstrip()
            self.complain(f"{what}: {sentences(refused.reason, refused.remedy)}")
        return bool(report.refused)

    def _show(self, report: ApplyReport, verb: str) -> int:
        from console.answers.plan_results import conflict_tables, report_tables
        from console.answers.results import render

        self.reports.append(report)
        if self.is_kafka:
            self.err.writelines(render(table, width_of(self.err)) for table in conflict_tables(report))
        else:
            self.show(report_tables(report, verb))
        return DONE if report.ok else FAILED

    def show(self, results: Sequence[Result]) -> None:
        """Print results in one of kac's own forms."""
        write(results, self.given.output, self.out)

    async def _ask(self, slot: SecretSlot) -> Secret:
        if not self.operator.answers:
            raise CommandError(f"{slot.prompt}: there is no terminal to ask on", "give --password-file FILE")
        return await self.operator.secret(slot.prompt)

    def _complain_of(self, error: LanguageError) -> None:
        # Without its place: it is one in a generated text.
        self.complain("; ".join(part for part in (error.message, error.hint) if part))

    def lines(self, out: Iterable[str], err: Iterable[str] = ()) -> None:
        """Print lines of Kafka's form."""
        for line in out:
            write_tabbed(self.out, line)
        self.err.writelines(f"{line}\n" for line in err)

    def complain(self, text: str) -> None:
        """Print a line on standard error."""
        write_folded(self.err, f"kac: {clean(text, 2_000)}")
