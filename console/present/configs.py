"""Configs of one entity: rows of a table, staged edits as old → new value, and the details of a key."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import Outcome
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym, is_override
from console.model.entity_types import LEVEL_SOURCES
from console.model.grouping import grouped
from console.model.inheritance import Inheritance, Inherited, given_as
from console.model.numbers import Data, long_number
from console.model.snapshot import Snapshot
from console.plan.amounts import unit_of
from console.plan.effective_values import DiffLine
from console.plan.plan import EMPTY, Plan
from console.present import columns, names
from console.present.failures import failure_text
from console.present.text import Cell, Line, clean, in_columns, plain
from console.present.values import config_text, config_value, entry_spans, side_text, with_unit


class ConfigRow(NamedTuple):
    """A config key with its entry, its staged edit, and the outcome of that edit in the last check or apply."""

    key: str
    entry: ConfigEntry | None
    line: DiffLine | None
    outcome: Outcome | None
    override: bool

    @property
    def list_type(self) -> bool:
        """Whether the value is a list, to which items can be appended."""
        return self.entry is not None and self.entry.type.name == "LIST"


def own_count(entries: ConfigSet, resource: ConfigResource) -> int:
    """Return the number of keys that an entity overrides; 0 for loggers, because a broker describes every level as an
    override.
    """
    return 0 if resource.type.entity.has_levels else entries.count_overrides(resource)


def staged_lines(resource: ConfigResource, plan: Plan, snapshot: Snapshot) -> dict[str, DiffLine]:
    """Return config key -> the staged change of a resource, as a line of the diff."""
    if not plan.staged:
        return {}
    from console.plan.diff import diff_at

    return {line.key: line for group in diff_at(resource, plan, snapshot) for line in group.lines if line.key}


def config_rows(
    resource: ConfigResource,
    entries: ConfigSet | None,
    lines: Mapping[str, DiffLine],
    plan: Plan,
    *,
    overrides_only: bool,
) -> list[ConfigRow]:
    """Return the rows of a resource's configs.

    Args:
        resource: the resource.
        entries: the described configs; None if they were not read, so that only staged keys have a row.
        lines: the staged lines of the resource (`staged_lines`).
        plan: has the outcomes of the last check or apply.
        overrides_only: leave out keys that are neither set on the resource nor staged.

    Returns:
        Overrides and staged keys first, then the others, both sorted by key.
    """
    rows = [
        ConfigRow(entry.name, entry, lines.get(entry.name), _outcome(plan, lines.get(entry.name)), own)
        for entry in entries or ()
        if (own := is_override(entry, resource)) or not overrides_only or entry.name in lines
    ]
    # Add keys that only the plan has: those that were not read, and those that no broker has yet.
    there = {row.key for row in rows}
    rows += [ConfigRow(key, None, line, _outcome(plan, line), False) for key, line in lines.items() if key not in there]
    return sorted(rows, key=lambda row: (not (row.override or row.line), row.key))


def _outcome(plan: Plan, line: DiffLine | None) -> Outcome | None:
    return None if line is None else plan.outcome(line.staged.edit)


def flags(row: ConfigRow) -> list[Cell]:
    """Return four cells with the letters of a row, or blanks: O (override) or D (default), * (staged) or ! (refused), S
    (sensitive), R (read-only).
    """
    failed = row.outcome is not None and not row.outcome.ok
    entry = row.entry
    whose: Cell = ""
    # Leave out the letter for loggers: each of their levels is described as an override.
    if entry is not None and entry.source not in LEVEL_SOURCES:
        whose = ("O", "override") if row.override else ("D", "default")
    return [
        whose,
        ("!", "failed") if failed else ("*", "pending") if row.line else "",
        ("S", "sensitive") if entry is not None and entry.sensitive else "",
        ("R", "read-only") if entry is not None and entry.read_only else "",
    ]


def flag_words(row: ConfigRow) -> str:
    """Return the flags of a row as words instead of letters."""
    entry = row.entry
    found = [
        "failed" if row.outcome is not None and not row.outcome.ok else "pending" if row.line else "",
        "hidden" if entry is not None and entry.hidden else "",
        "read-only" if entry is not None and entry.read_only else "",
    ]
    return ", ".join(word for word in found if word)


class ConfigLine(NamedTuple):
    """A row of an entity's configs, with facts that only the screen has."""

    row: ConfigRow
    broker: int | None = None
    """The id of the broker from which the inherited values of the row come (see `described_by`); None if they do not
    come from one broker.
    """
    changed: bool = False
    """Whether kac saw the value change since the marks of changes were cleared."""


def _value(shown: ConfigLine) -> Cell:
    """Return the value of a row; as old → new value if an edit is staged."""
    row = shown.row
    if row.line is not None:
        return staged_value(row.line)
    return entry_spans(row.entry) if row.entry is not None else ""


def _source(shown: ConfigLine) -> Cell:
    row, broker = shown.row, shown.broker
    if row.line is not None:
        new = row.line.new.source
        if new is None:
            return ("→ nothing", "pending")
        return (
            names.source(new, broker) if row.line.old.source == new else (f"→ {names.source(new, broker)}", "pending")
        )
    return "" if row.entry is None else (names.source(row.entry.source, broker), "" if row.override else "muted")


def _by_entry(get: Callable[[ConfigEntry], Data]) -> Callable[[ConfigLine], Data | columns.Absent]:
    """Return a function that gets a value from the entry of a row; for a key without an entry, which only the plan has,
    it returns `ABSENT`.
    """
    return lambda shown: columns.ABSENT if shown.row.entry is None else get(shown.row.entry)


def _synonyms(entry: ConfigEntry) -> list[Data]:
    return [{"name": each.name, "value": each.value, "source": each.source.name} for each in entry.synonyms]


CONFIGS: columns.Columns[ConfigLine] = columns.Columns(
    columns.Column(
        "letters", columns.LIST, title="", text=lambda shown: "".join(plain(letter) for letter in flags(shown.row))
    ),
    columns.letter_column("own", lambda shown: flags(shown.row)[0]),
    columns.Column(
        "pending",
        columns.DATA | columns.SCREEN,
        lambda shown: shown.row.line is not None,
        "boolean",
        cell=lambda shown: flags(shown.row)[1],
        layout=columns.on_screen(1, gutter=True),
    ),
    columns.Column(
        "is_sensitive",
        columns.DATA | columns.SCREEN,
        _by_entry(lambda entry: entry.sensitive),
        "boolean",
        cell=lambda shown: flags(shown.row)[2],
        layout=columns.on_screen(1, gutter=True),
    ),
    columns.Column(
        "read_only",
        columns.DATA | columns.SCREEN,
        _by_entry(lambda entry: entry.read_only),
        "boolean",
        cell=lambda shown: flags(shown.row)[3],
        layout=columns.on_screen(2, gutter=True),
    ),
    columns.Column(
        "name",
        get=lambda shown: shown.row.key,
        cell=lambda shown: (
            clean(shown.row.key),
            "changed" if shown.changed else "strong" if shown.row.override else "",
        ),
        layout=columns.on_screen((28, 60), "Key", sort_key="K"),
    ),
    columns.Column(
        "value",
        get=lambda shown: shown.row.entry.value if shown.row.entry is not None else None,
        cell=_value,
        layout=columns.on_screen((20, 80), flex=1, priority=95),
    ),
    columns.Column(
        "source",
        get=_by_entry(lambda entry: entry.source.name),
        type="word",
        cell=_source,
        order=lambda shown: shown.row.entry.source if shown.row.entry else 0,
        layout=columns.on_screen(17, priority=90, sort_key="S"),
    ),
    columns.Column("is_default", columns.DATA, _by_entry(lambda entry: entry.is_default), "boolean"),
    columns.Column("synonyms", columns.DATA, _by_entry(_synonyms), "object"),
    columns.Column(
        "flags",
        columns.SHOWN,
        title="",
        cell=lambda shown: (flag_words(shown.row), "muted"),
        layout=columns.on_screen(18, priority=20),
    ),
    orders={"data": ("name", "value", "source", "read_only", "is_default", "is_sensitive", "synonyms", "pending")},
    tie=lambda shown: shown.row.key,
)
"""The columns of a config: four letters (`flags`), key, value, source, and flags as words. A hidden value is null in
data.
"""


class EntityFacts(NamedTuple):
    """Functions that return facts about entities with configs."""

    overrides: Callable[[ConfigResource], int | None]
    """Returns the number of keys that an entity overrides; None if its configs were not read."""
    changed: Callable[[ConfigResource], datetime | None]
    """Returns the time at which kac last saw a change of an entity; None if it saw none."""
    staged: frozenset[ConfigResource] = frozenset()
    """The entities that staged edits change."""


class EntityRow(NamedTuple):
    """An entity with configs, and the functions that return facts about it."""

    resource: ConfigResource
    facts: EntityFacts


ENTITIES: columns.Columns[EntityRow] = columns.Columns(
    columns.letter_column("staged", lambda row: ("*", "pending") if row.resource in row.facts.staged else "", width=2),
    columns.Column(
        "kind",
        columns.SCREEN,
        lambda row: names.resource_word(row.resource.type),
        "word",
        cell=lambda row: (names.resource_word(row.resource.type), "muted"),
        layout=columns.on_screen(14),
    ),
    columns.Column(
        "name",
        columns.SCREEN,
        lambda row: row.resource.name,
        cell=lambda row: names.DEFAULT if row.resource.is_default else clean(row.resource.name),
        order=lambda row: (row.resource.name, row.resource.type),
        layout=columns.on_screen((20, 90), flex=1, sort_key="N", priority=95),
    ),
    columns.overrides_column(
        lambda row: row.facts.overrides(row.resource), 80, order=lambda row: -(row.facts.overrides(row.resource) or 0)
    ),
    columns.changed_column(lambda row: row.facts.changed(row.resource)),
)
"""The columns of entities with configs, of any type."""


def set_lines(target: ConfigResource, snapshot: Snapshot, staged: Mapping[str, DiffLine]) -> list[Line]:
    """Return a line for each key that an entity overrides or that is staged for it; if there are no such keys, a note.
    For loggers, the first line counts those at the most frequent level, and only loggers at other levels are listed.

    Args:
        target: the entity.
        staged: the staged lines of the entity (`staged_lines`).
    """
    entries = snapshot.configs.get(target)
    if entries is None and not staged:
        return [[("its configs were not read", "muted")]]
    broker = described_by(target, snapshot)
    rows = config_rows(target, entries, staged, EMPTY, overrides_only=True)
    first: list[Line] = []
    if target.type.entity.has_levels and entries:  # a broker describes each logger's level as the logger's own
        ((most, count),) = Counter(entry.value for entry in entries).most_common(1)
        first = [[(f"{count} of {names.plural(len(entries), 'logger')} at {clean(most or '')}", "")]]
        rows = [row for row in rows if row.line is not None or row.entry is None or row.entry.value != most]
    shown = (ConfigLine(row, broker) for row in rows)
    lines = in_columns([[(clean(each.row.key), "strong"), _value(each), _source(each)] for each in shown])
    return first + lines or [[("it sets nothing itself", "muted")]]


def entry_data(entry: ConfigEntry) -> dict[str, Data]:
    """Return the JSON object of an entry, without the key ``pending``, which only a plan has."""
    data = CONFIGS.data(ConfigLine(ConfigRow(entry.name, entry, None, None, False)))
    del data["pending"]
    return data


def staged_value(line: DiffLine) -> Line:
    """Return a staged edit as ``604800000 → 86400000  1 d``: old value, new value, and the new one with its unit."""
    target = line.staged.edit.target
    old, new = side_text(target, line.key, line.old), side_text(target, line.key, line.new)
    spans: Line = [(f"{old} → ", "muted"), (new, "pending")]
    human = config_value(line.key, line.new.value) if isinstance(line.new.value, str) else ""
    return [*spans, (f"  {human}", "muted")] if human else spans


# A config's documentation as brokers send it (HTML) as plain text.

LIMIT = 6_000
_BREAKS = re.compile(r"<\s*+/?+\s*+(?:p|br|ul|ol|div|table|tr|pre|h[1-6])\b[^<>]*+>", re.IGNORECASE)
_ITEM = re.compile(r"<\s*+li\b[^<>]*+>", re.IGNORECASE)
_CODE = re.compile(r"<\s*+/?+\s*+(?:code|tt)\b[^<>]*+>", re.IGNORECASE)
_TAG = re.compile(r"<\s*+/?+\s*+[a-zA-Z][^<>]*+>")
_PLACEHOLDER = re.compile(
    r"<(?!\s*+/?+\s*+(?:p|br|ul|ol|li|div|table|tr|td|th|pre|h[1-6]|code|tt|a|b|i|em|strong|span)\b)"
)


def plain_text(html: str) -> tuple[str, ...]:
    """Return the paragraphs of a key's documentation without HTML tags, with invisible characters escaped; list items
    begin with ``•``.

    Kafka's texts also have angle brackets that are not tags (``<listener>``): these stay.
    """
    from html import unescape

    # Shorten first: the expressions must not run over any length of text that a server may send.
    text = html[:LIMIT].replace("\n", " ").replace("\t", " ")
    text = _PLACEHOLDER.sub("\0", text)
    text = _ITEM.sub("\n• ", _BREAKS.sub("\n", text))
    text = _TAG.sub("", _CODE.sub("", text)).replace("\0", "<")
    lines = (clean(re.sub(r" {2,}", " ", unescape(line)).strip(), LIMIT) for line in text.split("\n"))
    return tuple(line for line in lines if line and line != "•")


# The details of one key of one entity: its type, its value without the override, its synonyms, its documentation.

_SHORT = 60
_MODES = {
    UpdateMode.RESTART: "needs a restart with a new server.properties",
    UpdateMode.CLUSTER_WIDE: "cluster-wide or per broker",
    UpdateMode.PER_BROKER: "per broker only",
    UpdateMode.PER_LISTENER: "per broker, under listener.name.…. only",
    UpdateMode.CUSTOM: "not known to the broker: for plug-ins",
}


def headline(resource: ConfigResource, row: ConfigRow) -> Line:
    """Return the first line of a key's details: its value, type and flags, as ``7 d → 1 d   long, ms   per broker
    only``.
    """
    entry, line = row.entry, row.line
    spans: Line = []
    if line is not None:
        old = config_value(row.key, _text(line.old.value)) or side_text(resource, row.key, line.old)
        new = config_value(row.key, _text(line.new.value)) or side_text(resource, row.key, line.new)
        spans += [(f"{old} → ", "muted"), (f"{new}", "pending")]
    elif entry is not None:
        human = config_value(row.key, entry.value)
        spans.append(
            (human or config_text(entry.value, entry.sensitive, 60), "sensitive" if entry.hidden else "strong")
        )
    about = [entry.type.name.lower() if entry is not None and entry.type.known else "", unit_of(row.key).short]
    if entry is not None and entry.sensitive:
        about.append("sensitive")
    if entry is not None and entry.read_only:
        about.append("read-only, as the broker says")
    mode = update_mode(resource.type, row.key, entry)
    about.append(_MODES.get(mode, ""))
    if words := ", ".join(word for word in about if word):
        spans.append((f"   {words}", "muted"))
    return spans


def _text(value: str | float | None) -> str | None:
    return value if isinstance(value, str) else None


def beneath(resource: ConfigResource, entry: ConfigEntry, snapshot: Snapshot, broker: int | None) -> Line:
    """Return the value that the key would have without its override: ``Without the override: 259200000 (3 d) from
    cluster <default>``.

    Args:
        resource: the entity with the override.
        entry: the entry of the key.
        snapshot: has the configs of other brokers and resources.
        broker: id of the broker from which inherited values come (`described_by`); None if unknown.

    Returns:
        An empty line if the entry is not an override.
    """
    if not is_override(entry, resource):
        return []
    below = Inheritance(snapshot).without_override(resource, entry.name)
    said: Line = [("Without the override: ", "muted")]
    if not below.known:
        return [*said, ("not known: the brokers do not tell", "muted")]
    if below.source is None:
        return [*said, ("nothing", "")]
    value = with_unit(entry.name, below.value, entry.sensitive or below.hidden)
    name = given_as(entry.name, below.name, below.value) or below.name
    there = f" {clean(name)}" if name not in ("", entry.name) else ""
    return [*said, (value, ""), (f" from {names.source(below.source, broker)}{there}", "muted")]


def chain(entry: ConfigEntry, broker: int | None) -> Line:
    """Return the key's synonyms with their values, in order of precedence: ``topic 604800000 ▸ cluster log.retention.ms
    259200000 ▸ default …``. Empty if it has no synonyms.

    Args:
        broker: id of the broker from which inherited values come (`described_by`); None if unknown.
    """
    if not entry.synonyms:
        return []
    line: Line = []
    for place, synonym in enumerate(entry.synonyms):
        if place:
            line.append((" ▸ ", "muted"))
        line.append((_link(entry, synonym, broker), "strong" if place == 0 else "muted"))
    return line


def _link(entry: ConfigEntry, synonym: Synonym, broker: int | None) -> str:
    name = f"{clean(synonym.name)} " if synonym.name != entry.name else ""
    return f"{names.source(synonym.source, broker)} {name}{_synonym_text(entry, synonym)}"


def _synonym_text(entry: ConfigEntry, synonym: Synonym) -> str:
    """Return the value of a synonym; if its unit differs from the entry's, also with its unit."""
    if unit_of(synonym.name) is not unit_of(entry.name):
        return with_unit(synonym.name, synonym.value, entry.sensitive)
    return config_text(synonym.value, entry.sensitive, _SHORT)


def documentation(text: str, width: int) -> list[Line]:
    """Return the documentation of a key as lines of at most `width` cells."""
    lines: list[Line] = []
    for paragraph in plain_text(text):
        indent = "  " if paragraph.startswith("•") else ""
        wrapped = textwrap.wrap(paragraph, max(20, width), subsequent_indent=indent)
        lines += [[(line, "muted")] for line in wrapped]
    return lines


def outcome_lines(row: ConfigRow, width: int) -> list[Line]:
    """Return the broker's error for a staged edit that the broker refused, in lines of `width` cells; empty for any
    other edit.
    """
    if row.outcome is None or row.outcome.ok:
        return []
    failure = row.outcome.failure
    text = failure_text(failure) if failure is not None else row.outcome.status.value
    return [[(line, "failed")] for line in textwrap.wrap(f"✗ {text}", max(20, width))]


def details(
    resource: ConfigResource,
    row: ConfigRow,
    snapshot: Snapshot,
    by_broker: Mapping[int, Inherited],
    width: int,
) -> list[Line]:
    """Return the details of a key, the most important first.

    Args:
        resource: the entity of the key.
        snapshot: has the configs of other resources, and the documentation.
        by_broker: each broker's value of the key without the override; empty if they agree (`inheritance.differing`).
        width: the width of the lines, in cells.
    """
    lines = outcome_lines(row, width)
    lines.append(headline(resource, row))
    broker = described_by(resource, snapshot)
    if row.entry is not None:
        lines += [line for line in (beneath(resource, row.entry, snapshot, broker), chain(row.entry, broker)) if line]
    if by_broker:
        lines += per_broker(row.key, by_broker)
    text = snapshot.documentation.get((int(resource.type), row.key))
    if text:
        lines += documentation(text, width)
    return lines


def described_by(resource: ConfigResource, snapshot: Snapshot) -> int | None:
    """Return the id of the broker from which the inherited values of a resource come: for a broker or its loggers, that
    broker; else the broker that described the topics. None if that is unknown.
    """
    broker_id = long_number(resource.name)
    if broker_id is not None and names.resource_word(resource.type) in ("broker", "logger"):
        return broker_id
    return snapshot.configs_from


def per_broker(key: str, by_broker: Mapping[int, Inherited]) -> list[Line]:
    """Return a line with each inherited value and the ids of the brokers that have it."""
    groups = grouped((inherited, broker) for broker, inherited in sorted(by_broker.items()))
    line: Line = [("Brokers differ: ", "changed")]
    for place, (inherited, brokers) in enumerate(groups.items()):
        who = ", ".join(map(str, brokers))
        text = f"{who} {'give' if len(brokers) > 1 else 'gives'} {with_unit(key, inherited.value, inherited.hidden)}"
        line.append((("; " if place else "") + text, ""))
        if inherited.source is not None:
            line.append((f" ({names.source(inherited.source)} {clean(inherited.name)})", "muted"))
    return [line]
