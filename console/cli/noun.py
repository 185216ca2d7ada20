"""A noun's command: its actions and options as a parser, their meaning as statements, which are answered, or
staged, checked and applied in one go.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from console.answers.data_forms import FORMS, write
from console.language.errors import CommandError, LanguageError
from console.language.grammar import parse
from console.language.needs import needs_of_script
from console.language.quoting import quote, quote_beside_equals
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


Statements = tuple[str, ...]


class OptionsError(Exception):
    """Options that don't go together, or miss one; in words."""


class Noun(Struct, frozen=True):
    """A command of one kind of thing.

    actions: what it can do, by the option that says so, the first being what is done where none is given.
    add_options: the options besides the actions and those that all share. statements: what they mean, as statements of
    the language. destructive: actions that take away what nobody can bring back, and so ask first.
    """

    name: str
    help: str
    actions: Mapping[str, str]
    add_options: Callable[[argparse.ArgumentParser], None]
    statements: Callable[[argparse.Namespace, str], Statements]
    examples: str
    destructive: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()


def pair(text: str) -> str:
    """``KEY=VALUE`` of an option as one word of the language. Raises OptionsError."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise OptionsError(f"'{key[:80]}' is no KEY=VALUE")
    return f"{quote_beside_equals(key)}={quote_beside_equals(value) if value else ''}"


def pairs(texts: Iterable[str]) -> str:
    """Several of them."""
    return " ".join(pair(text) for text in texts)


def need(value: str | None, option: str, action: str) -> str:
    """The option's value, quoted. Raises OptionsError where it was not given."""
    if value is None:
        raise OptionsError(f"--{action} needs {option}")
    return quote(value)


def alteration(entity: str, given: argparse.Namespace) -> Statements:
    """``set`` and ``unset`` for --add-config and --delete-config. Raises OptionsError where there is neither."""
    changes = []
    if given.add_config:
        changes.append(f"set {entity} {pairs(_split(given.add_config))}")
    if given.delete_config:
        keys = [key.strip() for text in given.delete_config for key in text.split(",") if key.strip()]
        changes.append(f"unset {entity} {' '.join(map(quote, keys))}")
    if not changes:
        raise OptionsError("--alter needs --add-config or --delete-config")
    return tuple(changes)


def _split(texts: Iterable[str]) -> Iterable[str]:
    """Several pairs in one option, as kafka-configs takes them: brackets keep commas together. Raises OptionsError."""
    from console.cli.kafka_configs.command_line import UsageError, parse_added

    for text in texts:
        try:
            yield from (f"{key}={value}" for key, value in parse_added(text).items())
        except UsageError as error:
            raise OptionsError(f"--add-config is K=V,K=[V,V]: {error.hint}") from None


def add_config_options(parser: argparse.ArgumentParser, what: str) -> None:
    """--add-config and --delete-config."""
    parser.add_argument(
        "--add-config", "--add", metavar="K=V,K=[V,V]", action="append", default=[], help=f"{what} to set"
    )
    parser.add_argument("--delete-config", metavar="K,K", action="append", default=[], help=f"{what} to remove")


# A noun's options as a parser.


def add_noun_options(parser: argparse.ArgumentParser, noun: Noun) -> None:
    """The noun's actions, its own options, and those that all nouns have."""
    parser.description = f"{noun.help[0].upper()}{noun.help[1:]}."
    parser.epilog = noun.examples
    parser.set_defaults(action="list")
    actions = parser.add_argument_group("what to do").add_mutually_exclusive_group()
    for action, help_ in noun.actions.items():
        also = [f"--{alias}" for alias, meant in noun.aliases if meant == action]
        actions.add_argument(f"--{action}", *also, dest="action", action="store_const", const=action, help=help_)
    noun.add_options(parser)
    parser.add_argument("--validate-only", action="store_true", help="let the brokers check it, change nothing")
    parser.add_argument("--yes", "--force", action="store_true", help="don't ask; a warning still needs --accept")
    parser.add_argument("--accept", metavar="NAME,…", default="", help="go on in spite of these warnings")
    parser.add_argument("--output", choices=FORMS, default=FORMS[0], help="form of the results")


# A noun's command carried out: its statements answered, or staged, checked and applied in one go.

DONE, FAILED, USAGE = 0, 1, 2


@dataclass
class NounCommand:
    """One run of a noun's command. operator: who is there to be asked."""

    noun: Noun
    given: argparse.Namespace
    operator: Operator = field(default_factory=Terminal)
    out: TextIO = field(default_factory=stdout)
    err: TextIO = field(default_factory=stderr)

    def run(self, context: Callable[[], Context | None], connect: Callable[[Context], Closing]) -> int:
        """0 done, 1 failed, 2 not understood and nothing done."""
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

        try:
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
        return FAILED if problems else DONE

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
        # Without its place, which is one in a text that nobody wrote.
        self._complain("; ".join(part for part in (error.message, error.hint) if part))

    def _complain(self, text: str) -> None:
        self.err.write(f"kac: {clean(text, 2_000)}\n")
