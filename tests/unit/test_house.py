"""Tests of limits on the whole product's code: functions with a session, Protocols, wide imports, large classes, long
functions.
"""

import ast
from pathlib import Path

import pytest

from benchmarks import house
from console.model.parts import Part

ROOT = Path(__file__).resolve().parents[2]
MOST = {
    house.with_session: 60,  # other functions take a part of it: the client, the snapshot, the plan, a journal
    house.protocols: 13,  # a Protocol has two implementations, or a test needs a second one
    house.wide_imports: 27,  # from six names on, code imports the module, unless tests replace the names
    house.with_many_methods: 3,  # the app, the base of the views, and a widget's lines
    house.long_functions: 0,
}
"""Count of `benchmarks.house` -> its limit; lower a limit when the count falls."""


@pytest.fixture(scope="module")
def product() -> list[house.Module]:
    return house.modules(ROOT, house.PRODUCT)


@pytest.mark.parametrize("count", MOST, ids=lambda count: count.__name__)
def test_there_are_few(product: list[house.Module], count: house.Count) -> None:
    found = count(product)
    assert len(found) <= MOST[count], "\n".join(found)


def test_parts_of_the_snapshot_have_their_names_in_the_table_alone(product: list[house.Module]) -> None:
    assert house.part_literals(product, {*Part}) == []


@pytest.mark.parametrize("noun", house.NOUNS)
def test_few_files_know_a_noun_beside_its_own(product: list[house.Module], noun: str) -> None:
    _, others = house.naming(product, *house.NOUNS[noun])
    assert len(others) <= house.MOST_NAMING, "\n".join(others)


METHODS = "".join(f"    def m{number}(self) -> None: ...\n" for number in range(house.MANY_METHODS))


@pytest.mark.parametrize(
    ("count", "source", "found"),
    [
        (
            house.with_session,
            "from console.session.session import Session as Cluster\n"
            "class Holder(Struct):\n    of: Cluster\n"
            "def one(it: Cluster) -> None: ...\n"
            "async def two(*, work: 'Callable[[Cluster], int] | None' = None) -> None: ...\n"
            "def three(it: Holder) -> None: ...\n"
            "def none(session: int, other: Session, more: Literal['as-is']) -> Cluster: ...\n",
            ["one", "two", "three"],
        ),
        (
            house.with_many_methods,
            f"class Small:\n{METHODS}class Large:\n{METHODS}    @property\n    async def more(self) -> int: ...\n",
            ["Large"],
        ),
        (
            house.long_functions,
            "\n".join(f"def {name}():\n" + "    pass\n" * lines for name, lines in (("short", 59), ("long", 60))),
            ["long"],
        ),
        (
            lambda modules: house.part_literals(modules, {"topics", "acls"}),
            'known = "topics" in snapshot.read_at\n'
            'why = [each for each in snapshot.failures if each.part in ("topics", "acls")]\n'
            'at = snapshot.read_at.get("topics") or snapshot.read_at["acls"]\n'
            'need = whole_parts("topics"), Needs(parts=frozenset({"acls"}))\n'
            'PARTS = frozenset({"topics"})\n'
            'no = "topics" in snapshot.configs, kind("topics")\n',
            ["topics", "acls", "topics", "acls", "topics", "acls", "topics", "topics"],
        ),
    ],
    ids=["session", "methods", "long functions", "literals"],
)
def test_what_is_counted_is_found(count: house.Count, source: str, found: list[str]) -> None:
    said = count([house.Module(Path("console/it.py"), source, ast.parse(source))])
    assert sorted(each.rpartition(": ")[2] for each in said) == sorted(found)


def test_every_folder_with_modules_is_a_regular_package_with_types(product: list[house.Module]) -> None:
    folders = {module.path.parent for module in product}
    assert [folder for folder in folders if not (ROOT / folder / "__init__.py").exists()] == []
    assert [top for top in house.PRODUCT if not (ROOT / top / "py.typed").exists()] == []
