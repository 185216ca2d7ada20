"""``scram``: a user's SCRAM credentials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from console.language.arguments import SECRET_LABEL, named, need_secret, pair_count
from console.language.node_text import joined, secret_text
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, whole_parts
from console.language.statements import Asked, EditStatement, SecretSlot, SecretSource, Subject
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.changes import ScramUser
from console.model.codes import ScramMechanism
from console.plan.edits import DeleteScram, Edit, UpsertScram
from console.present.text import clean

if TYPE_CHECKING:
    from console.language.staging import Staging

MECHANISMS = tuple(ScramMechanism(number).label for number in ScramMechanism.NAMES)
ITERATIONS = 4096
"""The default: the minimum that Kafka accepts (ScramMechanism.minIterations)."""


class ScramSet(EditStatement, frozen=True):
    """``scram set``. iterations: None for the default."""

    user: str
    mechanism: ScramMechanism
    password: SecretSource
    iterations: int | None = None


class ScramDelete(EditStatement, frozen=True):
    """``scram delete``."""

    user: str
    mechanism: ScramMechanism


def _parse(reader: Reader) -> ScramSet | ScramDelete:
    action = reader.need_keyword("set", "delete")
    user = named(reader, Expected(What.SCRAM_USER, "the NAME of a user"))
    mechanism = _mechanism(reader)
    if action == "delete":
        return ScramDelete(user, mechanism)
    iterations: int | None = None
    password: SecretSource | None = None
    wanted = {"iterations": "iterations=N", "password": f"password={SECRET_LABEL}"}
    while password is None or not reader.ended:
        label = " or ".join(wanted.values()) or "the end"
        expected = Expected(What.SCRAM_ASSIGN, label, tuple(f"{key}=" for key in wanted))
        if not wanted:
            reader.finish()
        word, key, value = reader.take_pair(expected, label)
        if not key.bare or key.text not in wanted:
            twice = key.text in ("iterations", "password")
            reader.fail(f"{key.text}= is given twice" if twice else f"expected {label}, not {reader.shown(word)}", word)
        del wanted[key.text]
        if key.text == "password":
            password = need_secret(reader, key, value)
        else:
            iterations = pair_count(reader, key, value)
    return ScramSet(user, mechanism, password, iterations)


def _mechanism(reader: Reader) -> ScramMechanism:
    word = reader.take(Expected(What.MECHANISM, " or ".join(MECHANISMS), MECHANISMS), Role.VALUE)
    try:
        return ScramMechanism.parse(word.text)
    except ValueError:
        reader.fail(f"expected {' or '.join(MECHANISMS)}, not {reader.shown(word)}", word)


def _set_text(statement: ScramSet) -> str:
    iterations = f"iterations={statement.iterations}" if statement.iterations is not None else ""
    who = f"{quote(statement.user)} {statement.mechanism.label}"
    return joined("scram set", who, iterations, f"password={secret_text(statement.password)}")


def _delete_text(statement: ScramDelete) -> str:
    return f"scram delete {quote(statement.user)} {statement.mechanism.label}"


def _needs(_statement: ScramSet | ScramDelete, _selected: Subject | None) -> Needs:
    return whole_parts("scram")


def _secrets(statement: ScramSet) -> tuple[SecretSlot, ...]:
    prompt = f"{statement.mechanism.label} password of {statement.user}"
    return (SecretSlot("password", clean(prompt, 120), statement.password, statement.span),)


def _upserts(statement: ScramSet, staging: Staging) -> Iterator[Edit]:
    iterations = ITERATIONS if statement.iterations is None else statement.iterations
    yield UpsertScram(ScramUser(statement.user, statement.mechanism), iterations, staging.secrets["password"])


def _deletions(statement: ScramDelete, _staging: Staging) -> Iterator[Edit]:
    yield DeleteScram(ScramUser(statement.user, statement.mechanism))


def _of_upserts() -> Mapping[type[Edit], Callable[[Any], ScramSet]]:
    return {UpsertScram: lambda edit: ScramSet(edit.user.user, edit.user.mechanism, Asked(), edit.iterations)}


def _of_deletions() -> Mapping[type[Edit], Callable[[Any], ScramDelete]]:
    return {DeleteScram: lambda edit: ScramDelete(edit.user.user, edit.user.mechanism)}


_SET = StatementKind(
    statement=ScramSet, text=_set_text, needs=_needs, edits=_upserts, of_edits=_of_upserts, secrets=_secrets
)
_DELETE = StatementKind(
    statement=ScramDelete, text=_delete_text, needs=_needs, edits=_deletions, of_edits=_of_deletions
)

VERBS = (
    Verb(
        name="scram",
        group=CHANGE,
        usage=("scram set USER MECHANISM [iterations=N] password=(@FILE | ?)", "scram delete USER MECHANISM"),
        summary="Stage a SCRAM credential, or its removal",
        about=(
            "MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512; iterations are 4096 to 16384, by default 4096. The brokers "
            "can't check a credential before it is applied."
        ),
        examples=("scram set alice SCRAM-SHA-512 iterations=8192 password=?", "scram delete alice SCRAM-SHA-256"),
        parse=_parse,
        statements=(_SET, _DELETE),
    ),
)
