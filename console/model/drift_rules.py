"""The severity of config differences between entities that should be alike, and the differences that are expected.

Spark evaluates the regular expressions for the tables of the lake, and Python evaluates them for the comparison of
brokers, so each expression has to mean the same in Java and in Python.
"""

from __future__ import annotations

import re

# The first matching pattern decides. High: access control, and protection against loss of records. Medium: retention,
# limits of clients, automatic creation. Low: the rest.

BY_PATTERN = (
    ("high", r"^(listener\.name\.[^.]+\.)?(.*\.)?(ssl|sasl)\."),
    ("high", r"^(security\.|authorizer\.|super\.users$|principal\.builder\.|listener\.security\.protocol\.map$)"),
    ("high", r"^(allow\.everyone\.if\.no\.acl\.found|inter\.broker\.listener\.name|early\.start\.listeners)$"),
    ("high", r"(^|\.)(min\.insync\.replicas|min\.isr|replication\.factor|unclean\.leader\.election\.enable)$"),
    ("high", r"^(:replication|log\.flush\..*|flush\.(ms|messages)|eligible\.leader\.replicas\.version)$"),
    ("medium", r"(retention|cleanup\.policy|max\.message\.bytes|message\.max\.bytes|message\.timestamp)"),
    ("medium", r"(_byte_rate|_percentage|_mutation_rate|_creation_rate|^quota\.|^max\.connection)"),
    ("medium", r"^(auto\.create\.topics\.enable|delete\.topic\.enable|compression\.type|:partitions|num\.partitions)$"),
    ("medium", r"(delete\.retention|compaction\.lag|segment\.(bytes|ms)$|\.throttled\.|remote\.)"),
)
"""Pairs of a severity and a pattern of keys; the first pattern that matches a key decides. A key that matches no
pattern has low severity.
"""

OF_MOVES = (
    r"(leader|follower)\.replication\.throttled\.(replicas|rate)|replica\.alter\.log\.dirs\.io\.max\.bytes\.per\.second"
)
"""Matches the keys that tools set during a reassignment and remove after it. If such a key differs while no
reassignment runs, kac reports it separately.
"""
OF_EACH_BROKER = (
    r"^(:.*|(broker|node)\.id|(advertised\.)?(host\.name|port|listeners)|controller\.listener\.names|process\.roles"
    r"|(metadata\.)?log\.dirs?|broker\.rack|(listener\.name\.[^.]+\.)?ssl\.(key|keystore)\..*"
    rf"|(listener\.name\.[^.]+\.)?(.*\.)?sasl\.kerberos\..*|{OF_MOVES})$"
)
"""Matches keys that are different on each broker by design, such as ``broker.id``."""


def severity_of(entity_type: str, attr: str) -> str:
    """Return the severity of a difference: ``high``, ``medium`` or ``low``."""
    if entity_type == "acl":
        return "high"
    return next((name for name, pattern in BY_PATTERN if re.search(pattern, attr)), "low")


def is_of_moves(attr: str) -> bool:
    """Return whether a key throttles reassignments, so that tools set it during a reassignment and remove it
    afterwards.
    """
    return re.fullmatch(OF_MOVES, attr) is not None


def is_of_each_broker(attr: str) -> bool:
    """Return whether a key is different on each broker by design, such as ``broker.id``."""
    return re.search(OF_EACH_BROKER, attr) is not None
