"""Brokers' registrations with the controller (KIP-500): removing one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_cluster
from console.admin.delivery import Answer, deliver
from console.admin.link import Link
from console.admin.routing import CONTROLLER
from console.model.changes import BrokerTarget, Outcome, Status, UnregisterBroker


async def unregister_broker(link: Link, request: UnregisterBroker, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return the outcome for the broker; a check is UNCHECKED.

    A controller unregisters a running broker too, which then ends. Raises Unsupported before Kafka 3.0 and with
    ZooKeeper, and AdminError if nothing was sent.
    """
    target = BrokerTarget(request.broker_id)
    await link.require("unregister_broker", 0, "3.0, in KRaft mode", CONTROLLER)
    if validate_only:
        return (Outcome(target, Status.UNCHECKED),)

    def build(kio: ModuleType) -> Any:
        return kio.UnregisterBrokerRequest(broker_id=request.broker_id)

    async def send(_targets: Sequence[BrokerTarget]) -> Mapping[BrokerTarget, Answer]:
        response = await link.call("unregister_broker", build, to=CONTROLLER, change=True)
        if response.error_code == ErrorCode.cluster_authorization_failed:
            return {target: (response.error_code, "unregistering a broker needs ALTER on the cluster")}
        return {target: (response.error_code, response.error_message)}

    async def describe_again(_targets: Sequence[BrokerTarget]) -> Mapping[BrokerTarget, Status]:
        return {target: await unregistered(link, request.broker_id)}

    outcomes = await deliver(link.settings, [target], send, describe_again, validate_only=False)
    return tuple(outcomes.values())


async def unregistered(link: Link, broker_id: int) -> Status:
    """Return whether a broker is gone: UNKNOWN where the cluster does not describe brokers that are down (before
    4.0)."""
    cluster = await describe_cluster(link)
    if any(broker.id == broker_id for broker in cluster.brokers):
        return Status.NOT_APPLIED
    return Status.APPLIED if cluster.shows_fenced else Status.UNKNOWN
