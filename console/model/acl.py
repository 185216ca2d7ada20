"""ACLs (AclBinding) and filters over them (AclBindingFilter)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import ne
from typing import NamedTuple

from msgspec import Struct, field

from console.model.codes import AclOperation, AclResourceType, PatternType, Permission


class Acl(NamedTuple):
    """One ACL binding. `principal` is ``Type:name``; `host` is an address or ``*``."""

    resource_type: AclResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission: Permission


LITERAL, PREFIXED = PatternType.parse("LITERAL"), PatternType.parse("PREFIXED")
"""The pattern types that existing ACLs can have."""

CLUSTER_NAME = "kafka-cluster"
"""The only resource name that an ACL on the cluster can have."""


def has_type(principal: str) -> bool:
    """Return whether a principal has the form ``TYPE:NAME``.

    Brokers before 3.9 accepted other forms in an ACL. One ACL with such a principal on a resource makes
    StandardAuthorizer fail on every decision about that resource.
    """
    return ":" in principal


_FILTERS_ONLY = (0, 1)
"""The codes UNKNOWN and ANY, which every enumeration of ACL fields has, and which only filters may contain."""
_MATCH = 2


def acl_text(acl: Acl) -> str:
    """Return an ACL as ``allow User:alice READ on topic orders prefixed from 10.0.0.1``; names in it are untrusted."""
    where = resource_text(acl.resource_type, acl.resource_name)
    text = f"{acl.permission.name.lower()} {acl.principal or _EMPTY} {acl.operation.name} on {where}"
    if acl.pattern_type != LITERAL:
        text += f" {acl.pattern_type.name.lower()}"
    return text if acl.host == "*" else f"{text} from {acl.host or _EMPTY}"


def resource_text(type_: AclResourceType, name: str) -> str:
    """Return the resource of an ACL as ``topic orders``, ``transactional-id pay``, ``cluster``; the name is
    untrusted.
    """
    word = type_.name.lower().replace("_", "-")
    return word if word == "cluster" else f"{word} {name or _EMPTY}"


_EMPTY = "''"
"""The form in which texts show an empty name: two quotes, as users type it."""


def beyond_one(acl: Acl) -> str:
    """Return the field by which a binding would match further bindings if it were used as a filter, such as
    ``pattern type ANY`` or ``no principal``; ``""`` if the binding would match only itself.
    """
    codes = {
        "resource type": acl.resource_type,
        "pattern type": acl.pattern_type,
        "operation": acl.operation,
        "permission": acl.permission,
    }
    found = next((f"{what} {code.name}" for what, code in codes.items() if code in _FILTERS_ONLY), "")
    if not found and acl.pattern_type == _MATCH:
        found = f"pattern type {acl.pattern_type.name}"
    # Saved plans and journals are JSON, so any value may have another type.
    texts: dict[str, object] = {"resource name": acl.resource_name, "principal": acl.principal, "host": acl.host}
    return found or next((f"no {what}" for what, text in texts.items() if not isinstance(text, str)), "")


class AclFilter(Struct, frozen=True):
    """A filter for bindings. The defaults match every binding: code 1 is ANY, and None matches any text."""

    resource_type: AclResourceType = field(default_factory=lambda: AclResourceType(1))
    resource_name: str | None = None
    pattern_type: PatternType = field(default_factory=lambda: PatternType(1))
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = field(default_factory=lambda: AclOperation(1))
    permission: Permission = field(default_factory=lambda: Permission(1))


def filter_for(acl: Acl) -> AclFilter:
    """Return the filter with the fields of a binding. The filter matches this binding alone, unless `beyond_one`
    returns a text for the binding.
    """
    return AclFilter(
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


def acl_differences(old: Sequence[Acl], new: Sequence[Acl]) -> tuple[list[Acl], list[Acl]]:
    """Return the ACLs that only the first sequence has, and the ACLs that only the second one has, both sorted.

    Usually one ACL of thousands differs, so the common beginning and the common end are not put into sets.

    Args:
        old, new: sorted ACLs.
    """
    begin = _alike(old, new)
    old, new = old[begin:], new[begin:]
    end = _alike(old[::-1], new[::-1])
    was, became = frozenset(old[: len(old) - end]), frozenset(new[: len(new) - end])
    return sorted(was - became), sorted(became - was)


def _alike(one: Sequence[Acl], other: Sequence[Acl]) -> int:
    """Return the number of items at the beginning that two sequences have in common."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))
