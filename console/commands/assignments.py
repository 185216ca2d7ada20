"""``KEY=VALUE``, secrets and patterns: what the grammar makes of single words."""

from __future__ import annotations

from typing import NoReturn

from console.commands.reader import Expected, Mark, Reader, Role, What
from console.commands.statements import Asked, Assign, FieldFilter, FromFile, Glob, Key, SecretSource, Subject
from console.commands.words import Word
from console.language.quoting import DEFAULT_NAME, quote_beside_equals
from console.present.text import clean

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
    """A glob over names, or a comparison of a column: ``KEY=VALUE``, ``KEY!=VALUE``, ``KEY>N``, ``KEY>=N``, ``KEY<N``,
    ``KEY<=N``."""
    expected = Expected(What.LIST_FILTER, "a GLOB or KEY=VALUE", detail=kind)
    word = reader.word
    found = _compared(word) if word is not None else None
    if word is None or found is None:
        if word is not None and word.bare and word.text in _JOINING and any(map(_compared, reader.raw.words)):
            reader.fail(hint="all filters have to hold; only a space stands between them")
        word = reader.take(expected, Role.NAME)
        return Glob(pattern(word), reader.span(word))
    key, operator, value = found
    if not key.text:
        hint = "no spaces around it: KEY>N" if operator[0] in "<>!" else ""
        reader.fail(f"the key is missing before '{operator}' (KEY=VALUE)", hint=hint)
    doubled = value.first_bare != "" and value.first_bare in _OPERATORS and not value.is_bare(DEFAULT_NAME)
    if operator not in COMPARISONS or doubled:
        _wrong_comparison(reader, key, operator, value)
    reader.take(expected, role=None)
    reader.mark(key, Role.KEY)
    reader.marks.append(Mark(key.end, key.end + len(operator), Role.OPERATOR))
    reader.mark(value, Role.VALUE)
    return FieldFilter(key.text, pattern(value), operator, reader.span(word))


COMPARISONS = ("=", "!=", ">", ">=", "<", "<=")
"""The comparisons of a list's filters."""
_OPERATORS = "=<>!~"
_JOINING = ("and", "or", "where", "not", "with")
_MEANT = {"=>": ">=", "=<": "<=", "==": "=", "=!": "!=", "<>": "!=", "!": "!=", "><": "!="}


def _compared(word: Word) -> tuple[Word, str, Word] | None:
    """A word as key, operator and value; None for one without an operator, and for ``<default>``."""
    if word.is_bare(DEFAULT_NAME):
        return None
    best: tuple[Word, str, Word] | None = None
    for character in _OPERATORS:
        pair = word.split(character)
        # `!` is an operator only together with what follows: globs have it too (`[!ab]*`).
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


def _wrong_comparison(reader: Reader, key: Word, operator: str, value: Word) -> NoReturn:
    """Raise ParseError for a comparison that the language has not, with the one that is meant."""
    while value.first_bare and value.first_bare in _OPERATORS and not value.is_bare(DEFAULT_NAME):
        operator, value = operator + value.first_bare, value.without_first()
    if "~" in operator:
        hint = "there are no regular expressions; KEY=GLOB takes *, ? and [ab]"
    else:
        meant = f"{key.text}{_MEANT.get(operator, '=')}{value.text or 'VALUE'}"
        hint = f"write {clean(meant, 80)}; a value that begins with {operator[-1]} is quoted"
    reader.fail(f"'{operator}' is no comparison; there are {', '.join(COMPARISONS)}", hint=hint)
