"""``theme``: other colours."""

from __future__ import annotations

from console.language.statements import BarStatement, Where
from console.language.verb import GO, StatementKind, Verb
from console.terminal import THEMES


class UseTheme(BarStatement, frozen=True):
    """``theme light``."""

    name: str


VERBS = (
    Verb(
        "theme",
        GO,
        ("theme dark|light|ansi",),
        "Other colours, for this session",
        "For good: `theme` in the settings, KAC_THEME or --theme. Without any the terminal is asked which it is.",
        ("theme light",),
        Where.BAR,
        parse=lambda reader: UseTheme(reader.need_keyword(*THEMES)),
        statements=(StatementKind(statement=UseTheme, text=lambda statement: f"theme {statement.name}"),),
    ),
)
