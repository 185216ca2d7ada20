"""Carries out what `kac brokers` does as kafka-cluster: the cluster's id, endpoints, a broker's registration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.answers.results import Detail
from console.cli.kafka_tools.aligned import columns, safe, widest
from console.cli.kafka_tools.java_errors import exception
from console.cli.noun import Answers, Change, Changed, Running
from console.model.changes import BrokerTarget
from console.model.cluster import Broker, ClusterInfo
from console.model.failure import Failure
from console.session.snapshot_reader import SnapshotReader

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1


async def read_cluster(client: Client, context: Context) -> ClusterInfo:
    """Return the brokers and the cluster's id. Raises Refused where it is not the context's cluster, AdminError."""
    reader = SnapshotReader(client, context)
    await reader.read_cluster()
    return reader.snapshot.cluster


async def cluster_id(command: Running, client: Client, context: Context) -> int:
    """Print the cluster's id; return the exit code."""
    found = (await read_cluster(client, context)).cluster_id
    if command.is_kafka:
        text = f"Cluster ID: {safe(found)}" if found else "No cluster ID found. The Kafka version is probably too old."
        command.lines((text,))
    else:
        command.show([Detail(f"cluster {found or '–'}", {"cluster_id": found})])
    return DONE


async def list_endpoints(command: Running, client: Client, context: Context) -> int | Answers:
    """Print the brokers with their addresses, in kac's own forms as ``list brokers`` does."""
    cluster = await read_cluster(client, context)
    fenced = command.given.include_fenced_brokers
    if fenced and not cluster.shows_fenced:
        command.complain("this server does not report fenced brokers")
    found = [each for each in cluster.brokers if fenced or not each.fenced]
    if command.is_kafka:
        command.lines(endpoint_lines(found))
        return DONE
    from console.language.grammar import parse

    return Answers(parse("list brokers"))


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


async def unregister(command: Running, client: Client, context: Context) -> int | Change:
    """Remove a broker's registration."""
    number = command.given.id
    text = f"unregister broker {number}"
    if not command.is_kafka:
        return Change((text,), ask=True)
    cluster = await read_cluster(client, context)
    if cluster.shows_fenced and not any(each.id == number for each in cluster.brokers):
        missing = Failure("BROKER_ID_NOT_REGISTERED", f"Broker ID {number} is not currently registered", "")
        command.lines((), (exception(missing, own_text=True),))
        return FAILED
    return Change((text,), then=partial(_unregistered, command, number), of=cluster)


async def _unregistered(command: Running, number: int, changed: Changed) -> int:
    for outcome in changed.outcomes:
        if isinstance(outcome.target, BrokerTarget) and not command.given.validate_only:
            if outcome.ok:
                command.lines((f"Broker {number} is no longer registered.",))
            else:
                failure = outcome.failure or Failure(outcome.status.value.upper(), "", "")
                command.lines((), (exception(failure, own_text=True),))
    return changed.code
