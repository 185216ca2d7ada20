"""The authorizer of requests by ACLs, which uses the rules in `console.model.authorizer`."""

from __future__ import annotations

from collections.abc import Iterable

from console.embedded.acls import AclTable, acls_of, acls_on
from console.embedded.state import View
from console.model.authorizer import EVERYBODY, AclIndex, Request, patterns_on
from console.model.codes import AclOperation, AclResourceType

_PRINCIPALS = 1000
"""Maximum number of principals whose ACLs are cached."""


class StandardAuthorizer:
    """An authorizer by ACLs, like org.apache.kafka.metadata.authorizer.StandardAuthorizer.

    Attributes:
        super_users: the principals that may do everything.
        open_by_default: whether all operations are allowed on resources that no ACL matches
            (allow.everyone.if.no.acl.found).
        ranges: whether the host of an ACL may be a range of addresses.
    """

    def __init__(self, super_users: Iterable[str], *, open_by_default: bool = False, ranges: bool = False) -> None:
        self._super_users = frozenset(super_users)
        self._open_by_default = open_by_default
        self._ranges = ranges
        self._known: dict[str, tuple[tuple[bool, int], AclIndex]] = {}

    def allows(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str, view: View
    ) -> bool:
        """Return whether the principal may do the operation on this resource from this address. A matching DENY has
        priority.
        """
        if principal in self._super_users:
            return True
        decision = self._acls_for(principal, view).allows(Request(principal, host, operation, resource, name))
        if decision is None:
            # allow.everyone.if.no.acl.found applies only to a resource that no ACL of any principal matches.
            return self._open_by_default and not _is_on_anything(view, resource, name)
        return decision

    def allows_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, view: View
    ) -> bool:
        """Return whether the principal may do the operation on some resource of this type, which may not exist yet
        (authorizeByResourceType).
        """
        if self.allows(principal, host, operation, resource, "hardcode", view):  # Kafka checks this name first
            return True
        return self._acls_for(principal, view).allows_somewhere(principal, host, operation, resource)

    def _acls_for(self, principal: str, view: View) -> AclIndex:
        acls = view.acls
        # A view of the past has no version of its ACL table, but it never changes, so identify it by its offset.
        version = (True, acls.version) if isinstance(acls, AclTable) else (False, view.offset)
        known = self._known.get(principal)
        if known is not None and known[0] == version:
            return known[1]
        index = AclIndex((*acls_of(acls, principal), *acls_of(acls, EVERYBODY)), ranges=self._ranges)
        if len(self._known) >= _PRINCIPALS:
            self._known.clear()
        self._known[principal] = version, index
        return index


def _is_on_anything(view: View, type_: AclResourceType, name: str) -> bool:
    """Return whether an ACL of any principal matches this resource; if none does, allow.everyone.if.no.acl.found
    applies.
    """
    return any(acls_on(view.acls, pattern) for pattern in patterns_on(type_, name))
