"""The grammar: parses scripts into statements. A whole script is parsed before any of it runs.

    script = [stmt] {(";" | NEWLINE) [stmt]}          "#" at the start of a statement: a comment
    word   = adjacent pieces: bare, 'raw', "with \\" \\\\ \\n \\t"
    entity = TYPE NAME | "user" NAME ["client" NAME]  TYPE: a word of `console.model.entity_types`, which has its
                                                      legal names, and whether there is "<default>"
    assign = KEY=VALUE                                one word, split at its first unquoted "="
    secret = "@"FILE | "?"

Keywords are unquoted. The module of each verb in `console.language.verbs` parses the words after it, and has its usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from console.language.errors import ParseError, did_you_mean, is_one_slip
from console.language.other_words import NO_RECORDS, WORDS, our_line
from console.language.reader import Expected, Mark, Reader, Role, What
from console.language.statements import INTERACTIVE, Statement, Where
from console.language.tokenizer import Places, RawStatement, Word, scan
from console.language.verb import CHANGE, Verb
from console.language.verbs import VERBS, verbs_for
from console.language.verbs.listing import KINDS


class StatementReading(Struct, frozen=True):
    """One statement of a script, or the error in it."""

    words: tuple[Word, ...]
    start: int
    end: int
    statement: Statement | None
    error: ParseError | None
    expected: tuple[tuple[int, Expected], ...]
    """What was valid at each word: pairs of the index of the word and the valid continuation; the index after the last
    word means the end.
    """


class Reading(Struct, frozen=True):
    """The result of reading a whole script, valid or not."""

    text: str
    statements: tuple[StatementReading, ...]
    marks: tuple[Mark, ...]
    """Parts of the text with their roles, in order. White space and text that was not parsed are in no mark."""
    errors: tuple[ParseError, ...]


def parse(text: str, where: Where = Where.RUN) -> tuple[Statement, ...]:
    """Parse a script into its statements, without comments and empty statements.

    Args:
        where: the prompt at which the script is entered, which determines the verbs.

    Raises:
        ParseError: the first error, with its line and column. Nothing else is raised, whatever the text.
    """
    reading = read(text, where)
    if reading.errors:
        raise reading.errors[0]
    return tuple(one.statement for one in reading.statements if one.statement is not None)


def read(text: str, where: Where = Where.RUN) -> Reading:
    """Parse a script as far as it is valid; never raises. The script may be unfinished.

    Args:
        where: the prompt at which the script is entered, which determines the verbs.

    Returns:
        Every statement or the error in it, the roles of the parts of the text, and all errors in the order of the text.
        An invalid statement does not affect those after it.
    """
    scanned, places = scan(text), Places(text)
    statements: list[StatementReading] = []
    marks = [Mark(start, end, Role.COMMENT) for start, end in scanned.comments]
    errors = [ParseError(flaw.message, places.span(flaw.start, flaw.end)) for flaw in scanned.flaws]
    for raw in scanned.statements:
        reading, read_marks = _read_statement(places, raw, where)
        statements.append(reading)
        marks.extend(read_marks)
        if reading.error is not None:
            errors.append(reading.error)
        if text[raw.end : raw.end + 1] == ";":
            marks.append(Mark(raw.end, raw.end + 1, Role.SEPARATOR))
    marks.sort()
    # The sort is stable: for the same word, the tokenizer's error precedes the grammar's.
    errors.sort(key=lambda error: error.span.start if error.span else 0)
    return Reading(text, tuple(statements), tuple(marks), tuple(errors))


def _read_statement(places: Places, raw: RawStatement, where: Where) -> tuple[StatementReading, list[Mark]]:
    reader = Reader(places, raw, where, _names(where))
    statement: Statement | None = None
    error: ParseError | None = None
    try:
        statement = _statement(reader)
    except ParseError as raised:
        error = raised
    reading = StatementReading(raw.words, raw.start, raw.end, statement, error, tuple(reader.expected))
    return reading, reader.marks


def _statement(reader: Reader) -> Statement | None:
    reader.expect(Expected(What.VERB, "a command", reader.verbs))
    first = reader.word
    if first is None:
        return None
    typed = first.text.removeprefix(":") if reader.where & INTERACTIVE else first.text
    verb = _verbs_by_word(reader.where).get(typed) if first.bare else None
    if verb is None:
        _unknown_verb(reader, first, typed)
    reader.mark(first, Role.VERB)
    reader.index += 1
    reader.verb = verb.name
    statement = verb.parse(reader)
    reader.finish()
    # A statement's span covers its words, without surrounding blanks and without a comment.
    start, end = first.start, reader.raw.words[-1].end
    return replace(statement, span=reader.places.span(start, end))


@cache
def _names(where: Where) -> tuple[str, ...]:
    return tuple(verb.name for verb in verbs_for(where))


@cache
def _verbs_by_word(where: Where) -> Mapping[str, Verb]:
    """Return word -> verb: the verbs of a prompt by their names, and by the names that they have at other prompts."""
    return {word: verb for verb in verbs_for(where) for word in (verb.name, *verb.also)}


def _written(line: str) -> str:
    """Return a hint with kac's own command, for a line in the words of another tool."""
    if not line:
        return NO_RECORDS
    return f"in a shell: {line}" if line.startswith("kac") else f"write: {line}"


def _unknown_verb(reader: Reader, word: Word, name: str) -> NoReturn:
    words = [each.text for each in reader.raw.words]
    known = VERBS.get(name) if word.bare else None
    if known is not None and known.group == CHANGE:
        begin = "kac moves GOAL --run begins one from a command line; --script prints the moves as commands"
        reader.fail(f"'{name}' begins an operation, which only the console's command bar does", word, begin)
    # Check for a typo first: `lst topics` would otherwise be looked up as another tool's command.
    typo = name not in WORDS and any(is_one_slip(name, each) for each in reader.verbs)
    if not typo and (line := our_line([name, *words[1:]])) is not None and (known is None or len(words) > 1):
        reader.fail(f"unknown command {reader.shown(word)}", word, _written(line))
    if known is not None:
        elsewhere = f"list {name}" if name in KINDS else "kac --help"
        reader.fail(f"'{name}' is a view of the console, not a command of a script", word, f"see: {elsewhere}")
    # Suggest a destructive verb only for a single typo: `elect` is nearest to `delete`.
    safe = [each for each in reader.verbs if not VERBS[each].takes_away or is_one_slip(name, each)]
    hint = did_you_mean(name, safe) or "commands: " + ", ".join(reader.verbs)
    reader.fail(f"unknown command {reader.shown(word)}", word, hint)
