"""Finds names of parts of the snapshot that code writes as literals, where the table's constants stand for them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

HOLDS = ("read_at", "read_at.keys()", ".part", "unread", "need.parts", "unread.parts", "self._read")
"""Ends of expressions that hold names of parts."""
TAKES = frozenset({"whole_parts", "with_failures", "with_part", "_part", "_fail", "_marked", "problems", "unread"})
TAKES |= {"nothing_text", "_read_at", "_simple", "_table", "found", "read", "ReadFailure", "Needs", "about"}
"""Functions that take names of parts."""
KEPT_IN = frozenset({"PARTS", "_PARTS", "NEEDS", "READ", "_READ", "VITAL", "BLOCKING"})
"""Constants that hold names of parts."""


def part_literals(file: Path, names: Collection[str]) -> Iterator[str]:
    """Yield ``line: literal`` of each name of a part in a file that is written as a literal."""
    tree = ast.parse(file.read_text("utf-8"))
    found = {
        (each.lineno, each.value)
        for node in ast.walk(tree)
        for place in _places(node)
        for each in ast.walk(place)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in names
    }
    yield from (f"{line}: {literal}" for line, literal in sorted(found))


def _places(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions right below a node that hold names of parts alone."""
    match node:
        case ast.Compare():
            sides = (node.left, *node.comparators)
            if any(_holds(each) for each in sides):
                yield from (each for each in sides if not isinstance(each, ast.Call))
        case ast.Subscript() if _holds(node.value):
            yield node.slice
        case ast.Call():
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in TAKES or (name == "get" and isinstance(node.func, ast.Attribute) and _holds(node.func.value)):
                yield from (each for each in node.args if not isinstance(each, ast.Call | ast.Lambda | ast.BinOp))
            yield from (each.value for each in node.keywords if each.arg in ("parts", "part", "read_at"))
        case ast.Assign() | ast.AnnAssign() if node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id in KEPT_IN for each in targets):
                yield node.value


def _holds(node: ast.expr) -> bool:
    return ast.unparse(node).endswith(HOLDS)
