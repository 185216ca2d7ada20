"""``check``: lets the brokers validate the plan."""

from __future__ import annotations

from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Check(Statement, frozen=True):
    """``check``."""


VERBS = (
    Verb(
        "check",
        PLAN,
        ("check",),
        "Let the brokers validate the plan without changing anything",
        "Deletions of topics, ACLs and SCRAM credentials have no validation in the protocol, and are reported as such.",
        ("check",),
        parse=lambda _reader: Check(),
        statements=(StatementKind(statement=Check, text=lambda _statement: "check"),),
    ),
)
