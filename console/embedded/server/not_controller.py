"""What a broker that is not the controller answers where it does not forward (KafkaApis of 2.8 with ZooKeeper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.server.error_answers import error_answer
from console.wire.schemas import Messages

CONTROLLER_APIS = frozenset(
    {
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_partitions",
        "create_topics",
        "delete_topics",
        "elect_leaders",
        "list_partition_reassignments",
        "update_features",
    }
)
"""What only the controller answers."""
_OF_THE_WHOLE = "This is not the correct controller for this cluster."
_MESSAGES: Mapping[str, str] = {
    "alter_partition_reassignments": _OF_THE_WHOLE,
    "create_topics": "",
    "list_partition_reassignments": _OF_THE_WHOLE,
}
_WITHOUT_ITEMS = frozenset({"alter_partition_reassignments", "list_partition_reassignments"})
_ITEMS_ALONE = frozenset({"elect_leaders"})
"""The whole is told to be well."""
_ONCE = frozenset({"create_partitions"})
"""What is there twice is told of once."""


def not_controller(request: Any, found: Messages) -> Any | None:
    """The response of a broker of 2.8.2 to a request of CONTROLLER_APIS."""
    if found.api in _WITHOUT_ITEMS:
        request = replace(request, topics=())
    elif found.api in _ONCE:
        request = replace(request, topics=tuple({topic.name: topic for topic in request.topics}.values()))
    answer = error_answer(request, found, ErrorCode.not_controller, _MESSAGES.get(found.api))
    if answer is not None and found.api in _ITEMS_ALONE and hasattr(answer, "error_code"):
        return replace(answer, error_code=0)
    return answer
