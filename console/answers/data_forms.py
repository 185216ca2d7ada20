"""Writes results and data as JSON, YAML and CSV, so that they are machine-readable and safe for a terminal or a
spreadsheet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from console.language.quoting import DEFAULT_NAME
from console.model.numbers import Data, json_text
from console.model.quota import CLIENT_ID, IP, USER
from console.terminal import width_of
from widgets.cells import clean

if TYPE_CHECKING:
    import yaml

    from console.answers.results import Result


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
GUARD = "'"
"""The prefix of a cell that a spreadsheet would otherwise evaluate as a formula."""


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    r"""Return rows as CSV (RFC 4180, lines ended by ``\n``), with each cell encoded by `csv_cell`."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_cell(text: str) -> str:
    """Return a text as a cell: on one line, with invisible characters escaped. A text that a spreadsheet would
    evaluate as a formula gets an apostrophe in front: one that begins with ``= + - @``, their full-width forms, a
    tab or a line end. Numbers get no apostrophe.
    """
    guard = GUARD if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else ""
    return guard + clean(text)


def yaml_text(data: object) -> str:
    """Return a YAML document that parses to the given data. A text with invisible characters is in double quotes, with
    escapes.
    """
    import yaml

    return yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True)


def _dumper() -> type[yaml.SafeDumper]:
    import yaml
    from yaml.emitter import ScalarAnalysis

    class Visible(yaml.SafeDumper):
        """Escapes invisible characters. If a text has any, all its non-ASCII characters are escaped."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            """Return True, so that repeated values are written in full, because kac's own reader accepts no aliases."""
            return True

        def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
            if clean(scalar) == scalar:
                return super().analyze_scalar(scalar)
            return ScalarAnalysis(
                scalar=scalar,
                empty=False,
                multiline=False,
                allow_flow_plain=False,
                allow_block_plain=False,
                allow_single_quoted=False,
                allow_double_quoted=True,
                allow_block=False,
            )

        def write_double_quoted(self, text: str, split: bool = True) -> None:
            self.allow_unicode = clean(text) == text
            super().write_double_quoted(text, split)
            self.allow_unicode = True

    return Visible


# The results of queries and changes in the forms that scripts read.

_ENTITY = (USER, CLIENT_ID, IP)
FORMS = ("table", "json", "yaml", "csv")


def write(result: Sequence[Result], form: str, out: TextIO) -> None:
    """Write results to `out` in one of `FORMS`.

    As text, each result is below the one before it. As data, there is a list of the results; a single result is written
    without a list.
    """
    if form == "table":
        from console.answers.results import render

        width = width_of(out)
        out.write("\n".join(render(each, width) for each in result))
    elif form == "csv":
        out.writelines(_csv(each) for each in result)
    else:
        from console.answers.results import to_data

        data: Data = [to_data(each) for each in result] if len(result) != 1 else to_data(result[0])
        out.write(_document(data, form))
    out.flush()


def _document(data: Data, form: str) -> str:
    if form == "json":
        return json_text(data, indent=2) + "\n"
    return yaml_text(_plain(data))


def _plain(data: Data) -> object:
    """Return the data with types that YAML can represent."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_plain(value) for value in data]
    if isinstance(data, bool | None):
        return data
    return str(data) if isinstance(data, str) else float(data) if isinstance(data, float) else int(data)


def _csv(result: Result) -> str:
    from console.answers.results import rows_of

    rows = [_flat(row) for row in rows_of(result)]
    columns = sorted(dict.fromkeys(key for row in rows for key in row), key=lambda key: key not in _ENTITY)
    return csv_text([columns, *([_cell(row.get(column)) for column in columns] for row in rows)])


def _flat(row: Mapping[str, Data]) -> dict[str, Data]:
    """Return a row in which the fields of nested objects are columns of their own. The name of a default entity, null
    in JSON, becomes ``<default>``.
    """
    flat: dict[str, Data] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            default = DEFAULT_NAME if key == "entity" else None
            flat.update({name: default if part is None else part for name, part in value.items()})
        else:
            flat[key] = value
    return flat


def _cell(data: Data) -> str:
    if data is None:
        return ""
    if isinstance(data, bool):
        return "true" if data else "false"
    return str(data) if isinstance(data, str | int | float) else json_text(data)
