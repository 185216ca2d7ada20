"""No circle of modules. Type-only imports, lazy ones and those of a name made at run time count like all others."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("console", "widgets", "themes")
Imports = Mapping[str, Collection[str]]
BEGUN = re.compile(r"""["']console\.""")
"""How the text of a module's name that is made at run time begins; a file without it need not be parsed."""


@pytest.fixture(scope="module")
def imports() -> Imports:
    graph = grimp.build_graph(*TOPS, exclude_type_checking_imports=False, cache_dir=None)
    modules = graph.modules
    return {
        module: graph.find_modules_directly_imported_by(module) | set(imported_by_a_made_name(module, modules))
        for module in modules
    }


def imported_by_a_made_name(module: str, modules: Collection[str]) -> Iterator[str]:
    """What `import_module(f"console.somewhere.{name}")` can import: all that is there."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists():  # a folder of caches, left by a package that is gone
        return
    source = file.read_text(encoding="utf-8")
    if not BEGUN.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            prefix = str(node.values[0].value)
            if prefix.startswith("console.") and prefix.endswith("."):
                yield from (other for other in modules if other.startswith(prefix))


def circles(imports: Imports) -> list[list[str]]:
    """The sets of modules that all import each other, directly or not (Tarjan's strongly connected components)."""
    found: list[list[str]] = []
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    for root in sorted(imports):
        if root in index:
            continue
        work: list[tuple[str, Iterator[str]]] = [(root, iter(sorted(imports[root])))]
        index[root] = lowest[root] = len(index)
        path.append(root)
        while work:
            module, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[module])
                if lowest[module] == index[module]:
                    at = path.index(module)
                    component = path[at:]
                    del path[at:]
                    if len(component) > 1:
                        found.append(sorted(component))
            elif following not in index:
                index[following] = lowest[following] = len(index)
                path.append(following)
                work.append((following, iter(sorted(imports[following]))))
            elif following in path:
                lowest[module] = min(lowest[module], index[following])
    return found


def test_a_circle_is_found_and_what_only_points_down_is_none() -> None:
    imports: Imports = {
        "top": {"left", "right"},
        "left": {"low"},
        "right": {"low", "round"},
        "round": {"and"},
        "and": {"again", "low"},
        "again": {"right"},
        "low": set(),
    }
    assert circles(imports) == [["again", "and", "right", "round"]]


def test_every_import_is_seen(imports: Imports) -> None:
    assert "console.embedded.spec" in imports["console.embedded.cluster_command"]  # at the top
    assert "console.tui.panes.topics" in imports["console.tui.panes"]  # by a name made at run time
    assert len(imports) > 300


def test_no_modules_import_each_other_in_a_circle(imports: Imports) -> None:
    found = circles(imports)
    assert found == [], "\n".join(f"a circle of {len(circle)}: {', '.join(circle)}" for circle in found)
