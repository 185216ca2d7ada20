"""Which cluster: a flag beats the environment, which beats our own file, which beats what other tools have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from console.admin.settings import ConnectionSettings
from console.contexts.context import (
    COMMAND_LINE,
    BrokenContext,
    Context,
    ContextError,
    format_bootstrap,
    parse_bootstrap,
)
from console.contexts.load import Contexts

CONTEXT = "KAC_CONTEXT"
BOOTSTRAP = "KAC_BOOTSTRAP"
"""The environment variables that stand for ``--context`` and ``-b``; looked at only where no flag names a cluster."""


def resolve(
    contexts: Contexts,
    *,
    name: str | None = None,
    bootstrap: str | None = None,
    command_config: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Context:
    """The context that these flags name; without any, the environment's, else the current one.

    name: ``--context``. bootstrap: ``-b``, alone or instead of the addresses of the other two. command_config:
    ``--command-config``. Raises ContextError, one line.
    """
    if name is not None and command_config is not None:
        raise ContextError("--context and --command-config both say how to connect; give one of them")
    source = "-b"
    if name is None and bootstrap is None and command_config is None:
        environ = contexts.surroundings.environ if environ is None else environ
        name, bootstrap, source = environ.get(CONTEXT) or None, environ.get(BOOTSTRAP) or None, BOOTSTRAP
    try:
        addresses = None if bootstrap is None else parse_bootstrap(bootstrap)
    except ValueError as error:
        raise ContextError(f"{source}: {error}") from None
    if command_config is not None:
        from console.contexts.client_files import from_command_config

        return from_command_config(command_config, contexts.surroundings, addresses)
    if name is not None:
        context = _named(contexts, name)
        return (
            context if addresses is None else replace(context, settings=replace(context.settings, bootstrap=addresses))
        )
    if addresses is not None:
        origin = COMMAND_LINE if source == "-b" else f"environment ({BOOTSTRAP})"
        return Context(format_bootstrap(addresses[:1]), origin, ConnectionSettings(addresses), tool=COMMAND_LINE)
    return _current(contexts)


def _current(contexts: Contexts) -> Context:
    if contexts.current is not None:
        return _named(contexts, contexts.current)
    known = [context.name for context in contexts.contexts]
    if known:
        raise ContextError(f"which cluster? give --context with one of {', '.join(known)}, or -b HOST:PORT")
    because = f" ({contexts.problems[0]})" if contexts.problems else ""
    raise ContextError(f"which cluster? give -b HOST:PORT, or --command-config FILE{because}")


def _named(contexts: Contexts, name: str) -> Context:
    found = contexts.find(name)
    if isinstance(found, Context):
        return found
    if isinstance(found, BrokenContext):
        raise ContextError(f"the context {name} can't be used: {found.problem}")
    from difflib import get_close_matches

    known = [*(item.name for item in contexts.contexts), *(item.name for item in contexts.broken)]
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "; `kac contexts` lists what there is" if known else ""
    because = f" ({contexts.problems[0]})" if contexts.problems else ""
    raise ContextError(f"there is no context {name!r}{hint}{because}")
