"""All messages of the proposals by API key and version; only who speaks them loads them."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from console.wire.proposals import batched_describes as batched_acls
from console.wire.proposals import batched_describes as batched_quotas
from console.wire.proposals import kip4 as kip4_acls
from console.wire.proposals import kip4 as kip4_topics
from console.wire.proposals import kip21_configs, kip133_configs, kip248_quotas
from console.wire.schemas import Messages


def _messages(api: str, schema: ModuleType, request: type[Any], response: type[Any]) -> Messages:
    return Messages(api, request.__api_key__, request.__version__, request, response, schema, proposed=True)


_ALL = (
    _messages("kip4_create_topics", kip4_topics, kip4_topics.CreateTopicsRequest, kip4_topics.CreateTopicsResponse),
    _messages("kip4_delete_topics", kip4_topics, kip4_topics.DeleteTopicsRequest, kip4_topics.DeleteTopicsResponse),
    _messages("kip4_list_acls", kip4_acls, kip4_acls.ListAclsRequest, kip4_acls.ListAclsResponse),
    _messages("kip4_alter_acls", kip4_acls, kip4_acls.AlterAclsRequest, kip4_acls.AlterAclsResponse),
    _messages(
        "kip21_describe_config",
        kip21_configs,
        kip21_configs.DescribeConfigRequest,
        kip21_configs.DescribeConfigResponse,
    ),
    _messages("kip21_alter_config", kip21_configs, kip21_configs.AlterConfigRequest, kip21_configs.AlterConfigResponse),
    _messages(
        "kip133_list_configs", kip133_configs, kip133_configs.ListConfigsRequest, kip133_configs.ListConfigsResponse
    ),
    _messages(
        "kip133_list_configs", kip133_configs, kip133_configs.ListConfigsRequestV1, kip133_configs.ListConfigsResponseV1
    ),
    _messages(
        "kip133_alter_configs", kip133_configs, kip133_configs.AlterConfigsRequest, kip133_configs.AlterConfigsResponse
    ),
    _messages("kip248_list_quotas", kip248_quotas, kip248_quotas.ListQuotasRequest, kip248_quotas.ListQuotasResponse),
    _messages(
        "kip248_describe_quotas",
        kip248_quotas,
        kip248_quotas.DescribeQuotasRequest,
        kip248_quotas.DescribeQuotasResponse,
    ),
    _messages(
        "kip248_alter_quotas", kip248_quotas, kip248_quotas.AlterQuotasRequest, kip248_quotas.AlterQuotasResponse
    ),
    _messages("describe_acls", batched_acls, batched_acls.DescribeAclsRequest, batched_acls.DescribeAclsResponse),
    _messages(
        "describe_client_quotas",
        batched_quotas,
        batched_quotas.DescribeClientQuotasRequest,
        batched_quotas.DescribeClientQuotasResponse,
    ),
)

PROPOSED: Final[Mapping[tuple[int, int], Messages]] = {(m.key, m.version): m for m in _ALL}
"""(API key, version) -> the messages. `Messages.api` of Kafka's own keys is kio's name."""
