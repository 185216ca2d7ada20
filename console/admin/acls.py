"""Access control lists (KIP-140, KIP-290): reading, creating and deleting them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from console.admin.delivery import Answer, Sender, Senders, applied_if, refuse_duplicates
from console.admin.errors import BadAnswer, BrokerError, Unsupported, check, failure
from console.admin.gc_pause import gc_paused
from console.admin.halving import each_of
from console.admin.link import Link, aside
from console.model.acl import Acl, AclFilter, beyond_one, filter_for
from console.model.changes import CreateAcls, DeleteAcls, Outcome, Status
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.failure import Failure
from console.wire.fields import Fields

_EVERYTHING = AclFilter()
BATCHED = 4
"""The version of DescribeAcls that takes many filters. Only a proposal defines it; no Kafka release has it."""


async def describe_acls(link: Link, filter: AclFilter = _EVERYTHING) -> tuple[Acl, ...]:
    """Return all ACLs that match the filter, sorted.

    Raises BrokerError: SECURITY_DISABLED if the brokers have no authorizer, CLUSTER_AUTHORIZATION_FAILED if the
    principal has no Describe right on the cluster. Raises other AdminErrors as well.
    """
    response = await link.call("describe_acls", _filter_fields(filter))
    check(response)
    with gc_paused():
        return await aside(ACL_BYTES * len(response.resources), partial(acls, response))


ACL_BYTES = 64
"""Approximate size in bytes of an ACL in a response."""


async def describe_acls_of(link: Link, filters: Sequence[AclFilter]) -> list[tuple[Acl, ...] | Failure]:
    """Return, for each filter in order, the ACLs that match it, sorted, or the failure to read them.

    Send one request if the broker supports DescribeAcls v4; otherwise send one for each filter, concurrently. Raises
    AdminError if the cluster is unreachable.
    """
    if len(filters) > 1 and await link.proposes("describe_acls", BATCHED):
        try:
            return await each_of(filters, partial(_batched, link))
        except Unsupported:
            pass  # another broker answered, which lacks this version

    async def one(filter: AclFilter) -> tuple[Acl, ...] | Failure:
        try:
            return await describe_acls(link, filter)
        except BrokerError as error:
            return error.failure

    return await asyncio.gather(*map(one, filters))


async def _batched(link: Link, filters: Sequence[AclFilter]) -> list[tuple[Acl, ...] | Failure]:
    response = await link.call("describe_acls", {"filters": list(map(_filter_fields, filters))}, proposed=BATCHED)
    if len(response.filter_results) != len(filters):
        raise BadAnswer.of(f"{len(response.filter_results)} results for {len(filters)} filters")
    return [
        failure(result.error_code, result.error_message) if result.error_code else acls(result)
        for result in response.filter_results
    ]


def acls(response: Any) -> tuple[Acl, ...]:
    """Return the ACLs of a DescribeAcls response, or of the result for one filter, sorted. Equal principals and hosts
    share one string object.
    """
    texts: dict[str, str] = {}
    once = texts.setdefault
    type_, pattern = cache(AclResourceType), cache(PatternType)
    operation, permission = cache(AclOperation), cache(Permission)
    found = [
        Acl(
            type_(resource.resource_type),
            resource.resource_name,
            pattern(resource.pattern_type),
            once(acl.principal, acl.principal),
            once(acl.host, acl.host),
            operation(acl.operation),
            permission(acl.permission_type),
        )
        for resource in response.resources
        for acl in resource.acls
    ]
    return tuple(sorted(found))


# CreateAcls and DeleteAcls have no validate-only form.

_FEW = 16
_NOT_THERE = Failure("NOT_FOUND", "there is no such ACL", "Nothing to do: it is gone already.")


class _Creation(Sender[CreateAcls, Acl]):
    """Creates ACLs. Creating an ACL that exists already succeeds."""

    of = "acls"

    async def refused(self) -> dict[Acl, Outcome]:
        return refuse_duplicates(self.request.acls)

    def fields(self, targets: Sequence[Acl]) -> Fields:
        return {"creations": list(map(_creation, targets))}

    def answers(self, response: Any, targets: Sequence[Acl]) -> dict[Acl, Answer]:
        answers = ((result.error_code, result.error_message) for result in response.results)
        return dict(zip(targets, answers, strict=False))

    async def describe_again(self, targets: Sequence[Acl]) -> dict[Acl, Status]:
        known = await _existing_among(self.link, targets)
        return {acl: applied_if(acl in known) for acl in targets}


class _Deletion(Sender[DeleteAcls, Acl]):
    """Deletes ACLs. The outcome for a missing ACL is NOT_APPLIED. An ACL is not deleted, and its outcome is FAILED,
    if the filter for it would match other ACLs too.
    """

    of = "acls"
    _absent: tuple[Acl, ...] = ()

    async def refused(self) -> dict[Acl, Outcome]:
        too_broad = {acl: _too_broad(acl, beyond) for acl in self.request.acls if (beyond := beyond_one(acl))}
        return refuse_duplicates(self.request.acls) | too_broad

    async def deliver(self, targets: Sequence[Acl]) -> dict[Acl, Outcome]:
        outcomes = await super().deliver(targets)
        return outcomes | {acl: Outcome(acl, Status.NOT_APPLIED, _NOT_THERE) for acl in self._absent}

    def fields(self, targets: Sequence[Acl]) -> Fields:
        return {"filters": [_filter_fields(filter_for(acl)) for acl in targets]}

    def answers(self, response: Any, targets: Sequence[Acl]) -> dict[Acl, Answer]:
        answers: dict[Acl, Answer] = {}
        for acl, result in zip(targets, response.filter_results, strict=False):
            errors = [result, *(match for match in result.matching_acls if match.error_code)]
            answers[acl] = errors[-1].error_code, errors[-1].error_message
            if not result.error_code and not result.matching_acls:
                self._absent += (acl,)
        return answers

    async def describe_again(self, targets: Sequence[Acl]) -> dict[Acl, Status]:
        known = await _existing_among(self.link, targets)
        return {acl: applied_if(acl not in known) for acl in targets}


SENDERS: Senders = {CreateAcls: _Creation, DeleteAcls: _Deletion}


async def _existing_among(link: Link, acls: Sequence[Acl]) -> set[Acl]:
    """Return existing ACLs, with all of the given ACLs that exist. The result may also have ACLs that were not
    given. Raises AdminError.
    """
    if len(acls) > _FEW:
        return set(await describe_acls(link))
    found = await describe_acls_of(link, [filter_for(acl) for acl in acls])
    if unread := next((part for part in found if isinstance(part, Failure)), None):
        raise BrokerError(unread)
    return {acl for part in found if not isinstance(part, Failure) for acl in part}


def _too_broad(acl: Acl, beyond: str) -> Outcome:
    message = f"{beyond} would take away other ACLs too"
    return Outcome(acl, Status.FAILED, Failure("NOT_SENDABLE", message, "Nothing was sent; name one ACL."))


def _creation(acl: Acl) -> Fields:
    return {
        "resource_type": acl.resource_type,
        "resource_name": acl.resource_name,
        "resource_pattern_type": acl.pattern_type,
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation,
        "permission_type": acl.permission,
    }


def _filter_fields(wanted: AclFilter) -> Fields:
    """Return the fields of a filter in a DescribeAcls or DeleteAcls request."""
    return {
        "resource_type_filter": wanted.resource_type,
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": wanted.pattern_type,
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": wanted.operation,
        "permission_type": wanted.permission,
    }
