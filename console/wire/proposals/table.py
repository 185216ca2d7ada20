"""All messages of the proposals by API key and version. Imported when one of them is needed."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

from console.wire.proposals import batched_describes, kip4, kip21_configs, kip133_configs, kip248_quotas


class ProposedMessages(NamedTuple):
    """Request and response of one version of one API. api: for Kafka's own keys kio's name. schema: the module of both
    and their nested classes."""

    api: str
    key: int
    version: int
    request: type[Any]
    response: type[Any]
    schema: ModuleType


def _messages(api: str, schema: ModuleType, request: type[Any], response: type[Any]) -> ProposedMessages:
    return ProposedMessages(api, request.__api_key__, request.__version__, request, response, schema)


_ALL = (
    _messages("kip4_create_topics", kip4, kip4.CreateTopicsRequest, kip4.CreateTopicsResponse),
    _messages("kip4_delete_topics", kip4, kip4.DeleteTopicsRequest, kip4.DeleteTopicsResponse),
    _messages("kip4_list_acls", kip4, kip4.ListAclsRequest, kip4.ListAclsResponse),
    _messages("kip4_alter_acls", kip4, kip4.AlterAclsRequest, kip4.AlterAclsResponse),
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
    _messages(
        "describe_acls",
        batched_describes,
        batched_describes.DescribeAclsRequest,
        batched_describes.DescribeAclsResponse,
    ),
    _messages(
        "describe_client_quotas",
        batched_describes,
        batched_describes.DescribeClientQuotasRequest,
        batched_describes.DescribeClientQuotasResponse,
    ),
)

PROPOSED: Final[Mapping[tuple[int, int], ProposedMessages]] = {(m.key, m.version): m for m in _ALL}
"""(API key, version) -> the messages."""
