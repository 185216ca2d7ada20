"""A controller's disk is replaced: the lost disk's directory id remains a voter, and the new disk's is only an
observer.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.kafka_storage import META, format_arguments
from tests.support.server_properties import properties_of

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.nights.field import Field

NODE = 3


def _data(field: Field) -> Path:
    """Return the only log directory of the node."""
    (folder,) = field.cluster.directory.glob(f"broker-{NODE}/data-*")
    return folder


_TRIES = 12


async def _voters_by_record(field: Field) -> None:
    """Make the quorum dynamic (KIP-853): its voters are then records in the metadata log, as the documentation
    recommends.
    """
    # Voters report the features that they support only some time after their start; until then, the leader refuses the
    # upgrade.
    for attempt in range(_TRIES):
        try:
            await field.tool("kafka-features", "upgrade", "--feature", "kraft.version=1")
            break
        except RuntimeError:
            if attempt == _TRIES - 1:
                raise
            await asyncio.sleep(5)
    controllers = ",".join(f"{host}:{port}" for host, port in field.cluster.controller_addresses)
    properties = {"controller.quorum.voters": None, "controller.quorum.bootstrap.servers": controllers}
    for broker in field.cluster.broker_ids:
        await field.with_properties(broker, properties)
        await field.restart(broker)


def _new_disk(field: Field) -> None:
    """Replace the node's disk by an empty one, and format it as that of a node that joins a cluster.

    Raises RuntimeError if the formatting fails.
    """
    data = _data(field)
    shutil.rmtree(data)
    data.mkdir()
    file = data.parent / "server.properties"
    words = (*format_arguments(field.cluster.cluster_id, file), "--no-initial-controllers")
    command = field.cluster.tool_command("kafka.tools.StorageTool", *words)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"{done.stdout}{done.stderr}")


@asynccontextmanager
async def _replaced(field: Field, *, told: bool) -> AsyncIterator[Begin]:
    """Run a cluster. The yielded function replaces the disk of a node that is broker and controller, and waits until
    its data is copied from the other nodes.

    Args:
        told: whether the old voter is removed from the quorum, and the new one added.
    """
    await _voters_by_record(field)
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=40), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            old = properties_of(_data(field) / META)["directory.id"]
            await field.stop(NODE)
            await asyncio.to_thread(_new_disk, field)
            await field.start(NODE)
            if told:
                gone = ("--controller-id", str(NODE), "--controller-directory-id", old)
                await field.tool("kafka-metadata-quorum", "remove-controller", *gone)
                await _has_caught_up(field)
                file = str(_data(field).parent / "server.properties")
                await field.tool("kafka-metadata-quorum", "--command-config", file, "add-controller")

        yield begin


async def _has_caught_up(field: Field) -> None:
    """Wait until the node has nearly all of the metadata log, because only then it can become a voter."""

    async def is_near() -> bool:
        printed = await field.tool("kafka-metadata-quorum", "describe", "--replication")
        found = re.search(rf"^{NODE}\s+\S+\s+\d+\s+(\d+)\s.*Observer", printed, re.MULTILINE)
        return found is not None and int(found[1]) < 20

    await field.until(is_near, "the new controller has the metadata")


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a controller's disk is replaced, and the
    operator does not change the quorum, because the old and the new node have the same id.
    """
    async with _replaced(field, told=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a controller's disk is
    replaced; the old voter is removed and the new one added, as the documentation requires.
    """
    async with _replaced(field, told=True) as begin:
        yield begin


NIGHT = Night(
    name="a voter of an old disk",
    source="https://github.com/apache/kafka/pull/12597",
    story="The disk of a node that is a broker and a controller was replaced. It was formatted and started again, its "
    "replicas were back in sync after minutes, and the ticket was closed. But a voter is a node with its directory: "
    "the quorum still counts the one that was on the old disk, which will never answer, and the new one only follows "
    "as an observer. Three voters are listed, two of them live; the next restart of one of these stops all "
    "metadata.",
    make=_make,
    twin_story="The same replacement, after which the old voter is removed from the quorum and the new one added.",
    twin=_twin,
    cause=Words(
        (
            r"voter|quorum|controller",
            rf"\b{NODE}\b",
            r"director|disk|observer|formatted|storage|another id|new id|identity|incarnation|replaced",
        )
    ),
    symptom=Words(
        (
            r"voter|quorum|controller|metadata",
            r"\blag|behind|does not (fetch|follow|answer)|not (fetch|follow|caught)|silent|observer|majority"
            r"|two of|2 of|stale|old|one more|no spare|tolerat",
        )
    ),
    step=Words(
        (r"(remove|add).?(controller|voter)|(remove|add) (the )?(old |new )?(controller|voter)|make it a voter",)
    ),
    wrong=(
        r"unregister",
        r"unclean",
        r"remove.?(controller|voter) [12]\b",
        r"delete topic",
        r"reset group",
        r"downgrade",
    ),
    versions=("4.3", "4.4"),
)
