"""The staged edits as Kafka's own commands, for this session's cluster."""

from __future__ import annotations

from console.commands.session import Session
from console.language.posix import shell_text
from console.plan.diff import diff
from console.plan.runbook import Command, runbook

COMMAND_CONFIG = "client.properties"


def runbook_commands(session: Session) -> tuple[Command, ...]:
    """The commands; where the cluster wants more than an address they name a client.properties."""
    settings = session.context.settings
    connection = ["--bootstrap-server", ",".join(f"{host}:{port}" for host, port in settings.bootstrap)]
    if settings.sasl is not None or settings.tls is not None:
        connection += ["--command-config", COMMAND_CONFIG]
    return runbook(diff(session.plan, session.snapshot), connection)


def runbook_text(session: Session) -> str:
    """Lines for a POSIX shell."""
    return shell_text(runbook_commands(session))
