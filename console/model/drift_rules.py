"""What of a difference between peers counts how much, and what differs by nature: for tables of a lake, and for what
brokers have now. Regular expressions that Java and Python read alike.
"""

from __future__ import annotations

import re

# The first pattern that matches counts. High: who may do what, and what prevents loss of records. Medium: retention,
# what clients may use, what is created automatically. Low: the rest.

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
"""Severity and pattern of a key; what matches none is of low severity."""

OF_MOVES = (
    r"(leader|follower)\.replication\.throttled\.(replicas|rate)|replica\.alter\.log\.dirs\.io\.max\.bytes\.per\.second"
)
"""Keys that are where moves go. Those that no move uses are leftovers, which are named as such."""
OF_EACH_BROKER = (
    r"^(:.*|(broker|node)\.id|(advertised\.)?(host\.name|port|listeners)|controller\.listener\.names|process\.roles"
    r"|(metadata\.)?log\.dirs?|broker\.rack|(listener\.name\.[^.]+\.)?ssl\.(key|keystore)\..*"
    rf"|(listener\.name\.[^.]+\.)?(.*\.)?sasl\.kerberos\..*|{OF_MOVES})$"
)
"""Keys that are each broker's own by nature."""


def severity_of(entity_type: str, attr: str) -> str:
    """Return high, medium or low."""
    if entity_type == "acl":
        return "high"
    return next((name for name, pattern in BY_PATTERN if re.search(pattern, attr)), "low")


def is_of_moves(attr: str) -> bool:
    """Return whether a key limits moves, and so is set and taken off with them."""
    return re.fullmatch(OF_MOVES, attr) is not None


def is_of_each_broker(attr: str) -> bool:
    """Return whether brokers differ in this key by nature."""
    return re.search(OF_EACH_BROKER, attr) is not None
