"""``scram``: changes a user's SCRAM credentials."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import reader as language_reader
from console.language import statements
from console.language.arguments import SECRET_LABEL, named, need_secret, pair_count
from console.language.quoting import quote
from console.language.snapshot_parts import whole_parts
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb, one_edit
from console.model.changes import ScramUser
from console.model.codes import ScramMechanism
from console.model.parts import Part
from console.model.snapshot import Snapshot
from console.plan.edits import DeleteScram, Edit, UpsertScram
from console.present.text import clean

MECHANISMS = tuple(ScramMechanism(number).label for number in ScramMechanism.NAMES)
ITERATIONS = 4096
"""The default number of iterations: the minimum that Kafka accepts (ScramMechanism.minIterations)."""


class ScramSet(statements.EditStatement, frozen=True):
    """The statement ``scram set``."""

    user: str
    mechanism: ScramMechanism
    password: statements.SecretSource
    iterations: int | None = None
    """The number of iterations; None for the default."""


def _parse(reader: language_reader.Reader) -> ScramSet | statements.OneEdit:
    action = reader.need_keyword("set", "delete")
    user = named(reader, language_reader.Expected(language_reader.What.SCRAM_USER, "the NAME of a user"))
    mechanism = _mechanism(reader)
    if action == "delete":
        return statements.OneEdit(DeleteScram(ScramUser(user, mechanism)))
    iterations: int | None = None
    password: statements.SecretSource | None = None
    wanted = {"iterations": "iterations=N", "password": f"password={SECRET_LABEL}"}
    # Accept both pairs in any order; the password is required.
    while password is None or not reader.ended:
        label = " or ".join(wanted.values()) or "the end"
        expected = language_reader.Expected(
            language_reader.What.PAIR, label, tuple(f"{key}=" for key in wanted), values=_values
        )
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


def _values(_snapshot: Snapshot, key: str) -> list[language_reader.Candidate]:
    if key == "password":
        return [
            language_reader.Candidate("?", "asked for, hidden", form=language_reader.Form.BARE),
            language_reader.Candidate("@", "read from a file", form=language_reader.Form.BARE),
        ]
    return [
        language_reader.Candidate("4096", "Kafka's default"),
        language_reader.Candidate("8192"),
        language_reader.Candidate("16384", "the most"),
    ]


def _mechanism(reader: language_reader.Reader) -> ScramMechanism:
    word = reader.take(
        language_reader.Expected(language_reader.What.WORDS, " or ".join(MECHANISMS), MECHANISMS),
        language_reader.Role.VALUE,
    )
    try:
        return ScramMechanism.parse(word.text)
    except ValueError:
        reader.fail(f"expected {' or '.join(MECHANISMS)}, not {reader.shown(word)}", word)


def _set_text(statement: ScramSet) -> str:
    iterations = f"iterations={statement.iterations}" if statement.iterations is not None else ""
    who = f"{quote(statement.user)} {statement.mechanism.label}"
    return statements.joined("scram set", who, iterations, f"password={statements.secret_text(statement.password)}")


def _secrets(statement: ScramSet) -> tuple[statements.SecretSlot, ...]:
    prompt = f"{statement.mechanism.label} password of {statement.user}"
    return (statements.SecretSlot("password", clean(prompt, 120), statement.password, statement.span),)


def _upserts(statement: ScramSet, staging: Staging) -> Iterator[Edit]:
    iterations = ITERATIONS if statement.iterations is None else statement.iterations
    yield UpsertScram(ScramUser(statement.user, statement.mechanism), iterations, staging.secrets["password"])


_SET = StatementKind(
    statement=ScramSet,
    text=_set_text,
    needs=lambda _statement, _selected: whole_parts(Part.SCRAM),
    edits=_upserts,
    of_edits={
        UpsertScram: lambda edit: ScramSet(edit.user.user, edit.user.mechanism, statements.Asked(), edit.iterations)
    },
    secrets=_secrets,
)
_DELETE = one_edit(
    DeleteScram,
    lambda edit: f"scram delete {quote(edit.user.user)} {edit.user.mechanism.label}",
    lambda _edit: whole_parts(Part.SCRAM),
)

VERBS = (
    Verb(
        "scram",
        CHANGE,
        ("scram set USER MECHANISM [iterations=N] password=(@FILE | ?)", "scram delete USER MECHANISM"),
        "Stage a SCRAM credential, or its removal",
        "MECHANISM is SCRAM-SHA-256 or SCRAM-SHA-512. The iterations are 4096 to 16384, by default 4096. The "
        "brokers can't check a credential before kac applies it.",
        ("scram set alice SCRAM-SHA-512 iterations=8192 password=?", "scram delete alice SCRAM-SHA-256"),
        noun="scram scrams user users user-scram security",
        stands_for={
            "scram set NAME SCRAM-SHA-512 password=?": "scram create, scram alter",
            "scram delete NAME SCRAM-SHA-512": "scram delete",
        },
        parse=_parse,
        statements=(_SET, _DELETE),
    ),
)
