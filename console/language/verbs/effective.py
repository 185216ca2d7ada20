"""``effective``: shows the quotas that apply to a user with a client id."""

from __future__ import annotations

from console.language.arguments import key_of, named
from console.language.quoting import quote
from console.language.reader import Candidate, Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, quotas_that_count
from console.language.statements import Key, QueryStatement, Subject, joined, key_text
from console.language.verb import LOOK, StatementKind, Verb
from console.model.parts import Part
from console.model.quota import BY_KEY, CLIENT_KEYS
from console.model.snapshot import Snapshot


class EffectiveQuota(QueryStatement, frozen=True):
    """The query ``effective user U client C``."""

    user: str
    """The name of the user, never ``<default>``."""
    client: str
    """The client id, never ``<default>``; ``""`` for a client without an id."""
    key: Key | None = None
    """The key of the quota; None for all keys."""


def _quota_keys(_snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(key, "", BY_KEY[key].about) for key in CLIENT_KEYS]


def _parse(reader: Reader) -> EffectiveQuota:
    reader.need_keyword("user")
    user = named(reader, Expected(What.USER_NAME, "the NAME of a user"))
    reader.need_keyword("client")
    client = named(reader, Expected(What.CLIENT_NAME, "a client id"), may_be_empty=True)
    expected = Expected(What.ARGUMENT, "a quota's KEY", offers=_quota_keys)
    if reader.ended:
        reader.expect(expected)
        return EffectiveQuota(user, client)
    return EffectiveQuota(user, client, key_of(reader, reader.take(expected, Role.KEY)))


def _text(statement: EffectiveQuota) -> str:
    key = key_text(statement.key) if statement.key else ""
    return joined("effective user", quote(statement.user), "client", quote(statement.client), key)


def _needs(statement: EffectiveQuota, _selected: Subject | None) -> Needs:
    return Needs(parts=frozenset({Part.CLUSTER}), quotas_of=quotas_that_count(statement.user, statement.client))


VERBS = (
    Verb(
        "effective",
        LOOK,
        ("effective user USER client CLIENT [KEY]",),
        "The effective quota of a user and a client, per key, with the levels it overrides",
        "A limit applies to each broker, not to the whole cluster. Write `''` for a client without a client id. "
        "Only the limits of its user apply to such a client.",
        (
            "effective user alice client checkout-7",
            "effective user alice client checkout-7 producer_byte_rate",
        ),
        parse=_parse,
        statements=(StatementKind(statement=EffectiveQuota, text=_text, needs=_needs),),
    ),
)
