"""The page on the tables is the latest, and has every column."""

from __future__ import annotations

from pathlib import Path

from console.cli.manual.lake_tables import page
from console.lake.schema import PARTS, TABLES

ROOT = Path(__file__).parents[2]


def test_the_page_is_fresh() -> None:
    fresh = (ROOT / "docs" / "lake-tables.md").read_text(encoding="utf-8") == page()
    assert fresh, "run: python -m console.cli.manual.pages tables > docs/lake-tables.md"


def test_every_column_is_on_it() -> None:
    parts = dict(part.split("`\n", 1) for part in page().split("### `")[1:])
    described = {table.name: table for table in (*TABLES.values(), *PARTS.values())}
    assert set(parts) == set(described)
    for name, text in parts.items():
        rows = [line for line in text.split("\n## ")[0].splitlines() if line.startswith("| `")]
        assert [row.split("`")[1] for row in rows] == list(described[name].names)
        assert all(len(row.replace("\\|", "").split("|")) == 5 for row in rows)
        assert all(f"`{part}` ({of})" in text for part, of in described[name].partitions.items())
        assert ("made = max(made)" in text) == bool(described[name].newest)
