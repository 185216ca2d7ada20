"""Commands on one type of entity, such as ``kac topics``, as records: their actions and options, and the statements of
the command language to which they translate.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

from console.answers.data_forms import FORMS
from console.language.quoting import quote, quote_beside_equals

if TYPE_CHECKING:
    from console.answers.results import Result
    from console.contexts import Context
    from console.language.statements import Statement
    from console.plan.edits import Edit
    from console.session.snapshot_reader import Client

Statements = tuple[str, ...]
OWN_DEFAULTS = "own_defaults"
"""The name under which the namespace has the default values of the command's own options."""


class Change(NamedTuple):
    """Statements of the command language that become one plan. The command reads the parts of the cluster that they
    need, stages, checks and applies them, and prints the report.
    """

    texts: Statements
    to: Literal["apply", "check", "show"] = "apply"
    """Whether to send the plan, let the brokers only check it, or only show it."""
    lines: Callable[[Sequence[Edit]], Iterable[str]] | None = None
    """Returns the lines that are printed for the edits of the statements; the edits are then not staged. None to
    stage the edits.
    """


class Answers(NamedTuple):
    """Queries of the command language. The command reads everything that they need together, and prints the answers.

    The exit code is 0 if all are answered, 1 if a part could not be read, 3 with --exit-code if an access is denied.
    """

    queries: Sequence[Statement]
    parts: frozenset[str] | None = None
    """The tables of a description to show; None for all."""


class Found(NamedTuple):
    """Complete results, which are only printed. The exit code is 1 if a part could not be read, else 0."""

    results: Sequence[Result]


Carry = Callable[["Client", "Context"], Awaitable[Change | Answers | Found]]
"""A function that reads the input of an action from the cluster, and returns the statements or results that follow."""


class OptionsError(Exception):
    """The options exclude each other, or one is missing; the text is for the operator."""


class Noun(NamedTuple):
    """A command on one type of entity, such as ``kac topics``; the code calls it a noun."""

    name: str
    actions: Mapping[str, str]
    """Name of the option for an action -> its help. The first action is the default."""
    add_options: Callable[[argparse.ArgumentParser], None]
    """Adds the command's own options, besides those of its actions and those that all nouns have."""
    meaning: Callable[[argparse.Namespace, str], Statements | Found | Carry]
    """Takes the options and the action. Returns statements of the command language, the results of an action that needs
    no cluster, or a function that first reads the input of the statements. An option that it does not read is
    refused if given. Raises OptionsError.
    """
    examples: str
    """The examples at the end of the help."""
    destructive: tuple[str, ...] = ()
    """Actions that can't be undone, and need confirmation."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Alias of an action's option -> the action."""
    words: Mapping[str, str] = {}
    """Name of an action that is given as a word instead of an option, as in some of Kafka's tools -> its help."""
    implied: Mapping[str, str] = {}
    """Name of an option in the namespace -> the action that it implies if it is given."""
    elsewhere: Mapping[str, str] = {}
    """An option of Kafka's tool that this command refuses -> the text that names a replacement."""

    def action_of(self, given: argparse.Namespace) -> str:
        """Return the action that the options name, or the default action. Raises OptionsError: they name two."""
        said = [given.action] if given.action is not None else []
        said += [given.word] if getattr(given, "word", None) is not None else []
        said += [action for name, action in self.implied.items() if getattr(given, name) is not None]
        if len(said) > 1:
            raise OptionsError(f"{said[0]} and {said[1]} are two commands")
        return said[0] if said else next(iter((*self.actions, *self.words)))

    def spelled(self, action: str) -> str:
        """Return an action as it is written on the command line: as a word, or as an option with two dashes."""
        return action if action in self.words else f"--{action}"


class Asked:
    """The options of a command, with a record of those that were read. A given option that is never read would have no
    effect, so the command refuses it.

    Attributes:
        asked: the names of the options that were read.
    """

    def __init__(self, given: argparse.Namespace) -> None:
        """Wrap the options."""
        self.given = given
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        """Return the value of an option, and record that it was read."""
        self.asked.add(name)
        return getattr(self.given, name)

    def idle(self) -> list[str]:
        """Return the command's own options, as ``--name``, that were given but not read."""
        given = vars(self.given)
        unset = given[OWN_DEFAULTS].items()
        idle = (name for name, value in unset if given[name] != value and name not in self.asked)
        return [f"--{name.replace('_', '-')}" for name in idle]


def pair(text: str) -> str:
    """Return ``KEY=VALUE`` quoted as one word of the command language. Raises OptionsError: the text has
    another form.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise OptionsError(f"'{key[:80]}' is no KEY=VALUE")
    return f"{quote_beside_equals(key)}={quote_beside_equals(value) if value else ''}"


def pairs(texts: Iterable[str]) -> str:
    """Return several ``KEY=VALUE`` quoted as words of the command language. Raises OptionsError: a text has another
    form.
    """
    return " ".join(pair(text) for text in texts)


def need(value: str | None, option: str, action: str) -> str:
    """Return the option's value, quoted for the command language. Raises OptionsError: it was not given."""
    if value is None:
        raise OptionsError(f"--{action} needs {option}")
    return quote(value)


def alteration(entity: str, given: argparse.Namespace) -> Statements:
    """Return a `set` statement for --add-config and an `unset` statement for --delete-config. entity: the entity in the
    language's words. Raises OptionsError: neither option is given.
    """
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
    """Yield each ``KEY=VALUE`` in the values of an option, which may have several, separated by commas; as in
    kafka-configs, commas within brackets do not separate.

    Raises:
        OptionsError: a part of a value is not a pair.
    """
    from console.cli.kafka_configs.command_line import UsageError, parse_added

    for text in texts:
        try:
            yield from (f"{key}={value}" for key, value in parse_added(text).items())
        except UsageError as error:
            raise OptionsError(f"--add-config is K=V,K=[V,V]: {error.hint}") from None


def add_config_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options --add-config and --delete-config. what: the name of the configs in the options' help."""
    parser.add_argument(
        "--add-config", "--add", metavar="K=V,K=[V,V]", action="append", default=[], help=f"{what} to set"
    )
    parser.add_argument("--delete-config", metavar="K,K", action="append", default=[], help=f"{what} to remove")


# A noun's options as a parser.


def add_noun_options(parser: argparse.ArgumentParser, noun: Noun) -> None:
    """Add the command's actions, its own options, and those that all nouns have."""
    parser.epilog = noun.examples
    parser.set_defaults(action=None)
    what = parser.add_argument_group("what to do")
    if noun.words:
        words = "; ".join(f"{word}: {help_}" for word, help_ in noun.words.items())
        what.add_argument("word", nargs="?", metavar="COMMAND", choices=tuple(noun.words), help=words)
    # In Python 3.11, argparse fails on the help of a group without options: use a group only if there are some.
    actions = what.add_mutually_exclusive_group() if noun.actions else what
    for action, help_ in noun.actions.items():
        also = [f"--{alias}" for alias, meant in noun.aliases if meant == action]
        actions.add_argument(f"--{action}", *also, dest="action", action="store_const", const=action, help=help_)
    others = [*parser._actions]  # argparse has no public access to the options of a parser
    noun.add_options(parser)
    own = {each.dest: parser.get_default(each.dest) for each in parser._actions if each not in others}
    parser.set_defaults(**{OWN_DEFAULTS: own})
    for flag, how in noun.elsewhere.items():
        parser.add_argument(
            flag, nargs="?", action=_Elsewhere, const=how, default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
    parser.add_argument("--validate-only", action="store_true", help="let the brokers check the change, change nothing")
    parser.add_argument("--yes", "--force", action="store_true", help="don't ask; a warning still needs --accept")
    parser.add_argument("--accept", metavar="NAME[=SUBJECT],…", default="", help="continue in spite of these warnings")
    parser.add_argument("--output", choices=FORMS, default=FORMS[0], help="form of the results")


class _Elsewhere(argparse.Action):
    """An action of argparse that refuses an option of Kafka's tool, and names its replacement."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: object) -> NoReturn:
        """Print the message and end the process with exit code 2."""
        parser.error(f"there is no {self.option_strings[0]}: {self.const}")
