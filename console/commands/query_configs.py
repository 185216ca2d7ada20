"""Configs of a resource as tables, and single keys in detail: the value, where it comes from, what stands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from console.commands.errors import CommandError, did_you_mean
from console.commands.results import Column, Data, Detail, Row, Table
from console.commands.statements import Key
from console.commands.vocabulary import known_entry, known_keys
from console.language.quoting import quote
from console.model.codes import BROKER
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym, is_override
from console.model.inheritance import Inheritance, Inherited
from console.model.snapshot import Snapshot
from console.model.update_mode import update_mode
from console.plan.diff import DiffLine
from console.plan.plan import Plan
from console.present.config_details import described_by, details
from console.present.configs import ConfigRow, config_cells, config_rows, lines_of
from console.present.names import resource
from console.present.spans import plain

DOCUMENTATION_WIDTH = 96
_COLUMNS = (Column(""), Column("Key"), Column("Value"), Column("Source"), Column(""))


def config_table(
    snapshot: Snapshot, target: ConfigResource, entries: ConfigSet, plan: Plan, *, overrides_only: bool = False
) -> Table:
    """Entries as rows, the resource's own overrides and what is staged first."""
    rows = config_rows(target, entries, staged_lines(snapshot, target, plan), plan, overrides_only=overrides_only)
    empty = "nothing is set here" + ("; describe shows what is inherited" if overrides_only else "")
    return Table("configs", _COLUMNS, _rows(snapshot, target, rows), empty=empty)


def key_table(snapshot: Snapshot, target: ConfigResource, entries: Iterable[ConfigEntry], plan: Plan) -> Table:
    """These entries as rows."""
    found = ConfigSet(tuple(entries))
    rows = config_rows(target, found, staged_lines(snapshot, target, plan), plan, overrides_only=False)
    named = [row for row in rows if row.entry is not None]
    return Table("configs", _COLUMNS, _rows(snapshot, target, named))


def staged_lines(snapshot: Snapshot, target: ConfigResource, plan: Plan) -> Mapping[str, DiffLine]:
    """Key -> what is staged for it."""
    if not plan:
        return {}
    from console.plan.diff import diff

    return lines_of(diff(plan, snapshot), target)


def _rows(snapshot: Snapshot, target: ConfigResource, rows: Iterable[ConfigRow]) -> tuple[Row, ...]:
    broker = described_by(target, snapshot)
    found = []
    for row in rows:
        *letters, key, value, source, words = (plain(cell) for cell in config_cells(row, broker, changed=False))
        data = entry_data(row.entry) if row.entry is not None else {"name": row.key, "value": None}
        found.append(Row(("".join(letters), key, value, source, words), data | {"pending": row.line is not None}))
    return tuple(found)


def entry_data(entry: ConfigEntry) -> dict[str, Data]:
    """An entry as JSON output shows it; a hidden value is null."""
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "read_only": entry.read_only,
        "is_default": entry.is_default,
        "is_sensitive": entry.sensitive,
        "synonyms": [_synonym_data(synonym) for synonym in entry.synonyms],
    }


def _synonym_data(synonym: Synonym) -> dict[str, Data]:
    return {"name": synonym.name, "value": synonym.value, "source": synonym.source.name}


def _inherited_data(inherited: Inherited) -> dict[str, Data]:
    source = inherited.source
    return {"name": inherited.name, "value": inherited.value, "source": source.name if source is not None else None}


def chosen(snapshot: Snapshot, target: ConfigResource, entries: ConfigSet, keys: tuple[Key, ...]) -> list[ConfigEntry]:
    """The entries of these keys. Raises CommandError for one that is not there."""
    found = []
    for key in keys:
        entry = entries.get(key.name)
        if entry is None:
            raise _no_key(snapshot, target, key)
        found.append(entry)
    return found


def _no_key(snapshot: Snapshot, target: ConfigResource, key: Key) -> CommandError:
    if known_entry(snapshot, target, key.name) is not None:
        hint = f"each broker has a value of its own: describe broker ID {quote(key.name)}"
        hint = hint if target.is_cluster_default else ""
        return CommandError(f"{key.name} is not set on {resource(target)}", hint, key.span)
    hint = did_you_mean(key.name, known_keys(snapshot, target))
    return CommandError(f"{resource(target)} has no config '{key.name}'", hint, key.span)


def key_detail(
    snapshot: Snapshot, target: ConfigResource, entry: ConfigEntry, by_broker: Mapping[int, Inherited], plan: Plan
) -> Detail:
    """One key: value, source, type, when a change takes effect, what would apply without the override, the chain of
    synonyms, documentation. by_broker: what each broker gives where they differ, else empty."""
    line = staged_lines(snapshot, target, plan).get(entry.name)
    outcome = plan.outcome(line.staged.edit) if line is not None else None
    row = ConfigRow(entry.name, entry, line, outcome, is_override(entry, target))
    text = details(target, row, snapshot, by_broker, DOCUMENTATION_WIDTH)
    data = entry_data(entry) | {
        "type": entry.type.name if entry.type.known else None,
        "documentation": snapshot.documentation.get((int(target.type), entry.name)),
        "pending": line is not None,
    }
    if is_override(entry, target):
        beneath = Inheritance(snapshot).without_override(target, entry.name)
        data["without_override"] = _inherited_data(beneath) if beneath.known else None
    if target.type == BROKER:
        data["update_mode"] = update_mode(target.type, entry.name, known=entry.type.known).name
    if by_broker:
        data["by_broker"] = [
            {"broker": broker, **_inherited_data(inherited)} for broker, inherited in sorted(by_broker.items())
        ]
    (summary,) = _rows(snapshot, target, [row])
    letters, key, value, source, _ = summary.cells
    lines = ["".join(part for part, _ in spans) for spans in text]
    # The title has the value already; where it has no human form, the headline begins with it once more.
    head = next(place for place, text_line in enumerate(lines) if not text_line.startswith("✗"))
    lines[head] = lines[head].removeprefix(value).lstrip()
    return Detail(f"{letters}  {key} = {value}   {source}", data, tuple(lines))
