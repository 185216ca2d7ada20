"""``token``: creates, renews and expires delegation tokens."""

from __future__ import annotations

from console.language.arguments import duration, named
from console.language.panes import pane
from console.language.quoting import quote, quote_beside_equals
from console.language.reader import Candidate, Expected, Reader, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.statements import OneEdit, joined
from console.language.verb import CHANGE, Verb, one_edit
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.amounts import duration_text, parse_duration
from console.plan.kinds.tokens import BROKERS_OWN, Expire, MakeToken, Renew, TokenEdit


def _parse(reader: Reader) -> OneEdit:
    action = reader.need_keyword("create", "renew", "expire")
    if action == "create":
        return OneEdit(_parse_create(reader))
    edit = Renew if action == "renew" else Expire
    id_ = named(reader, Expected(What.ARGUMENT, "the ID of a token", offers=_ids))
    if reader.ended:
        return OneEdit(edit(id_, BROKERS_OWN))  # for `expire`: at once; the protocol has one number for both
    reader.need_keyword("for" if action == "renew" else "in")
    return OneEdit(edit(id_, duration(reader)))


def _ids(snapshot: Snapshot) -> list[Candidate]:
    return [Candidate(token.id, token.owner) for token in snapshot.tokens.values()]


def _parse_create(reader: Reader) -> MakeToken:
    wanted = {"owner": "owner=User:NAME", "renewers": "renewers=User:NAME,…", "lifetime": "lifetime=DURATION"}
    found: dict[str, str] = {}
    lifetime = BROKERS_OWN
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
    return MakeToken(found.get("owner", ""), renewers, lifetime)


def _create_text(edit: MakeToken) -> str:
    return joined(
        "token create",
        f"owner={quote_beside_equals(edit.owner)}" if edit.owner else "",
        f"renewers={quote_beside_equals(','.join(edit.renewers))}" if edit.renewers else "",
        f"lifetime={duration_text(edit.lifetime_ms)}" if edit.lifetime_ms != BROKERS_OWN else "",
    )


def _change_text(edit: TokenEdit) -> str:
    action, word = ("renew", "for") if isinstance(edit, Renew) else ("expire", "in")
    period = f"{word} {duration_text(edit.period_ms)}" if edit.period_ms != BROKERS_OWN else ""
    return joined(f"token {action} {quote(edit.id)}", period)


def _needs(_edit: MakeToken | TokenEdit) -> Needs:
    return whole_parts(Part.TOKENS)


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
        "Brokers accept these requests only on connections that log in by SASL or mTLS, not by a delegation "
        "token. The HMAC of a token is its secret. kac shows the HMAC of a new token once, on a terminal, and "
        "keeps it nowhere.\n\n"
        "For `create` and `renew` without a duration the brokers' default applies. `token expire` without a "
        "duration ends the token at once.",
        ("token create renewers=User:flink lifetime=7d", "token renew abc123 for 1d", "token expire abc123"),
        noun="token tokens dtoken dtokens delegation-token delegation-tokens kafka-delegation-tokens",
        stands_for={"token create lifetime=7d": "token create", "token expire ID": "token delete"},
        parse=_parse,
        statements=(
            one_edit(MakeToken, _create_text, _needs),
            one_edit(Renew, _change_text, _needs),
            one_edit(Expire, _change_text, _needs),
        ),
    ),
    pane(
        "tokens",
        "The delegation tokens that you may see",
        "tokens",
        "tokens User:flink",
        about="kac reads the tokens while the pane is open.",
    ),
)
