"""CreateAcls and DeleteAcls (KIP-140). Neither has a validate-only form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from console.admin.acls import describe_acls, describe_acls_of
from console.admin.changes_delivery import Answer, deliver, refuse_duplicates
from console.admin.errors import BrokerError
from console.admin.link import Link
from console.admin.routing import CONTROLLER
from console.model.acl import Acl, beyond_one, filter_for
from console.model.changes import CreateAcls, DeleteAcls, Outcome, Status
from console.model.failure import Failure

_FEW = 16
_NOT_THERE = Failure("NOT_FOUND", "there is no such ACL", "Nothing to do: it is gone already.")


async def create_acls(link: Link, request: CreateAcls, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each binding; one that exists already succeeds. Raises AdminError where nothing was sent."""
    outcomes = refuse_duplicates(request.acls)
    sound = [acl for acl in request.acls if acl not in outcomes]
    if validate_only:
        outcomes |= {acl: Outcome(acl, Status.UNCHECKED) for acl in sound}
        return tuple(outcomes[acl] for acl in dict.fromkeys(request.acls))

    async def ask(acls: Sequence[Acl]) -> Mapping[Acl, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.CreateAclsRequest(creations=tuple(_creation(kio, acl) for acl in acls))

        response = await link.call("create_acls", build, to=CONTROLLER, change=True)
        answers = ((result.error_code, result.error_message) for result in response.results)
        return dict(zip(acls, answers, strict=False))

    async def look(acls: Sequence[Acl]) -> Mapping[Acl, Status]:
        known = await _those_of(link, acls)
        return {acl: Status.APPLIED if acl in known else Status.NOT_APPLIED for acl in acls}

    outcomes |= await deliver(sound, ask, look, validate_only=False)
    return tuple(outcomes[acl] for acl in dict.fromkeys(request.acls))


async def delete_acls(link: Link, request: DeleteAcls, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each binding: NOT_APPLIED where there was none, FAILED for one whose filter would find others
    too, which is not sent. Raises AdminError where nothing was sent."""
    outcomes = refuse_duplicates(request.acls)
    outcomes |= {acl: _too_broad(acl, beyond) for acl in request.acls if (beyond := beyond_one(acl))}
    sound = [acl for acl in request.acls if acl not in outcomes]
    if validate_only:
        outcomes |= {acl: Outcome(acl, Status.UNCHECKED) for acl in sound}
        return tuple(outcomes[acl] for acl in dict.fromkeys(request.acls))
    absent: set[Acl] = set()

    async def ask(acls: Sequence[Acl]) -> Mapping[Acl, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.DeleteAclsRequest(filters=tuple(_exact_filter(kio, acl) for acl in acls))

        response = await link.call("delete_acls", build, to=CONTROLLER, change=True)
        answers: dict[Acl, Answer] = {}
        for acl, result in zip(acls, response.filter_results, strict=False):
            errors = [result, *(match for match in result.matching_acls if match.error_code)]
            answers[acl] = errors[-1].error_code, errors[-1].error_message
            if not result.error_code and not result.matching_acls:
                absent.add(acl)
        return answers

    async def look(acls: Sequence[Acl]) -> Mapping[Acl, Status]:
        known = await _those_of(link, acls)
        return {acl: Status.NOT_APPLIED if acl in known else Status.APPLIED for acl in acls}

    outcomes |= await deliver(sound, ask, look, validate_only=False)
    outcomes |= {acl: Outcome(acl, Status.NOT_APPLIED, _NOT_THERE) for acl in absent}
    return tuple(outcomes[acl] for acl in dict.fromkeys(request.acls))


async def _those_of(link: Link, acls: Sequence[Acl]) -> set[Acl]:
    """Those of these bindings that exist, among others."""
    if len(acls) > _FEW:
        return set(await describe_acls(link))
    found = await describe_acls_of(link, [filter_for(acl) for acl in acls])
    if unread := next((part for part in found if isinstance(part, Failure)), None):
        raise BrokerError(unread)
    return {acl for part in found if not isinstance(part, Failure) for acl in part}


def _too_broad(acl: Acl, beyond: str) -> Outcome:
    message = f"{beyond} would take away other ACLs too"
    return Outcome(acl, Status.FAILED, Failure("NOT_SENDABLE", message, "Nothing was sent; name one ACL."))


def _creation(kio: ModuleType, acl: Acl) -> Any:
    return kio.AclCreation(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        resource_pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _exact_filter(kio: ModuleType, acl: Acl) -> Any:
    return kio.DeleteAclsFilter(
        resource_type_filter=acl.resource_type,
        resource_name_filter=acl.resource_name,
        pattern_type_filter=acl.pattern_type,
        principal_filter=acl.principal,
        host_filter=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
