"""``produce``, ``tombstone`` and ``copy``: write records.

produce   = "produce" "topic" NAME ["partition" N] ("@"FILE | ["key" TEXT] {"header" NAME=TEXT} "value" TEXT) {schema}
tombstone = "tombstone" "topic" NAME "key" TEXT {"header" NAME=TEXT} ["partition" N]
copy      = "copy" "records" NAMES {option of records} "to" "topic" NAME
schema    = "schema" SUBJECT | "key-schema" SUBJECT
TEXT      = a word, @FILE or ?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.language import arguments, statements
from console.language import reader as language_reader
from console.language.errors import CommandError
from console.language.quoting import quote, quote_beside_equals, quoted
from console.language.snapshot_parts import Needs, whole_parts
from console.language.staging import Staging
from console.language.tokenizer import Span
from console.language.verb import CHANGE, StatementKind, Verb
from console.language.verbs import records as records_verb
from console.model import new_records
from console.model.config import topic_resource
from console.model.parts import Part
from console.model.records import Encoding, Record
from console.model.secret import Contents, Secret
from console.plan.edits import Edit, Passed, WriteRecords

Given = str | statements.SecretSource | None
"""A key or a value in a statement: its text, or the source of its text; None for null."""
KEY, VALUE = "key", "value"


class WriteStatement(statements.EditStatement, frozen=True):
    """A statement that writes records to a topic. `partition` is None if the partition is chosen for each record."""

    topic: statements.Name
    partition: int | None = None
    records: Contents | None = None
    """The records to write; None until they are read and encoded."""
    schemas: str = ""
    """The names of the schemas that encoded the records, as text; ``""`` if none did."""

    @property
    def writes_records(self) -> bool:
        """True: every such statement writes records."""
        return True


class Produce(WriteStatement, frozen=True):
    """The statements ``produce`` and ``tombstone``: they write one record, or the records in a file."""

    path: str = ""
    """The path of a file with the records as JSON lines; ``""`` for a single record."""
    key: Given = None
    value: Given = None
    """The value of the single record; None for null, as in a tombstone."""
    headers: tuple[tuple[str, str], ...] = ()
    key_schema: str = ""
    """The subject of the schema that encodes keys; ``""`` if none does."""
    value_schema: str = ""
    """The subject of the schema that encodes values; ``""`` if none does."""

    @property
    def reads_file(self) -> bool:
        """Whether the records are in a file."""
        return bool(self.path)

    @property
    def by_schema(self) -> Mapping[str, str]:
        """The parts of records that a schema encodes, ``key`` or ``value`` -> the subject of the schema."""
        given = {KEY: self.key_schema, VALUE: self.value_schema}
        return {part: subject for part, subject in given.items() if subject}


class CopyRecords(WriteStatement, frozen=True):
    """The statement ``copy``, which writes existing records to another topic."""

    source: records_verb.Records = records_verb.Records(("",))
    """The records to copy."""


# -- grammar -----------------------------------------------------------------------------------------------------------

_TEXT = "a TEXT, @FILE or ?"


def _parse(reader: language_reader.Reader) -> Produce:
    topic = arguments.topic_name(reader)
    found = Produce(topic)
    seen: set[str] = set()
    while True:
        word = reader.word
        if word is not None and word.first_bare == "@" and not seen - {"partition", "schema", "key-schema"}:
            if found.path:
                reader.fail("one @FILE is enough", word)
            reader.take(language_reader.Expected(language_reader.What.ARGUMENT, "@FILE"), language_reader.Role.VALUE)
            found = replace(found, path=word.without_first().text)
            if not found.path:
                reader.fail("expected @FILE", word)
            continue
        left = [each for each in _OPTIONS if each not in seen and not (found.path and each in _OF_ONE)]
        option = reader.take_keyword(
            *left, label=f"{', '.join(left[:-1])} or {left[-1]}" if left[1:] else "".join(left)
        )
        if option is None:
            break
        # A record may have several headers, even of one name; any other option may occur once.
        if option != "header":
            seen.add(option)
        found = _with_option(reader, found, option)
    reader.finish()
    # Require a value: a forgotten one would make a tombstone, which deletes the key in a compacted topic.
    if not found.path and VALUE not in seen:
        reader.expect(language_reader.Expected(language_reader.What.WORDS, "@FILE or value", (VALUE,)))
        reader.fail(hint="tombstone topic NAME key TEXT writes a record without a value")
    return found


def _parse_tombstone(reader: language_reader.Reader) -> Produce:
    topic = arguments.topic_name(reader)
    reader.need_keyword(KEY)
    found = replace(Produce(topic), key=_given(reader))
    seen: set[str] = set()
    options = ("header", "partition", "key-schema")
    while (option := reader.take_keyword(*(each for each in options if each not in seen))) is not None:
        if option != "header":
            seen.add(option)
        found = _with_option(reader, found, option)
    reader.finish()
    return found


_OF_ONE = (KEY, "header", VALUE)
_OPTIONS = ("partition", *_OF_ONE, "schema", "key-schema")


def _with_option(reader: language_reader.Reader, found: Produce, option: str) -> Produce:
    match option:
        case "partition":
            return replace(found, partition=arguments.partition_number(reader, found.topic))
        case "key":
            return replace(found, key=_given(reader))
        case "value":
            return replace(found, value=_given(reader))
        case "schema":
            return replace(found, value_schema=arguments.schema_subject(reader))
        case "key-schema":
            return replace(found, key_schema=arguments.schema_subject(reader))
        case _:
            pair = language_reader.Expected(language_reader.What.PAIR, "NAME=TEXT")
            _, name, value = reader.take_pair(pair, "NAME=TEXT")
            return replace(found, headers=(*found.headers, (name.text, value.text)))


def _given(reader: language_reader.Reader) -> str | statements.SecretSource:
    expected = language_reader.Expected(language_reader.What.ARGUMENT, _TEXT)
    word = reader.take(expected, language_reader.Role.VALUE)
    source = arguments.secret_source(reader, word)
    return word.text if source is None else source


def _parse_copy(reader: language_reader.Reader) -> CopyRecords:
    reader.need_keyword("records")
    source, topic = records_verb.parse_copied(reader)
    return CopyRecords(topic, source=source)


# -- text --------------------------------------------------------------------------------------------------------------


def _given_text(word: str, given: Given) -> str:
    if given is None:
        return ""
    return f"{word} {quoted(given) if isinstance(given, str) else statements.secret_text(given)}"


def _text(statement: Produce) -> str:
    is_tombstone = not statement.path and statement.value is None
    key = _given_text(KEY, statement.key)
    return statements.joined(
        f"{'tombstone' if is_tombstone else 'produce'} topic {statements.name_text(statement.topic)}",
        key if is_tombstone else "",
        statements.partition_text(statement.partition),
        "" if is_tombstone else key,
        *(f"header {quote_beside_equals(name)}={quote(value) if value else ''}" for name, value in statement.headers),
        _given_text(VALUE, statement.value),
        f"@{quote(statement.path)}" if statement.path else "",
        f"schema {quote(statement.value_schema)}" if statement.value_schema else "",
        f"key-schema {quote(statement.key_schema)}" if statement.key_schema else "",
    )


def _copy_text(statement: CopyRecords) -> str:
    return f"copy {records_verb.text_of(statement.source)} to topic {statements.name_text(statement.topic)}"


# -- edits -------------------------------------------------------------------------------------------------------------


def _slots(statement: Produce) -> tuple[statements.SecretSlot, ...]:
    """Return slots for the key and the value, if they are in a file or the operator has to enter them: they are read
    like secrets.
    """
    parts = ((KEY, statement.key), (VALUE, statement.value))
    return tuple(
        statements.SecretSlot(part, f"the {part} of the record", given, statement.span)
        for part, given in parts
        if given is not None and not isinstance(given, str)
    )


def _needs(statement: WriteStatement, _selected: statements.Subject | None) -> Needs:
    return needs_of([statement.topic.text or ""])


def needs_of(names: Iterable[str]) -> Needs:
    """Return the parts to read for the forecast of new records in topics with these names."""
    topics = frozenset(names)
    resources = frozenset(map(topic_resource, topics))
    return whole_parts(Part.GROUPS, Part.CONNECT, Part.SCHEMAS) | Needs(
        topics=topics, resources=resources, log_ranges=topics, users_of=topics
    )


def typed_record(statement: Produce, secrets: Mapping[str, Secret]) -> new_records.NewRecord:
    """Return the record that is written in a statement, before a schema encodes it.

    Args:
        secrets: the key and the value that are in files, or that the operator entered.
    """

    def data(part: str, given: Given) -> bytes | None:
        text = given if given is None or isinstance(given, str) else secrets[part].reveal()
        return None if text is None else text.encode()

    headers = tuple((name.encode(), value.encode()) for name, value in statement.headers)
    return new_records.NewRecord(data(KEY, statement.key), data(VALUE, statement.value), headers)


def _edits(statement: WriteStatement, staging: Staging) -> Iterator[Edit]:
    if statement.records is None:
        raise CommandError("the records were not read", "", statement.span)
    topic = staging.topic(statement.topic)
    if statement.partition is not None:
        staging.require_partition(topic, statement.partition, statement.span)
    found = new_records.in_partition(statement.records.reveal(), statement.partition)
    if not found:
        raise CommandError("there are no records to write", "", statement.span)
    yield from batches_of(topic, found, staging, statement.span, schemas=statement.schemas)


def batches_of(
    topic: str,
    found: Sequence[new_records.NewRecord],
    staging: Staging,
    span: Span,
    *,
    schemas: str = "",
    first_for: tuple[Passed, ...] = (),
) -> Iterator[WriteRecords]:
    """Yield the edits that write records to a topic, each with a batch of records.

    Args:
        found: the records.
        span: the place of the statement, for errors.
        schemas: the names of the schemas that encoded the records, as text.
        first_for: if dead letters are written, the records that later edits of the plan pass over or delete; empty
            otherwise.

    Raises:
        CommandError: the topic's partitions are not known.
    """
    count = len(staging.partitions(topic))
    if not count:
        raise CommandError(f"the partitions of topic {topic} are not known", "apply its creation first", span)
    for partition, mine in sorted(new_records.by_partition(found, count).items()):
        first = _batches_staged(staging, topic, partition)
        for number, batch in enumerate(new_records.batched(mine), first):
            yield WriteRecords(
                topic,
                partition,
                number,
                tuple(each.size for each in batch),
                tuple(each.hash for each in batch),
                len({each.key for each in batch if each.key is not None}),
                sum(each.value is None for each in batch),
                sum(each.key is None for each in batch),
                sum(new_records.is_stray(each, count) for each in batch),
                schemas,
                Contents(batch),
                first_for=first_for,
            )


def _batches_staged(staging: Staging, topic: str, partition: int) -> int:
    """Return the number of batches that the plan already writes to a partition. It is the number of the next batch."""
    taken = [
        each.edit.number
        for each in staging.staged
        if isinstance(each.edit, WriteRecords) and (each.edit.topic, each.edit.partition) == (topic, partition)
    ]
    return max(taken, default=-1) + 1


def _of_edit(edit: WriteRecords) -> Produce:
    """Return a statement for an edit that writes records. The statement asks the operator for the records, because
    its text must not contain them.
    """
    return Produce(statements.Name(edit.topic), edit.partition, value=statements.Asked())


MOST_TYPED = 2_000
"""Maximum length in characters of a key or a value in a command that an operator edits."""


class NotTyped(ValueError):
    """A record can't be written as words of a command. The text has the reason."""


def again(record: Record) -> Produce:
    """Return the statement that writes a record again, into its partition; the operator can edit it.

    Args:
        record: the record as it is shown: a part that a schema decoded is JSON.

    Raises:
        NotTyped: a part is not text, is too long, or was decoded in a way in which kac can't encode; a header is null;
            or both key and value are null.
    """
    key, key_schema = _typed(record.key, record.key_encoding, KEY)
    value, value_schema = _typed(record.value, record.value_encoding, VALUE)
    headers = []
    for name, data in record.headers:
        if data is None:
            raise NotTyped("a header of it is null")
        headers.append((_plain(name, "header's name"), _plain(data, "header")))
    if key is None and value is None:
        raise NotTyped("it has neither key nor value")
    topic = statements.Name(record.topic)
    return Produce(
        topic,
        record.partition,
        key=key,
        value=value,
        headers=tuple(headers),
        key_schema=key_schema,
        value_schema=value_schema,
    )


def _typed(data: bytes | None, encoding: Encoding | None, part: str) -> tuple[str | None, str]:
    """Return a key or a value as text, None for null, and the subject of the schema that decoded it, ``""`` if none
    did. Raises NotTyped.
    """
    if data is None:
        return None, ""
    subject = ""
    if encoding is not None:
        subject = encoding.schema.partition(" version ")[0] if encoding.form in _BY_SUBJECT else ""
        if not subject:
            raise NotTyped(f"its {part} is not text, and no subject's schema decoded it")
    return _plain(data, part), subject


_BY_SUBJECT = ("avro", "protobuf", "json")


def _plain(data: bytes, part: str) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotTyped(f"its {part} is not text") from None
    if len(text) > MOST_TYPED:
        raise NotTyped(f"its {part} has more than {MOST_TYPED:,} characters")
    if not text.isprintable() and not all(each.isprintable() or each in "\n\t" for each in text):
        raise NotTyped(f"its {part} has control characters")
    return text


_PRODUCE = StatementKind(
    statement=Produce, text=_text, needs=_needs, edits=_edits, secrets=_slots, of_edits={WriteRecords: _of_edit}
)
_COPY = StatementKind(statement=CopyRecords, text=_copy_text, needs=_needs, edits=_edits)

VERBS = (
    Verb(
        "produce",
        CHANGE,
        (
            "produce topic NAME [partition N] [key TEXT] {header NAME=TEXT} value TEXT [schema SUBJECT] "
            "[key-schema SUBJECT]",
            "produce topic NAME [partition N] @FILE [schema SUBJECT] [key-schema SUBJECT]",
        ),
        "Stage a record, or the records of a file; kac writes each once",
        "TEXT is a word, or @FILE for the text of a file, or `?`. With `?` kac asks for the text, and does not "
        "show what you type. A FILE of records has JSON lines, as `kac records --output jsonl` writes them.\n\n"
        "A record goes to the partition that it names. Without a named partition, Java's default partitioner, "
        "which kac follows, chooses the partition by the key. With a schema, values or keys are JSON. kac encodes "
        "them by the newest version of the subject.\n\n"
        "kac writes the contents of records into no journal and no plan file. kac refuses new records in a "
        "context with masks or with records = 'never'.",
        (
            'produce topic orders key order-77 value \'{"state": "paid"}\'',
            "produce topic orders partition 3 header trace=t-9 value @order.json schema orders-value",
            "produce topic orders @orders.jsonl",
        ),
        parse=_parse,
        statements=(_PRODUCE,),
    ),
    Verb(
        "tombstone",
        CHANGE,
        ("tombstone topic NAME key TEXT {header NAME=TEXT} [partition N] [key-schema SUBJECT]",),
        "Stage a record without a value, which deletes its key in a compacted topic",
        "Java's default partitioner, which kac follows, chooses the partition by the key. Name the partition if "
        "the topic's producers use another partitioner.",
        ("tombstone topic customers key c-104",),
        parse=_parse_tombstone,
        statements=(),
    ),
    Verb(
        "copy",
        CHANGE,
        ("copy records NAME[,GLOB…] {OPTION} to topic NAME",),
        "Stage copies of records, with their headers and times",
        "The options are the options of `records`. They select the records to copy. If you do not say where to "
        "begin, kac copies from the start of the logs. kac copies the bytes of keys and values unchanged. Java's "
        "default partitioner, which kac follows, chooses the partition of each record by its key.",
        (
            "copy records orders key order-77 to topic orders-test",
            "copy records orders partition 3 from offset 41208 limit 1 to topic orders",
        ),
        parse=_parse_copy,
        statements=(_COPY,),
    ),
)
