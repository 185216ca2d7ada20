"""ShareGroupDescribe (77), v1: describes share groups (KIP-932).

Needs DESCRIBE on the group and on its topics. v0 was for early access in 4.0, which no later broker serves.

Differences from Kafka: members have no rack.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.newer_group_answers import described, described_group, topic_partitions
from console.embedded.newer_groups import NewerMember
from console.wire.fields import for_version


async def handle(request: Any, context: RequestContext) -> Any:
    """Return a description or an error for each group."""
    return context.answer(groups=tuple(_group(request, context, group_id) for group_id in request.group_ids))


def _group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "share")
    assignor = found.group.assignor if found.group else ""
    return described_group(context, found, group_id, partial(_member, context), assignor_name=assignor)


def _member(context: RequestContext, member: NewerMember) -> Any:
    schema = context.schema
    return for_version(
        schema.Member,
        member_id=member.id,
        rack_id=None,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed,
        assignment=schema.Assignment(
            topic_partitions=topic_partitions(context, schema.TopicPartitions, member.assigned)
        ),
    )
