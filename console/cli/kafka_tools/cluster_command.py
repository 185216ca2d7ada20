"""Carries out what `kac brokers` does as kafka-cluster: the cluster's id, endpoints, a broker's registration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console.answers.results import Detail
from console.cli.kafka_tools.aligned import columns, safe, widest
from console.cli.kafka_tools.java_errors import exception
from console.cli.noun import Running
from console.model.changes import BrokerTarget
from console.model.cluster import Broker
from console.model.failure import Failure

if TYPE_CHECKING:
    from console.session.session import Session

DONE, FAILED = 0, 1


async def cluster_id(command: Running, session: Session) -> int:
    """Print the cluster's id; return the exit code."""
    await session.read_cluster()
    found = session.snapshot.cluster.cluster_id
    if command.is_kafka:
        text = f"Cluster ID: {safe(found)}" if found else "No cluster ID found. The Kafka version is probably too old."
        command.lines((text,))
    else:
        command.show([Detail(f"cluster {found or '–'}", {"cluster_id": found})])
    return DONE


async def list_endpoints(command: Running, session: Session) -> int:
    """Print the brokers with their addresses; return the exit code."""
    await session.read_cluster()
    cluster = session.snapshot.cluster
    fenced = command.given.include_fenced_brokers
    if fenced and not cluster.shows_fenced:
        command.complain("this server does not report fenced brokers")
    found = [each for each in cluster.brokers if fenced or not each.fenced]
    if command.is_kafka:
        command.lines(endpoint_lines(found))
        return DONE
    from console.language.grammar import parse

    return await command.answered(session, parse("list brokers"))


def endpoint_lines(brokers: Sequence[Broker]) -> list[str]:
    """Return the lines of kafka-cluster list-endpoints."""
    hosts = widest(0, (safe(each.host) for each in brokers)) if brokers else 100
    racks = [safe(each.rack) for each in brokers if each.rack is not None]
    widths = [10, hosts, 10, widest(0, racks) if racks else 10, 10, 15]
    header = ["ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"]
    rows = [
        [
            str(each.id),
            safe(each.host),
            str(each.port),
            "null" if each.rack is None else safe(each.rack),
            "fenced" if each.fenced else "unfenced",
            "broker",
        ]
        for each in brokers
    ]
    return [columns(widths, row) for row in (header, *rows)]


async def unregister(command: Running, session: Session) -> int:
    """Remove a broker's registration; return the exit code."""
    number = command.given.id
    text = f"unregister broker {number}"
    if not command.is_kafka:
        return (await command.changed(session, (text,), ask=True)).code
    await session.read_cluster()
    cluster = session.snapshot.cluster
    if cluster.shows_fenced and not any(each.id == number for each in cluster.brokers):
        missing = Failure("BROKER_ID_NOT_REGISTERED", f"Broker ID {number} is not currently registered", "")
        command.lines((), (exception(missing, own_text=True),))
        return FAILED
    changed = await command.changed(session, (text,))
    for outcome in changed.outcomes:
        if isinstance(outcome.target, BrokerTarget) and not command.given.validate_only:
            if outcome.ok:
                command.lines((f"Broker {number} is no longer registered.",))
            else:
                failure = outcome.failure or Failure(outcome.status.value.upper(), "", "")
                command.lines((), (exception(failure, own_text=True),))
    return changed.code
