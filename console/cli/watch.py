"""``kac watch``: prints the rows of the watched subjects, those in the worst state first."""

from __future__ import annotations

import argparse

from console.cli.opening import USAGE, command_client, context_of, open_log_file
from console.terminal import leave

EXAMPLES = """\
examples:
  kac watch -c prod topic orders, group billing, broker '*'
  kac watch -c prod checkout                       a set of the context: [contexts.prod.watch]
  kac watch -c prod 'topic orders.*' --output json
"""


def watch_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac watch``."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "subjects", nargs="+", metavar="SUBJECT", help="topic, group, broker, connector or schema, and a NAME; or a SET"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="form of the rows")


def run_watch(options: argparse.Namespace) -> int:
    """Print the rows of the watched subjects.

    Returns:
        The exit code: 0 done; 1 no broker answered, or a part could not be read; 2 no context, no such set, or invalid
        arguments.
    """
    from console.language.quoting import as_typed
    from console.session.script_runner import run_script

    context = context_of(options)
    if context is None:
        return USAGE
    words = options.subjects
    text = words[0] if len(words) == 1 else " ".join(map(as_typed, words))
    text = context.watch.get(text, text)
    if len(text.split()) == 1:
        return leave(USAGE, no_set(text, tuple(context.watch), context.name))
    open_log_file()
    return run_script(f"watch {text}", lambda: context, command_client, output=options.output)


def no_set(name: str, known: tuple[str, ...], context: str) -> str:
    """Return the message that a context has no set of watched subjects with this name. known: the names of its sets."""
    if known:
        return f"the context {context} has no set {name!r}: it has {', '.join(known)}"
    example = f'[contexts.{context}.watch] with {name} = "topic orders, group billing"'
    return f"the context {context} has no set {name!r}: add {example} to its file"
