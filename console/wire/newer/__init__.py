"""Kafka 4.4's messages that kio does not have, a module for each version of an API.

Written by ``python -m tests.support.record_newer_messages``.
"""

from collections.abc import Mapping
from typing import Final

from kio.static.constants import EntityType

NEWER: Final[Mapping[str, Mapping[int, Mapping[EntityType, str]]]] = {
    "api_versions": {
        5: {
            EntityType.request: "console.wire.newer.api_versions_v5:ApiVersionsRequest",
            EntityType.response: "console.wire.newer.api_versions_v5:ApiVersionsResponse",
        },
    },
    "delete_groups": {
        3: {
            EntityType.request: "console.wire.newer.delete_groups_v3:DeleteGroupsRequest",
            EntityType.response: "console.wire.newer.delete_groups_v3:DeleteGroupsResponse",
        },
    },
    "streams_group_describe": {
        1: {
            EntityType.request: "console.wire.newer.streams_group_describe_v1:StreamsGroupDescribeRequest",
            EntityType.response: "console.wire.newer.streams_group_describe_v1:StreamsGroupDescribeResponse",
        },
    },
}
"""kio's name of an API -> version -> the module and the class of each of its messages."""
