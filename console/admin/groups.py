"""Groups: which there are and in which state; described and with their lag by the modules beside this one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from console.admin.error_codes import failure
from console.admin.errors import AdminError, BrokerError
from console.admin.group_describe import MOVING, SETTLE_SECONDS, describe_groups
from console.admin.group_lag import group_lag
from console.admin.link import Link
from console.admin.retry import until_settled
from console.admin.routing import broker
from console.model.cluster import Group, GroupListing
from console.model.failure import Failure

__all__ = ["describe_groups", "group_lag", "list_groups", "listed_groups"]


async def list_groups(link: Link, states: Sequence[str] = ()) -> GroupListing:
    """All groups of all brokers (KIP-518, KIP-848); a broker that can't be asked is the failure ``broker N``.

    states: only groups in one of these, Kafka's words; brokers before 2.6 list all.
    Raises AdminError where the cluster can't be reached at all, and the first broker's error where none can be asked:
    that is no list without groups.
    """
    ids = sorted((await link.refresh()).brokers)
    answers = await asyncio.gather(*(_groups_at(link, broker_id, tuple(states)) for broker_id in ids))
    groups: dict[str, Group] = {}
    failures: dict[str, Failure] = {}
    for broker_id, answer in zip(ids, answers, strict=True):
        if isinstance(answer, AdminError):
            failures[f"broker {broker_id}"] = answer.failure
        else:
            groups.update((group.name, group) for group in answer)
    if answers and len(failures) == len(answers):
        raise next(answer for answer in answers if isinstance(answer, AdminError))
    return GroupListing(dict(sorted(groups.items())), failures)


async def _groups_at(link: Link, broker_id: int, states: tuple[str, ...]) -> list[Group] | AdminError:
    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListGroupsRequest, states_filter=states)

    try:
        response = await until_settled(
            lambda: link.call("list_groups", ask, to=broker(broker_id)),
            lambda answer: answer.error_code in MOVING,
            within=SETTLE_SECONDS,
        )
    except AdminError as error:
        return error
    # A broker that is no coordinator of any group and can't be one says so for good.
    if response.error_code:
        return BrokerError(failure(response.error_code))
    return listed_groups(response, broker_id)


def listed_groups(response: Any, broker_id: int) -> list[Group]:
    """From a ListGroups response of any version. Before version 5 every group is of the classic protocol."""
    return [
        Group(
            group.group_id,
            getattr(group, "group_state", ""),
            getattr(group, "group_type", "") or "classic",
            group.protocol_type,
            broker_id,
        )
        for group in response.groups
    ]
