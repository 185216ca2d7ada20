"""The command line of kac: it finds the command in the arguments and the cluster that they name. A command's module is
imported only when the command runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from pathlib import Path

    from console.cli.noun import Noun

USAGE = 2
FAILED = 1
INTERRUPTED = 130


class Command(NamedTuple):
    """A command of `kac`: its name, its module and its help."""

    name: str
    module: str
    """The name of the module, which is imported when the command is given. Its function ``NAME_options`` adds the
    command's options to a parser; ``run_NAME`` runs the command with the parsed options, and returns the exit code."""
    help: str
    connects: bool = True
    """Whether the command takes the options that name a cluster."""
    own_parser: bool = False
    """Whether the module's function `main` parses the arguments itself, as `(arguments, options given before the
    command) -> exit code`."""
    is_noun: bool = False
    """Whether the module has a `console.cli.noun.Noun` with the command's name instead of the two functions."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own options, and the function that runs it. Imports its module."""
        if self.is_noun:
            from console.cli.noun import add_noun_options

            parser.set_defaults(run=partial(_run_noun, self.noun()))
            add_noun_options(parser, self.noun())
            return
        module, name = import_module(self.module), self.name.replace("-", "_")
        parser.set_defaults(run=getattr(module, f"run_{name}"))
        getattr(module, f"{name}_options")(parser)

    def noun(self) -> Noun:
        """Return the noun of a command with `is_noun`. Imports the command's module."""
        noun: Noun = getattr(import_module(self.module), self.name.replace("-", "_").upper())
        return noun


def _run_noun(noun: Noun, options: argparse.Namespace) -> int:
    from console.cli.noun_command import NounCommand
    from console.cli.opening import command_client, context_of, open_log_file

    open_log_file()
    return NounCommand(noun, options).run(lambda: context_of(options), command_client)


def _noun(name: str, help_: str, module: str = "console.cli.nouns") -> Command:
    return Command(name, module, help_, is_noun=True)


_GROUPS = "console.cli.groups"

COMMANDS = (
    Command("run", "console.cli.run", "run commands without a screen"),
    Command("shell", "console.cli.run", "commands at a prompt, with completion and history"),
    Command(
        "configs",
        "console.cli.kafka_configs.command",
        "show and change configs, as kafka-configs does",
        own_parser=True,
    ),
    Command("records", "console.cli.records", "find records of topics, follow them, write them to a pipe or a file"),
    Command("produce", "console.cli.produce", "write records from files and pipes, each once"),
    Command("redrive", "console.cli.redrive", "send dead letters again, each exactly once"),
    Command("analyze", "console.cli.analyze", "count the contents of a topic: keys, sizes, partitions, schemas, times"),
    _noun("topics", "list, describe, create, delete and alter topics, elect leaders, delete records"),
    _noun("quotas", "list, describe and alter quotas, and show which one applies"),
    _noun("acls", "list, explain, add and remove ACLs", "console.cli.acls"),
    _noun("brokers", "list, describe, configure and unregister brokers"),
    _noun("groups", "list, describe and configure groups, reset and delete their offsets", _GROUPS),
    _noun("share-groups", "list, describe and delete share groups, reset and delete their offsets", _GROUPS),
    _noun("streams-groups", "list, describe and delete streams groups, reset and delete their offsets", _GROUPS),
    _noun("scram", "list, set and delete SCRAM credentials"),
    _noun("tokens", "list, create, renew and expire delegation tokens"),
    _noun("connectors", "list, describe, pause, stop, restart, create, alter and delete connectors of Kafka Connect"),
    _noun("schemas", "list, describe, register and delete schemas, set their compatibility", "console.cli.schemas"),
    _noun("mirrors", "list the flows of MirrorMaker 2 to the cluster", "console.cli.mirrors"),
    _noun("transactions", "list and describe transactions, find and abort those that hang", "console.cli.transactions"),
    _noun("features", "show features and their levels, upgrade and downgrade them", "console.cli.features"),
    Command("snapshot", "console.cli.files", "print the whole state as JSON"),
    Command("export", "console.cli.files", "write the overrides of a cluster as YAML"),
    Command("diff", "console.cli.files", "show the changes that bring a cluster to the state in files"),
    Command("plan", "console.cli.files", "show these changes, let the brokers check them, and keep them in a file"),
    Command("apply", "console.cli.files", "apply the state in files to a cluster, or apply a kept plan"),
    Command("compare", "console.cli.compare", "show the differences of clusters, files, entities, brokers"),
    Command("demo", "console.cli.demo", "open the console on a demo cluster, to try things", connects=False),
    Command("cluster", "console.cli.demo", "run an embedded cluster for any Kafka client", connects=False),
    Command("history", "console.cli.history", "list changes, from a lake or from this host's journal"),
    Command("drift", "console.cli.history", "list values that differ from their peers, from a lake"),
    Command("usage", "console.cli.history", "list how much of its quotas each client uses, from a lake"),
    Command("denied", "console.cli.history", "list denied rights with their beginning, and the changes before"),
    Command("lake", "console.cli.lake", "fill and maintain a lake: history, authors, drift, use of quotas"),
    Command("doctor", "console.cli.doctor", "check this host and the connection to a cluster"),
    Command(
        "bug-report",
        "console.cli.bug_report",
        "write one file for an issue: the doctor's checks, and brokers' answers without names",
    ),
    Command("triage", "console.cli.triage", "name what is wrong with a cluster, and why"),
    Command("watch", "console.cli.watch", "print watched topics, groups, brokers and connectors, the worst first"),
    Command("fleet", "console.cli.fleet", "look at the clusters of all contexts, the worst first", connects=False),
    Command("lint", "console.cli.lint", "find settings in a cluster that will cause trouble"),
    Command("record", "console.cli.record", "keep the brokers' answers in a file, for a replay"),
    Command("events", "console.cli.events", "print the changes in a cluster as they happen"),
    Command("mcp", "console.cli.mcp.command", "let an agent look and propose; a person applies"),
    Command("replay", "console.cli.replay", "open the console on a flight record", connects=False),
    Command("due", "console.cli.scheduled", "list changes that expire, and revert those that are due"),
    Command("leftovers", "console.cli.scheduled", "find unused replication throttles"),
    Command("moves", "console.cli.moves", "plan moves of replicas: drain a broker, replace it, balance"),
    Command(
        "completion", "console.cli.manual.completion_scripts", "print a completion script for a shell", connects=False
    ),
    Command("self", "console.cli.installed", "verify the files of kac itself", connects=False),
    Command("__complete", "console.cli.manual.completion", "", connects=False, own_parser=True),
    Command("contexts", "console.cli.contexts", "list the contexts and their files; add one"),
)
BY_NAME = {command.name: command for command in COMMANDS}

EXAMPLES = """examples:
  kac demo                                           a first look: the console on a cluster in its own process
  kac -b broker1:9092                                open the console
  kac --context prod                                 the same, with a context of the config file
  kac run -b broker1:9092 -e 'describe topic a'      one command, no screen
  kac run -b broker1:9092 -e 'set topic a retention.ms=1d; apply --yes'
  kac configs -b broker1:9092 --topic a --describe   kafka-configs' command line
  kac snapshot -b broker1:9092 > cluster.json        the whole state as JSON
"""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter of help texts that uses the terminal's whole width and no colours.

    argparse's own code for both takes a third of the time of a help: it loads the archives that shutil supports, and
    (3.14) the themes of Python's shell.
    """

    def __init__(
        self, prog: str, indent_increment: int = 2, max_help_position: int = 24, width: int | None = None, **more: Any
    ) -> None:
        super().__init__(prog, indent_increment, max_help_position, width or _columns() - 2, **more)

    def _set_color(self, *_: object, **__: object) -> None:
        self._theme, self._decolor = _NoColors(), str


class _NoColors:
    """A theme for argparse in which every colour is an empty text."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return ""


def _columns() -> int:
    """Return the width of the terminal in characters, as `shutil.get_terminal_size` does: COLUMNS, else the terminal's,
    else 80.
    """
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # standard output is closed, or no terminal
        return 80


class _Once(argparse.Action):
    """An action of argparse that stores an option's value, and refuses a second value that differs; argparse would
    silently use the last one.

    It also refuses two clusters, one before the command's name and one after it.
    """

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, spelled: str | None = None
    ) -> None:
        given: dict[str, Any] = namespace.__dict__.setdefault(_GIVEN, {})
        if spelled is not None and given.setdefault(self.dest, values) != values:
            raise argparse.ArgumentError(self, "given twice with different values, and only one counts")
        setattr(namespace, self.dest, values)


_GIVEN = "values given"
"""A key in the namespace under which `_Once` keeps the given values; no option can have this name."""


class Parser(argparse.ArgumentParser):
    """A parser of arguments that prints its errors, which repeat arguments, without control characters."""

    meant: Callable[[], str] | None = None
    """Returns the command line that the user probably meant instead of an invalid one; ``""`` if none is found."""
    words: Sequence[str] = ()
    """The arguments to parse."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.register("action", None, _Once)
        self.register("action", "store", _Once)

    def error(self, message: str) -> NoReturn:
        """Print an error, and the command line that the user probably meant; end the process with exit code 2."""
        refused = any(word in message.replace("'", " ").split() for word in self.words[:1])
        line = self.meant() if self.meant is not None and (refused or self.prog == "kac run") else ""
        if line:  # print this line instead of a screenful of options
            self.exit(USAGE, f"{self.prog}: error: {message}; type: {line}\n")
        super().error(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Print the message, if there is one, on standard error, and end the process."""
        if message:
            from console.terminal import stderr

            stderr().write(message)
        sys.exit(status)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the options before a command's name; the command parses the rest of the line."""
    top = Parser(
        prog="kac",
        usage="kac [options] [COMMAND …]",
        description="The admin console for Apache Kafka. Without a command it opens the screen.",
        epilog=f"commands (kac COMMAND --help says more):\n{_listing()}\n{EXAMPLES}",
        formatter_class=HelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    add_connection(top)
    top.add_argument("--lake", metavar="PATH", help="the lake from which kac reads history, drift and usage")
    themes = "the screen's colours (default: KAC_THEME, the settings, or the terminal's background)"
    top.add_argument("--theme", metavar="dark|light|ansi", help=themes)
    top.add_argument(
        "--plain",
        action="store_true",
        help="the console as lines, for screen readers and pipes (setting: accessible = true)",
    )
    top.add_argument(
        "--request-log",
        metavar="FILE",
        action="append",
        type=_path,
        dest="request_logs",
        help="a broker's request log on this host, which has the throttled clients; may be repeated",
    )
    watched = "open on the pane Watch with a set of the context"
    top.add_argument("--watch", metavar="SET", dest="watch_set", help=watched)
    top.set_defaults(version=False, licenses=False, command=None)
    top.add_argument("-V", "--version", action="store_true", help="print the version")
    top.add_argument("--licenses", action="store_true", help="print the licences of kac and all its parts")
    top.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    top.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return top


def command_parser(command: Command) -> Parser:
    """Return the parser of a command without its own parser."""
    made = Parser(
        prog=f"kac {command.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        formatter_class=HelpFormatter,
    )
    if command.connects:
        add_connection(made)
    command.add_options(made)
    return made


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a cluster. An option that is not given is missing in the namespace."""
    group = parser.add_argument_group("which cluster")

    def add(*names: str, **options: Any) -> None:
        group.add_argument(*names, default=argparse.SUPPRESS, **options)

    add("-b", "--bootstrap-server", metavar="HOST:PORT,…", help="addresses of brokers to connect to first")
    add("--bootstrap-controller", metavar="HOST:PORT,…", help="addresses of controllers, if no broker answers")
    add("-c", "--context", metavar="NAME", help="a context, see `kac contexts`")
    add("--command-config", metavar="FILE", type=_path, help="a client.properties of Kafka's tools")
    ways = "ssh:USER@HOST, socks5://HOST:PORT, http://HOST:PORT, kube:[CONTEXT/]NAMESPACE[/SERVICE]"
    add("--via", metavar="WAY", help=f"how to connect: {ways}")
    add("--read-only", action="store_true", help="refuse every change")
    add("--no-journal", action="store_true", help="change without writing into the journal: no revert, no history")


def _path(text: str) -> Path:
    from pathlib import Path

    return Path(text)


def run(argv: Sequence[str]) -> int:
    """Run one command line.

    Returns:
        The exit code: 0 done; 1 failed, or the reader closed the pipe; 2 invalid arguments; 130 ended by Ctrl-C; others
        as documented by the commands.
    """
    options = parser().parse_args(argv)
    name, arguments = options.command, options.arguments
    del options.command, options.arguments
    try:
        if options.version:
            return _version()
        if options.licenses:
            from console.cli.installed import licences

            return licences()
        if name is None:
            from console.cli import screen

            return screen.run(options)
        if name in ("help", "version"):
            return _version() if name == "version" else run([*arguments[:1], "--help"])
        command = BY_NAME.get(name)
        if command is None:
            return _no_such(name, arguments, options)
        if command.own_parser:
            return int(import_module(command.module).main(arguments, options))
        made = command_parser(command)
        made.meant, made.words = partial(_meant, name, arguments, options), arguments
        parsed = made.parse_args(arguments, options)
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe (`kac … | head`): prevent the interpreter's own error message at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _listing() -> str:
    width = max(len(command.name) for command in COMMANDS)
    return "".join(f"  {command.name:{width}}  {command.help}\n" for command in COMMANDS if command.help)


def _no_such(name: str, arguments: Sequence[str], options: argparse.Namespace) -> int:
    """Print that there is no command with this name, and the command line that the user probably meant, if one is
    found. Return the exit code.
    """
    from difflib import get_close_matches

    from console.language.errors import is_one_slip
    from console.language.other_words import WORDS
    from console.present.text import clean
    from console.terminal import complain

    own = [command.name for command in COMMANDS if command.help]
    line = _meant(name, arguments, options)
    if not line and (near := get_close_matches(name, own, n=1)):
        line = f"kac {near[0]}"
    elif not line and (near := [word for word in WORDS if is_one_slip(name, word)]):
        line = _meant(near[0], arguments, options)
    complain(f"there is no command '{clean(name, 80)}'; " + (f"type: {clean(line, 400)}" if line else "see kac --help"))
    return USAGE


def _meant(name: str, arguments: Sequence[str], options: argparse.Namespace) -> str:
    """Return the command line that the user probably meant with an unknown command: one with a statement of the
    language, or kac's equivalent for a command of another tool; ``""`` if there is none.
    """
    from itertools import takewhile

    from console.language.other_words import NO_RECORDS, command_line, our_line

    connecting = Parser(add_help=False, exit_on_error=False)
    add_connection(connecting)
    with suppress(argparse.ArgumentError):
        options, arguments = connecting.parse_known_args(arguments, argparse.Namespace(**vars(options)))
    words = [name, *takewhile(lambda each: not each.startswith("-"), arguments)]
    if name == "run":
        # The text may be a quoted script that lacks its -e.
        words = words[1].split() if len(words) == 2 else words[1:]
    if not words or (len(words) == 1 and name in BY_NAME.keys() - {"run"}):
        return ""
    known = our_line(words)
    if known == "":
        return NO_RECORDS
    line = _statement(words) or known or _usage(words)
    given = [(flag, getattr(options, each)) for each, flag in _NAMES_A_CLUSTER.items() if hasattr(options, each)]
    return command_line(line, [text for pair in given for text in map(str, pair)]) if line else ""


def _statement(words: Sequence[str]) -> str | None:
    """Return words of a shell as the text of a statement of the command language; None if they are not a statement."""
    from console.language.errors import ParseError
    from console.language.grammar import parse
    from console.language.quoting import as_typed

    line = " ".join(map(as_typed, words))
    try:
        return line if parse(line) else None
    except ParseError:
        return None


def _usage(words: Sequence[str]) -> str | None:
    from console.language.statements import Where
    from console.language.verbs import VERBS

    verb = VERBS.get(words[0])
    return verb.usage[0] if verb is not None and verb.where & Where.RUN else None


_NAMES_A_CLUSTER = {
    "bootstrap_server": "-b",
    "bootstrap_controller": "--bootstrap-controller",
    "context": "-c",
    "command_config": "--command-config",
    "via": "--via",
}


def _version() -> int:
    from console.cli.installed import release
    from console.terminal import put

    put(f"kac {release()}\n")
    return 0
