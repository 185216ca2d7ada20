"""Data as YAML and CSV: readable by machines, and harmless for the terminal or the spreadsheet that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from widgets.cells import clean

if TYPE_CHECKING:
    import yaml

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
GUARD = "'"
"""Stands before a cell that a spreadsheet would take for a formula."""


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV (RFC 4180, lines ended by ``\\n``), each cell as `csv_cell` has it."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_cell(text: str) -> str:
    """A text as a cell: on one line, with everything invisible as an escape; behind an apostrophe where it would be a
    formula (it begins with ``= + - @``, a tab or a line end, also in their full width). Numbers are no formulas."""
    guard = GUARD if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else ""
    return guard + clean(text)


def yaml_text(data: object) -> str:
    """Data of YAML's own types as a document that reads back as the same. A text with anything invisible in it stands
    in double quotes, with escapes."""
    import yaml

    return yaml.dump(data, Dumper=_dumper(), sort_keys=False, allow_unicode=True)


def _dumper() -> type[yaml.SafeDumper]:
    import yaml
    from yaml.emitter import ScalarAnalysis

    class Visible(yaml.SafeDumper):
        """Escapes what does not show itself, and so everything that is not ASCII in a text that has such."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
            """What stands twice is written twice: our own reader takes no aliases."""
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
