"""Results of queries and changes in the forms that scripts read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TextIO

from console.commands.data_forms import csv_text, yaml_text
from console.commands.results import Data, Detail, Result, Table, to_data
from console.language.quoting import DEFAULT_NAME
from console.model.numbers import json_text
from console.model.quota import CLIENT_ID, IP, USER

_ENTITY = (USER, CLIENT_ID, IP)
FORMS = ("table", "json", "yaml", "csv")


def write(result: Sequence[Result], form: str, out: TextIO) -> None:
    """Write results in one of `FORMS`: several tables one below the other, as data a list; one as itself."""
    if form == "table":
        from console.commands.render import render

        out.write("\n".join(render(each) for each in result))
    elif form == "csv":
        out.writelines(_csv(each) for each in result)
    else:
        data: Data = [to_data(each) for each in result] if len(result) != 1 else to_data(result[0])
        out.write(_document(data, form))
    out.flush()


def _document(data: Data, form: str) -> str:
    if form == "json":
        return json_text(data, indent=2) + "\n"
    return yaml_text(_plain(data))


def _plain(data: Data) -> object:
    """Of the types that YAML has names for."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_plain(value) for value in data]
    if isinstance(data, bool | None):
        return data
    return str(data) if isinstance(data, str) else float(data) if isinstance(data, float) else int(data)


def _csv(result: Result) -> str:
    rows = [_flat(row) for row in _rows(result)]
    columns = sorted(dict.fromkeys(key for row in rows for key in row), key=lambda key: key not in _ENTITY)
    return csv_text([columns, *([_cell(row.get(column)) for column in columns] for row in rows)])


def _flat(row: Mapping[str, Data]) -> dict[str, Data]:
    """Fields of objects as columns of their own; the default of an entity, null in JSON, is ``<default>``."""
    flat: dict[str, Data] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            default = DEFAULT_NAME if key == "entity" else None
            flat.update({name: default if part is None else part for name, part in value.items()})
        else:
            flat[key] = value
    return flat


def _rows(result: Result) -> list[Mapping[str, Data]]:
    """A table's rows; of a detail those of its first table, or else its own fields."""
    if isinstance(result, Table):
        return [row.data for row in result.rows]
    return _detail_rows(result)


def _detail_rows(detail: Detail) -> list[Mapping[str, Data]]:
    for part in (detail.parts or {}).values():
        rows = _rows(part) if isinstance(part, Table) else [row for item in part for row in _detail_rows(item)]
        if rows:
            return rows
    return [detail.data]


def _cell(data: Data) -> str:
    if data is None:
        return ""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, str | int | float):
        return str(data)

    return json_text(data)
