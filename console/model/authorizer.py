"""The authorizer's rule: the ACLs that decide on a request, and whether they allow it.

The rule of org.apache.kafka.metadata.authorizer.StandardAuthorizer (3.9 to 4.3): a deny beats every allow; an ACL
applies to a resource by its name, by a prefix of it, or by ``*``; ``User:*`` is every principal of any type; a host is
``*`` or an address, compared as text; READ, WRITE, DELETE and ALTER imply DESCRIBE, ALTER_CONFIGS implies
DESCRIBE_CONFIGS, in an allow only. Two settings of brokers come first and last, and brokers hide both: ``super.users``
may do everything, and a resource without any ACL is closed unless ``allow.everyone.if.no.acl.found`` is true.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from console.model.acl import LITERAL as LITERAL
from console.model.acl import PREFIXED as PREFIXED
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.grouping import grouped

DENY, ALLOW = Permission.parse("DENY"), Permission.parse("ALLOW")
ALL = AclOperation.parse("ALL")
OPEN = "allow.everyone.if.no.acl.found"
"""The broker's config that, if true, lets every user use a resource that has no ACL."""
WILDCARD = "*"
EVERYBODY = "User:*"


def _operations(*names: str) -> tuple[AclOperation, ...]:
    return tuple(map(AclOperation.parse, names))


IMPLIED_BY: Mapping[AclOperation, frozenset[AclOperation]] = {
    AclOperation.parse("DESCRIBE"): frozenset(_operations("READ", "WRITE", "DELETE", "ALTER")),
    AclOperation.parse("DESCRIBE_CONFIGS"): frozenset(_operations("ALTER_CONFIGS")),
}
"""Operation -> the operations that imply it in an ACL that allows. A deny of one of these does not deny the operation.
"""

OPERATIONS_OF: Mapping[AclResourceType, tuple[AclOperation, ...]] = {
    AclResourceType.parse(type_): _operations(*names.split())
    for type_, names in {
        "TOPIC": "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
        "GROUP": "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
        "CLUSTER": "CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE",
        "TRANSACTIONAL_ID": "WRITE DESCRIBE TWO_PHASE_COMMIT",
        "DELEGATION_TOKEN": "DESCRIBE",
        "USER": "CREATE_TOKENS DESCRIBE_TOKENS",
    }.items()
}
"""Type of resource -> the operations that brokers check on it (AclEntry.supportedOperations), without ALL."""


class Pattern(NamedTuple):
    """A resource pattern (ResourcePattern): the type, the kind of pattern and the name by which an ACL selects
    resources.
    """

    resource_type: AclResourceType
    pattern_type: PatternType
    name: str


def pattern_of(acl: Acl) -> Pattern:
    """Return the resource pattern of an ACL."""
    return Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)


def covering(type_: AclResourceType, name: str) -> Iterator[Pattern]:
    """Yield the wildcard pattern and every prefixed pattern that match a name, as a filter with the pattern type MATCH
    finds them; the literal pattern of the name itself is left out.
    """
    if name != WILDCARD:
        yield Pattern(type_, LITERAL, WILDCARD)
    for length in range(1, len(name) + 1):
        yield Pattern(type_, PREFIXED, name[:length])


def patterns_on(type_: AclResourceType, name: str) -> Iterator[Pattern]:
    """Yield the patterns that the authorizer looks up for a resource, whether or not an ACL has them.

    The literal ``*`` is left out for a name that begins with ``*``: in StandardAuthorizer an ACL for all groups does
    not apply to a group ``*a``, though filters (`covering`) match it.
    """
    yield Pattern(type_, LITERAL, name)
    if not name.startswith(WILDCARD):
        yield Pattern(type_, LITERAL, WILDCARD)
    for length in range(1, len(name) + 1):
        yield Pattern(type_, PREFIXED, name[:length])


def covers(pattern: Pattern, type_: AclResourceType, name: str) -> bool:
    """Return whether a pattern applies to the resource of this type and name."""
    if pattern.resource_type != type_:
        return False
    if pattern.pattern_type == PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name == name or (pattern.name == WILDCARD and not name.startswith(WILDCARD))


def grants(acl: Acl, operation: AclOperation) -> bool:
    """Return whether an ACL, allow or deny, applies to an operation: the ACL names the operation or ALL, or it is an
    allow of an operation that implies this one.
    """
    if acl.operation in (ALL, operation):
        return True
    return acl.permission == ALLOW and acl.operation in IMPLIED_BY.get(operation, ())


def granted(acl: Acl) -> tuple[AclOperation, ...]:
    """Return the operations that an ACL, allow or deny, applies to, among those that brokers check on its type of
    resource.

    Returns:
        At least one: the ACL's own operation if brokers never check it on this type.
    """
    asked = OPERATIONS_OF.get(acl.resource_type, ())
    return tuple(each for each in asked if grants(acl, each)) or (acl.operation,)


def address_as_compared(text: str) -> str | None:
    """Return an address in the form in which brokers compare it with the host of an ACL: the form of
    InetAddress.getHostAddress, with IPv6 without ``::``, and an IPv4-mapped address as IPv4.

    Returns:
        None if the text is not an address, so that no client can have it.
    """
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    # Java turns an IPv4-mapped address into an Inet4Address, so a client of a dual-stack socket appears with its IPv4
    # address.
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    plain = ":".join(f"{int(group, 16):x}" for group in found.exploded.partition("%")[0].split(":"))
    return f"{plain}%{found.scope_id}" if found.scope_id else plain


_RANGE = re.compile(r"[0-9A-Fa-f:.]{2,45}/[0-9]{1,3}")


@lru_cache(4_096)
def range_of(host: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the network that an ACL's host such as ``10.0.0.0/8`` denotes; None for a host in any other form. Brokers
    accept networks as hosts from 4.4 on (CidrUtils).
    """
    if _RANGE.fullmatch(host) is None:
        return None
    try:
        return ipaddress.ip_network(host, strict=False)
    except ValueError:
        return None


def is_compared(host: str, *, ranges: bool) -> bool:
    """Return whether the host of an ACL can match any client at all.

    Args:
        ranges: whether the brokers accept ranges of addresses as hosts (4.4).

    Returns:
        False for a host that is neither ``*`` nor an address in the form that brokers compare (`address_as_compared`),
        nor a range that they accept.
    """
    return host == WILDCARD or address_as_compared(host) == host or (ranges and range_of(host) is not None)


def host_within(host: str, other: str, *, ranges: bool) -> bool:
    """Return whether `other` matches every client that `host` matches.

    Args:
        host: the host of an ACL, or the address of a client.
        other: the host of the ACL that may be wider.
        ranges: whether the brokers accept ranges of addresses as hosts (4.4).
    """
    if other in (WILDCARD, host):
        return True
    wide = range_of(other) if ranges else None
    if wide is None or host == WILDCARD:
        return False
    narrow = range_of(host)
    if narrow is not None:
        return narrow.version == wide.version and narrow.subnet_of(wide)  # type: ignore[arg-type]
    try:
        return ipaddress.ip_address(host) in wide
    except ValueError:
        return False


def address_in(host: str, others: Container[str]) -> str:
    """Return one address that an ACL's host matches.

    Args:
        host: an address, or a range of addresses.
        others: addresses to avoid. Only the first addresses of a range are tried: if all of them are in `others`, the
            first one is returned.
    """
    wide = range_of(host)
    if wide is None:
        return host
    some = [address_as_compared(str(wide[at])) or "" for at in range(min(wide.num_addresses, _MOST_TRIED))]
    return next((each for each in some if each not in others), some[0])


_MOST_TRIED = 64
"""The number of addresses of a range that `address_in` tries."""


def is_pattern(acl: Acl) -> bool:
    """Return whether an ACL can apply to more than one resource: its name is a prefix, or ``*``."""
    return acl.pattern_type == PREFIXED or acl.resource_name == WILDCARD


def is_within(pattern: Pattern, acl: Acl) -> bool:
    """Return whether an ACL with a prefix or ``*`` covers all resources that a pattern covers; False for any other
    ACL.
    """
    if not is_pattern(acl) or pattern.resource_type != acl.resource_type:
        return False
    if acl.pattern_type != PREFIXED:
        return not pattern.name.startswith(WILDCARD)  # ``*`` does not apply to names such as ``*a``
    return pattern != Pattern(pattern.resource_type, LITERAL, WILDCARD) and pattern.name.startswith(acl.resource_name)


def within_whole(acl: Acl, other: Acl, *, ranges: bool) -> bool:
    """Return whether `other` covers everything that `acl` covers: it has the same or a wider principal, host, set of
    operations and resource pattern.

    Permissions are not compared.

    Args:
        acl: the ACL that may be redundant.
        other: the ACL that may include it.
        ranges: whether the brokers accept ranges of addresses as hosts (4.4).
    """
    return (
        other.principal in (acl.principal, EVERYBODY)
        and host_within(acl.host, other.host, ranges=ranges)
        and set(granted(acl)) <= set(granted(other))
        and (pattern_of(acl) == pattern_of(other) or is_within(pattern_of(acl), other))
    )


class Request(NamedTuple):
    """The values of a client's request by which the authorizer decides."""

    principal: str
    host: str | None
    """The client's address; None for an address that no ACL names, so that only ACLs for the host ``*`` apply."""
    operation: AclOperation
    resource_type: AclResourceType
    resource_name: str


class Decision(NamedTuple):
    """The decision of the ACLs on a request."""

    allowed: bool | None
    """Whether the request is allowed; None if no ACL applies to it."""
    by: tuple[Acl, ...]
    """The ACLs that decide: all denies that apply to the request, or all allows that apply if no deny does."""
    overridden: tuple[Acl, ...]
    """The allows that apply to the request, but have no effect because a deny applies too."""
    has_acls: bool
    """Whether the resource has an ACL of any principal. If not, ``allow.everyone.if.no.acl.found`` decides; if so, a
    request that no ACL decides is denied.
    """


class AclIndex:
    """ACLs by pattern and principal: a decision looks up the patterns that apply to one name instead of scanning all
    ACLs.
    """

    def __init__(self, acls: Iterable[Acl], *, ranges: bool = False) -> None:
        """Index the ACLs.

        Args:
            acls: the ACLs in any order, allows and denies.
            ranges: whether the brokers accept a host such as ``10.0.0.0/8`` as a range of addresses (4.4).
        """
        self.ranges = ranges
        self._acls: dict[Pattern, dict[str, list[Acl]]] = {}
        by_pattern = self._acls
        for acl in acls:
            type_, name, pattern_type, principal, _, _, _ = acl
            pattern = Pattern(type_, pattern_type, name)
            there = by_pattern.get(pattern)
            if there is None:
                there = by_pattern[pattern] = {}
            own = there.get(principal)
            if own is None:
                there[principal] = [acl]
            else:
                own.append(acl)
        lengths: dict[AclResourceType, set[int]] = {}
        for pattern in by_pattern:
            if pattern.pattern_type == PREFIXED:
                lengths.setdefault(pattern.resource_type, set()).add(len(pattern.name))
        self._prefix_lengths = {type_: sorted(found) for type_, found in lengths.items()}

    def changed(self, removed: Sequence[Acl], added: Sequence[Acl]) -> AclIndex:
        """Return a new index with a change applied; it shares unchanged data with this one, which stays as it is.

        Args:
            removed: ACLs to leave out; an ACL that is not in the index is ignored.
            added: ACLs to add, after the removal; an ACL that is in the index already is not duplicated.
        """
        index = AclIndex((), ranges=self.ranges)
        index._acls = dict(self._acls)
        lengths = {type_: set(found) for type_, found in self._prefix_lengths.items()}
        for acl in removed:
            there = index._acls.get(pattern_of(acl), {})
            index._acls[pattern_of(acl)] = {
                **there,
                acl.principal: [each for each in there.get(acl.principal, ()) if each != acl],
            }
        for acl in added:
            there = index._acls.get(pattern_of(acl), {})
            own = [each for each in there.get(acl.principal, ()) if each != acl]
            index._acls[pattern_of(acl)] = {**there, acl.principal: [*own, acl]}
            if acl.pattern_type == PREFIXED:
                lengths.setdefault(acl.resource_type, set()).add(len(acl.resource_name))
        index._drop_empty(map(pattern_of, removed))
        index._prefix_lengths = {type_: sorted(found) for type_, found in lengths.items()}
        return index

    def _drop_empty(self, patterns: Iterable[Pattern]) -> None:
        for pattern in patterns:
            left = {who: acls for who, acls in self._acls.get(pattern, {}).items() if acls}
            if left:
                self._acls[pattern] = left
            else:
                self._acls.pop(pattern, None)

    def patterns(self) -> Iterable[Pattern]:
        """Return the distinct resource patterns of all ACLs in the index."""
        return self._acls.keys()

    def patterns_of(self, principal: str) -> Sequence[Pattern]:
        """Return the patterns of the ACLs that name this principal; empty if no ACL does."""
        return self._by_principal.get(principal, ())

    @cached_property
    def _by_principal(self) -> Mapping[str, Sequence[Pattern]]:
        return grouped((principal, pattern) for pattern, there in self._acls.items() for principal in there)

    def patterns_on(self, type_: AclResourceType, name: str) -> Iterator[Pattern]:
        """Yield the patterns of indexed ACLs that apply to a resource."""
        if (pattern := Pattern(type_, LITERAL, name)) in self._acls:
            yield pattern
        if not name.startswith(WILDCARD) and (pattern := Pattern(type_, LITERAL, WILDCARD)) in self._acls:
            yield pattern
        # Look up each length that prefixes have, instead of each prefix: names are short, and ACLs are many.
        for length in self._prefix_lengths.get(type_, ()):
            if length <= len(name) and (pattern := Pattern(type_, PREFIXED, name[:length])) in self._acls:
                yield pattern

    def principals_at(self, pattern: Pattern) -> Mapping[str, list[Acl]]:
        """Return principal -> its ACLs with exactly this pattern; empty if no ACL has the pattern."""
        return self._acls.get(pattern, {})

    def of(self, principal: str, type_: AclResourceType, name: str) -> Iterator[Acl]:
        """Yield the ACLs on a resource that name a principal or ``User:*``, with any host and any operation."""
        who = (principal,) if principal == EVERYBODY else (principal, EVERYBODY)
        for pattern in self.patterns_on(type_, name):
            there = self._acls[pattern]
            for each in who:
                yield from there.get(each, ())

    def matching(self, request: Request) -> Iterator[Acl]:
        """Yield the ACLs that apply to a request, allows and denies."""
        for acl in self.of(request.principal, request.resource_type, request.resource_name):
            if self._is_from(acl, request.host) and grants(acl, request.operation):
                yield acl

    def _is_from(self, acl: Acl, host: str | None) -> bool:
        """Return whether the host of an ACL matches a client's address. For the address None, only the host ``*``
        matches.
        """
        if acl.host in (WILDCARD, host):
            return True
        return self.ranges and host is not None and host_within(host, acl.host, ranges=True)

    def allows(self, request: Request) -> bool | None:
        """Return the decision of the ACLs on a request, like `decide` without its reasons: it stops at the first deny.

        Returns:
            True or False; None if no ACL applies. Then the brokers' configs ``super.users`` and
            ``allow.everyone.if.no.acl.found`` decide; DescribeConfigs does not return these configs.
        """
        allowed = None
        # Continue after an allow: any deny takes precedence (StandardAuthorizerData.findResult).
        for acl in self.matching(request):
            if acl.permission == DENY:
                return False
            allowed = True
        return allowed

    def decide(self, request: Request) -> Decision:
        """Return the decision of the ACLs on a request, with the ACLs that decide, and the allows that a deny
        overrides.

        The decision ignores the brokers' configs ``super.users`` and ``allow.everyone.if.no.acl.found``, which
        DescribeConfigs does not return.

        Args:
            request: a host of None matches only the ACLs for all hosts.

        Returns:
            The decision. `allowed` is None if no ACL applies; `has_acls` then shows which config of the brokers
            decides.
        """
        found = [*self.matching(request)]
        denies = tuple(acl for acl in found if acl.permission == DENY)
        allows = tuple(acl for acl in found if acl.permission != DENY)
        has_acls = any(True for _ in self.patterns_on(request.resource_type, request.resource_name))
        if denies:
            return Decision(False, denies, allows, has_acls)
        return Decision(True if allows else None, allows, (), has_acls)

    def allows_somewhere(
        self, principal: str, host: str | None, operation: AclOperation, type_: AclResourceType
    ) -> bool:
        """Return whether a principal may perform an operation on at least one resource of a type
        (Authorizer.authorizeByResourceType, KIP-679).

        Kafka first checks the operation on a resource with the name ``hardcode``: the caller has to do that.

        Args:
            host: the client's address; None to consider only the ACLs for all hosts.
            operation: compared literally, without operations that imply it.

        Returns:
            True if an ACL allows the operation on a pattern that no deny covers completely.
        """
        denied = set(self._patterns_that(DENY, principal, host, operation, type_))
        if Pattern(type_, LITERAL, WILDCARD) in denied:
            return False
        allowed = self._patterns_that(ALLOW, principal, host, operation, type_)
        return any(not denied.intersection(_wider(each)) for each in allowed)

    def _patterns_that(
        self,
        permission: Permission,
        principal: str,
        host: str | None,
        operation: AclOperation,
        type_: AclResourceType,
    ) -> Iterator[Pattern]:
        for pattern, there in self._acls.items():
            # authorizeByResourceType compares operations literally: an operation that implies another one does not
            # count.
            if pattern.resource_type == type_ and any(
                acl.permission == permission and self._is_from(acl, host) and acl.operation in (ALL, operation)
                for who in {principal, EVERYBODY}
                for acl in there.get(who, ())
            ):
                yield pattern


def _wider(pattern: Pattern) -> Iterator[Pattern]:
    """Yield a pattern itself, then every prefixed pattern that covers all resources of the pattern. The wildcard
    pattern is left out.
    """
    yield pattern
    if pattern.name != WILDCARD or pattern.pattern_type == PREFIXED:
        for length in range(1, len(pattern.name) + 1):
            yield Pattern(pattern.resource_type, PREFIXED, pattern.name[:length])
