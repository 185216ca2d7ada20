"""The index of all messages of proposals, by API key and version. It is imported when a proposal's message is first
used.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

from console.wire.proposals import batched_describes, kip4, kip21_configs, kip133_configs, kip248_quotas


class ProposedMessages(NamedTuple):
    """The request class and the response class of one version of one API."""

    api: str
    """The name of the API: kio's, for a key that Kafka has; otherwise one that begins with the proposal's number."""
    key: int
    version: int
    request: type[Any]
    response: type[Any]
    schema: ModuleType
    """The module that defines the request, the response and the structures in them."""


def _messages(api: str, schema: ModuleType, name: str, suffix: str = "") -> ProposedMessages:
    request, response = (getattr(schema, f"{name}{kind}{suffix}") for kind in ("Request", "Response"))
    return ProposedMessages(api, request.__api_key__, request.__version__, request, response, schema)


_ALL = (
    _messages("kip4_create_topics", kip4, "CreateTopics"),
    _messages("kip4_delete_topics", kip4, "DeleteTopics"),
    _messages("kip4_list_acls", kip4, "ListAcls"),
    _messages("kip4_alter_acls", kip4, "AlterAcls"),
    _messages("kip21_describe_config", kip21_configs, "DescribeConfig"),
    _messages("kip21_alter_config", kip21_configs, "AlterConfig"),
    _messages("kip133_list_configs", kip133_configs, "ListConfigs"),
    _messages("kip133_list_configs", kip133_configs, "ListConfigs", "V1"),
    _messages("kip133_alter_configs", kip133_configs, "AlterConfigs"),
    _messages("kip248_list_quotas", kip248_quotas, "ListQuotas"),
    _messages("kip248_describe_quotas", kip248_quotas, "DescribeQuotas"),
    _messages("kip248_alter_quotas", kip248_quotas, "AlterQuotas"),
    _messages("describe_acls", batched_describes, "DescribeAcls"),
    _messages("describe_client_quotas", batched_describes, "DescribeClientQuotas"),
)

PROPOSED: Final[Mapping[tuple[int, int], ProposedMessages]] = {(m.key, m.version): m for m in _ALL}
"""(API key, version) -> the messages."""
