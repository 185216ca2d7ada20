"""Parsing of the arguments that statements have in common: names, entities, numbers, ``KEY=VALUE``, secrets, patterns
and the filters of `list`. Functions that read words raise ParseError if the next word is missing or invalid.
"""

from __future__ import annotations

from typing import NoReturn

from console.language import reader as language_reader
from console.language import statements
from console.language.quoting import DEFAULT_NAME, ENTITY_WORDS, quote_beside_equals
from console.language.tokenizer import Word
from console.model import entity_types
from console.model.codes import ResourceType
from console.model.config import ConfigResource
from console.model.numbers import is_natural
from console.model.patterns import literal_pattern
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.amounts import parse_duration
from console.present.text import clean

# -- entities, targets and numbers: ``topic NAME``, ``user NAME client <default>``, ``broker 2`` -----------------------

INT_MAX = 2**31 - 1


def _name_of(type_: entity_types.EntityType) -> language_reader.Expected:
    """Return what is valid as the word after the word for an entity type."""
    match type_.lister:
        case entity_types.Lister.BROKERS:
            return language_reader.Expected(
                language_reader.What.BROKER_OR_DEFAULT if type_.has_default else language_reader.What.BROKER,
                type_.asked,
            )
        case entity_types.Lister.TOPICS | entity_types.Lister.GROUPS | entity_types.Lister.QUOTAS:
            return language_reader.Expected(language_reader.What(type_.word), type_.asked)
        case _:
            return language_reader.Expected(language_reader.What.RESOURCE, type_.asked, detail=type_.word)


ENTITY_USAGE = tuple(
    usage for each in (*entity_types.with_configs(), *entity_types.with_quotas()) for usage in each.usage
)
_NAME_OF = {each.word: _name_of(each) for each in entity_types.ENTITY_TYPES}
_SECOND_WORDS = {
    first: tuple(word.removeprefix(f"{first} ") for word in _NAME_OF if word.startswith(f"{first} "))
    for first in {word.partition(" ")[0] for word in _NAME_OF if " " in word}
}
"""First word of an entity type that is written in two words -> its possible second words."""


def entity(reader: language_reader.Reader) -> statements.Entity | None:
    """Read an entity, such as ``topic orders``. If the next word is not an entity type, return None and leave it
    unread: the statement is then about the selected entity. Raises ParseError: the entity's name is missing or
    invalid.
    """
    first = reader.word
    keyword = reader.take_keyword(
        *ENTITY_WORDS, label="an entity (topic, broker, user, …)", what=language_reader.What.ENTITY
    )
    if keyword is None or first is None:
        return None
    subject = _subject(reader, keyword)
    return statements.Entity(subject, reader.span_from(first))


def _subject(reader: language_reader.Reader, keyword: str) -> statements.Subject:
    second = reader.take_keyword(*_SECOND_WORDS[keyword]) if keyword in _SECOND_WORDS else None
    type_ = entity_types.BY_WORD[keyword if second is None else f"{keyword} {second}"]
    # A type without a number has quotas, but no configs.
    if type_.number is not None:
        return ConfigResource(ResourceType(type_.number), _resource_name(reader, type_))
    match keyword:
        case "ip":
            return QuotaEntity.of({IP: quota_name(reader, "ip")})
        case "client":
            return QuotaEntity.of({CLIENT_ID: quota_name(reader, "client")})
        case _:
            user = quota_name(reader, "user")
            if reader.take_keyword("client") is None:
                return QuotaEntity.of({USER: user})
            return QuotaEntity.of({USER: user, CLIENT_ID: quota_name(reader, "client")})


def _resource_name(reader: language_reader.Reader, type_: entity_types.EntityType) -> str:
    """Read the name of a resource of this type; return ``""`` for the unquoted ``<default>``. Raises ParseError: the
    name is missing or invalid.
    """
    expected, word = _NAME_OF[type_.word], reader.word
    if type_.at_broker:
        word = reader.take(expected)
        if type_.has_default and word.is_bare(DEFAULT_NAME):
            return ""
        name = str(_broker_number(reader, word, expected.label))
    elif type_.has_default and word is not None and word.is_bare(DEFAULT_NAME):
        reader.take(expected)
        return ""
    else:
        name = plain_name(reader, expected, type_.spoken, may_be_empty=type_.names.allows("")).text or ""
    if word is not None and not type_.names.allows(name):
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return name


def plain_name(
    reader: language_reader.Reader, expected: language_reader.Expected, plural: str, *, may_be_empty: bool = False
) -> statements.Name:
    """Read the name of an entity of a type that has no default.

    Args:
        expected: what the word is, for completion and errors.
        plural: the noun for these entities, for errors.
        may_be_empty: whether ``""`` is a valid name.

    Raises:
        ParseError: the name is missing, empty, or the unquoted ``<default>``.
    """
    word = reader.take(expected)
    if word.is_bare(DEFAULT_NAME):
        reader.fail(f"{plural} have no {DEFAULT_NAME}", word, f"quote a name that is spelled so: '{DEFAULT_NAME}'")
    if not word.text and not may_be_empty:
        reader.fail(f"{expected.label} can't be empty", word)
    return statements.Name(word.text, reader.span(word))


def quota_name(reader: language_reader.Reader, keyword: str) -> str | None:
    """Read the name of a user, client or ip; return None for the unquoted ``<default>``. Raises ParseError: the name is
    missing or empty.
    """
    word = reader.take(_NAME_OF[keyword])
    if word.is_bare(DEFAULT_NAME):
        return None
    if not word.text:
        reader.fail(f"{_NAME_OF[keyword].label} can't be empty", word)
    return word.text


def _broker_number(reader: language_reader.Reader, word: Word, label: str) -> int:
    number = whole_number(word.text)
    if number is None:
        reader.fail(f"expected {label}, not {reader.shown(word)}", word)
    return number


def whole_number(text: str, lowest: int = 0, highest: int = INT_MAX) -> int | None:
    """Return the number in a text of digits; None if the text is anything else or the number is out of the bounds."""
    if not is_natural(text):
        return None
    number = int(text)
    return number if lowest <= number <= highest else None


TOPIC = language_reader.Expected(language_reader.What.TOPIC, "the NAME of the topic")
A_TOPIC = language_reader.Expected(language_reader.What.TOPIC, "the NAME of a topic")
GROUP = language_reader.Expected(language_reader.What.GROUP, "the NAME of a group")
BROKER = language_reader.Expected(language_reader.What.BROKER, "the number of a broker")
NUMBER_MAX = 2**63 - 1
"""The highest value of an offset, of a producer id, and of the number of an operation."""


def topic_name(reader: language_reader.Reader, expected: language_reader.Expected = TOPIC) -> statements.Name:
    """Read ``topic NAME`` and return the name. Raises ParseError: a word is missing, or the name is invalid."""
    reader.need_keyword("topic")
    return plain_name(reader, expected, "topics")


def group_name(reader: language_reader.Reader) -> statements.Name:
    """Read ``group NAME`` of an existing group and return the name. It may be empty, since brokers store offsets for
    the empty name, too. Raises ParseError: a word is missing.
    """
    reader.need_keyword("group")
    return plain_name(reader, GROUP, "groups", may_be_empty=True)


def topic_of_group(reader: language_reader.Reader) -> tuple[statements.Name | None, int | None]:
    """Read ``[topic NAME [partition N]]``; return None in place of what the statement leaves out. Raises ParseError: a
    name or number is missing or invalid.
    """
    if reader.take_keyword("topic") is None:
        return None, None
    topic = plain_name(reader, A_TOPIC, "topics")
    return topic, optional_partition(reader, topic)


def need_number(
    reader: language_reader.Reader, expected: language_reader.Expected, highest: int, lowest: int = 0
) -> int:
    """Read a whole number. Raises ParseError: it is missing, or not from `lowest` to `highest`."""
    word = reader.take(expected, language_reader.Role.VALUE)
    number = whole_number(word.text, lowest, highest)
    if number is None:
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return number


def partition_number(reader: language_reader.Reader, topic: statements.Name) -> int:
    """Read the number of a topic's partition. Raises ParseError: it is missing or invalid."""
    expected = language_reader.Expected(
        language_reader.What.PARTITION, "the number of a partition", detail=topic.text or ""
    )
    return need_number(reader, expected, INT_MAX)


def optional_partition(reader: language_reader.Reader, topic: statements.Name) -> int | None:
    """Read ``[partition N]`` and return the number; None if the statement leaves it out. Raises ParseError: the number
    is missing or invalid.
    """
    return partition_number(reader, topic) if reader.take_keyword("partition") is not None else None


def schema_subject(reader: language_reader.Reader) -> str:
    """Read the subject of a schema in the schema registry. Raises ParseError: it is missing or empty."""
    return named(
        reader, language_reader.Expected(language_reader.What.RESOURCE, "the SUBJECT of a schema", detail="schema")
    )


def optional_version(reader: language_reader.Reader) -> int | None:
    """Read ``[version N]`` and return the number; None if the statement leaves it out. Raises ParseError: the number is
    missing or invalid.
    """
    if reader.take_keyword("version") is None:
        return None
    word = reader.take(language_reader.Expected(language_reader.What.ARGUMENT, "the number of a version"))
    number = whole_number(word.text, 1)
    if number is None:
        reader.fail(f"expected the number of a version, not {reader.shown(word)}", word)
    return number


def pair_count(reader: language_reader.Reader, key: Word, value: Word, highest: int = INT_MAX) -> int:
    """Return the number N of a ``KEY=N``. Raises ParseError: it is not a whole number from 1 to `highest`."""
    number = whole_number(value.text, 1, highest)
    if number is None:
        # An empty value has no width that could be marked: mark the key.
        where = value if value.end > value.start else key
        reader.fail(f"{key.text}= takes a whole number from 1 to {highest:,}", where)
    return number


def filter_text(reader: language_reader.Reader) -> str:
    """Read the filter of a pane to the end of the statement; return ``""`` if the statement has no filter."""
    expected = language_reader.Expected(language_reader.What.FILTER, "a FILTER", detail=reader.verb)
    if reader.ended:
        reader.expect(expected)
        return ""
    return reader.take(expected, language_reader.Role.VALUE).text


def named(
    reader: language_reader.Reader,
    expected: language_reader.Expected,
    role: language_reader.Role = language_reader.Role.NAME,
    *,
    may_be_empty: bool = False,
) -> str:
    """Read a word that is a name.

    Args:
        expected: what the word is, for completion and errors.
        role: the role of the word, for its colour.
        may_be_empty: whether ``""`` is a valid name.

    Raises:
        ParseError: the name is missing, empty, or the unquoted ``<default>``.
    """
    word = reader.take(expected, role)
    if word.is_bare(DEFAULT_NAME):
        reader.fail(
            f"expected {expected.label}, not {DEFAULT_NAME}", word, f"quote a name that is spelled so: '{DEFAULT_NAME}'"
        )
    if not word.text and not may_be_empty:
        reader.fail(f"{expected.label} can't be empty", word)
    return word.text


# -- ``KEY=VALUE``, secrets and patterns -------------------------------------------------------------------------------

SECRET_LABEL = "@FILE or ?"  # noqa: S105  # a usage text


def key_of(reader: language_reader.Reader, word: Word) -> statements.Key:
    """Return the key that a word denotes."""
    return statements.Key(word.text, not word.bare, reader.span(word))


def key_expected(reader: language_reader.Reader, subject: statements.Subject | None) -> language_reader.Expected:
    """Return what is valid at the place of a key without a value. subject: the entity of the key; None for the selected
    one.
    """
    return language_reader.Expected(language_reader.What.KEY, "a KEY", subject=subject, detail=reader.verb)


def key(reader: language_reader.Reader, subject: statements.Subject | None) -> statements.Key:
    """Read a key without a value. Raises ParseError: it is missing, empty, or has a value.

    Args:
        subject: the entity whose key it is; None for the selected one.
    """
    word = reader.take(key_expected(reader, subject), language_reader.Role.KEY)
    if not word.text:
        reader.fail("a key can't be empty", word)
    if word.split("=") is not None:
        reader.fail(f"expected a KEY without a value, not {reader.shown(word)}", word)
    return key_of(reader, word)


def keys(reader: language_reader.Reader, subject: statements.Subject | None) -> tuple[statements.Key, ...]:
    """Read keys up to the end of the statement. After each key, record for completion that one more may follow. Raises
    ParseError: a key is empty or has a value.

    Args:
        subject: the entity whose keys they are; None for the selected one.
    """
    found = []
    while not reader.ended:
        found.append(key(reader, subject))
    reader.expect(key_expected(reader, subject))
    return tuple(found)


def assign(reader: language_reader.Reader, subject: statements.Subject | None) -> statements.Assign:
    """Read one ``KEY=VALUE``; the value may be the source of a secret. Raises ParseError also for a secret in plain
    text.
    """
    expected = language_reader.Expected(language_reader.What.ASSIGN, "KEY=VALUE", subject=subject, detail=reader.verb)
    return assigned(reader, *reader.take_pair(expected))


def assigned(reader: language_reader.Reader, word: Word, name: Word, value: Word) -> statements.Assign:
    """Return the assignment of a pair that `Reader.take_pair` read."""
    source = secret_source(reader, value)
    given = source if source is not None else value.text
    return statements.Assign(key_of(reader, name), given, reader.span(word), reader.span(value))


def offered_durations(_snapshot: Snapshot) -> list[language_reader.Candidate]:
    """Return the durations that completion offers."""
    return [language_reader.Candidate(text) for text in ("15min", "30min", "1h", "4h", "12h", "1d")]


def duration(reader: language_reader.Reader) -> int:
    """Read a duration, such as ``30min``, and return it in milliseconds. Raises ParseError: it is missing or
    invalid.
    """
    word = reader.take(
        language_reader.Expected(language_reader.What.ARGUMENT, "a DURATION such as 30min", offers=offered_durations),
        language_reader.Role.VALUE,
    )
    try:
        return parse_duration(word.text)
    except ValueError as error:
        reader.fail(str(error), word)


def secret_source(reader: language_reader.Reader, value: Word) -> statements.SecretSource | None:
    """Return the source of a secret if the value is ``@FILE`` or ``?``; None for a plain value."""
    # In quotes, both are ordinary values.
    if value.is_bare("?"):
        return statements.Asked()
    if value.first_bare != "@":
        return None
    path = value.without_first().text
    if not path:
        reader.fail("the name of a file is missing after '@'", value, "quote a value that begins with @: '@…'")
    return statements.FromFile(path)


def need_secret(reader: language_reader.Reader, key: Word, value: Word) -> statements.SecretSource:
    """Return the source of a secret. Raises ParseError for a plain value; the message does not contain it."""
    source = secret_source(reader, value)
    if source is not None:
        return source
    bare_secret(reader, key, value)


def bare_secret(reader: language_reader.Reader, key: Word, value: Word) -> NoReturn:
    """Raise ParseError because a secret is written in plain text; the message does not contain it."""
    where = value if value.end > value.start else key
    name = quote_beside_equals(key.text)
    reader.fail(
        f"{name} is a secret and is never written out", where, f"write {name}=@FILE, or {name}=? to be asked, hidden"
    )


def pattern(word: Word) -> str | None:
    """Return a word as a pattern of `fnmatch`, in which quoted characters match only themselves; None for the unquoted
    ``<default>``.
    """
    if word.is_bare(DEFAULT_NAME):
        return None
    return "".join(piece.text if not piece.quote else literal_pattern(piece.text) for piece in word.pieces)


def list_filter(reader: language_reader.Reader, kind: str) -> statements.Glob | statements.FieldFilter:
    """Read one filter of `list`: a glob that names must match, or a comparison of a column: ``KEY=VALUE``,
    ``KEY!=VALUE``, ``KEY>N``, ``KEY>=N``, ``KEY<N``, ``KEY<=N``. Raises ParseError: the filter is missing or
    invalid.
    """
    expected = language_reader.Expected(language_reader.What.LIST_FILTER, "a GLOB or KEY=VALUE", detail=kind)
    word = reader.word
    found = _compared(word) if word is not None else None
    if word is None or found is None:
        if word is not None and word.bare and word.text in _JOINING and any(map(_compared, reader.raw.words)):
            reader.fail(hint="all filters must match; separate them by spaces only")
        word = reader.take(expected, language_reader.Role.NAME)
        return statements.Glob(pattern(word), reader.span(word))
    key, operator, value = found
    if not key.text:
        hint = "no spaces around it: KEY>N" if operator[0] in "<>!" else ""
        reader.fail(f"the key is missing before '{operator}' (KEY=VALUE)", hint=hint)
    doubled = value.first_bare != "" and value.first_bare in _OPERATORS and not value.is_bare(DEFAULT_NAME)
    if operator not in COMPARISONS or doubled:
        _wrong_comparison(reader, key, operator, value)
    reader.take(expected, role=None)
    reader.mark(key, language_reader.Role.KEY)
    reader.marks.append(language_reader.Mark(key.end, key.end + len(operator), language_reader.Role.OPERATOR))
    reader.mark(value, language_reader.Role.VALUE)
    return statements.FieldFilter(key.text, pattern(value), operator, reader.span(word))


COMPARISONS = ("=", "!=", ">", ">=", "<", "<=")
"""The operators in the filters of `list`."""
_OPERATORS = "=<>!~"
_JOINING = ("and", "or", "where", "not", "with")
_MEANT = {"=>": ">=", "=<": "<=", "==": "=", "=!": "!=", "<>": "!=", "!": "!=", "><": "!="}


def _compared(word: Word) -> tuple[Word, str, Word] | None:
    """Split a word into key, operator and value. Return None for ``<default>`` and for a word without an operator."""
    if word.is_bare(DEFAULT_NAME):
        return None
    best: tuple[Word, str, Word] | None = None
    for character in _OPERATORS:
        pair = word.split(character)
        # `!` also occurs in globs (`[!ab]*`), so it is an operator only before `=` or `~`.
        if pair is None or (character == "!" and pair[1].first_bare not in ("=", "~")):
            continue
        if best is None or pair[0].end < best[0].end:
            best = (pair[0], character, pair[1])
    if best is None:
        return None
    key, operator, value = best
    if operator in "<>!" and value.first_bare == "=":
        operator, value = f"{operator}=", value.without_first()
    return key, operator, value


def _wrong_comparison(reader: language_reader.Reader, key: Word, operator: str, value: Word) -> NoReturn:
    """Raise ParseError for an unknown operator; the hint names the operator that was probably meant."""
    while value.first_bare and value.first_bare in _OPERATORS and not value.is_bare(DEFAULT_NAME):
        operator, value = operator + value.first_bare, value.without_first()
    if "~" in operator:
        hint = "there are no regular expressions; KEY=GLOB takes *, ? and [ab]"
    else:
        meant = f"{key.text}{_MEANT.get(operator, '=')}{value.text or 'VALUE'}"
        hint = f"write {clean(meant, 80)}; quote a value that begins with {operator[-1]}"
    reader.fail(f"unknown operator '{operator}'; there are {', '.join(COMPARISONS)}", hint=hint)
