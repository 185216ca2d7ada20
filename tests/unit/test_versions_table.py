"""README's table of releases is what was tried on real brokers last."""

from __future__ import annotations

from tests.support.versions import README, RELEASES, TRIED, in_readme, kept, table


def test_the_table_is_fresh() -> None:
    fresh = in_readme(README.read_text(encoding="utf-8")) == table(kept())
    assert fresh, "run: python -m tests.support.versions (or with the releases that changed)"


def test_every_release_was_tried_in_everything() -> None:
    found = kept()
    assert set(found) == set(RELEASES)
    assert all(set(rows) == set(TRIED) for rows in found.values()), "run: python -m tests.support.versions"
