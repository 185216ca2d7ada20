"""What the registry of verbs says of each, and where statements are entered."""

from __future__ import annotations

from enum import Flag

from msgspec import Struct


class Where(Flag):
    """Where a statement is entered: the console's command bar, `kac run`, the shell."""

    BAR = 1
    RUN = 2
    SHELL = 4


EVERYWHERE = Where.BAR | Where.RUN | Where.SHELL
INTERACTIVE = Where.BAR | Where.SHELL


class Verb(Struct, frozen=True):
    """A verb. summary: one line without a full stop; about: details, in full sentences."""

    name: str
    group: str
    usage: tuple[str, ...]
    summary: str
    about: str = ""
    examples: tuple[str, ...] = ()
    where: Where = EVERYWHERE


LOOK, CHANGE, PLAN, GO = "Look", "Change", "Plan", "Go"
