"""``kac configs``: kafka-configs' command line."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from console.doors.opening import client_of, complain, context_of, open_log_file

if TYPE_CHECKING:
    from console.commands.kafka_configs.reader import Arguments
    from console.contexts import Context

OLD_COMMANDS = ("kafka-configs", "kafka-configs.sh")


def main(argv: Sequence[str], options: argparse.Namespace) -> int:
    """0 done, 1 not done or not understood, as kafka-configs has it. options: what stood before ``configs``."""
    if os.environ.get("USE_OLD_COMMAND", "").lower() == "true":
        return _run_old(argv)
    from console.commands.kafka_configs.command import ConfigsCommand

    def context(arguments: Arguments) -> Context | None:
        return context_of(connection(arguments, options))

    open_log_file()
    return ConfigsCommand(context, client_of).run(argv)


def connection(arguments: Arguments, before: argparse.Namespace) -> argparse.Namespace:
    """The options that name a cluster, as every command has them. before: those that stood before ``configs``."""
    found = argparse.Namespace(**vars(before))
    for name in ("bootstrap-server", "context", "command-config"):
        value = arguments.value(name)
        if value is not None:
            setattr(found, name.replace("-", "_"), Path(value) if name == "command-config" else value)
    for flag in ("read-only", "no-journal"):
        if arguments.has(flag):
            setattr(found, flag.replace("-", "_"), True)
    return found


def _run_old(argv: Sequence[str]) -> int:
    """Become the kafka-configs that is on PATH (KIP-248's USE_OLD_COMMAND)."""
    from console.commands.kafka_configs.command import FAILED

    found = next((path for name in OLD_COMMANDS if (path := shutil.which(name))), None)
    if found is None:
        complain("USE_OLD_COMMAND=true, but there is no kafka-configs on PATH: put Kafka's bin there, or unset it")
        return FAILED
    os.execv(found, [found, *argv])  # noqa: S606  # the operator's own command, with the arguments they typed
