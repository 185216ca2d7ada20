"""``check``: lets the brokers validate the plan."""

from __future__ import annotations

from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Check(Statement, frozen=True):
    """The statement ``check``."""


VERBS = (
    Verb(
        "check",
        PLAN,
        ("check",),
        "Let the brokers validate the plan; nothing changes",
        "Kafka's protocol has no validation for deletions of topics, ACLs and SCRAM credentials. kac names each "
        "edit that the brokers could not validate for this reason.",
        ("check",),
        rank=2,
        parse=lambda _reader: Check(),
        statements=(StatementKind(statement=Check, text=lambda _statement: "check"),),
    ),
)
