"""A second Connect cluster is started with the group.id of the first one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.connect_cluster import ConnectCluster, ask

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

THREE = {f"{each}.storage.replication.factor": "3" for each in ("config", "offset", "status")}
OF_PAYMENTS = {f"{each}.storage.topic": f"payments-{each}" for each in ("config", "offset", "status")}


@asynccontextmanager
async def _connecting(field: Field, group: str) -> AsyncIterator[Begin]:
    """Run a Connect cluster with a sink. The yielded function starts the worker of a second Connect cluster, which has
    internal topics of its own.

    Args:
        group: group.id of the second cluster's worker.
    """
    await field.topic("orders", partitions=3)
    bootstrap = field.cluster.bootstrap
    warehouse = ConnectCluster(field.version, bootstrap, properties=THREE)
    payments = ConnectCluster(field.version, bootstrap, group=group, properties=THREE | OF_PAYMENTS)
    try:
        await asyncio.to_thread(warehouse.__enter__)
        config = {
            "connector.class": "FileStreamSink",
            "topics": "orders",
            "tasks.max": "1",
            "file": str(warehouse.folder / "orders.txt"),
        }
        async with field.producer("orders", rate=30, name="shop"):
            body = {"name": "warehouse-sink", "config": config}
            reply = await asyncio.to_thread(ask, warehouse.urls[0], "POST", "/connectors", body)
            if reply.status != 201:
                raise RuntimeError(f"the connector is not created: {reply}")
            await field.reads("connect-warehouse-sink", "orders")

            async def begin() -> None:
                await asyncio.to_thread(payments.start, 0)
                await asyncio.sleep(20)  # the worker starts and joins

            yield begin
    finally:
        await asyncio.to_thread(payments.close)
        await asyncio.to_thread(warehouse.close)


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the second Connect cluster was made from a copy
    of the first one's worker configs, with other topics and the same group.id.
    """
    async with _connecting(field, "connect-cluster") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the second Connect cluster
    has other topics and a group.id of its own.
    """
    async with _connecting(field, "connect-payments") as begin:
        yield begin


NIGHT = Night(
    name="two Connect clusters of one group",
    source="https://github.com/vdesabou/kafka-docker-playground/issues/8852",
    story="The configs of a new Connect cluster were copied from those of another one: its topics got names of their "
    "own, its group.id did not. All workers are members of one group, but read the connectors' configs from two "
    "different topics: the offset of one topic means nothing in the other, so a worker forces one rebalance after "
    "another, and answers no request for connectors.",
    make=_make,
    twin_story="The second Connect cluster has a group.id of its own: two groups with a worker each.",
    twin=_twin,
    # Only the members' metadata, and that there are two sets of internal topics, show that these are two clusters.
    cause=Words(
        (
            r"connect-cluster",
            r"two (kafka )?connect|(another|second|other|different) (kafka )?connect|payments|"
            r"different (config|internal|storage)|(share|same|one) .{0,30}(group\.id|group)|config(s|uration)? offset|"
            r"config\.storage\.topic|internal topics",
            r"rebalanc|generation|join|worker|members?",
        )
    ),
    symptom=Words((r"connect-cluster", r"rebalanc|generation|joins?|joining|worker|new member|flap")),
    step=Words(
        (r"group\.id|own group|group of its own|config\.storage\.topic|same (config|internal)|stop.{0,60}worker",)
    ),
    wrong=(r"delete (group|topic|records)", r"reset group"),
)
