"""``watch``: shows topics, groups, brokers, connectors and schemas together, those in the worst state first."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from console.language import statements
from console.language.arguments import pattern, whole_number
from console.language.quoting import DEFAULT_NAME, quote, quote_pattern, quoted
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import NOTHING, Needs, whole_parts
from console.language.tokenizer import Word
from console.language.verb import LOOK, StatementKind, Verb
from console.model import watched
from console.model.parts import Part
from console.model.patterns import has_signs, is_glob, literal_pattern, literal_text
from console.model.watched import Watched

_NAMES = {
    watched.TOPIC: Expected(What.TOPIC, "the NAME of a topic, or a GLOB"),
    watched.GROUP: Expected(What.GROUP, "the NAME of a group, or a GLOB"),
    watched.BROKER: Expected(What.BROKER, "the number of a broker, or *"),
    watched.CONNECTOR: Expected(What.RESOURCE, "the NAME of a connector, or a GLOB", detail="connector"),
    watched.SCHEMA: Expected(What.RESOURCE, "the SUBJECT of a schema, or a GLOB", detail="schema"),
}


class Watch(statements.QueryStatement, frozen=True):
    """The query ``watch topic orders, group billing``, or ``watch SET``."""

    subjects: tuple[Watched, ...] = ()
    set: str = ""
    """The name of a set of the context; ``""`` if the statement names subjects. If it names neither, the console shows
    the subjects that it watches already.
    """


def _parse(reader: Reader) -> Watch:
    subjects: list[Watched] = []
    a_set = Expected(What.ARGUMENT, "the NAME of a set")
    while not reader.ended:
        kind = reader.take_keyword(*watched.KINDS, label=f"one of {', '.join(watched.KINDS)}")
        if kind is None and not subjects:
            word = reader.take(a_set, Role.NAME)
            reader.finish()
            return Watch(set=word.text)
        subjects.append(_subject(reader, kind if kind is not None else reader.fail()))
    reader.expect(Expected(What.WORDS, " or ".join(watched.KINDS), watched.KINDS))
    if not subjects:
        reader.expect(a_set)
    return Watch(tuple(dict.fromkeys(subjects)))


def _subject(reader: Reader, kind: str) -> Watched:
    expected = _NAMES[kind]
    word = reader.take(expected)
    following = reader.word
    if following is not None and following.is_bare(","):
        reader.take(Expected(What.WORDS, "a comma"), Role.OPERATOR)
    name = pattern(_without_comma(word))
    if name is None:
        reader.fail(f"{kind}s have no {DEFAULT_NAME}", word, f"quote a name that is spelled so: '{DEFAULT_NAME}'")
    if not name and kind != watched.GROUP:  # brokers keep offsets even for a group with the empty name
        reader.fail(f"{expected.label} can't be empty", word)
    subject = Watched(kind, name, is_pattern=True) if is_glob(name) else Watched(kind, literal_text(name))
    if kind != watched.BROKER or subject.is_pattern:
        return subject
    if (number := whole_number(subject.name)) is None:
        reader.fail(f"expected {expected.label}, not {reader.shown(word)}", word)
    return Watched(kind, str(number))


def _without_comma(word: Word) -> Word:
    """Return a word without an unquoted comma at its end, which separates it from the next subject."""
    *before, last = word.pieces
    if last.quote or not last.text.endswith(","):
        return word
    cut = last._replace(text=last.text[:-1], end=last.end - 1)
    return replace(word, pieces=(*before, *((cut,) if cut.text else ())), end=word.end - 1)


def subject_text(subject: Watched) -> str:
    """Return a watched subject in the notation of the language."""
    name = subject.name
    if not subject.is_pattern:
        is_plain = not name.endswith(",") and not has_signs(name)
        return f"{subject.kind} {quote(name) if is_plain else quoted(name)}"
    text = f"{quote_pattern(name[:-1])}{quoted(',')}" if name.endswith(",") else quote_pattern(name)
    return f"{subject.kind} {text}"


def subjects_text(subjects: Iterable[Watched]) -> str:
    """Return watched subjects in the notation of the language, as a set in the configuration has them."""
    return ", ".join(map(subject_text, subjects))


def _text(statement: Watch) -> str:
    return statements.joined("watch", quote(statement.set) if statement.set else subjects_text(statement.subjects))


def _needs(statement: Watch, _selected: statements.Subject | None) -> Needs:
    need = NOTHING
    for kind in {each.kind for each in statement.subjects}:
        mine = [each for each in statement.subjects if each.kind == kind]
        match kind:
            case watched.TOPIC:
                # Read named topics alone, for their existence and min ISR; a pattern needs the names of all topics.
                names = frozenset(each.name for each in mine)
                need |= whole_parts(Part.TOPICS) if any(e.is_pattern for e in mine) else Needs(topics=names)
            case watched.GROUP:
                patterns = frozenset(((each.name if each.is_pattern else literal_pattern(each.name)),) for each in mine)
                need |= whole_parts(Part.GROUPS) | Needs(lags_of=patterns, lag_times=True)
            case watched.BROKER:
                need |= whole_parts(Part.CLUSTER, Part.TOPICS, Part.LOG_DIRS)
            case watched.CONNECTOR:
                need |= whole_parts(Part.CONNECT, Part.GROUPS) | Needs(connectors=True)
            case watched.SCHEMA:
                need |= whole_parts(Part.SCHEMAS)
    return need


VERBS = (
    Verb(
        "watch",
        LOOK,
        ("watch {topic|group|broker|connector|schema NAME}", "watch SET"),
        "Topics, groups, brokers, connectors and schemas together, the worst first",
        "NAME may be a glob. You may leave out the commas between subjects. SET is a set of the context, "
        "`[contexts.NAME.watch]`. `kac --watch SET` opens the console on the set, and `kac watch` prints the set.\n\n"
        "In the console, `watch` opens the pane Watch. In this pane Enter opens a subject, and `x` removes a "
        "subject. In Topics, Groups, Brokers and Connectors `f` adds the row under the cursor.",
        ("watch topic orders, group billing, connector pg", "watch topic orders.*, broker *", "watch checkout"),
        parse=_parse,
        statements=(StatementKind(statement=Watch, text=_text, needs=_needs),),
    ),
)
