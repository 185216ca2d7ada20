"""Which tests are run first for a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import touched


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("console/present/topics.py", "tests/unit/test_columns.py"),
        ("console/cli/doctor.py", "tests/scenarios/test_doctor.py"),
        ("docs/operations.md", "tests/unit/test_operations_page.py"),
        ("tests/unit/test_numbers.py", "tests/unit/test_numbers.py"),
        ("tests/broker/test_acl_filters.py", "tests/broker/test_acl_filters.py"),
        ("console/plan/edits.py", "tests/unit/test_plan_staging.py"),
    ],
)
def test_a_change_is_seen_by_the_tests_that_are_about_it(path: str, wanted: str) -> None:
    assert (touched.ROOT / path).is_file()
    found, _ = touched.for_changes([path], touched.ROOT)
    assert wanted in found


def test_what_most_stands_on_is_cut(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "unit"
    folder.mkdir(parents=True)
    for number in range(touched.MOST + 5):
        (folder / f"test_{number}.py").write_text("from console.model import numbers\n")
    (folder / "test_numbers.py").write_text("")
    found, more = touched.for_changes(["console/model/numbers.py"], tmp_path)
    assert (found[0], len(found), more) == ("tests/unit/test_numbers.py", touched.MOST, 6)


def test_a_change_to_nothing_that_is_tested_has_no_tests(tmp_path: Path) -> None:
    assert touched.for_changes(["console/nothing.py"], tmp_path) == ([], 0)


def test_imports_inside_of_functions_count() -> None:
    assert {"a.b", "a.b.c", "d"} <= touched.imported("def f():\n    from a.b import c\n    import d\n")


def test_what_always_runs_is_there() -> None:
    assert all((touched.ROOT / test).is_file() for test in touched.ALWAYS)
    assert isinstance(touched.changed("HEAD"), list)
