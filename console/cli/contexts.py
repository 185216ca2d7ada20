"""``kac contexts``: lists the configured contexts, or writes a new one into kac's own file."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from console.cli.opening import DONE, FAILED, USAGE, listing
from console.terminal import ask, ask_secret, complain, leave, put, say, stdout, width_of

SASL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
EXAMPLES = """\
examples:
  kac contexts                                                      those found, and where
  kac contexts add prod -b broker1:9092,broker2:9092 --read-only
  kac contexts add prod -b broker1:9093 --security-protocol SASL_SSL --sasl-mechanism SCRAM-SHA-512 --username ops
  kac contexts add stage --command-config client.properties
"""


def contexts_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``kac contexts``."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "what", nargs="?", choices=("list", "add"), default="list", help="list the contexts, or add a new one"
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="with add: the context's name")
    login = parser.add_argument_group("with add: how to log in; kac asks for a password and does not show it")
    login.add_argument(
        "--security-protocol",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        help="the protocol",
    )
    login.add_argument("--sasl-mechanism", choices=SASL, type=str.upper, help="the mechanism")
    login.add_argument("--username", metavar="NAME", help="the user of the login")
    login.add_argument("--confirm", action="store_true", help="require the context's name before kac sends a change")


def run_contexts(options: argparse.Namespace) -> int:
    """List the contexts, or write a new one.

    Returns:
        The exit code: 0 done; 1 it could not be written; 2 the options are invalid, or files name contexts but all are
        unusable.
    """
    from console.contexts import load

    if options.what == "add":
        return _add(options)
    contexts = load(os.environ, Path.home())
    put(f"{listing(contexts, width_of(stdout()))}\n")
    return USAGE if not contexts.contexts and (contexts.broken or contexts.problems) else DONE


def _add(options: argparse.Namespace) -> int:
    from console.contexts.adding import add_context
    from console.contexts.context import ContextError, Surroundings
    from console.contexts.own_file import own_path
    from console.language.quoting import shell_line

    if options.name is None:
        return leave(USAGE, "how is it called? kac contexts add NAME -b HOST:PORT")
    try:
        entries = _entries(options)
        if entries is None:
            return USAGE
        surroundings = Surroundings(os.environ, Path.home(), Path.cwd())
        add_context(options.name, entries, surroundings)
    except ContextError as error:
        return leave(USAGE, str(error))
    except OSError as error:
        return leave(
            FAILED, f"{error.filename or own_path(surroundings)}: it can't be written: {error.strerror or error}"
        )
    say(f"{surroundings.shown(own_path(surroundings))} has it now: {shell_line('kac', '-c', options.name)}")
    return DONE


def _entries(options: argparse.Namespace) -> dict[str, str | bool] | None:
    """Return the keys of a new context from the options; on a terminal, ask for missing values. If a value is missing
    and there is no terminal, print which one and return None.
    """
    found: dict[str, str | bool] = {}
    given = vars(options)
    can_ask = sys.stdin is not None and sys.stdin.isatty()
    bootstrap = given.get("bootstrap_server")
    if (file := given.get("command_config")) is not None:
        found["properties"] = str(Path(file).absolute())
    elif bootstrap is None and can_ask:
        ask("brokers (HOST:PORT,HOST:PORT): ")
        bootstrap = sys.stdin.readline().strip()
    if bootstrap:
        found["bootstrap.servers"] = bootstrap
    elif file is None:
        complain("which brokers? kac contexts add NAME -b HOST:PORT, or --command-config FILE")
        return None
    if options.security_protocol is not None:
        found["security.protocol"] = options.security_protocol
    if options.sasl_mechanism is not None:
        found["sasl.mechanism"] = options.sasl_mechanism
    if options.username is not None:
        if options.sasl_mechanism is None:
            complain(f"--username needs --sasl-mechanism: {', '.join(SASL)}")
            return None
        if not can_ask:
            complain("no terminal to ask for the password on: put it into a file, and name that by --command-config")
            return None
        from console.contexts.jaas import login

        words = {"username": options.username, "password": ask_secret("password (hidden): ")}
        found["sasl.jaas.config"] = login(options.sasl_mechanism, words)
    if (via := given.get("via")) is not None:
        found["via"] = via
    found |= {each: True for each in ("read_only", "confirm") if given.get(each)}
    return found
