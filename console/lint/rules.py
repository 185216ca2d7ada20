"""All lint rules, in the order of the documentation and of reports."""

from __future__ import annotations

from console.lint import access, brokers, clients, connect, groups, quorum, quotas, records, replicas, schemas
from console.lint.rule import Rule, rules_in

SUBJECTS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("Replicas", rules_in(vars(replicas))),
    ("Records", rules_in(vars(records))),
    ("Brokers", rules_in(vars(brokers))),
    ("The quorum and features", rules_in(vars(quorum))),
    ("Access", rules_in(vars(access))),
    ("Quotas and connections", rules_in(vars(quotas))),
    ("What brokers forget", rules_in(vars(clients))),
    ("Groups and names", rules_in(vars(groups))),
    ("Connect", rules_in(vars(connect))),
    ("Schemas", rules_in(vars(schemas))),
)
"""Subject -> the rules about it, in the order of the documentation."""
RULES = tuple(rule for _, rules in SUBJECTS for rule in rules)
"""All rules, in the order of `SUBJECTS`."""
BY_NAME = {rule.name: rule for rule in RULES}
