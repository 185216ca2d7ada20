"""``KEY=VALUE``, secrets and patterns: what the grammar makes of single words."""

from __future__ import annotations

from typing import NoReturn

from console.commands.reader import Expected, Reader, Role, What
from console.commands.statements import Asked, Assign, FieldFilter, FromFile, Glob, Key, SecretSource, Subject
from console.commands.words import Word
from console.language.quoting import DEFAULT_NAME, quote_beside_equals

SECRET_LABEL = "@FILE or ?"  # noqa: S105  # a usage text
_GLOB_SPECIAL = "*?["


def key_of(reader: Reader, word: Word) -> Key:
    """The key that a word is."""
    return Key(word.text, not word.bare, reader.span(word))


def assign(reader: Reader, subject: Subject | None, what: What = What.ASSIGN, detail: str = "") -> Assign:
    """One ``KEY=VALUE``; the value may be a secret's source."""
    word, key, value = reader.take_pair(Expected(what, "KEY=VALUE", subject=subject, detail=detail))
    source = secret_source(reader, value)
    return Assign(
        key_of(reader, key), source if source is not None else value.text, reader.span(word), reader.span(value)
    )


def secret_source(reader: Reader, value: Word) -> SecretSource | None:
    """What ``@FILE`` or ``?`` stands for; None where the value is a value."""
    if value.is_bare("?"):
        return Asked()
    if value.first_bare != "@":
        return None
    path = value.without_first().text
    if not path:
        reader.fail("the name of a file is missing after '@'", value, "a value that begins with @ is quoted: '@…'")
    return FromFile(path)


def need_secret(reader: Reader, key: Word, value: Word) -> SecretSource:
    """A secret's source; a bare value is refused without being repeated."""
    source = secret_source(reader, value)
    if source is not None:
        return source
    bare_secret(reader, key, value)


def bare_secret(reader: Reader, key: Word, value: Word) -> NoReturn:
    """Raise ParseError for a secret that stands in the text."""
    where = value if value.end > value.start else key
    name = quote_beside_equals(key.text)
    reader.fail(
        f"{name} is a secret and is never written out", where, f"write {name}=@FILE, or {name}=? to be asked, hidden"
    )


def pattern(word: Word) -> str | None:
    """The word as an `fnmatch` pattern in which quoted characters stand for themselves; None for ``<default>``."""
    if word.is_bare(DEFAULT_NAME):
        return None
    return "".join(piece.text if not piece.quote else literal_pattern(piece.text) for piece in word.pieces)


def literal_pattern(text: str) -> str:
    """A pattern that matches exactly this text."""
    return "".join(f"[{char}]" if char in _GLOB_SPECIAL else char for char in text)


def list_filter(reader: Reader, kind: str) -> Glob | FieldFilter:
    """A glob over names, or ``KEY=VALUE`` over columns."""
    expected = Expected(What.LIST_FILTER, "a GLOB or KEY=VALUE", detail=kind)
    word = reader.word
    if word is None or word.split("=") is None:
        word = reader.take(expected, Role.NAME)
        return Glob(pattern(word), reader.span(word))
    word, key, value = reader.take_pair(expected)
    return FieldFilter(key.text, pattern(value), reader.span(word))
