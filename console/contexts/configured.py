"""The contexts configured on this machine, and the choice of the context for a command.

A flag overrides the environment variables, which override kac's own file, which overrides other tools' files.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.admin.settings import ConnectionSettings
from console.contexts import context as contexts_context
from console.contexts.secret_sources import unlocked

if TYPE_CHECKING:
    from console.admin.settings import Via
    from console.contexts.console_settings import ConsoleSettings
    from console.contexts.own_file import OwnFile
    from console.contexts.receivers import Receiver

CONTEXT = "KAC_CONTEXT"
BOOTSTRAP = "KAC_BOOTSTRAP"
"""The environment variable with the addresses that ``-b`` would give; `CONTEXT` is the one with the name that
``--context`` would give. kac reads both variables only if no flag names a cluster.
"""


class Contexts:
    """All configured contexts: first those of kac's own file, then those of other tools, each with a unique name.

    A context of another tool has the tool in its name (``kafkactl/prod``) if kac's own file or several tools use the
    name. Files are read at the first use: a start with ``-b`` reads none, and no other tool's file is read if kac's own
    file has the wanted context.
    """

    def __init__(self, surroundings: contexts_context.Surroundings) -> None:
        self.surroundings = surroundings

    @property
    def contexts(self) -> tuple[contexts_context.Context, ...]:
        """All usable contexts."""
        return tuple(item for item in self.all if isinstance(item, contexts_context.Context))

    @property
    def broken(self) -> tuple[contexts_context.BrokenContext, ...]:
        """The unusable contexts, each with the reason."""
        return tuple(item for item in self.all if isinstance(item, contexts_context.BrokenContext))

    @property
    def settings(self) -> ConsoleSettings:
        """The table ``[settings]`` of kac's own file, or the defaults."""
        return self._own.settings

    @property
    def receivers(self) -> tuple[str, ...]:
        """The names of the receivers of messages in kac's own file."""
        return tuple(self._own.receivers)

    def receiver(self, name: str) -> Receiver:
        """Return a receiver of messages with its secrets fetched, which may take time. Raises ContextError, with a
        message of one line: there is no such receiver, its table is invalid, or a secret can't be fetched.
        """
        from console.contexts.receivers import receiver

        table = self._own.receivers.get(name)
        if table is None:
            there = f"there are {', '.join(self.receivers)}" if self.receivers else f"write [notify.{name}]"
            raise contexts_context.ContextError(f"there is no receiver {name!r}: {there}; kac contexts names the file")
        if isinstance(table, str):
            raise contexts_context.ContextError(table)
        return receiver(table, self.surroundings, ask=on_a_terminal())

    @property
    def own_problems(self) -> tuple[str, ...]:
        """Problems of kac's own file and its settings, a line each. Other tools' files are not read."""
        return self._own.found.problems

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """Problems of all files, a line each. The valid rest of each file is used."""
        own = self._own.found
        theirs = (problem for found in self._discovered for problem in found.problems)
        if own.current is not None and self.find(own.current) is None:
            return (*own.problems, f"current_context is {own.current!r}, and there is no such context", *theirs)
        return (*own.problems, *theirs)

    @cached_property
    def current(self) -> str | None:
        """The name of the default context. kac's own file may name it. If that file names none and has no contexts, it
        is the current context of the only other tool that has one.

        None if kac's own file has contexts but names no default, or if no tool or several tools have a current context.
        """
        own = self._own.found
        if own.current is not None or own.items:
            return own.current
        chosen = [item for found in self._discovered for item in found.items if item.name == found.current]
        if len(chosen) != 1:
            return None
        # Two tools may have contexts of the same name; only TOOL/NAME is unique then.
        taken = sum(item.name == chosen[0].name for found in self._discovered for item in found.items)
        return chosen[0].name if taken == 1 else f"{chosen[0].tool}/{chosen[0].name}"

    def find(self, name: str) -> contexts_context.Context | contexts_context.BrokenContext | None:
        """Return the context with this name, usable or not; None if there is none. A context of another tool is also
        found as ``tool/name``.
        """
        # Look at kac's own contexts first: a new entry in another tool's file must not change the meaning of a name.
        for item in self._own.found.items:
            if item.name == name:
                return item
        return next((item for item in self.all if name in (item.name, f"{item.tool}/{item.name}")), None)

    @cached_property
    def _own(self) -> OwnFile:
        from console.contexts.own_file import read_own_file

        return read_own_file(self.surroundings)

    @cached_property
    def _discovered(self) -> tuple[contexts_context.Found, ...]:
        return _of_other_tools(self.surroundings)

    @cached_property
    def all(self) -> tuple[contexts_context.Context | contexts_context.BrokenContext, ...]:
        """All contexts, usable or not."""
        own = self._own.found.items
        others = [item for found in self._discovered for item in found.items]
        taken = Counter(item.name for item in (*own, *others))
        named = [replace(item, name=f"{item.tool}/{item.name}") if taken[item.name] > 1 else item for item in others]
        return (*own, *named)


def load(environ: Mapping[str, str], home: Path, cwd: Path | None = None) -> Contexts:
    """Return the contexts for this environment and home folder. Files are read at the first use. cwd: the working
    folder; None for that of the process.
    """
    return Contexts(contexts_context.Surroundings(environ, home, Path.cwd() if cwd is None else cwd))


def _of_other_tools(surroundings: contexts_context.Surroundings) -> tuple[contexts_context.Found, ...]:
    """Return the contexts of each tool. An unreadable file becomes one line in `problems` of its tool."""
    from console.contexts.other_tools import READERS

    found: list[contexts_context.Found] = []
    for tool, read in READERS:
        try:
            found.append(read(surroundings))
        except contexts_context.ContextError as error:
            found.append(contexts_context.Found(problems=(f"{error} ({tool})",)))
    return tuple(found)


def resolve(
    contexts: Contexts,
    *,
    name: str | None = None,
    bootstrap: str | None = None,
    controllers: str | None = None,
    command_config: Path | None = None,
    via: str | None = None,
    unlock: bool = True,
    environ: Mapping[str, str] | None = None,
) -> contexts_context.Context:
    """Return the context that these flags name. Without flags, return the context that the environment variables name,
    else the default context.

    Args:
        name: the value of ``--context``. It is None if the flag was not given, as are the next four arguments.
        bootstrap: the value of ``-b``: the addresses of the cluster, which replace those of the context or file.
        controllers: the value of ``--bootstrap-controller``: as `bootstrap`, but requests go to controllers, not to
            brokers.
        command_config: the value of ``--command-config``.
        via: the value of ``--via``, the way to connect, which overrides the context's. If it names a service of
            Kubernetes and no other flag is given, the service is the address of the cluster.
        unlock: whether to fetch secrets from commands, keyrings and prompts, which may prompt on the terminal and takes
            time.
        environ: the environment variables, read if no flag names a cluster; None for those of `contexts`.

    Raises:
        ContextError: the flags contradict each other, no usable context has the name, or a secret can't be fetched; the
            message is one line.
    """
    way = None if via is None else _way(via)
    if bootstrap is not None and controllers is not None:
        raise contexts_context.ContextError("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    # A route to Kubernetes may name a service, which is then the first address.
    if way is not None and (name, bootstrap, controllers, command_config) == (None, None, None, None):
        from console.contexts.routes import bootstrap_of

        bootstrap = bootstrap_of(way)
    context = _resolved(contexts, name, bootstrap or controllers, command_config, environ, controllers is not None)
    context = context if way is None else replace(context, settings=replace(context.settings, via=way))
    return unlocked(context, ask=on_a_terminal()) if unlock else context


def _way(text: str) -> Via:
    from console.contexts.routes import parse_via

    try:
        return parse_via(text)
    except ValueError as error:
        raise contexts_context.ContextError(f"--via: {error}") from None


def on_a_terminal() -> bool:
    """Return whether kac can prompt the operator: standard input and standard error are a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _resolved(
    contexts: Contexts,
    name: str | None,
    bootstrap: str | None,
    command_config: Path | None,
    environ: Mapping[str, str] | None,
    at_controllers: bool,
) -> contexts_context.Context:
    if name is not None and command_config is not None:
        raise contexts_context.ContextError("--context and --command-config both say how to connect; give one of them")
    source = "--bootstrap-controller" if at_controllers else "-b"
    # Read the variables only if none of these flags is given, so that a command with a flag uses the same cluster in
    # any shell.
    if name is None and bootstrap is None and command_config is None:
        environ = contexts.surroundings.environ if environ is None else environ
        name, bootstrap, source = environ.get(CONTEXT) or None, environ.get(BOOTSTRAP) or None, BOOTSTRAP
    if bootstrap is None:
        if command_config is not None:
            return _of_file(command_config, contexts.surroundings, None)
        return _current(contexts) if name is None else _named(contexts, name)
    try:
        # There is no default port for controllers, as none is usual.
        addresses = contexts_context.parse_bootstrap(
            bootstrap, None if at_controllers else contexts_context.DEFAULT_PORT
        )
        if command_config is not None:
            context = _of_file(command_config, contexts.surroundings, addresses)
        elif name is not None:
            context = _named(contexts, name)
        else:
            origin = f"environment ({BOOTSTRAP})" if source == BOOTSTRAP else contexts_context.COMMAND_LINE
            called = contexts_context.format_bootstrap(addresses[:1])
            context = contexts_context.Context(
                called, origin, ConnectionSettings(addresses), tool=contexts_context.COMMAND_LINE
            )
        contexts_context.check_schemes(bootstrap, context.settings.security_protocol)
    except ValueError as error:
        raise contexts_context.ContextError(f"{source}: {error}") from None
    return replace(context, settings=replace(context.settings, bootstrap=addresses, controllers=at_controllers))


def _of_file(
    path: Path, surroundings: contexts_context.Surroundings, addresses: contexts_context.Addresses | None
) -> contexts_context.Context:
    """Return the context of ``--command-config``. The reader of such files is imported only here, because most starts
    do not need it.
    """
    from console.contexts.client_files import from_command_config

    return from_command_config(path, surroundings, addresses)


def _current(contexts: Contexts) -> contexts_context.Context:
    if contexts.current is not None:
        return _named(contexts, contexts.current)
    known = [context.name for context in contexts.contexts]
    if known:
        raise contexts_context.ContextError(
            f"which cluster? give --context with one of {', '.join(known)}, or -b HOST:PORT"
        )
    because = f" ({contexts.problems[0]})" if contexts.problems else ""
    raise contexts_context.ContextError(
        f"which cluster? give -b HOST:PORT, or --command-config FILE{because}; kac demo opens one to look around in, "
        "kac contexts lists what is configured, kac --help the rest"
    )


def _named(contexts: Contexts, name: str) -> contexts_context.Context:
    found = contexts.find(name)
    if isinstance(found, contexts_context.Context):
        return found
    if isinstance(found, contexts_context.BrokenContext):
        raise contexts_context.ContextError(f"the context {name} can't be used: {found.problem}")
    from difflib import get_close_matches

    known = [*(item.name for item in contexts.contexts), *(item.name for item in contexts.broken)]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; `kac contexts` lists what there is" if known else ""
    because = f" ({contexts.problems[0]})" if contexts.problems else ""
    raise contexts_context.ContextError(f"there is no context {name!r}{hint}{because}")


class Configured:
    """The contexts of this machine, read again at each call, because the files may change while the screen is open.

    unlock: whether `get` fetches secrets, as in `resolve`; kac can't prompt while the screen is open.
    """

    def __init__(self, environ: Mapping[str, str], home: Path, *, unlock: bool = True) -> None:
        self._unlock = unlock
        self._environ = environ
        self._home = home

    def names(self) -> list[str]:
        """Return the names of all usable contexts."""
        return [context.name for context in load(self._environ, self._home).contexts]

    def all(self) -> tuple[contexts_context.Context | contexts_context.BrokenContext, ...]:
        """Return all contexts, usable or not, without fetching secrets."""
        return load(self._environ, self._home).all

    def get(self, name: str) -> contexts_context.Context:
        """Return the context with a name. Raises ContextError as `resolve`."""
        return resolve(load(self._environ, self._home), name=name, unlock=self._unlock, environ=self._environ)


class Given:
    """A fixed set of contexts, which replaces the configured contexts, as in a demo."""

    def __init__(self, contexts: Iterable[contexts_context.Context]) -> None:
        self._contexts = {context.name: context for context in contexts}

    def names(self) -> list[str]:
        """Return the names of the contexts, in the order given."""
        return list(self._contexts)

    def all(self) -> tuple[contexts_context.Context | contexts_context.BrokenContext, ...]:
        """Return the contexts, in the order given."""
        return tuple(self._contexts.values())

    def get(self, name: str) -> contexts_context.Context:
        """Return the context of a name. Raises ContextError if no context has the name."""
        found = self._contexts.get(name)
        if found is None:
            raise contexts_context.ContextError(f"there is no context {name!r} here, only {', '.join(self._contexts)}")
        return found


Choice = Configured | Given
"""The contexts that a front end offers: `names` for completion, `all` for the overview of all clusters, `get` for one
by name.
"""
