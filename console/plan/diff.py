"""What a plan changes, line by line: old -> new, and where each comes from."""

from __future__ import annotations

from typing import NamedTuple

from console.model.changes import Target
from console.model.codes import ConfigSource
from console.plan.plan import Staged


class Side(NamedTuple):
    """What applies to a slot before or after.

    value: a config's text, a quota's number, a topic's partition count, an ACL's or credential's words; None: nothing.
    source, name: where a config value comes from and the key's name there (``log.retention.ms``); None, ``""`` else.
    hidden: there is a value, or may be, that is not told. known: False where it was not read.
    """

    value: str | float | None
    source: ConfigSource | None = None
    name: str = ""
    hidden: bool = False
    known: bool = True


class DiffLine(NamedTuple):
    """One staged edit. verb: ``set`` ``unset`` ``append`` ``subtract`` ``add`` ``remove`` ``create`` ``delete``
    ``grow``. moved: what was read when it was staged is no longer what is there."""

    staged: Staged
    verb: str
    key: str
    old: Side
    new: Side
    moved: bool = False


class DiffGroup(NamedTuple):
    """The lines of one target, in the order they were staged. A topic's own edits stand with those of its configs,
    under its config resource."""

    target: Target
    lines: tuple[DiffLine, ...]
