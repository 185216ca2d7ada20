"""The fields of a filter of DescribeAcls and DeleteAcls."""

from typing import Any

EVERY_ACL: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
"""The filter that matches every ACL: 1 is ANY, and None matches every name, principal and host."""
