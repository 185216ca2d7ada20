"""``check``: brokers validate the plan."""

from __future__ import annotations

from console.language.reader import Reader
from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Check(Statement, frozen=True):
    """``check``."""


def _parse(_reader: Reader) -> Check:
    return Check()


def _text(_statement: Check) -> str:
    return "check"


VERBS = (
    Verb(
        name="check",
        group=PLAN,
        usage=("check",),
        summary="Let the brokers validate the plan without changing anything",
        about=(
            "Deletions of topics, ACLs and SCRAM credentials have no validation in the protocol, and are reported as "
            "such."
        ),
        examples=("check",),
        parse=_parse,
        statements=(StatementKind(statement=Check, text=_text),),
    ),
)
