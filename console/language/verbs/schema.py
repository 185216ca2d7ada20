"""``schema`` and ``undelete``: register a schema as a version of a subject; register a soft-deleted version again."""

from __future__ import annotations

from collections.abc import Iterator

from console.language import reader as language_reader
from console.language import statements
from console.language.arguments import optional_version, schema_subject
from console.language.errors import CommandError
from console.language.panes import pane
from console.language.quoting import quote, quoted
from console.language.snapshot_parts import Needs, whole_parts
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb
from console.model.parts import Part
from console.model.schemas import AVRO, JSON_SCHEMA, PROTOBUF, kind_by_ending, kind_of
from console.model.snapshot import Snapshot
from console.model.subjects import SchemaReference, parsed_reference
from console.plan.edits import Edit
from console.plan.kinds.schemas import AddSchema, RestoreSchema

TYPES = (AVRO, PROTOBUF, JSON_SCHEMA)
_SLOT = "schema"
_PAIRS = {"type": f"type={'|'.join(TYPES)}", "references": "references=NAME:SUBJECT:VERSION,…"}


class Register(statements.EditStatement, frozen=True):
    """The statement ``schema``, which registers a schema."""

    subject: str
    source: statements.FromFile | str
    """The file with the schema; or its text, once the file is read."""
    kind: str = ""
    """The type of the schema; ``""`` to determine it from the file's name or the text."""
    references: tuple[SchemaReference, ...] = ()


class Undelete(statements.EditStatement, frozen=True):
    """The statement ``undelete schema``."""

    subject: str
    version: int | None = None
    """The number of the version; None for the newest of the deleted versions."""


def _parse(reader: language_reader.Reader) -> Register:
    subject = schema_subject(reader)
    label = "@FILE or the text of a schema"
    word = reader.take(language_reader.Expected(language_reader.What.ARGUMENT, label), language_reader.Role.VALUE)
    # A schema is no secret, but is read by the same reader of files, with its limits and without devices.
    if language_reader.is_secret_source(word):
        source: statements.FromFile | str = statements.FromFile(word.without_first().text)
        if not word.text[1:]:
            reader.fail(f"expected {label}, not {reader.shown(word)}", word)
    else:
        source = word.text
    kind = ""
    references: tuple[SchemaReference, ...] = ()
    wanted = dict(_PAIRS)
    while not reader.ended and wanted:
        label = " or ".join(wanted.values())
        expected = language_reader.Expected(
            language_reader.What.PAIR, label, tuple(f"{each}=" for each in wanted), values=_values
        )
        pair, key, value = reader.take_pair(expected, label)
        if key.text not in wanted:
            reader.fail(f"expected {label}, not {reader.shown(pair)}", pair)
        del wanted[key.text]
        if key.text == "type":
            kind = value.text.upper()
            if kind not in TYPES:
                reader.fail(f"expected one of {', '.join(TYPES)}, not {reader.shown(value)}", value)
        else:
            try:
                references = tuple(parsed_reference(each.strip()) for each in value.text.split(","))
            except ValueError as error:
                reader.fail(str(error), value)
    return Register(subject, source, kind, references)


def _values(_snapshot: Snapshot, key: str) -> list[language_reader.Candidate]:
    return [language_reader.Candidate(each) for each in TYPES] if key == "type" else []


def _parse_undelete(reader: language_reader.Reader) -> Undelete:
    reader.need_keyword("schema")
    return Undelete(schema_subject(reader), optional_version(reader))


def _text(statement: Register) -> str:
    source = statement.source
    references = ",".join(each.text for each in statement.references)
    return statements.joined(
        f"schema {quote(statement.subject)}",
        quoted(source) if isinstance(source, str) else statements.secret_text(source),
        f"type={statement.kind}" if statement.kind else "",
        f"references={quoted(references)}" if references else "",
    )


def _slots(statement: Register) -> tuple[statements.SecretSlot, ...]:
    """Return a slot for the file with the schema, which is read like a file with a secret, with the same limits.
    Return none if the statement has the text.
    """
    if isinstance(statement.source, str):
        return ()
    return (statements.SecretSlot(_SLOT, "the schema", statement.source, statement.span),)


def _needs(statement: Register, _selected: statements.Subject | None) -> Needs:
    names = {statement.subject, *(each.subject for each in statement.references)}
    return whole_parts(Part.SCHEMAS) | Needs(schema_texts=frozenset(names))


def _registers(statement: Register, staging: Staging) -> Iterator[Edit]:
    source = statement.source
    text = source if isinstance(source, str) else staging.secrets[_SLOT].reveal()
    if not text.strip():
        raise CommandError("the schema is empty", "", statement.span)
    # Prefer the type that the operator gave, then that of the file's extension, then that of the text.
    told = statement.kind or (kind_by_ending(str(source.path)) if not isinstance(source, str) else None)
    yield AddSchema(statement.subject, kind_of(text, told), text, statement.references)


def _restores(statement: Undelete, staging: Staging) -> Iterator[Edit]:
    version = statement.version
    if version is None:
        known = staging.snapshot.schemas.get(statement.subject)
        # Take the newest deleted version, the last one that a deletion by mistake removed.
        deleted = [each.number for each in known.versions if each.is_deleted] if known is not None else []
        if not deleted:
            raise CommandError(
                f"schema {statement.subject} has no deleted version", "list schemas shows what there is", statement.span
            )
        version = deleted[-1]
    yield RestoreSchema(statement.subject, version)


_REGISTER = StatementKind(
    statement=Register,
    text=_text,
    needs=_needs,
    edits=_registers,
    secrets=_slots,
    of_edits={AddSchema: lambda edit: Register(edit.subject, edit.text, edit.kind, edit.references)},
)
_UNDELETE = StatementKind(
    statement=Undelete,
    text=lambda statement: statements.joined(
        f"undelete schema {quote(statement.subject)}", statements.version_text(statement.version)
    ),
    needs=lambda statement, _selected: whole_parts(Part.SCHEMAS) | Needs(schema_texts=frozenset({statement.subject})),
    edits=_restores,
    of_edits={RestoreSchema: lambda edit: Undelete(edit.subject, edit.version)},
)

VERBS = (
    Verb(
        "schema",
        CHANGE,
        ("schema SUBJECT (@FILE | TEXT) [type=TYPE] [references=NAME:SUBJECT:VERSION,…]",),
        "Stage a schema as the newest version of a subject",
        "The registry checks the schema by the subject's compatibility level. kac checks an Avro schema by Avro's "
        "own rules, even if the level is NONE. `set schema SUBJECT compatibility=LEVEL` changes the level.\n\n"
        "TYPE is AVRO, PROTOBUF or JSON. Without TYPE, the ending of the file's name (.avsc, .proto) and the text "
        "decide. `revert` deletes the new version softly.",
        (
            "schema orders-value @orders.avsc",
            "schema payments-value @payments.avsc references=shop.Order:orders-value:2",
        ),
        parse=_parse,
        statements=(_REGISTER,),
    ),
    Verb(
        "undelete",
        CHANGE,
        ("undelete schema SUBJECT [version N]",),
        "Stage the registration of a soft-deleted version of a schema",
        "Without a version kac registers the newest deleted version. The registered version gets the next number "
        "and its former id.",
        ("undelete schema orders-value", "undelete schema orders-value version 2"),
        parse=_parse_undelete,
        statements=(_UNDELETE,),
    ),
    pane(
        "schemas",
        "The subjects of the schema registry",
        "schemas",
        "schemas orders",
        about="kac reads the subjects from the registry of the context, `[contexts.NAME.schemas]`.",
    ),
)
