"""ConsumerGroupDescribe (69), v0-1: describes groups of the consumer protocol (KIP-848).

A group of another type is GROUP_ID_NOT_FOUND, on which clients ask DescribeGroups.

Version notes:
- v1: the type of a member (KIP-1099).

Differences from Kafka: members have no instance id and no rack, and subscribe to no regular expression.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.newer_group_answers import described, described_group, topic_partitions
from console.embedded.newer_groups import NewerMember, Partitions
from console.wire.fields import for_version

_CONSUMER_MEMBER = 1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return a description or an error for each group."""
    return context.answer(groups=tuple(_group(request, context, group_id) for group_id in request.group_ids))


def _group(request: Any, context: RequestContext, group_id: str) -> Any:
    found = described(context, request, group_id, "consumer")
    assignor = found.group.assignor if found.group else ""
    return described_group(context, found, group_id, partial(_member, context), assignor_name=assignor)


def _member(context: RequestContext, member: NewerMember) -> Any:
    schema = context.schema

    def assignment(partitions: Partitions) -> Any:
        return schema.Assignment(
            topic_partitions=topic_partitions(context, schema.TopicPartitions, partitions),
        )

    return for_version(
        schema.Member,
        member_id=member.id,
        instance_id=None,
        rack_id=None,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=member.subscribed,
        subscribed_topic_regex="",
        assignment=assignment(member.assigned),
        target_assignment=assignment(member.target),
        member_type=_CONSUMER_MEMBER,
    )
