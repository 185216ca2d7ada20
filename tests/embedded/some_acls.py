"""ACLs and filters for property tests: so few different values that they often match."""

from hypothesis import strategies as st

from console.embedded.large_tables import LargeAcls
from console.model.acl import Acl, AclFilter
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

MADE = 7
"""The number of ACLs that a source generates."""
PRINCIPALS = ("User:alice", "User:*", "User:user-000001")
NAMES = ("a", "ab", "*", "team-002.", "group-000001")
HOSTS = ("*", "10.0.0.1")
OPERATIONS = tuple(
    AclOperation.parse(name) for name in ("ALL", "READ", "DESCRIBE", "ALTER_CONFIGS", "DESCRIBE_CONFIGS")
)
TYPES = tuple(map(AclResourceType.parse, ("TOPIC", "GROUP")))
PATTERNS = tuple(map(PatternType.parse, ("LITERAL", "PREFIXED")))
PERMISSIONS = tuple(map(Permission.parse, ("DENY", "ALLOW")))

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
POOL = (
    *LargeAcls(MADE),
    *(
        Acl(TYPES[0], name, pattern, principal, "*", OPERATIONS[1], PERMISSIONS[1])
        for name in ("a", "ab", "*")
        for pattern in PATTERNS
        for principal in PRINCIPALS[:2]
    ),
)
filters = st.builds(
    AclFilter,
    st.sampled_from((*TYPES, AclResourceType(1), AclResourceType(1), AclResourceType(99))),
    st.sampled_from((*NAMES, "team-002.orders", "", None, None)),
    st.sampled_from((*PATTERNS, PatternType(1), PatternType(1), PatternType(2), PatternType(9))),
    st.sampled_from((*PRINCIPALS, None, None)),
    st.sampled_from((*HOSTS, None, None)),
    st.sampled_from((OPERATIONS[1], AclOperation(1), AclOperation(1))),
    st.sampled_from((PERMISSIONS[1], Permission(1), Permission(1))),
)
