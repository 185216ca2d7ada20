"""The output of `kac configs`: as KIP-248's table, in kafka-configs' own lines, and as JSON, YAML and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from console.answers import table_text as answers
from console.cli.kafka_configs import describe
from console.cli.kafka_configs.request import ConfigsRequest
from console.model.config import ConfigEntry
from console.model.numbers import java_double
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.present.text import clean
from widgets.cells import cell_width

HIDDEN = "······"
_COLUMNS = tuple(map(answers.Column, ("Name", "Value", "Sensitive", "Read-only", "Default")))
_FLAGS = "     Sensitive  Read-only  Default"
_CELL = 200
_PLACES = {USER: "user", CLIENT_ID: "client", IP: "ip"}


class Line(NamedTuple):
    """A config and its value, in the form from which every output is made."""

    name: str
    value: str | None
    """The value; None if it is hidden or missing."""
    sensitive: bool = False
    read_only: bool = False
    default: bool = False
    source: str | None = None
    """The source of the value; None for quotas and credentials."""


class Block(NamedTuple):
    """An entity and its configs, in the form from which every output is made."""

    entity: tuple[tuple[str, str | None], ...]
    """The type and the name of each part of the entity, as (user, alice); the name None means the default."""
    lines: tuple[Line, ...]
    exists: bool = True


def blocks(described: Sequence[describe.Described]) -> tuple[Block, ...]:
    """Return a block for each entity, without those that could not be read; a user's quotas and credentials are two
    blocks.
    """
    return tuple(block for each in described if (block := _block(each)) is not None)


def _block(described: describe.Described) -> Block | None:
    match described:
        case describe.ResourceConfigs():
            lines = tuple(
                Line(e.name, e.value, e.sensitive, e.read_only, e.is_default, e.source.name) for e in described.entries
            )
            return Block(((describe.singular(described.type), described.name or None),), lines)
        case describe.Absent(type=type_, name=name):
            return Block(((describe.singular(type_), name),), (), exists=False)
        case describe.QuotaConfigs(entity=entity, values=values):
            return Block(_parts(entity), tuple(Line(key, number_text(values[key])) for key in sorted(values)))
        case describe.ScramConfigs(user=user, credentials=credentials):
            lines = tuple(Line(c.mechanism.label, f"iterations={c.iterations}", sensitive=True) for c in credentials)
            return Block((("user", user),), lines)
        case _:
            return None


def number_text(value: float) -> str:
    """Return a quota without an exponent: 52428800, 12.5."""
    return str(int(value)) if value.is_integer() else repr(value)


def _parts(entity: QuotaEntity) -> tuple[tuple[str, str | None], ...]:
    return tuple((_PLACES.get(part.type, part.type), part.name) for part in entity.parts)


def table_lines(blocks_: Sequence[Block], width: int | None = None) -> Iterator[str]:
    """Yield KIP-248's output: a heading for each entity, then name and value with three flags.

    Args:
        width: the width of the terminal, in cells; None for no limit. If KIP-248's lines are longer, they get the
            layout of kac's other tables.
    """
    if not blocks_:
        yield "NO CONFIGS: none are set"
    for place, block in enumerate(blocks_):
        if place:
            yield ""
        entity = ", ".join(f"{kind.upper()} {clean(_name(name), _CELL)}" for kind, name in block.entity)
        if not block.exists:
            yield f"NO CONFIGS FOR {entity}: it does not exist"
            continue
        yield f"CONFIGS FOR {entity}"
        rows = [(clean(line.name, _CELL), clean(_shown(line), _CELL), line) for line in block.lines]
        name_width = max([4, *(cell_width(name) for name, _, _ in rows)])
        value_width = max([5, *(cell_width(value) for _, value, _ in rows)])
        if width is not None and rows and name_width + value_width + len(_FLAGS) > width:
            cells = [(name, f"= {value}", *map(_flag, line[2:5])) for name, value, line in rows]
            yield from answers.table_lines(_COLUMNS, cells, width)
            continue
        yield f"{_to('Name', name_width)}   {_to('Value', value_width)}  Sensitive  Read-only  Default"
        for name, value, line in rows:
            flags = f"{_flag(line.sensitive):9}  {_flag(line.read_only):9}  {_flag(line.default)}"
            yield f"{_to(name, name_width)} = {_to(value, value_width)}  {flags}"
        if not rows:
            yield "(none)"


def _name(name: str | None) -> str:
    return "<default>" if name is None else name


def _shown(line: Line) -> str:
    return HIDDEN if line.value is None and line.sensitive else line.value or ""


def _flag(flag: bool) -> str:
    return "true" if flag else "false"


def _to(text: str, width: int) -> str:
    return text + " " * (width - cell_width(text))


def as_data(blocks_: Sequence[Block]) -> list[dict[str, object]]:
    """Return the blocks for JSON and YAML: a list of entities; the name of a default is null."""
    return [
        {
            "entity": dict(block.entity),
            "exists": block.exists,
            "configs": [
                {
                    "name": line.name,
                    "value": line.value,
                    "sensitive": line.sensitive,
                    "read_only": line.read_only,
                    "default": line.default,
                    "source": line.source,
                }
                for line in block.lines
            ],
        }
        for block in blocks_
    ]


def csv_text(blocks_: Sequence[Block]) -> str:
    """Return the blocks as CSV, a row for each config; the name of a default is ``<default>``, a hidden value
    is empty.
    """
    from console.answers.data_forms import csv_text as write_csv

    rows = [("entity", "name", "value", "sensitive", "read_only", "default", "source")]
    for block in blocks_:
        entity = ",".join(f"{kind}={_name(name)}" for kind, name in block.entity)
        for line in block.lines:
            flags = (_flag(line.sensitive), _flag(line.read_only), _flag(line.default))
            rows.append((entity, line.name, line.value or "", *flags, line.source or ""))
    return write_csv(rows)


# Results in kafka-configs' own lines. Its order is that of Java's hash tables; kac's is by name.

_WIDEST = 40_000
"""Maximum length of a printed line in characters: a config's value has at most 32,767."""
_QUOTA_WORDS = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}


def kafka_lines(described: Sequence[describe.Described], *, all_: bool) -> Iterator[str]:
    """Yield the lines that kafka-configs prints for --describe, without the parts that could not be read.

    Args:
        all_: whether --all was given, which adds inherited entries.
    """
    for each in described:
        match each:
            case describe.ResourceConfigs(type=type_, name=name):
                yield _heading(type_, name, all_)
                yield from (_safe(f"  {_entry(entry)}") for entry in (each.entries if all_ else each.own))
            case describe.Unread(type=type_, name=name) if type_:
                yield _heading(type_, name, all_)  # kafka-configs prints the heading before the response arrives
            case describe.Absent(type=type_, name=name):
                yield _safe(f"The {describe.singular(type_)} '{name}' doesn't exist and doesn't have dynamic config.")
            case describe.QuotaConfigs(entity=entity, values=values):
                pairs = ", ".join(f"{key}={java_double(values[key])}" for key in sorted(values))
                yield _safe(f"Quota configs for {_entity(entity)} are {pairs}")
            case describe.ScramConfigs(user=user, credentials=credentials):
                pairs = ", ".join(f"{each.mechanism.label}=iterations={each.iterations}" for each in credentials)
                yield _safe(f"SCRAM credential configs for user-principal '{user}' are {pairs}")


def _heading(type_: str, name: str, all_: bool) -> str:
    if not name:
        return f"Default configs for {type_} in the cluster are:"
    return _safe(f"{'All' if all_ else 'Dynamic'} configs for {describe.singular(type_)} {name} are:")


def _entry(entry: ConfigEntry) -> str:
    synonyms = ", ".join(f"{each.source.name}:{each.name}={_value(each.value)}" for each in entry.synonyms)
    sensitive = "true" if entry.sensitive else "false"
    return f"{entry.name}={_value(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _value(value: str | None) -> str:
    return "null" if value is None else value


def _entity(entity: QuotaEntity) -> str:
    def part(type_: str, name: str | None) -> str:
        word = _QUOTA_WORDS.get(type_, type_)
        return f"the default {word}" if name is None else f"{word} '{name}'"

    return ", ".join(part(each.type, each.name) for each in entity.parts)


def completed(request: ConfigsRequest) -> str:
    """Return the line that kafka-configs prints after a successful change."""
    if request.name:
        return _safe(f"Completed updating config for {describe.singular(request.type)} {request.name}.")
    return f"Completed updating default config for {request.type} in the cluster."


def _safe(line: str) -> str:
    return clean(line, _WIDEST)
