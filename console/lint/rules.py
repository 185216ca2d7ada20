"""All rules of lint, in the order of pages and reports."""

from __future__ import annotations

from console.lint import access, brokers, connect, groups, quorum, quotas, records, replicas, schemas
from console.lint.rule import Rule

SUBJECTS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("Replicas", replicas.RULES),
    ("Records", records.RULES),
    ("Brokers", brokers.RULES),
    ("The quorum and features", quorum.RULES),
    ("Access", access.RULES),
    ("Quotas and connections", quotas.RULES),
    ("Groups and names", groups.RULES),
    ("Connect", connect.RULES),
    ("Schemas", schemas.RULES),
)
"""Subject -> the rules about it, in the order of the page."""
RULES = tuple(rule for _, rules in SUBJECTS for rule in rules)
"""Every rule."""
BY_NAME = {rule.name: rule for rule in RULES}
