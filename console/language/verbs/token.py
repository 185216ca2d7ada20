"""``token``: creates, renews and expires delegation tokens."""

from __future__ import annotations

from console.language.arguments import duration, named
from console.language.quoting import quote, quote_beside_equals
from console.language.reader import Candidate, Expected, Reader, What
from console.language.snapshot_parts import whole_parts
from console.language.statements import EditStatement, joined
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text, parse_duration
from console.plan.edits import Expire, MakeToken, Renew

NONE = -1
"""An omitted period: the brokers' default, or at once."""


class TokenCreate(EditStatement, frozen=True):
    """``token create``. owner: ``""`` for the caller. lifetime: milliseconds; `NONE` for the brokers' default."""

    owner: str = ""
    renewers: tuple[str, ...] = ()
    lifetime: int = NONE


class TokenChange(EditStatement, frozen=True):
    """``token renew`` or ``token expire``. period: milliseconds; `NONE` if omitted."""

    action: str
    id: str
    period: int = NONE


def _parse(reader: Reader) -> TokenCreate | TokenChange:
    action = reader.need_keyword("create", "renew", "expire")
    if action == "create":
        return _parse_create(reader)
    id_ = named(reader, Expected(What.ARGUMENT, "the ID of a token", offers=_ids))
    if reader.ended:
        return TokenChange(action, id_)
    reader.need_keyword("for" if action == "renew" else "in")
    return TokenChange(action, id_, duration(reader))


def _ids(snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(token.id, token.owner) for token in snapshot.tokens.values()]


def _parse_create(reader: Reader) -> TokenCreate:
    wanted = {"owner": "owner=User:NAME", "renewers": "renewers=User:NAME,…", "lifetime": "lifetime=DURATION"}
    found: dict[str, str] = {}
    lifetime = NONE
    while not reader.ended and wanted:
        label = " or ".join(wanted.values())
        word, key, value = reader.take_pair(Expected(What.PAIR, label, tuple(f"{each}=" for each in wanted)), label)
        if key.text not in wanted:
            reader.fail(f"expected {label}, not {reader.shown(word)}", word)
        del wanted[key.text]
        found[key.text] = value.text
        if key.text == "lifetime":
            try:
                lifetime = parse_duration(value.text)
            except ValueError as error:
                reader.fail(str(error), value)
    renewers = tuple(each.strip() for each in found.get("renewers", "").split(",") if each.strip())
    return TokenCreate(found.get("owner", ""), renewers, lifetime)


def _create_text(statement: TokenCreate) -> str:
    return joined(
        "token create",
        f"owner={quote_beside_equals(statement.owner)}" if statement.owner else "",
        f"renewers={quote_beside_equals(','.join(statement.renewers))}" if statement.renewers else "",
        f"lifetime={duration_text(statement.lifetime)}" if statement.lifetime != NONE else "",
    )


def _change_text(statement: TokenChange) -> str:
    word = "for" if statement.action == "renew" else "in"
    period = f"{word} {duration_text(statement.period)}" if statement.period != NONE else ""
    return joined(f"token {statement.action} {quote(statement.id)}", period)


_EDITS = {"renew": Renew, "expire": Expire}

_CREATE = StatementKind(
    statement=TokenCreate,
    text=_create_text,
    needs=lambda _statement, _selected: whole_parts(Part.TOKENS),
    edits=lambda statement, _staging: [MakeToken(statement.owner, statement.renewers, statement.lifetime)],
    of_edits={MakeToken: lambda edit: TokenCreate(edit.owner, edit.renewers, edit.lifetime_ms)},
)
_CHANGE = StatementKind(
    statement=TokenChange,
    text=_change_text,
    needs=lambda _statement, _selected: whole_parts(Part.TOKENS),
    edits=lambda statement, _staging: [_EDITS[statement.action](statement.id, statement.period)],
    of_edits={
        Renew: lambda edit: TokenChange("renew", edit.id, edit.period_ms),
        Expire: lambda edit: TokenChange("expire", edit.id, edit.period_ms),
    },
)

VERBS = (
    Verb(
        "token",
        CHANGE,
        (
            "token create [owner=PRINCIPAL] [renewers=PRINCIPAL,…] [lifetime=DURATION]",
            "token renew ID [for DURATION]",
            "token expire ID [in DURATION]",
        ),
        "Stage a delegation token, its renewal, or its end",
        "Brokers do it over connections with a login of their own, by SASL or mTLS. The HMAC of a new token is shown "
        "once, on a terminal, and kept nowhere. Without a duration the brokers' own holds; a token expires at once.",
        ("token create renewers=User:flink lifetime=7d", "token renew abc123 for 1d", "token expire abc123"),
        parse=_parse,
        statements=(_CREATE, _CHANGE),
    ),
)
