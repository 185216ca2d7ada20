"""ACLs and filters for property tests: few names, so that they meet each other."""

from __future__ import annotations

from hypothesis import strategies as st

from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

PRINCIPALS = ("User:alice", "User:bob", "User:*", "User:user-000001")
NAMES = ("a", "ab", "abc", "b", "*", "team-002.", "group-000001", "kafka-cluster")
HOSTS = ("*", "127.0.0.1", "10.0.0.1")
OPERATIONS = tuple(AclOperation(number) for number in (2, 3, 4, 7, 8, 10, 11))
TYPES = tuple(AclResourceType(number) for number in (2, 3, 4))
PATTERNS = (PatternType(3), PatternType(4))
PERMISSIONS = (Permission(2), Permission(3))

acls = st.builds(
    Acl,
    st.sampled_from(TYPES),
    st.sampled_from(NAMES),
    st.sampled_from(PATTERNS),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    st.sampled_from(OPERATIONS),
    st.sampled_from(PERMISSIONS),
)
filters = st.builds(
    AclFilter,
    st.sampled_from((*TYPES, AclResourceType(1), AclResourceType(99))),
    st.sampled_from((*NAMES, "team-002.orders", "", None)),
    st.sampled_from((*PATTERNS, PatternType(1), PatternType(2), PatternType(9))),
    st.sampled_from((*PRINCIPALS, None)),
    st.sampled_from((*HOSTS, None)),
    st.sampled_from((*OPERATIONS, AclOperation(1))),
    st.sampled_from((*PERMISSIONS, Permission(1))),
)
