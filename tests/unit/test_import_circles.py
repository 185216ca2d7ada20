"""Tests that no modules import each other in a circle. Imports for types only, in functions, and by computed names
count, too.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
Imports = Mapping[str, Collection[str]]
MADE = re.compile(r"""f["'](console\.[\w.]*\.)\{""")
"""Matches the beginning of a module's name that code computes at run time."""


@pytest.fixture(scope="module")
def imports() -> Imports:
    graph = grimp.build_graph("console", "widgets", "themes", exclude_type_checking_imports=False, cache_dir=None)
    modules = graph.modules
    return {
        module: graph.find_modules_directly_imported_by(module) | set(imported_by_a_made_name(module, modules))
        for module in modules
    }


def imported_by_a_made_name(module: str, modules: Collection[str]) -> Iterator[str]:
    """Yield the modules that `import_module(f"console.somewhere.{name}")` in a module can import: all modules of that
    package.
    """
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if file.exists():  # a folder with only the caches of a removed package has no such file
        for prefix in MADE.findall(file.read_text(encoding="utf-8")):
            yield from (other for other in modules if other.startswith(prefix) and other != module)


def circle(imports: Imports) -> list[str]:
    """Return a circle of modules, each of which imports the next one, with the first module again at the end; empty if
    there is no circle.
    """
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_circle_is_found_and_what_only_points_down_is_none() -> None:
    imports = {"top": {"left", "right"}, "left": {"low"}, "right": {"low", "round"}, "round": {"low"}, "low": set()}
    assert circle(imports) == []
    assert {*circle({**imports, "round": {"right", "low"}})} == {"right", "round"}


def test_every_import_is_seen_and_none_makes_a_circle(imports: Imports) -> None:
    assert "console.embedded.spec" in imports["console.embedded.cluster_command"]  # at the top
    assert "console.tui.panes.topics" in imports["console.tui.panes"]  # by a name made at run time
    assert len(imports) > 300
    assert circle(imports) == []
