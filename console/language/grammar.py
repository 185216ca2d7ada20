"""The grammar: parses scripts into statements. A whole script is parsed before any of it runs.

    script = [stmt] {(";" | NEWLINE) [stmt]}          "#" at the start of a statement: a comment
    word   = adjacent pieces: bare, 'raw', "with \\" \\\\ \\n \\t"
    entity = TYPE NAME | "user" NAME ["client" NAME]  TYPE: a word of `console.model.entity_types`, which says what
                                                      names it has, and whether it has "<default>"
    assign = KEY=VALUE                                one word, split at its first unquoted "="
    secret = "@"FILE | "?"

Keywords are unquoted. A statement is one function, here or in `change_grammar`; `verbs` shows their usage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from console.language import change_grammar, group_grammar, move_grammar, record_grammar
from console.language.arguments import assign, entity, key_of, list_filter, named
from console.language.errors import ParseError, did_you_mean, is_one_slip
from console.language.reader import Expected, Mark, Reader, Role, What
from console.language.statements import (
    ACCEPT,
    RUNBOOK,
    Alter,
    Apply,
    Assign,
    AtTime,
    Check,
    Discard,
    EffectiveQuota,
    FieldFilter,
    Glob,
    Help,
    History,
    Key,
    List,
    Quit,
    Record,
    Redo,
    Revert,
    Show,
    ShowPlan,
    Statement,
    Subject,
    Undo,
    Unset,
    UseContext,
    UseTheme,
    View,
)
from console.language.tokenizer import Places, RawStatement, Span, Word, scan
from console.language.verbs import CHANGE, INTERACTIVE, KINDS, PANES, VERBS, Where, verbs_for
from console.plan.amounts import parse_duration
from console.plan.risk_rules import NAMES
from console.terminal import THEMES

TAKES_AWAY = frozenset(
    {
        "delete",
        "revoke",
        "discard",
        "unset",
        "subtract",
        "apply",
        "abort",
        "unregister",
        "reset",
        "skip",
        "clone",
        "drain",
        "replace",
        "back",
    }
)
"""Verbs that remove or change something: proposed only for a word with a single typo."""


class StatementReading(Struct, frozen=True):
    """One statement of a script, or its error.

    expected: what is valid at the word of an index; the index after the last word is the end.
    """

    words: tuple[Word, ...]
    start: int
    end: int
    statement: Statement | None
    error: ParseError | None
    expected: tuple[tuple[int, Expected], ...]


class Reading(Struct, frozen=True):
    """A whole script, valid or not. marks: the role of each stretch, in order; white space and unread text have
    none."""

    text: str
    statements: tuple[StatementReading, ...]
    marks: tuple[Mark, ...]
    errors: tuple[ParseError, ...]


def parse(text: str, where: Where = Where.RUN) -> tuple[Statement, ...]:
    """Return the statements of a script. Raises only ParseError, for the first error."""
    reading = read(text, where)
    if reading.errors:
        raise reading.errors[0]
    return tuple(one.statement for one in reading.statements if one.statement is not None)


def read(text: str, where: Where = Where.RUN) -> Reading:
    """Read a script as far as it is valid; never raises. Half-typed text is read like any other."""
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
    # Stable: an error of the tokenizer comes before one of the grammar for the same word.
    errors.sort(key=lambda error: error.span.start if error.span else 0)
    return Reading(text, tuple(statements), tuple(marks), tuple(errors))


def _read_statement(places: Places, raw: RawStatement, where: Where) -> tuple[StatementReading, list[Mark]]:
    reader = Reader(places, raw, where)
    statement: Statement | None = None
    error: ParseError | None = None
    try:
        statement = _statement(reader)
    except ParseError as raised:
        error = raised
    reading = StatementReading(raw.words, raw.start, raw.end, statement, error, tuple(reader.expected))
    return reading, reader.marks


def _statement(reader: Reader) -> Statement | None:
    names, expected = _verbs_expected(reader.where)
    reader.expect(expected)
    first = reader.word
    if first is None:
        return None
    name = first.text
    if reader.where & INTERACTIVE:
        name = _AS_ELSEWHERE.get(typed := name.removeprefix(":"), typed)
    if not first.bare or name not in names:
        _unknown_verb(reader, first, name)
    reader.mark(first, Role.VERB)
    reader.index += 1
    statement = _PARSERS[name](reader, name)
    reader.finish()
    start, end = first.start, reader.raw.words[-1].end
    return replace(statement, span=reader.places.span(start, end))


_AS_ELSEWHERE = {"quit": "q", "exit": "q"}
"""Words that other prompts have for verbs."""


@cache
def _verbs_expected(where: Where) -> tuple[tuple[str, ...], Expected]:
    names = tuple(verb.name for verb in verbs_for(where))
    return names, Expected(What.VERB, "a command", names)


def _unknown_verb(reader: Reader, word: Word, name: str) -> None:
    known = VERBS.get(name) if word.bare else None
    if known is not None and known.group == CHANGE:
        begin = "kac moves GOAL --run begins one from a command line; --script prints the moves as commands"
        reader.fail(f"'{name}' begins an operation, which only the console's command bar does", word, begin)
    if known is not None:
        elsewhere = f"list {name}" if name in KINDS else "kac --help"
        reader.fail(f"'{name}' is a view of the console, not a command of a script", word, f"see: {elsewhere}")
    names = [verb.name for verb in verbs_for(reader.where)]
    # A verb that removes something is proposed only for a single typo: `elect` is nearest to `delete`.
    safe = [verb for verb in names if verb not in TAKES_AWAY or is_one_slip(name, verb)]
    hint = did_you_mean(name, safe) or "commands: " + ", ".join(names)
    reader.fail(f"unknown command {reader.shown(word)}", word, hint)


# -- looking -------------------------------------------------------------------------------------------------------


def _show(reader: Reader, verb: str) -> Show:
    named_entity = entity(reader)
    keys = []
    while not reader.ended:
        keys.append(_key(reader, verb, named_entity.subject if named_entity else None))
    # Records what can follow, for the completion.
    reader.expect(_key_expected(verb, named_entity.subject if named_entity else None))
    return Show(named_entity, tuple(keys), verb == "describe")


def _key_expected(verb: str, subject: Subject | None) -> Expected:
    return Expected(What.KEY, "a KEY", subject=subject, detail=verb)


def _key(reader: Reader, verb: str, subject: Subject | None) -> Key:
    word = reader.take(_key_expected(verb, subject), Role.KEY)
    if not word.text:
        reader.fail("a key can't be empty", word)
    if word.split("=") is not None:
        reader.fail(f"expected a KEY without a value, not {reader.shown(word)}", word)
    return key_of(reader, word)


def _list(reader: Reader, _verb: str) -> List:
    kind = reader.need_keyword(*KINDS, label=f"one of {', '.join(KINDS)}")
    globs: list[Glob] = []
    fields: list[FieldFilter] = []
    while not reader.ended:
        found = list_filter(reader, kind)
        if isinstance(found, Glob):
            globs.append(found)
        else:
            fields.append(found)
    reader.expect(Expected(What.LIST_FILTER, "a GLOB or KEY=VALUE", detail=kind))
    return List(kind, tuple(globs), tuple(fields))


def _effective(reader: Reader, _verb: str) -> EffectiveQuota:
    reader.need_keyword("user")
    user = named(reader, Expected(What.USER_NAME, "the NAME of a user"))
    reader.need_keyword("client")
    client = named(reader, Expected(What.CLIENT_NAME, "a client id"), may_be_empty=True)
    expected = Expected(What.QUOTA_KEY, "a quota's KEY")
    if reader.ended:
        reader.expect(expected)
        return EffectiveQuota(user, client)
    return EffectiveQuota(user, client, key_of(reader, reader.take(expected, Role.KEY)))


# -- changing ------------------------------------------------------------------------------------------------------


def _alter(reader: Reader, verb: str) -> Alter:
    named_entity = entity(reader)
    subject = named_entity.subject if named_entity else None
    assigns: list[Assign] = [assign(reader, subject, detail=verb)]
    while not reader.ended:
        if reader.take_keyword("for") is not None:
            for_ms, span = _duration(reader)
            return Alter(verb, named_entity, tuple(assigns), for_ms, span)
        assigns.append(assign(reader, subject, detail=verb))
    reader.expect(Expected(What.ASSIGN, "KEY=VALUE", subject=subject, detail=verb))
    reader.expect(Expected(What.WORDS, "for", ("for",)))
    return Alter(verb, named_entity, tuple(assigns))


def _duration(reader: Reader) -> tuple[int, Span]:
    word = reader.take(Expected(What.DURATION, "a DURATION such as 30min"), Role.VALUE)
    try:
        return parse_duration(word.text), reader.span(word)
    except ValueError as error:
        reader.fail(str(error), word)


def _unset(reader: Reader, verb: str) -> Unset:
    named_entity = entity(reader)
    subject = named_entity.subject if named_entity else None
    keys = [_key(reader, verb, subject)]
    while not reader.ended:
        keys.append(_key(reader, verb, subject))
    reader.expect(_key_expected(verb, subject))
    return Unset(named_entity, tuple(keys))


# -- the plan ------------------------------------------------------------------------------------------------------


def _plan(reader: Reader, verb: str) -> ShowPlan:
    if reader.take_keyword(RUNBOOK, role=Role.FLAG):
        return ShowPlan(runbook=True)
    return ShowPlan(_filter(reader, verb) if reader.where & INTERACTIVE else "")


def _apply(reader: Reader, _verb: str) -> Apply:
    flags = {"--yes": False, "--valid-only": False, "--force": False, ACCEPT: False}
    accepted: tuple[str, ...] = ()
    while True:
        left = tuple(flag for flag, given in flags.items() if not given)
        flag = reader.take_keyword(*left, role=Role.FLAG) if left else None
        if flag is None:
            return Apply(yes=flags["--yes"], valid_only=flags["--valid-only"], force=flags["--force"], accept=accepted)
        flags[flag] = True
        if flag == ACCEPT:
            accepted = _warnings(reader)


def _warnings(reader: Reader) -> tuple[str, ...]:
    """Read names of warnings, separated by commas; one that has to be typed as NAME=SUBJECT."""
    word = reader.take(Expected(What.WORDS, "NAMEs of warnings", NAMES), Role.VALUE)
    names = tuple(name for name in word.text.split(",") if name)
    for name in names:
        if name.partition("=")[0] not in NAMES:
            reader.fail(f"unknown warning {reader.shown(word)}", word, f"there are {', '.join(NAMES)}")
    return names


def _discard(reader: Reader, verb: str) -> Discard:
    named_entity = entity(reader)
    if named_entity is None:
        return Discard()
    if reader.ended:
        reader.expect(_key_expected(verb, named_entity.subject))
        return Discard(named_entity)
    return Discard(named_entity, _key(reader, verb, named_entity.subject))


def _revert(reader: Reader, _verb: str) -> Revert:
    return Revert(reader.take(Expected(What.CHANGE, "the number of a CHANGE"), Role.VALUE).text)


def _history(reader: Reader, verb: str) -> History:
    named_entity = entity(reader)
    return History(named_entity, "" if named_entity else _filter(reader, verb))


# -- the bar and the shell -----------------------------------------------------------------------------------------


def _filter(reader: Reader, verb: str) -> str:
    expected = Expected(What.FILTER, "a FILTER", detail=verb)
    if reader.ended:
        reader.expect(expected)
        return ""
    return reader.take(expected, Role.VALUE).text


def _view(reader: Reader, verb: str) -> View:
    return View(verb, _filter(reader, verb))


def _context(reader: Reader, _verb: str) -> UseContext:
    return UseContext(named(reader, Expected(What.CONTEXT, "the NAME of a context")))


def _theme(reader: Reader, _verb: str) -> UseTheme:
    return UseTheme(reader.need_keyword(*THEMES))


def _record(reader: Reader, _verb: str) -> Record:
    expected = Expected(What.ARGUMENT, "a FILE")
    if reader.ended:
        reader.expect(expected)
        return Record()
    return Record(reader.take(expected, Role.VALUE).text)


def _at_time(reader: Reader, _verb: str) -> AtTime:
    return AtTime(named(reader, Expected(What.ARGUMENT, "a TIME, as 03:11")))


def _help(reader: Reader, _verb: str) -> Help:
    expected = Expected(What.VERB_NAME, "a verb", tuple(verb.name for verb in verbs_for(reader.where)))
    if reader.ended:
        reader.expect(expected)
        return Help()
    return Help(reader.take(expected, Role.VERB).text)


_PARSERS: Mapping[str, Callable[[Reader, str], Statement]] = MappingProxyType(
    {
        "show": _show,
        "describe": _show,
        "list": _list,
        "effective": _effective,
        "explain": lambda reader, _verb: change_grammar.explain(reader),
        "records": record_grammar.records,
        "set": _alter,
        "append": _alter,
        "subtract": _alter,
        "unset": _unset,
        "create": lambda reader, _verb: change_grammar.create(reader),
        "grow": lambda reader, _verb: change_grammar.grow(reader),
        "delete": lambda reader, _verb: change_grammar.delete(reader),
        "reset": lambda reader, _verb: group_grammar.reset(reader),
        "skip": lambda reader, _verb: group_grammar.skip(reader),
        "clone": lambda reader, _verb: group_grammar.clone(reader),
        "abort": lambda reader, _verb: change_grammar.abort(reader),
        "allow": change_grammar.access,
        "deny": change_grammar.access,
        "revoke": change_grammar.access,
        "scram": lambda reader, _verb: change_grammar.scram(reader),
        "elect": lambda reader, _verb: change_grammar.elect(reader),
        "cancel": lambda reader, _verb: move_grammar.cancel(reader),
        "move": lambda reader, _verb: move_grammar.move(reader),
        "drain": lambda reader, _verb: move_grammar.drain(reader),
        "replace": lambda reader, _verb: move_grammar.replace_broker(reader),
        "balance": lambda reader, _verb: move_grammar.balance(reader),
        "replication": lambda reader, _verb: move_grammar.replication(reader),
        "operation": lambda reader, _verb: move_grammar.operation(reader),
        "back": lambda reader, _verb: move_grammar.back(reader),
        "unregister": lambda reader, _verb: change_grammar.unregister(reader),
        "feature": lambda reader, _verb: change_grammar.feature(reader),
        "plan": _plan,
        "check": lambda _reader, _verb: Check(),
        "apply": _apply,
        "discard": _discard,
        "undo": lambda _reader, _verb: Undo(),
        "redo": lambda _reader, _verb: Redo(),
        "revert": _revert,
        "history": _history,
        **dict.fromkeys(PANES, _view),
        "ctx": _context,
        "theme": _theme,
        "record": _record,
        "at": _at_time,
        "help": _help,
        "q": lambda _reader, _verb: Quit(),
    }
)
"""Verb -> its parser; the registry has the same names."""
