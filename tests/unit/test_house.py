"""What is counted of the whole: who takes the session, how many Protocols there are, and which classes are large."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks import house

ROOT = Path(__file__).resolve().parents[2]
MOST_PROTOCOLS = 14
MOST_LARGE = 3
"""Classes of many methods: the app, what each view is, and the lines of a widget."""
MOST_TAKE_IT = 60
"""Functions that take the session. Others take what they need of it: the client, the snapshot, the plan, a journal."""


MOST_WIDE = 36
"""Imports of six names or more from one module: there the module's own name is taken, or tests put others in place."""


@pytest.fixture(scope="module")
def product() -> list[house.Module]:
    return house.modules(ROOT, house.PRODUCT)


def test_few_functions_take_the_session(product: list[house.Module]) -> None:
    """It may go down: then this number does."""
    found = house.with_session(product)
    assert len(found) <= MOST_TAKE_IT, "\n".join(found)


def test_a_session_counts_under_any_name() -> None:
    source = (
        "from console.session.session import Session as Cluster\n"
        "class Holder(Struct):\n    of: Cluster\n"
        "def one(it: Cluster) -> None: ...\n"
        "async def two(*, work: 'Callable[[Cluster], int] | None' = None) -> None: ...\n"
        "def three(it: Holder) -> None: ...\n"
        "def none(session: int, other: Session, more: Literal['as-is']) -> Cluster: ...\n"
    )
    found = house.with_session([house.Module(Path("console/it.py"), source, ast.parse(source))])
    assert found == [f"console/it.py: {name}" for name in ("one", "two", "three")]


def test_few_protocols_stand_between(product: list[house.Module]) -> None:
    """One stands where there are two implementations, or a test needs a second one. It may go down, too."""
    found = house.protocols(product)
    assert len(found) <= MOST_PROTOCOLS, "\n".join(found)


def test_few_imports_are_wide(product: list[house.Module]) -> None:
    """It may go down, too."""
    found = house.wide_imports(product)
    assert len(found) <= MOST_WIDE, "\n".join(found)


def test_few_classes_have_many_methods(product: list[house.Module]) -> None:
    """One has a second subject where it grows so; it may go down, too."""
    found = house.with_many_methods(product)
    assert len(found) <= MOST_LARGE, "\n".join(found)


def test_a_class_counts_by_its_methods() -> None:
    methods = "".join(f"    def m{number}(self) -> None: ...\n" for number in range(house.MANY_METHODS))
    source = f"class Small:\n{methods}class Large:\n{methods}    @property\n    async def more(self) -> int: ...\n"
    assert house.with_many_methods([house.Module(Path("it.py"), source, ast.parse(source))]) == ["it.py: Large"]
