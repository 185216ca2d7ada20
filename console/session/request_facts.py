"""Read from the brokers the facts that decide the form of a plan's requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.model.config import ConfigResource, ConfigSet
from console.model.snapshot import Snapshot
from console.plan.kinds.topic_creation import default_partitions
from console.plan.plan import Plan
from console.plan.requests import Facts
from console.session.snapshot_reader import Client

if TYPE_CHECKING:
    from console.admin.link import Link


async def read_facts(
    client: Client, plan: Plan, snapshot: Snapshot, configs: Mapping[ConfigResource, ConfigSet]
) -> Facts:
    """Return facts that the requests of a plan depend on: which of the named brokers answer, whether brokers support
    IncrementalAlterConfigs, the number of ACLs, and the default number of partitions.

    Args:
        configs: the configs as last read. Without IncrementalAlterConfigs, a request has to repeat all overrides in
            them.

    Raises:
        AdminError: no broker answers.
    """
    named = {
        int(resource.name)
        for staged in plan.staged
        if isinstance(resource := staged.edit.target, ConfigResource)
        and resource.type.entity.at_broker
        and resource.name.isdecimal()
    }
    reachable, incremental = await client.run(_probe, frozenset(named))
    return Facts(reachable, incremental, configs, len(snapshot.acls), default_partitions(snapshot))


async def _probe(link: Link, named: frozenset[int]) -> tuple[frozenset[int], bool]:
    from console.admin.errors import AdminError
    from console.admin.link import ANY, broker

    api = "incremental_alter_configs"

    async def version_at(broker_id: int) -> tuple[int, int | None] | None:
        try:
            return broker_id, await link.version(api, broker(broker_id))
        except AdminError:
            return None

    answers = [answer for answer in await asyncio.gather(*map(version_at, named)) if answer is not None]
    # One broker without IncrementalAlterConfigs (KIP-339) decides for all: a plan is compiled for one version.
    versions = [version for _, version in answers] or [await link.version(api, ANY)]
    return frozenset(broker_id for broker_id, _ in answers), all(version is not None for version in versions)
