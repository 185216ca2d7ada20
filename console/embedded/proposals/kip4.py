"""CreateTopics v0, DeleteTopics v0, ListAcls v0 and AlterAcls v0, in KIP-4's own formats."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from kio.schema.errors import ErrorCode

from console.embedded.acls import matching_acls as find
from console.embedded.answers import repeated_keys
from console.embedded.context import RequestContext
from console.embedded.refusals import Refusal
from console.embedded.state import answering
from console.embedded.topics import PlannedTopic, Planner, WantedTopic, create, wait_for_leaders
from console.model.acl import CLUSTER_NAME, Acl, AclFilter
from console.model.authorizer import LITERAL
from console.model.codes import AclOperation, AclResourceType, Permission
from console.model.grouping import grouped
from console.wire.proposals import kip4
from console.wire.proposals import kip4 as wire


async def create_topics(request: kip4.CreateTopicsRequest, context: RequestContext) -> kip4.CreateTopicsResponse:
    """Answer CreateTopics: create the valid topics, and wait until all live brokers know them and all their partitions
    have leaders.

    A topic that is not complete at the timeout has REQUEST_TIMED_OUT, but its creation continues.
    """
    twice = repeated_keys(request.create_topic_requests, lambda item: item.topic)
    planner = Planner(context.cluster)
    results: dict[str, int] = {}
    created: dict[str, int] = {}
    for item in request.create_topic_requests:
        if item.topic in results:
            continue
        planned = ErrorCode.invalid_request if item.topic in twice else _planned(item, context, planner)
        if isinstance(planned, PlannedTopic):
            created[item.topic] = create(context.state, planned)
        results[item.topic] = ErrorCode.none if isinstance(planned, PlannedTopic) else planned
    deadline = context.clock.time() + request.timeout / 1000
    complete = await _applied(context, list(created.values()), request.timeout)
    known = [name for name, done in zip(created, complete, strict=True) if done]
    # As KIP-4 requires, respond when a client can use the topics: every broker knows them, and their partitions have
    # leaders.
    leading = await wait_for_leaders(context.state, context.clock, known, deadline - context.clock.time())
    results |= {name: ErrorCode.none if name in leading else ErrorCode.request_timed_out for name in created}
    return kip4.CreateTopicsResponse(
        topic_error_codes=tuple(kip4.TopicErrorCode(topic=name, error_code=code) for name, code in results.items())
    )


def _planned(item: kip4.CreateTopicRequest, context: RequestContext, planner: Planner) -> PlannedTopic | int:
    """Return the topic to create, or the error code with which it is refused."""
    if _is_misrouted(context):
        return ErrorCode.not_controller
    if not context.allowed("CREATE"):
        return ErrorCode.cluster_authorization_failed
    wanted = WantedTopic(
        item.topic,
        item.num_partitions,
        item.replication_factor,
        tuple((part.partition_id, tuple(part.replicas)) for part in item.replica_assignment),
        {config.config_key: config.config_value for config in item.configs},
    )
    refusal = planner.refusal(wanted)
    if refusal is not None:
        return refusal.code
    code = _placement_refusal(item, context)
    if code:
        return code
    planned = planner.assigned(wanted) if wanted.assignments else planner.counted(wanted)
    return planned.code if isinstance(planned, Refusal) else planned


def _placement_refusal(item: kip4.CreateTopicRequest, context: RequestContext) -> int:
    """Return 0 if the request has either valid numbers of partitions and replicas, or valid replicas; otherwise the
    error code. The replicas may be on brokers that are down.
    """
    counted = (item.num_partitions, item.replication_factor) != (kip4.NOT_GIVEN, kip4.NOT_GIVEN)
    if counted == bool(item.replica_assignment):
        return ErrorCode.invalid_request
    if not counted:
        return ErrorCode.none if _is_assignment(item, context) else ErrorCode.invalid_replica_assignment
    if item.num_partitions <= 0:
        return ErrorCode.invalid_partitions
    return ErrorCode.none if item.replication_factor > 0 else ErrorCode.invalid_replication_factor


def _is_assignment(item: kip4.CreateTopicRequest, context: RequestContext) -> bool:
    """Return whether the replicas in the request are valid: partitions are numbered from 0, and all have the same
    number of distinct, registered brokers.
    """
    partitions = sorted(part.partition_id for part in item.replica_assignment)
    replicas = [part.replicas for part in item.replica_assignment]
    return (
        partitions == list(range(len(partitions)))
        and len({len(brokers) for brokers in replicas}) == 1
        and all(brokers and len(set(brokers)) == len(brokers) for brokers in replicas)
        and all(broker in context.state.brokers for brokers in replicas for broker in brokers)
    )


async def delete_topics(request: kip4.DeleteTopicsRequest, context: RequestContext) -> kip4.DeleteTopicsResponse:
    """Answer DeleteTopics: delete the topics that may be deleted, and wait until no live broker knows them.

    A repeated name counts once. The wait includes topics that are already being deleted.
    """
    results: dict[str, int] = {}
    started: dict[str, int] = {}
    for name in dict.fromkeys(request.topics):
        results[name] = _delete_refusal(name, context)
        if not results[name]:
            # If the topic is already being deleted, wait for that deletion, instead of failing while other brokers
            # still have the topic.
            present = name in context.state.topics
            started[name] = context.state.remove_topic(name) if present else _removed_at(name, context)
    complete = await _applied(context, list(started.values()), request.timeout)
    for name, done in zip(started, complete, strict=True):
        results[name] = ErrorCode.none if done else ErrorCode.request_timed_out
    return kip4.DeleteTopicsResponse(
        topic_error_codes=tuple(kip4.TopicErrorCode(topic=name, error_code=code) for name, code in results.items())
    )


def _delete_refusal(name: str, context: RequestContext) -> int:
    """Return the error code for a topic that can't be deleted; 0 if it can, or is being deleted already. If the
    principal has no DESCRIBE right, the topic counts as missing.
    """
    if _is_misrouted(context):
        return ErrorCode.not_controller
    if not context.allowed("DELETE", "TOPIC", name):
        if context.allowed("DESCRIBE", "TOPIC", name):
            return ErrorCode.topic_authorization_failed
        return ErrorCode.invalid_topic_exception
    if name in context.state.topics or _is_being_deleted(name, context):
        return ErrorCode.none
    return ErrorCode.invalid_topic_exception


def _is_being_deleted(name: str, context: RequestContext) -> bool:
    """Return whether the controller has deleted the topic, but some live broker has not applied that yet."""
    return any(name in context.cluster.view_of(broker).topics for broker in context.state.alive())


def _removed_at(name: str, context: RequestContext) -> int:
    """Return the offset in the change log at which a topic was deleted; the end of the log if that change is no longer
    in it.
    """
    log = context.state.log
    return max(
        (change.offset for change in log.after(0) if (change.table, change.key) == ("topics", name)), default=log.end
    )


_ALLOW = Permission.parse("ALLOW")


async def list_acls(request: wire.ListAclsRequest, context: RequestContext) -> wire.ListAclsResponse:
    """Answer ListAcls: the ACLs of one principal or all, on one resource or all.

    A principal without the right to ALL on the cluster sees only its own ACLs that allow. ACLs on prefixes are omitted,
    because the format has no pattern types: they would look like ACLs on a name.
    """
    if context.cluster.authorizer is None:
        return wire.ListAclsResponse(responses=(), error_code=ErrorCode.security_disabled)
    may_see_all = context.allowed("ALL")
    if not may_see_all and request.principal != context.principal:
        return wire.ListAclsResponse(responses=(), error_code=ErrorCode.cluster_authorization_failed)
    seen = (acl for acl in sorted(find(_filter(request), context.view.acls)) if may_see_all or acl.permission == _ALLOW)
    found = grouped(((acl.resource_type, acl.resource_name), _wire_acl(acl)) for acl in seen)
    return wire.ListAclsResponse(
        responses=tuple(
            wire.ResourceAcls(resource=wire.Resource(resource_type=type_, resource_name=name), acls=tuple(acls))
            for (type_, name), acls in found.items()
        ),
        error_code=ErrorCode.none,
    )


def _filter(request: wire.ListAclsRequest) -> AclFilter:
    resource = request.resource
    if resource.resource_type == wire.ResourceType.ALL:
        return AclFilter(pattern_type=LITERAL, principal=request.principal)
    return AclFilter(AclResourceType(resource.resource_type), resource.resource_name, LITERAL, request.principal)


def _wire_acl(acl: Acl) -> wire.Acl:
    return wire.Acl(
        acl_principal=acl.principal,
        acl_permission_type=int(acl.permission),
        acl_host=acl.host,
        acl_operation=int(acl.operation),
    )


_TYPES = frozenset(wire.ResourceType) - {wire.ResourceType.ALL}
_OPERATIONS = frozenset(wire.Operation)
_PERMISSIONS = frozenset(wire.PermissionType)


async def alter_acls(request: wire.AlterAclsRequest, context: RequestContext) -> wire.AlterAclsResponse:
    """Answer AlterAcls: delete ACLs first, then add ACLs; return a result for each action.

    If the request repeats a resource, no action on that resource is applied, and the response has one result for the
    resource, with an error for each action. Deleting a missing ACL and adding an existing one succeed.
    """
    refusal = _alter_refusal(context)
    twice = repeated_keys(request.requests, lambda item: _key(item.resource))
    resources = {_key(item.resource): item for item in reversed(request.requests)}
    codes: dict[tuple[int, str], list[int]] = {}
    for key, item in resources.items():
        whole = refusal or (ErrorCode.invalid_request if key in twice else ErrorCode.none)
        codes[key] = [whole or _action_refusal(item.resource, action) for action in item.actions]
    # Delete before adding, so that the result of a request that replaces ACLs does not depend on the order.
    for wanted, apply in (
        (wire.Action.DELETE, partial(context.state.remove, "acls")),
        (wire.Action.ADD, context.state.add_acl),
    ):
        for key, item in resources.items():
            for action, code in zip(item.actions, codes[key], strict=True):
                if not code and action.action == wanted:
                    apply(_binding(item.resource, action.acl))
    await context.visible()
    return wire.AlterAclsResponse(
        responses=tuple(
            wire.ResourceResults(
                resource=resources[key].resource,
                results=tuple(
                    wire.AclActionResult(action=action.action, acl=action.acl, error_code=code)
                    for action, code in zip(resources[key].actions, codes[key], strict=True)
                ),
            )
            for key in dict.fromkeys(_key(item.resource) for item in request.requests)
        )
    )


def _key(resource: wire.Resource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def _alter_refusal(context: RequestContext) -> int:
    """Return the error code with which the whole request is refused; 0 if it is not."""
    if _is_misrouted(context):
        return ErrorCode.not_controller
    if context.cluster.authorizer is None:
        return ErrorCode.security_disabled
    return ErrorCode.none if context.allowed("ALL") else ErrorCode.cluster_authorization_failed


def _action_refusal(resource: wire.Resource, action: wire.AclAction) -> int:
    type_, _, name = action.acl.acl_principal.partition(":")
    is_cluster = resource.resource_type == wire.ResourceType.CLUSTER
    valid = (
        action.action in (wire.Action.DELETE, wire.Action.ADD)
        and resource.resource_type in _TYPES
        and resource.resource_name
        and (not is_cluster or resource.resource_name == CLUSTER_NAME)
        and action.acl.acl_operation in _OPERATIONS
        and action.acl.acl_permission_type in _PERMISSIONS
        and type_
        and name
        and action.acl.acl_host
    )
    return ErrorCode.none if valid else ErrorCode.invalid_request


def _binding(resource: wire.Resource, acl: wire.Acl) -> Acl:
    return Acl(
        AclResourceType(resource.resource_type),
        resource.resource_name,
        LITERAL,
        acl.acl_principal,
        acl.acl_host,
        AclOperation(acl.acl_operation),
        Permission(acl.acl_permission_type),
    )


def _is_misrouted(context: RequestContext) -> bool:
    """Return whether this broker refuses changes with NOT_CONTROLLER: it is not the controller and does not forward
    requests.
    """
    return not context.cluster.forwarding and context.broker_id != context.state.controller_id


async def _applied(context: RequestContext, offsets: Sequence[int], timeout_ms: int) -> list[bool]:
    """Return, for each offset in the change log, whether all live brokers have applied it before the timeout.

    If the timeout is 0 ms or less, return False for all, although the changes are in progress (KIP-4).
    """
    if timeout_ms <= 0:
        return [False] * len(offsets)
    return list(await asyncio.gather(*(_applied_in_time(context, offset, timeout_ms / 1000) for offset in offsets)))


async def _applied_in_time(context: RequestContext, offset: int, within: float) -> bool:
    """Wait until all live brokers have applied an offset of the change log, at most `within` seconds; return whether
    they have. Check once more after the timeout, since the offset may be older than the request.
    """
    cluster = context.cluster
    return await cluster.visible(offset, within) or all(
        cluster.propagation.applied(broker) >= offset for broker in answering(cluster.state)
    )
