"""What is counted of the whole: who takes the session, and how many Protocols there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWNERS = frozenset({"Session", "SnapshotReader"})
MOST_PROTOCOLS = 37
MOST_TAKE_IT = 151
"""Functions that take the session. Others take what they need of it: the client, the snapshot, the plan, a journal."""


def parameters_of(source: str, owners: frozenset[str]) -> Iterator[str]:
    """The functions with a parameter of one of these types, whatever it is called, also as a part of its type."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            annotations = [each.annotation for each in given if each.annotation is not None]
            if any(name in owners for each in annotations for name in names_in(each)):
                yield node.name


def names_in(annotation: ast.expr) -> Iterator[str]:
    """The names in a type, quoted ones too."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from names_in(ast.parse(node.value, mode="eval").body)


def owners_in(source: str) -> frozenset[str]:
    """What a module calls the session and the reader that it is."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("console.session."):
            found |= {each.asname or each.name for each in node.names if each.name in OWNERS}
        elif isinstance(node, ast.ClassDef) and node.name == "SnapshotReader":
            found.add(node.name)
    return frozenset(found)


def test_few_functions_take_the_session() -> None:
    """It may go down: then this number does."""
    found = []
    for path in sorted((ROOT / "console").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found += [f"{path.relative_to(ROOT)}: {name}" for name in parameters_of(source, owners_in(source))]
    assert len(found) <= MOST_TAKE_IT, "\n".join(found)


def test_a_session_counts_under_any_name() -> None:
    source = (
        "from console.session.session import Session as Cluster\n"
        "def one(it: Cluster) -> None: ...\n"
        "async def two(*, work: 'Callable[[Cluster], int] | None' = None) -> None: ...\n"
        "def none(session: int, other: Session) -> Cluster: ...\n"
    )
    assert list(parameters_of(source, owners_in(source))) == ["one", "two"]


def protocols_in(source: str) -> Iterator[str]:
    """The Protocols that a module has."""
    for node in ast.walk(ast.parse(source)):
        bases = node.bases if isinstance(node, ast.ClassDef) else ()
        if any(isinstance(each, ast.Name) and each.id == "Protocol" for each in bases):
            assert isinstance(node, ast.ClassDef)
            yield node.name


def test_few_protocols_stand_between() -> None:
    """One stands where there are two implementations, or a test needs a second one. It may go down, too."""
    paths = [path for top in ("console", "widgets") for path in sorted((ROOT / top).rglob("*.py"))]
    found = [f"{path.relative_to(ROOT)}: {name}" for path in paths for name in protocols_in(path.read_text("utf-8"))]
    assert len(found) <= MOST_PROTOCOLS, "\n".join(found)
