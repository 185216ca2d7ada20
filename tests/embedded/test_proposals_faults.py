"""Declared errors of the proposals' own formats: at each item of the request, as of Kafka's."""

from __future__ import annotations

from dataclasses import asdict, fields
from types import UnionType
from typing import Any, get_args, get_origin

import pytest

from console.embedded.answers import error_answer
from console.embedded.brokers import EmbeddedCluster
from console.embedded.faults import parse_fault
from console.wire.frames import decode_body, encode_body
from console.wire.proposals import batched_describes as batched_acls
from console.wire.proposals import kip4 as kip4_acls
from console.wire.proposals import kip4 as kip4_topics
from console.wire.proposals import kip133_configs, kip248_quotas
from console.wire.proposals.table import PROPOSED
from console.wire.schemas import Messages
from tests.embedded.proposals_client import ask
from tests.support.acl_filters import EVERY_ACL

CODE, MESSAGE = 9999, "so it was declared"


def two_of_each(entity: Any) -> Any:
    """An entity of no particular values, with two items in each array."""
    return entity(**{field.name: some(field.type) for field in fields(entity)})


def some(type_: Any) -> Any:
    if get_origin(type_) is UnionType:
        type_ = get_args(type_)[0]
    if get_origin(type_) is tuple:
        return tuple(some(get_args(type_)[0]) for _ in range(2))
    return {int: 3, str: "x", bool: True, float: 1.0}[type_] if type_ in (int, str, bool, float) else two_of_each(type_)


def codes_in(answer: Any) -> list[int]:
    if isinstance(answer, dict):
        own = [answer["error_code"]] if "error_code" in answer else []
        return own + [code for value in answer.values() for code in codes_in(value)]
    return [code for item in answer for code in codes_in(item)] if isinstance(answer, tuple) else []


@pytest.mark.parametrize(
    ("found", "errors"),
    [
        (
            found,
            {"kip4_list_acls": 1, "kip248_list_quotas": 1, "kip4_alter_acls": 4, "kip248_alter_quotas": 4}.get(
                found.api, 2
            ),
        )
        for found in PROPOSED.values()
    ],
    ids=lambda value: f"{value.api}-{value.version}" if isinstance(value, Messages) else "",
)
def test_every_item_has_the_error(found: Messages, errors: int) -> None:
    answer: Any = error_answer(two_of_each(found.request), found, CODE, MESSAGE)
    told = decode_body(found.response, encode_body(found.response, answer))
    assert asdict(told) == asdict(answer)
    at_the_top = found.api == "kip133_list_configs"
    assert codes_in(asdict(told)) == [CODE] * (errors + at_the_top)


def acl(name: str) -> kip4_acls.ResourceActions:
    wanted = kip4_acls.Acl(acl_principal="User:a", acl_permission_type=3, acl_host="*", acl_operation=3)
    return kip4_acls.ResourceActions(
        resource=kip4_acls.Resource(resource_type=2, resource_name=name),
        actions=(kip4_acls.AclAction(action=1, acl=wanted),),
    )


async def test_some_items_fail_and_the_others_are_done(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(parse_fault("api=kip4_alter_acls,fail-some=INVALID_REQUEST"))
    answer = await ask(cluster, kip4_acls.AlterAclsRequest(requests=(acl("a"), acl("b"), acl("c"))))
    told = {item.resource.resource_name: item.results[0].error_code for item in answer.responses}
    failed = {name for name, code in told.items() if code}
    assert failed
    assert {known.resource_name for known in cluster.state.acls} == {"a", "b", "c"} - failed
    assert {told[name] for name in failed} == {42}


async def test_a_declared_error_reaches_each_filter(cluster: EmbeddedCluster) -> None:
    cluster.faults.add(parse_fault("api=DescribeAcls,error=CLUSTER_AUTHORIZATION_FAILED"))
    wanted = batched_acls.DescribeAclsFilter(**EVERY_ACL)
    answer = await ask(cluster, batched_acls.DescribeAclsRequest(filters=(wanted, wanted)))
    assert [result.error_code for result in answer.filter_results] == [31, 31]


async def test_names_and_resources_are_named_again(cluster: EmbeddedCluster) -> None:
    for api in ("kip4_delete_topics", "kip133_alter_configs", "kip248_describe_quotas"):
        cluster.faults.add(parse_fault(f"api={api},error=INVALID_REQUEST"))
    deleted = await ask(cluster, kip4_topics.DeleteTopicsRequest(topics=("a", "b"), timeout=1))
    assert [(item.topic, item.error_code) for item in deleted.topic_error_codes] == [("a", 42), ("b", 42)]
    resource = kip133_configs.AlteredResource(resource_type=2, resource_name="a", configs=())
    altered = await ask(cluster, kip133_configs.AlterConfigsRequest(resources=(resource,), validate_only=True))
    assert [(item.resource_name, item.error_code, item.error_message) for item in altered.responses] == [("a", 42, "")]
    user = kip248_quotas.QuotaConfigResource(type=5, name="a")
    nobody = kip248_quotas.QuotaConfigResource(type=0, name=None)
    wanted = kip248_quotas.WantedQuotas(
        quota_config_resource=user, child_quota_config_resource=nobody, config_names=None
    )
    described = await ask(cluster, kip248_quotas.DescribeQuotasRequest(resources=(wanted,)))
    ((item,),) = (resource.configs for resource in described.resources)
    assert (described.resources[0].quota_config_resource, item.error_code) == (user, 42)
