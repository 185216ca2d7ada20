"""Counts figures of the code's structure from its text, without running it.

``python -m benchmarks.house [--root DIR]``: lines, and lines with code; Protocols; functions that take a `Session`, or
a value that holds one; module names that several packages have; classes with many methods; docstrings with sections for
parameters, results and exceptions; the number of files to touch for a new concept of each sort. DIR: another checkout,
to compare.
"""

from __future__ import annotations

import argparse
import ast
import gc
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path

from msgspec import Struct

from benchmarks.figures import report, report_ratio

HERE = Path(__file__).parents[1]
PRODUCT, TESTS = ("console", "widgets", "themes"), ("tests",)
MOST_PROTOCOLS, MOST_WITH_SESSION = 15, 60
MOST_TOUCHED = {
    "type of resource": 2, "verb": 1, "query": 1, "column": 1, "cause": 1, "kind of edit": 1, "part of the snapshot": 4,
}  # fmt: skip
"""Sort of concept -> the maximum number of files that a new concept of this sort changes, without tests and generated
pages. A new kind of edit is counted without its verb, and as if it were sent in an existing request.
"""
MOST_CODE = 75_000
"""Maximum lines of the product without blanks, comments and docstrings."""
OFTEN, MANY_METHODS, LONG = 3, 25, 60
WIDE = 6
"""Number of names imported from one module from which on the module should be imported as a whole, so that each use
shows the module of a name.
"""
NOUNS: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "connectors": (("connect", "mirror"), frozenset({"console.model.connect", "console.admin.connect"})),
    "schemas": (("schema", "subjects", "avro"), frozenset({"console.model.subjects", "console.admin.schemas"})),
}
"""Noun (a kind of thing that kac lists, such as topics) -> words in the names of its own files, and the modules that
other files import to use it.
"""
MOST_NAMING = 10
"""Maximum number of files, besides the noun's own, that import a noun's modules."""
SERIES = (Path("console/tui/panes"), Path("console/plan/kinds"))
"""Folders that contain a file for each noun."""
HOLD_PARTS = ("read_at", "read_at.keys()", ".part", "unread", "need.parts", "unread.parts", "self._read")
"""Endings of expressions whose values contain names of parts of the snapshot."""
TAKE_PARTS = {"whole_parts", "with_failures", "with_part", "_part", "_fail", "_marked", "problems", "unread"}
TAKE_PARTS |= {"nothing_text", "_read_at", "_simple", "_table", "found", "read", "ReadFailure", "Needs", "about"}
"""Functions that take names of parts of the snapshot."""
ARE_PARTS = frozenset({"PARTS", "_PARTS", "NEEDS", "READ", "_READ", "VITAL", "BLOCKING"})
"""Names of constants that contain names of parts of the snapshot."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Module(Struct, frozen=True, dict=True):
    """A Python file with its text and syntax tree. path: relative to the root."""

    path: Path
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the syntax tree. They are cached, because a walk takes as long as parsing, and each figure needs
        one.
        """
        return tuple(ast.walk(self.tree))


Count = Callable[[list[Module]], list[str]]
"""A function that finds places in modules of which there should be few; it returns each as text."""


def modules(root: Path, folders: Iterable[str]) -> list[Module]:
    """Return the Python files in these folders of the root, sorted by path."""
    files = chain.from_iterable(sorted((root / folder).rglob("*.py")) for folder in folders)
    texts = ((path.relative_to(root), path.read_text("utf-8")) for path in files)
    was_on = gc.isenabled()
    gc.disable()  # the collector would walk all trees repeatedly; without it, parsing takes a quarter of the time
    try:
        return [Module(path, text, ast.parse(text)) for path, text in texts]
    finally:
        if was_on:
            gc.enable()


def functions(module: Module) -> Iterator[Function]:
    """Return every function and method of a module."""
    return (node for node in module.nodes if isinstance(node, Function))


def classes(module: Module) -> Iterator[ast.ClassDef]:
    """Return every class of a module."""
    return (node for node in module.nodes if isinstance(node, ast.ClassDef))


def names_in(annotation: ast.expr | None) -> set[str]:
    """Return the names of types in an annotation, including those in quotes; empty for None, no annotation."""
    if annotation is None:
        return set()
    found: set[str] = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with suppress(SyntaxError):  # the text is a value of Literal, not code
                found |= names_in(ast.parse(node.value, mode="eval").body)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def parameters(function: Function) -> list[ast.arg]:
    """Return all parameters of a function, including keyword-only ones."""
    given = function.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]


def protocols(found: Iterable[Module]) -> list[str]:
    """Return the Protocols as ``path: name``."""
    return [
        f"{module.path}: {each.name}"
        for module in found
        for each in classes(module)
        if any("Protocol" in names_in(base) for base in each.bases)
    ]


def with_session(found: Iterable[Module]) -> list[str]:
    """Return the functions that take a `Session`, its reader, or a value of a class that holds one, as ``path: name``.

    A class holds a session if a field, or a parameter of its ``__init__``, is annotated with it. Only names imported
    from `console.session` count, because Spark and fetches have sessions, too. A class that holds a session is
    recognised by its name. In a module whose own class has the same name and holds no session, the name does not count.
    """
    modules_ = list(found)
    owners = {module.path: owners_in(module) for module in modules_}
    holding: dict[Path, set[str]] = {}
    without: dict[Path, set[str]] = {}
    for module in modules_:
        for each in classes(module):
            holds = bool(owners[module.path] & names_in_fields(each))
            (holding if holds else without).setdefault(module.path, set()).add(each.name)
    holders = frozenset(chain.from_iterable(holding.values()))
    return [
        f"{module.path}: {function.name}"
        for module in modules_
        for names in [owners[module.path] | (holders - namesakes(module, without))]
        for function in functions(module)
        if any(names_in(each.annotation) & names for each in parameters(function))
    ]


def wide_imports(found: Iterable[Module]) -> list[str]:
    """Return the import statements with `WIDE` or more names from one module of the product, as ``path: module``."""
    modules_ = list(found)
    packages = {module.path.parent.as_posix().replace("/", ".") for module in modules_}
    return [
        f"{module.path}: {node.module}"
        for module in modules_
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and node.module and len(node.names) >= WIDE
        if node.module.split(".")[0] in PRODUCT and node.module not in packages
    ]


def long_functions(found: Iterable[Module]) -> list[str]:
    """Return the functions of more than `LONG` lines, as ``path: name``."""
    return [
        f"{module.path}: {each.name}"
        for module in found
        for each in functions(module)
        if (each.end_lineno or each.lineno) - each.lineno >= LONG
    ]


def with_many_methods(found: Iterable[Module]) -> list[str]:
    """Return the classes of more than `MANY_METHODS` methods, including properties and handlers, as ``path: name``."""
    return [
        f"{module.path}: {each.name}"
        for module in found
        for each in classes(module)
        if sum(isinstance(node, Function) for node in each.body) > MANY_METHODS
    ]


def namesakes(module: Module, without: Mapping[Path, set[str]]) -> set[str]:
    """Return the names that a module uses for classes that hold no session. without: path -> names of such classes."""
    found = set(without.get(module.path, ()))
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            there = without.get(Path(*node.module.split(".")).with_suffix(".py"), set())
            found |= {each.asname or each.name for each in node.names if each.name in there}
    return found


OWNERS = frozenset({"Session", "SnapshotReader"})


def owners_in(module: Module) -> frozenset[str]:
    """Return the names that a module uses for the session and for its reader."""
    found = set()
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("console.session."):
            found |= {each.asname or each.name for each in node.names if each.name in OWNERS}
        elif isinstance(node, ast.ClassDef) and node.name == "SnapshotReader":
            found.add(node.name)
    return frozenset(found)


def names_in_fields(class_: ast.ClassDef) -> set[str]:
    """Return the names of the types of a class's fields, and of the parameters of its ``__init__``."""
    found: set[str] = set()
    for node in class_.body:
        if isinstance(node, ast.AnnAssign):
            found |= names_in(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for parameter in parameters(node):
                found |= names_in(parameter.annotation)
    return found


def lines_of_code(module: Module) -> int:
    """Return the number of a module's lines with code, without blank lines, comments and docstrings."""
    coded: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type not in _NO_CODE:
            coded.update(range(token.start[0], token.end[0] + 1))
    for node in module.nodes:
        if isinstance(node, Documented):
            for statement in node.body:
                if _is_text(statement):  # the docstring of a constant, class, function or module
                    coded.difference_update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(coded)


_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def comments(module: Module) -> int:
    """Return the number of a module's comments, without comments for tools and headings."""
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return sum(
        token.type == tokenize.COMMENT and not token.string.startswith(("# noqa", "# type:", "# pragma", "# --"))
        for token in tokens
    )


def repeated(found: Iterable[Module]) -> tuple[dict[str, int], dict[str, int]]:
    """Return name -> count of the module names that occur three times or more, in two mappings: names of nouns, and
    other names.

    A noun has a file of its name in each package (`SERIES` lists folders with a file for each noun), where readers
    expect it.
    """
    paths = [module.path for module in found if module.path.stem != "__init__"]
    nouns = {path.stem for path in paths if path.parent in SERIES}
    often = {name: n for name, n in Counter(path.stem for path in paths).most_common() if n >= OFTEN}
    return {name: n for name, n in often.items() if name in nouns}, {
        name: n for name, n in often.items() if name not in nouns
    }


def sections(found: Iterable[Module]) -> Mapping[str, int]:
    """Return section (Args, Returns, Raises) -> the number of functions whose docstring has it."""
    texts = [ast.get_docstring(function) or "" for module in found for function in functions(module)]
    return {name: sum(f"{name}:\n" in text for text in texts) for name in ("Args", "Returns", "Raises")}


def naming(found: Iterable[Module], words: Collection[str], known: frozenset[str]) -> tuple[list[str], list[str]]:
    """Return the paths of a noun's own files, and of other files that import its modules. Files of the embedded cluster
    are left out.

    Args:
        found: the modules to search.
        words: words in the names of the noun's own files, or of their folder.
        known: the noun's modules.
    """
    own: list[str] = []
    others: list[str] = []
    for module in found:
        path = module.path.as_posix()
        if path.startswith("console/embedded/"):
            continue
        if any(word in path.rpartition("console/")[2] for word in words):
            own.append(path)
        elif known & _imported(module):
            others.append(path)
    return own, others


def _imported(module: Module) -> set[str]:
    nodes = [node for node in module.nodes if isinstance(node, ast.ImportFrom) and node.module]
    whole = {f"{node.module}.{each.name}" for node in nodes for each in node.names}
    return whole | {f"{node.module}" for node in nodes}


def part_literals(found: Iterable[Module], names: Collection[str]) -> list[str]:
    """Return the string literals that are names of parts of the snapshot, where the constants of the table of parts
    should be used; as ``path:line: name``.

    Such a literal is compared with, or indexes, an expression that holds names of parts; or it is an argument of a
    function that takes them, or in a constant that holds them.
    """
    places = ((module, place) for module in found for node in module.nodes for place in _of_parts(node))
    literals = {
        (str(module.path), each.lineno, each.value)
        for module, place in places
        for each in ast.walk(place)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in names
    }
    return [f"{path}:{line}: {name}" for path, line, name in sorted(literals)]


def _of_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield those direct subexpressions of a node whose values can only be names of parts of the snapshot."""
    match node:
        case ast.Compare():
            sides = (node.left, *node.comparators)
            if any(_holds_parts(each) for each in sides):
                yield from (each for each in sides if not isinstance(each, ast.Call))
        case ast.Subscript() if _holds_parts(node.value):
            yield node.slice
        case ast.Call():
            name = ast.unparse(node.func).rpartition(".")[2]
            is_get = name == "get" and isinstance(node.func, ast.Attribute) and _holds_parts(node.func.value)
            if is_get or name in TAKE_PARTS:
                yield from (each for each in node.args if not isinstance(each, ast.Call | ast.Lambda | ast.BinOp))
            yield from (each.value for each in node.keywords if each.arg in ("parts", "part", "read_at"))
        case ast.Assign(targets=targets, value=value) | ast.AnnAssign(target=targets, value=value) if value:
            targets = targets if isinstance(targets, list) else [targets]
            if any(isinstance(each, ast.Name) and each.id in ARE_PARTS for each in targets):
                yield value


def _holds_parts(node: ast.expr) -> bool:
    return ast.unparse(node).endswith(HOLD_PARTS)


def main() -> int:
    """Count, and print a line of JSON for each figure. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=main.__doc__)
    parser.add_argument("--root", type=Path, default=HERE)
    root = parser.parse_args().root
    product, tests = modules(root, PRODUCT), modules(root, TESTS)
    for name, found in (("product", product), ("tests", tests)):
        report(f"lines of {name}", files=len(found), lines=sum(module.text.count("\n") for module in found))
    report_ratio("lines of product with code", sum(map(lines_of_code, product)), MOST_CODE)
    report_ratio("Protocols", len(protocols(product)), MOST_PROTOCOLS)
    report_ratio("functions that take a Session", len(with_session(product)), MOST_WITH_SESSION)
    of_nouns, others = repeated(product)
    report("names of modules that stand three times", count=len(of_nouns) + len(others))
    report("of these names of nouns", names=of_nouns)
    report("of these other names", names=others)
    for room in sorted({module.path.parts[1] for module in product if module.path.parts[0] == "console"}):
        inside = [module for module in product if module.path.parts[:2] == ("console", room)]
        if room.endswith(".py"):
            continue
        lines = sum(module.text.count("\n") for module in inside)
        report(f"room {room}", files=len(inside), lines=lines, comments=sum(map(comments, inside)))
    big = with_many_methods(product)
    report(f"classes of more than {MANY_METHODS} methods", count=len(big), names=big)
    long = long_functions(product)
    report(f"functions of more than {LONG} lines", count=len(long), names=long)
    for noun, (words, known) in NOUNS.items():
        own, naming_it = naming(product, words, known)
        report(f"files of {noun}", own=len(own), names_of_others=naming_it)
        report_ratio(f"other files that import those of {noun}", len(naming_it), MOST_NAMING)
    report("docstrings of functions with sections", **sections(product))
    if root == HERE:
        from tests.support.new_concepts import files

        for sort, most in MOST_TOUCHED.items():
            report_ratio(f"files that a new {sort} touches", len(files(sort)), most)
    return 0


if __name__ == "__main__":
    sys.exit(main())
