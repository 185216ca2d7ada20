"""How bad it is when an attribute is different: by a list, of which the first that fits counts.

High: who may do what, and what keeps records from being lost. Medium: what records live on, what clients may use, and
what is created by itself. Low: the rest.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

_BY_PATTERN = (
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


def severity(entity_type: Column, attr: Column) -> Column:
    """high, medium or low."""
    found = F.when(entity_type == "acl", "high")
    for name, pattern in _BY_PATTERN:
        found = found.when(attr.rlike(pattern), name)
    return found.otherwise("low")
