"""The severity of differences between peers, and differences that are expected: for the tables of a lake, and for the
present state of brokers. Regular expressions with the same meaning in Java and Python.
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
"""Severity and pattern of a key; a key without a match has low severity."""

OF_MOVES = (
    r"(leader|follower)\.replication\.throttled\.(replicas|rate)|replica\.alter\.log\.dirs\.io\.max\.bytes\.per\.second"
)
"""Matches the keys that moves set and remove. If no move uses them, they are leftovers, which kac reports as such."""
OF_EACH_BROKER = (
    r"^(:.*|(broker|node)\.id|(advertised\.)?(host\.name|port|listeners)|controller\.listener\.names|process\.roles"
    r"|(metadata\.)?log\.dirs?|broker\.rack|(listener\.name\.[^.]+\.)?ssl\.(key|keystore)\..*"
    rf"|(listener\.name\.[^.]+\.)?(.*\.)?sasl\.kerberos\..*|{OF_MOVES})$"
)
"""Matches keys that differ between brokers by nature."""


def severity_of(entity_type: str, attr: str) -> str:
    """Return the severity of a difference: high, medium or low."""
    if entity_type == "acl":
        return "high"
    return next((name for name, pattern in BY_PATTERN if re.search(pattern, attr)), "low")


def is_of_moves(attr: str) -> bool:
    """Return whether a key limits moves, so that tools set it for a move and remove it afterwards."""
    return re.fullmatch(OF_MOVES, attr) is not None


def is_of_each_broker(attr: str) -> bool:
    """Return whether brokers differ in this key by nature."""
    return re.search(OF_EACH_BROKER, attr) is not None
