"""Rows of the config table of one entity: what is set on it first, staged edits shown as old → new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.changes import Outcome
from console.model.codes import BROKER_LOGGER, DYNAMIC_BROKER_LOGGER_CONFIG
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, is_override
from console.plan.diff import DiffGroup, DiffLine
from console.plan.plan import Plan
from console.present import names
from console.present.sanitize import clean
from console.present.spans import Cell, Line
from console.present.units import config_value
from console.present.values import entry_spans, side_text


class ConfigRow(NamedTuple):
    """A key: what was read of it (None where only the plan names it), what is staged, and how the last check went."""

    key: str
    entry: ConfigEntry | None
    line: DiffLine | None
    outcome: Outcome | None
    override: bool

    @property
    def list_type(self) -> bool:
        """Whether the value is a list, which can be appended to."""
        return self.entry is not None and self.entry.type.name == "LIST"


def own_count(entries: ConfigSet, resource: ConfigResource) -> int:
    """How many keys an entity sets itself; of loggers none, since a broker gives every level as its own."""
    return 0 if resource.type == BROKER_LOGGER else entries.count_overrides(resource)


def lines_of(groups: Iterable[DiffGroup], resource: ConfigResource) -> dict[str, DiffLine]:
    """Key -> staged line of one resource."""
    return {line.key: line for group in groups if group.target == resource for line in group.lines if line.key}


def config_rows(
    resource: ConfigResource,
    entries: ConfigSet | None,
    lines: Mapping[str, DiffLine],
    plan: Plan,
    *,
    overrides_only: bool,
) -> list[ConfigRow]:
    """Overrides and staged keys first, the rest after them, each by name."""
    rows = [
        ConfigRow(entry.name, entry, lines.get(entry.name), _outcome(plan, lines.get(entry.name)), own)
        for entry in entries or ()
        if (own := is_override(entry, resource)) or not overrides_only or entry.name in lines
    ]
    there = {row.key for row in rows}
    rows += [ConfigRow(key, None, line, _outcome(plan, line), False) for key, line in lines.items() if key not in there]
    return sorted(rows, key=lambda row: (not (row.override or row.line), row.key))


def _outcome(plan: Plan, line: DiffLine | None) -> Outcome | None:
    return None if line is None else plan.outcome(line.staged.edit)


def flags(row: ConfigRow) -> list[Cell]:
    """The letters of a row, a cell each: O or D, * or !, S, R."""
    failed = row.outcome is not None and not row.outcome.ok
    entry = row.entry
    whose: Cell = ""
    if entry is not None and entry.source != DYNAMIC_BROKER_LOGGER_CONFIG:
        whose = ("O", "override") if row.override else ("D", "default")
    return [
        whose,
        ("!", "failed") if failed else ("*", "pending") if row.line else "",
        ("S", "sensitive") if entry is not None and entry.sensitive else "",
        ("R", "read-only") if entry is not None and entry.read_only else "",
    ]


def flag_words(row: ConfigRow) -> str:
    """The same in words, where there is room."""
    entry = row.entry
    found = [
        "failed" if row.outcome is not None and not row.outcome.ok else "pending" if row.line else "",
        "hidden" if entry is not None and entry.hidden else "",
        "read-only" if entry is not None and entry.read_only else "",
    ]
    return ", ".join(word for word in found if word)


def config_cells(row: ConfigRow, broker: int | None, changed: bool) -> list[Cell]:
    """Four letters, key, value (old → new where staged), source, flags in words. broker: see `names.source`."""
    key: Cell = (clean(row.key), "changed" if changed else "strong" if row.override else "")
    source: Cell = ""
    if row.line is not None:
        value: Cell = staged_value(row.line)
        new = row.line.new.source
        source = ("→ " + names.source(new, broker), "pending") if new is not None else ("→ nothing", "pending")
        if new is not None and row.line.old.source == new:
            source = names.source(new, broker)
    else:
        entry = row.entry
        value = entry_spans(entry) if entry is not None else ""
        if entry is not None:
            source = (names.source(entry.source, broker), "" if row.override else "muted")
    return [*flags(row), key, value, source, (flag_words(row), "muted")]


def staged_value(line: DiffLine) -> Line:
    """``604800000 → 86400000  1 d``."""
    target = line.staged.edit.target
    old, new = side_text(target, line.key, line.old), side_text(target, line.key, line.new)
    spans: Line = [(f"{old} → ", "muted"), (new, "pending")]
    human = config_value(line.key, line.new.value) if isinstance(line.new.value, str) else ""
    return [*spans, (f"  {human}", "muted")] if human else spans
