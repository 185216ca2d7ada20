"""``ctx``, ``theme``, ``record``, ``at`` and ``help``: commands that a console or a prompt runs itself."""

from __future__ import annotations

from console.language.arguments import named
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import INTERACTIVE, BarStatement, Where, joined
from console.language.verb import GO, StatementKind, Verb
from console.terminal import THEMES


class UseContext(BarStatement, frozen=True):
    """The command ``ctx NAME``."""

    name: str


class UseTheme(BarStatement, frozen=True):
    """The command ``theme NAME``, as ``theme light``."""

    name: str


class Record(BarStatement, frozen=True):
    """The command ``record FILE``, which writes the brokers' responses to a file; ``""`` means a new file in the state
    folder.
    """

    file: str = ""


class AtTime(BarStatement, frozen=True):
    """The command ``at TIME``, as ``at 03:11``, which moves a replay to a time."""

    time: str
    """The time as typed."""


class Help(BarStatement, frozen=True):
    """The command ``help`` or ``help WORD``."""

    word: str = ""


def _record(reader: Reader) -> Record:
    expected = Expected(What.ARGUMENT, "a FILE")
    if reader.ended:
        reader.expect(expected)
        return Record()
    return Record(reader.take(expected, Role.VALUE).text)


def _help(reader: Reader) -> Help:
    expected = Expected(What.VERB_NAME, "a verb", reader.verbs)
    if reader.ended:
        reader.expect(expected)
        return Help()
    return Help(reader.take(expected, Role.VERB).text)


VERBS = (
    Verb(
        "ctx",
        GO,
        ("ctx NAME",),
        "Go to the cluster of another context",
        "",
        ("ctx prod",),
        INTERACTIVE,
        parse=lambda reader: UseContext(named(reader, Expected(What.CONTEXT, "the NAME of a context"))),
        statements=(StatementKind(statement=UseContext, text=lambda statement: f"ctx {quote(statement.name)}"),),
    ),
    Verb(
        "theme",
        GO,
        ("theme dark|light|ansi",),
        "Other colours, for this session",
        "To choose the colours for all sessions, use `theme` in the settings, KAC_THEME or --theme. Without a "
        "choice kac asks the terminal for its background, and takes dark or light colours.",
        ("theme light",),
        Where.BAR,
        parse=lambda reader: UseTheme(reader.need_keyword(*THEMES)),
        statements=(StatementKind(statement=UseTheme, text=lambda statement: f"theme {statement.name}"),),
    ),
    Verb(
        "record",
        GO,
        ("record [FILE]",),
        "Write the brokers' answers of the last half hour into a file",
        "",
        ("record",),
        Where.BAR,
        parse=_record,
        statements=(
            StatementKind(
                statement=Record,
                text=lambda statement: joined("record", quote(statement.file) if statement.file else ""),
            ),
        ),
    ),
    Verb(
        "at",
        GO,
        ("at TIME",),
        "In a replay: go to a time of the record",
        "",
        ("at 03:11", "at 10min"),
        Where.BAR,
        parse=lambda reader: AtTime(named(reader, Expected(What.ARGUMENT, "a TIME, as 03:11"))),
        statements=(StatementKind(statement=AtTime, text=lambda statement: f"at {quote(statement.time)}"),),
    ),
    Verb(
        "help",
        GO,
        ("help [WORD]",),
        "The verbs, or one verb",
        "",
        ("help", "help set"),
        INTERACTIVE,
        parse=_help,
        statements=(
            StatementKind(
                statement=Help, text=lambda statement: joined("help", quote(statement.word) if statement.word else "")
            ),
        ),
    ),
)
