"""``theme``: other colours."""

from __future__ import annotations

from console.language.reader import Reader
from console.language.statements import BarStatement, Where
from console.language.verb import GO, StatementKind, Verb
from console.terminal import THEMES


class UseTheme(BarStatement, frozen=True):
    """``theme light``."""

    name: str


def _parse(reader: Reader) -> UseTheme:
    return UseTheme(reader.need_keyword(*THEMES))


def _text(statement: UseTheme) -> str:
    return f"theme {statement.name}"


VERBS = (
    Verb(
        name="theme",
        group=GO,
        usage=("theme dark|light|ansi",),
        summary="Other colours, for this session",
        about="For good: `theme` in the settings, KAC_THEME or --theme. Without any the terminal is asked which it is.",
        examples=("theme light",),
        where=Where.BAR,
        parse=_parse,
        statements=(StatementKind(statement=UseTheme, text=_text),),
    ),
)
