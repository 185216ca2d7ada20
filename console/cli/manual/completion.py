"""``kac __complete``: returns the candidates to the shells' completion scripts, with the library argcomplete and with
names from the cluster.

argcomplete parses the incomplete line and finds the option whose value is typed. Its output is not safe for every name:
its bash script expands the candidates once more, and its quoting leaves ``~``, ``#`` and newlines unescaped. So the
scripts and the quoting are kac's own: a name is first cut to the part that the shell replaces, then quoted. Names come
from the cluster that the line names, and from the contexts; if a read fails, there are no names.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import logging
import os
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from argcomplete.completers import SuppressCompleter
from argcomplete.finders import CompletionFinder
from argcomplete.lexers import split_line

from console import event_loop
from console.cli.manual.pages import CommandHelp, OptionHelp, commands, help_of, top
from console.model.config import ConfigResource, topic_resource
from console.model.entity_types import EntityType, Lister, of_kafka
from console.model.parts import Part
from console.model.quota import CLIENT_KEYS, IP_KEYS
from console.present.connectors import connector_resources
from console.present.text import is_harmless
from console.terminal import drawn_on

if TYPE_CHECKING:
    from console.model.snapshot import Snapshot
    from console.session.session import Session


class Kind(Enum):
    """The kinds of words whose names kac reads from the cluster or from the contexts."""

    FILE = "a file"
    TOPIC = "a topic"
    BROKER = "a broker's id"
    GROUP = "a group"
    USER = "a user"
    CLIENT = "a client id"
    IP = "an ip"
    PRINCIPAL = "a principal"
    CONTEXT = "a context"
    RECEIVER = "a receiver of messages"
    CONNECTOR = "a connector"
    KEY = "a config's key"
    ASSIGNMENT = "a config's key, and = behind it"
    NOTHING = "unknown"


Named = Kind | EntityType
"""The kind of names to complete. An entity type whose names only ListConfigResources returns is a kind of its own."""


def _names_of(type_: EntityType) -> Named:
    """Return the kind of names for an entity type."""
    match type_.lister:
        case Lister.RESOURCES:
            return type_
        case Lister.BROKERS:
            return Kind.BROKER
        case _:
            return Kind[type_.name]


ENTITY_KINDS = {each.kafka_type: _names_of(each) for each in of_kafka()}
"""Entity type as kafka-configs spells it -> the kind of its names."""

PATIENCE = 2.0
"""The timeout of a completion in seconds."""

_ENTITIES = {f"--{each.kafka_word}": each.kafka_word for each in of_kafka()}


def names(kind: Named, words: Sequence[str], command: str) -> list[str]:
    """Return all names of a kind, sorted; empty if they can't be read within `PATIENCE` (2 s).

    Args:
        words: the words of the line so far, which name the cluster and the entity.
        command: the command of the line.
    """
    if kind is Kind.CONTEXT:
        from console.contexts import load

        return sorted(context.name for context in load(os.environ, Path.home()).contexts)
    if kind is Kind.RECEIVER:
        from console.contexts import load

        return sorted(load(os.environ, Path.home()).receivers)
    if kind in (Kind.KEY, Kind.ASSIGNMENT) and (keys := _quota_keys(words, command)):
        return list(keys)
    return _cluster_names(kind, words, command)


def _quota_keys(words: Sequence[str], command: str) -> Sequence[str]:

    about = _entity(words, command)[0]
    if about == "ip":
        return IP_KEYS
    if about in ("user", "client"):
        return CLIENT_KEYS if command == "quotas" else (*CLIENT_KEYS, "SCRAM-SHA-256", "SCRAM-SHA-512")
    return ()


def _entity(typed: Sequence[str], command: str) -> tuple[str, str]:
    """Return the entity that a line names: its type in the singular, and its name, ``""`` if it is not given."""
    split = [part for each in typed for part in (each.split("=", 1) if each.startswith("--") else [each])]
    pairs = list(zip(split, [*split[1:], ""], strict=True))
    for word, value in pairs:
        if word in _ENTITIES:
            return _ENTITIES[word], value
        if word.endswith("-defaults"):
            return word.removeprefix("--").removesuffix("-defaults"), ""
        if word == "--entity-type" and value in ENTITY_KINDS:
            name = next((named for option, named in pairs if option == "--entity-name"), "")
            return next(each.kafka_word for each in of_kafka() if each.kafka_type == value), name
    return {"topics": "topic", "brokers": "broker", "groups": "group", "quotas": "user"}.get(command, ""), ""


def _cluster_names(kind: Named, words: Sequence[str], command: str) -> list[str]:
    from console.admin.errors import AdminError
    from console.cli.opening import client_of
    from console.contexts import ContextError, load, resolve
    from console.contexts.secret_sources import is_locked
    from console.session.session import Session
    from console.session.snapshot_reader import Refused

    given = _connection(words)
    try:
        context = resolve(
            load(os.environ, Path.home()),
            name=given.context,
            bootstrap=given.bootstrap,
            controllers=given.controllers,
            command_config=given.command_config,
            via=given.via,
            unlock=False,
            environ=os.environ,
        )
    except ContextError:
        return []
    if is_locked(context.settings):
        return []
    client = client_of(context, ask=False)
    try:
        return sorted(set(event_loop.run(_in_time(_read(Session(client, context), kind, _entity(words, command))))))
    except (AdminError, Refused, TimeoutError):
        return []
    finally:
        client.close()


def _connection(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-b", "--bootstrap-server", "--bootstrap-servers", "--broker-list", dest="bootstrap")
    parser.add_argument("--bootstrap-controller", dest="controllers")
    parser.add_argument("-c", "--context", dest="context")
    parser.add_argument("--command-config", "--config.properties", dest="command_config", type=Path)
    parser.add_argument("--via", dest="via")
    try:
        return parser.parse_known_args(list(filter(None, words)))[0]
    except argparse.ArgumentError:  # the line may end before a required value
        return argparse.Namespace(bootstrap=None, controllers=None, context=None, command_config=None)


async def _in_time(read: Awaitable[Iterable[str]]) -> Iterable[str]:
    """Return the result of `read`. Raises TimeoutError: it takes more than `PATIENCE` (2) seconds."""
    async with asyncio.timeout(PATIENCE):
        return await read


async def _read(session: Session, kind: Named, about: tuple[str, str]) -> Iterable[str]:
    from console.model.codes import GROUP
    from console.model.quota import CLIENT_ID, IP, USER

    match kind:
        case EntityType(number=int(number)):
            return [resource.name for resource in await session.list_resources([number])]
        case Kind.TOPIC:
            await session.read_topics()
            return session.snapshot.topics
        case Kind.BROKER:
            await session.read_cluster()
            cluster = session.snapshot.cluster
            return [str(node.id) for node in cluster.brokers or cluster.controllers]
        case Kind.GROUP:
            await session.read_groups()
            listed = await session.list_resources([GROUP])
            return [*session.snapshot.groups, *(resource.name for resource in listed)]
        case Kind.USER | Kind.CLIENT | Kind.IP:
            await session.read_quotas()
            type_ = {Kind.USER: USER, Kind.CLIENT: CLIENT_ID, Kind.IP: IP}[kind]
            found = [part.name for entity in session.snapshot.quotas for part in entity.parts if part.type == type_]
            if kind is Kind.USER:
                await session.read_whole(Part.SCRAM)
                found += session.snapshot.scram
            return [name for name in found if name]
        case Kind.CONNECTOR:
            await session.read_whole(Part.CONNECT)
            return [each.name for each in connector_resources(session.snapshot)]
        case Kind.PRINCIPAL:
            await session.read_acls()
            return [acl.principal for acl in session.snapshot.acls]
        case Kind.KEY | Kind.ASSIGNMENT:
            await session.read_cluster()
            resource = _resource(about, session.snapshot)
            await session.read_configs([resource])
            if about[0] == "topic" and resource not in session.snapshot.configs:  # it is yet to be created
                await session.read_topics()
                resource = topic_resource(next(iter(session.snapshot.topics), ""))
                await session.read_configs([resource])
            return [entry.name for entry in session.snapshot.configs.get(resource, ())]
        case _:
            return []


def _resource(about: tuple[str, str], known: Snapshot) -> ConfigResource:
    """Return the config resource whose keys complete a line. about: the type and the name of the entity on the line.
    Without a name, any resource of the type serves; for a broker this is the one with the lowest id, since all
    brokers have the same keys.
    """
    from console.model.codes import GROUP, ResourceType

    kind, name = about
    number = next((each.number for each in of_kafka() if each.kafka_word == kind), None)
    type_ = GROUP if number is None else ResourceType(number)
    if type_.entity.at_broker:
        first = min(broker.id for broker in known.cluster.brokers)
        name = str(int(name) if name.isdecimal() else first)
    return ConfigResource(type_, name or "any")


FILES = ":files"
"""The only line that kac prints if the shell itself should complete names of files."""

MOST = 500

_VALUE_KINDS: dict[str, Named] = {
    **{each.kafka_word: _names_of(each) for each in of_kafka()},
    "connector": Kind.CONNECTOR,
    "principal": Kind.PRINCIPAL,
    "allow-principal": Kind.PRINCIPAL,
    "deny-principal": Kind.PRINCIPAL,
    "user-principal": Kind.PRINCIPAL,
    "context": Kind.CONTEXT,
    "c": Kind.CONTEXT,
    "notify": Kind.RECEIVER,
    "add-config": Kind.ASSIGNMENT,
    "added-config": Kind.ASSIGNMENT,
    "add": Kind.ASSIGNMENT,
    "config": Kind.ASSIGNMENT,
    "delete-config": Kind.KEY,
    "deleted-config": Kind.KEY,
}
"""Option -> the kind of names for its value."""

_EXPLAINED = {"--explain": Kind.PRINCIPAL, "topic": Kind.TOPIC, "group": Kind.GROUP}
"""A word in the value of `--explain` -> the kind of names for the next word."""

Names = Callable[[Named, Sequence[str], str], Iterable[str]]


def main(argv: Sequence[str], _options: argparse.Namespace) -> int:
    """Print the candidates for a line up to the cursor, a line each; for zsh and fish with a tab and a help text.

    Args:
        argv: ``bash LINE WORD``, where bash will replace WORD; ``zsh LINE``, ``fish LINE``.

    Returns:
        Always 0: a completion that fails prints nothing.
    """
    logging.disable()  # no log line may appear between the prompt and the typed text
    shell, line, word = (*argv, "", "", "")[:3]

    out = drawn_on("stdout")  # a tab separates a candidate from its help
    out.reconfigure(errors="surrogateescape")  # type: ignore[attr-defined]
    out.write("".join(f"{found}\n" for found in candidates(shell, line, word, names)))
    return 0


def candidates(shell: str, line: str, word: str, names: Names) -> list[str]:
    """Return the lines for the shell's script: only `FILES`, or the candidates for the last word. Empty if the line is
    invalid in the shell.

    Args:
        line: the command line up to the cursor.
        word: in bash, the part of the line that it will replace, as typed; ``""`` for other shells.
        names: returns the names of a kind.
    """
    try:
        before = split_line(line)[3]
    except Exception:  # noqa: BLE001  # argcomplete's lexer guarantees nothing for a line that is invalid in a shell
        return []
    asked = _Line(before[1:], names)
    finder = _Finder()
    finder.line, finder.shell, finder.replaced = asked, shell, word
    out = io.StringIO()
    with _as_completed(line, shell):
        finder(
            asked.parser(),
            always_complete_options="long" if asked.command and not asked.listed else False,
            exit_method=lambda _code: None,
            output_stream=out,
            validator=lambda found, prefix: found == FILES or found.startswith(prefix),
            default_completer=SuppressCompleter(),
        )
    return [FILES] if asked.files else [found.removesuffix("\t") for found in out.getvalue().split("\n") if found]


@contextmanager
def _as_completed(line: str, shell: str) -> Iterator[None]:
    """Set the environment variables from which argcomplete reads the line, inside the ``with`` block; restore the
    former ones afterwards.
    """
    former = dict(os.environ)
    # Remove argcomplete's variables from the environment: they belong to another program's completion.
    for name in [name for name in os.environ if name.startswith(("_ARGCOMPLETE", "_ARC_DEBUG"))]:
        del os.environ[name]
    os.environ.update(
        _ARGCOMPLETE="1",
        _ARGCOMPLETE_IFS="\n",
        _ARGCOMPLETE_SUPPRESS_SPACE="1",
        COMP_LINE=line,
        COMP_POINT=str(len(line)),
    )
    if shell != "bash":
        os.environ["_ARGCOMPLETE_DFS"] = "\t"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(former)


class _Finder(CompletionFinder):
    """argcomplete's finder of candidates for a line. It offers only names that a shell reads back unchanged."""

    line: _Line
    shell: str
    replaced: str

    def _init_debug_stream(self) -> None:
        """Open no stream for debugging: the base class would use file descriptor 9, even if it is in use."""

    def collect_completions(
        self, active_parsers: list[argparse.ArgumentParser], parsed_args: argparse.Namespace, cword_prefix: str
    ) -> list[str]:
        """Remember the word to complete, and return the base class's candidates for it."""
        self.line.typed = cword_prefix
        return super().collect_completions(active_parsers, parsed_args, cword_prefix)

    def quote_completions(
        self,
        completions: list[str],
        cword_prequote: str,
        last_wordbreak_pos: int | None,  # noqa: ARG002  # bash says itself what it replaces
    ) -> list[str]:
        """Return at most `MOST` replacements of the word. For bash each is the part that bash replaces, quoted; zsh and
        fish quote names themselves. Names that are not safe, or that the shell would expand, are left out.
        """
        found = [each for each in completions if is_harmless(each)][:MOST]
        if self.shell == "fish":
            # Leave out names that begin with ~, the only character that fish does not quote: it would expand to a
            # user's home.
            return [each for each in found if not each.startswith("~")]
        if self.shell != "bash":
            return found
        skip = _skipped(self.line.typed, self.replaced, cword_prequote)
        if skip is None:
            return []
        quoted = [_for_bash(each[skip:], cword_prequote) for each in found]
        return [each for each in quoted if each]


class _Line:
    """An incomplete command line. Its command is available as a parser that knows which kind of names each option's
    value has.

    Attributes:
        typed: the last word.
        files: whether the last word is the name of a file.
    """

    def __init__(self, words: Sequence[str], names: Names) -> None:
        self.typed = ""
        self.files = False
        self._words = words
        self._names = names
        self.command, self._help = _command(words)
        self.listed = tuple(c for option in self._help.options if _is_positional(option) for c in option.choices)

    def parser(self) -> argparse.ArgumentParser:
        """Return one parser with all options and without subcommands, so that it also recognises options before an
        error in the line.
        """
        made = argparse.ArgumentParser(prog="kac", add_help=False, allow_abbrev=False, conflict_handler="resolve")
        positional = made.add_argument("command", help=argparse.SUPPRESS)
        if self.command:
            positional.completer = SuppressCompleter()  # type: ignore[attr-defined]
            for option in top().options:
                self._add(made, option, hidden=True)
        else:
            positional.completer = lambda **_: {each.name: each.help for each in commands()}  # type: ignore[attr-defined]
        for option in self._help.options:
            self._add(made, option)
        if self.listed:
            made.add_argument("listed", nargs="?", choices=self.listed)
        if self.command:
            rest = made.add_argument("rest", nargs="*")
            rest.completer = self._topics if self.command in ("records", "analyze") else SuppressCompleter()  # type: ignore[attr-defined]
        return made

    def _topics(self, prefix: str, **_: Any) -> list[str]:
        """Return candidates for the last topic in a list separated by commas."""
        before, comma, last = prefix.rpartition(",")
        return [f"{before}{comma}{name}" for name in self._named(Kind.TOPIC, last)]

    def _add(self, parser: argparse.ArgumentParser, option: OptionHelp, hidden: bool = False) -> None:
        if _is_positional(option):
            return
        help_ = argparse.SUPPRESS if hidden else option.help.replace("%", "%%")
        if not option.value:
            parser.add_argument(*option.names, action="store_true", help=help_)
            return
        several = "+" if "--explain" in option.names else None
        action = parser.add_argument(*option.names, help=help_, choices=option.choices or None, nargs=several)
        if not option.choices:
            action.completer = self._completer(option)  # type: ignore[attr-defined]

    def _completer(self, option: OptionHelp) -> Callable[..., list[str]]:
        def complete(prefix: str, **_: Any) -> list[str]:
            name = next((n for n in reversed([*self._words, self.typed.partition("=")[0]]) if n in option.names), "")
            kind = self._kind(option, name.lstrip("-"))
            if kind is Kind.FILE:
                self.files = True
                return []
            return self._named(kind, prefix)

        return complete

    def _kind(self, option: OptionHelp, name: str) -> Named:
        if name == "entity-name":
            types = [word for word in self._words if word in ENTITY_KINDS]
            return ENTITY_KINDS[types[-1]] if types else Kind.NOTHING
        if name == "explain":  # its values are PRINCIPAL OPERATION topic NAME
            return _EXPLAINED.get(self._words[-1] if self._words else "", Kind.NOTHING)
        if option.value == "FILE" or name in ("command-config", "config.properties", "add-config-file"):
            return Kind.FILE
        return _VALUE_KINDS.get(name, Kind.NOTHING)

    def _named(self, kind: Named, prefix: str) -> list[str]:
        start, end = "", ""
        if kind in (Kind.KEY, Kind.ASSIGNMENT):
            done, comma, last = prefix.rpartition(",")
            if "=" in last:
                return []
            start, end = done + comma, "=" if kind is Kind.ASSIGNMENT else ""
        if kind is Kind.NOTHING:
            return []
        # A name that begins like an option would be parsed as an option, unless it follows the = of its own option.
        alone = not self.typed.startswith("-")
        found = self._names(kind, self._words, self.command)
        return [f"{start}{name}{end}" for name in found if name and not (alone and not start and name.startswith("-"))]


def _is_positional(option: OptionHelp) -> bool:
    return not option.names[0].startswith("-")


def _command(typed: Sequence[str]) -> tuple[str, CommandHelp]:
    """Return the name of the command in a line, and its options; without a command, ``""`` and the options before a
    command.
    """
    takes_value = {name for option in top().options if option.value for name in option.names}
    skip = False
    for given in typed:
        if skip:
            skip = False
        elif given.startswith("-"):
            skip = given in takes_value
        else:
            known = next((each for each in commands() if each.name == given), None)
            return given, help_of(known) if known is not None else CommandHelp(given, "", ())
    return "", top()


def _skipped(typed: str, replaced: str, quote: str) -> int | None:
    """Return the number of characters of the typed word that bash keeps, because it also splits words at ``=`` and
    ``:``.

    Args:
        typed: the whole word, unquoted.
        replaced: the part that bash replaces, as it is written on the line, without the open quote.
        quote: the open quote; ``""`` if no quote is open.

    Returns:
        None if `typed` does not end with `replaced`.
    """
    try:
        parts = shlex.split(f"{quote}{replaced}{quote}")
    except ValueError:
        return None
    text = "".join(parts)
    return len(typed) - len(text) if len(parts) < 2 and typed.endswith(text) else None


def _for_bash(text: str, quote: str) -> str:
    """Return the text as it must be written in bash after this open quote (``""`` for none); ``""`` if that is
    impossible.
    """
    if quote == "'":
        return "" if "'" in text else text
    if quote == '"':
        # Leave out an exclamation mark: within double quotes, a backslash does not prevent its history expansion.
        return "" if "!" in text else "".join(f"\\{char}" if char in '"$`\\' else char for char in text)
    return "".join(
        char if char.isalnum() or char in "-_.=:,/@%+" or not char.isascii() else f"\\{char}" for char in text
    )
