"""Tests that run beside each other: which of them share a process, which begin first, and what is imported for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import collecting
from tests.support.real_clusters import USUAL_SECONDS, group, longest_first


class Chosen:
    """What the order looks at of a collected test."""

    def __init__(
        self, name: str, *marks: pytest.MarkDecorator, fixtures: tuple[str, ...] = (), path: Path = Path(__file__)
    ) -> None:
        self.path = path
        self.nodeid = f"tests/test_{name}.py::test_it"
        self.fixturenames = fixtures
        self._marks = {each.name: each.mark for each in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self._marks.get(name)


def names(*items: Chosen) -> list[str]:
    ordered = list(items)
    longest_first(ordered)  # type: ignore[arg-type]
    return [each.nodeid.removeprefix("tests/test_").partition(".")[0] for each in ordered]


def test_a_group_begins_by_what_all_of_it_takes_and_keeps_its_own_order() -> None:
    takes, of = pytest.mark.takes, pytest.mark.xdist_group
    few = (Chosen("a", of("few")), Chosen("b", of("few"), takes(40)))
    many = (Chosen("c", of("many"), takes(30)), Chosen("d", of("many"), takes(30)))
    assert names(Chosen("quick"), *few, Chosen("alone", takes(50)), *many) == ["c", "d", "alone", "a", "b", "quick"]


def test_many_that_are_not_marked_go_before_one_that_takes_less() -> None:
    count = int(10 / USUAL_SECONDS) + 1
    unmarked = [Chosen("each", pytest.mark.xdist_group("many")) for _ in range(count)]
    assert names(Chosen("one", pytest.mark.takes(10)), *unmarked)[0] == "each"


def test_what_shares_a_session_of_spark_runs_in_its_process() -> None:
    assert group(Chosen("one", fixtures=("tmp_path", "spark"))) == "spark"  # type: ignore[arg-type]
    assert group(Chosen("other", fixtures=("tmp_path",))) is None  # type: ignore[arg-type]


def test_a_file_is_imported_for_slow_tests_where_it_may_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "TESTS", tmp_path)
    files = {"unit/test_quick.py": "mark.slower", "unit/test_slow.py": "pytest.mark.slow", "broker/test_any.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [collecting.may_be_slow(tmp_path / name) for name in files] == [False, True, True]
    quick, slow, broker = (Chosen("a", pytest.mark.slow, path=tmp_path / name) for name in files)
    collecting.refuse_hidden([slow, broker, Chosen("b", path=quick.path)])  # type: ignore[list-item]
    with pytest.raises(pytest.UsageError, match=r"test_quick\.py"):
        collecting.refuse_hidden([slow, quick])  # type: ignore[list-item]
