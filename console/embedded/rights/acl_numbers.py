"""The numbers of an ACL that a broker does not read."""

from __future__ import annotations

from console.embedded.server.closing import CloseConnection

UNSET = 0
"""UNKNOWN: a request with it is not read at all, other numbers without a name are."""


def close_if_unset(api: str, *numbers: int) -> None:
    """Raise CloseConnection for an UNKNOWN, as a broker does (DescribeAclsRequest.normalizeAndValidate)."""
    if UNSET in numbers:
        raise CloseConnection(f"{api} with an UNKNOWN element")
