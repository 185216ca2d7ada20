"""Finds every regular expression of the console, and generates texts on which an expression with backtracking needs
more than linear time.
"""

import ast
import gc
import importlib
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import inf
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
_parser: Any = re._parser  # type: ignore[attr-defined]


class Expression(NamedTuple):
    """A regular expression of the code. uses: the methods of `re` that tests apply to it: `search`, `fullmatch`, and
    the methods that the code calls on it. place: ``module:line``.
    """

    place: str
    pattern: str | bytes
    flags: int
    uses: frozenset[str]

    @property
    def compiled(self) -> re.Pattern[Any]:
        """The compiled expression."""
        return re.compile(self.pattern, self.flags)


class Unknown(NamedTuple):
    """A call of `re` whose pattern can't be evaluated from the module alone. place: ``module:line``."""

    place: str
    code: str


def modules_with_expressions() -> list[str]:
    """Return the names of modules whose text contains a call of a function of `re`, found by text search without
    parsing.
    """
    calls = re.compile(rf"\bre\.(?:{'|'.join(sorted(_CALLS))})\(")
    return [_module(path) for path in _files() if calls.search(path.read_text(encoding="utf-8"))]


@cache
def expressions() -> tuple[tuple[Expression, ...], tuple[Unknown, ...]]:
    """Return all expressions of console/, widgets/ and themes/, and the calls whose pattern can't be known from the
    code.
    """
    gc.disable()  # the collector would walk all syntax trees again and again
    try:
        return _expressions()
    finally:
        gc.enable()


def _expressions() -> tuple[tuple[Expression, ...], tuple[Unknown, ...]]:
    texts = ((path, path.read_text(encoding="utf-8")) for path in _files())
    # A file that names none of these methods uses no expression, so it need not be parsed.
    trees = {path: ast.parse(text) for path, text in texts if any(f".{name}" in text for name in _CALLS)}
    public = _uses([node for tree in trees.values() for node in ast.walk(tree)])
    known: list[Expression] = []
    unknown: list[Unknown] = []
    for path, tree in trees.items():
        nodes = list(ast.walk(tree))
        if not any(_call(node) for node in nodes):
            continue
        name = _module(path)
        names = {alias.asname or alias.name for n in nodes if isinstance(n, ast.ImportFrom) for alias in n.names}
        module = importlib.import_module(name)
        own = _uses(nodes)
        assigned = {id(n.value): _target(n) for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign)}
        for node in nodes:
            what = _call(node)
            if not what:
                continue
            assert isinstance(node, ast.Call)
            place = f"{name}:{node.lineno}"
            try:
                pattern = eval(compile(ast.Expression(node.args[0]), name, "eval"), vars(module))
                flags = 0
                at = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}.get(what, 9)
                given = [*node.args[at : at + 1], *(k.value for k in node.keywords if k.arg == "flags")]
                for each in given:
                    flags |= int(eval(compile(ast.Expression(each), name, "eval"), vars(module)))
            except NameError:
                unknown.append(Unknown(place, ast.unparse(node.args[0])))
                continue
            if what == "compile":
                target = assigned.get(id(node), "")
                private = target.startswith("_") and target not in names
                uses = (own if private else public).get(target, frozenset())
            else:
                uses = frozenset({what})
            # The code may use another method later, so the expression has to be linear with these, too.
            known.append(Expression(place, pattern, flags, uses | {"search", "fullmatch"}))
    return tuple(known), tuple(unknown)


def _files() -> Iterator[Path]:
    for room in ("console", "widgets", "themes"):
        yield from sorted((ROOT / room).rglob("*.py"))


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _call(node: ast.AST) -> str:
    """Return the name of the function of `re` that a node calls with a pattern; ``""`` for another node."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
        of = node.func.value
        if isinstance(of, ast.Name) and of.id == "re" and node.args:
            return node.func.attr
    return ""


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) else ""


def _uses(nodes: Iterable[ast.AST]) -> dict[str, frozenset[str]]:
    """Return variable name -> the names of the `re` methods that the code reads from it, to call or to pass them on."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        # Objects other than patterns may have a method of this name; they do no harm here.
        if isinstance(node, ast.Attribute) and node.attr in _CALLS - {"compile"}:
            of = node.value
            name = of.id if isinstance(of, ast.Name) else of.attr if isinstance(of, ast.Attribute) else ""
            found.setdefault(name, set()).add(node.attr)
    return {name: frozenset(uses) for name, uses in found.items()}


# -- texts -------------------------------------------------------------------------------------------------------------

_CATEGORY = {
    "CATEGORY_DIGIT": "0",
    "CATEGORY_NOT_DIGIT": "x",
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": "x",
    "CATEGORY_WORD": "a",
    "CATEGORY_NOT_WORD": "-",
}
_ANY = "\x00 a0.:/\"'<>=-_\\\n[]{}(),;@#"


def _units(parsed: Any) -> Iterator[str]:
    """Yield, in order, matching characters for each literal and each class of a parsed expression; a class gives
    several.
    """
    for op, value in parsed:
        match str(op):
            case "LITERAL":
                yield chr(value)
            case "NOT_LITERAL":
                yield next(each for each in "ax" if ord(each) != value)
            case "ANY":
                yield "a"
            case "IN":
                yield from _of_class(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield from _units(value[2])
            case "SUBPATTERN":
                yield from _units(value[3])
            case "ATOMIC_GROUP":
                yield from _units(value)
            case "BRANCH":
                for branch in value[1]:
                    yield from _units(branch)
            case "ASSERT" | "ASSERT_NOT":
                yield from _units(value[1])
            case "GROUPREF_EXISTS":
                for branch in value[1:]:
                    yield from _units(branch or ())


def _of_class(items: Any) -> list[str]:
    negated = str(items[0][0]) == "NEGATE"
    inside = []
    for op, value in items[negated:]:
        match str(op):
            case "LITERAL":
                inside.append(chr(value))
            case "RANGE":
                inside.append(chr(value[0]))
            case "CATEGORY":
                inside.append(_CATEGORY[str(value)])
    if not negated:
        return inside
    pattern = re.compile("".join(["[^", *(re.escape(each) for each in inside), "]"]))
    spaces = any(str(op) == "CATEGORY" and str(value) == "CATEGORY_SPACE" for op, value in items)
    return [each for each in _ANY if pattern.match(each) and not (spaces and each.isspace())][:4]


def _prefixes(parsed: Any, before: str = "") -> Iterator[str]:
    """Yield, for each beginning of a parsed expression, a text that it matches; also for the beginnings of its
    branches, groups and repeats.
    """
    text = before
    for op, value in parsed:
        match str(op):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                yield from _prefixes(value[2], text)
                text += _example(value[2]) * max(value[0], 1)
            case "SUBPATTERN":
                yield from _prefixes(value[3], text)
                text += _example(value[3])
            case "ATOMIC_GROUP":
                yield from _prefixes(value, text)
                text += _example(value)
            case "BRANCH":
                for branch in value[1]:
                    yield from _prefixes(branch, text)
                text += _example(value[1][0])
            case _:
                text += _example([(op, value)])
        yield text


def _example(parsed: Any) -> str:
    """Return a short text that a parsed expression matches or nearly matches: the first branch, the fewest repeats but
    at least one.
    """
    text = ""
    for op, value in parsed:
        match str(op):
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                text += next(_units([(op, value)]), "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                text += _example(value[2]) * max(value[0], 1)
            case "SUBPATTERN":
                text += _example(value[3])
            case "ATOMIC_GROUP":
                text += _example(value)
            case "BRANCH":
                text += _example(value[1][0])
    return text


def texts(expression: Expression, *, at_length: bool) -> list[tuple[str, str, str]]:
    """Return triples (beginning, repeated part, end) that make texts of any length on which an expression may
    backtrack.

    The repeated part is a literal, a character of a class, a pair of such characters, a beginning of the expression, or
    a random mixture of its characters. at_length: whether to use 24 such mixtures instead of 6, and more pairs.
    """
    parsed = _parser.parse(expression.pattern, expression.flags)
    units = list(dict.fromkeys(_units(parsed)))[:24]
    prefixes = list(dict.fromkeys(text for text in _prefixes(parsed) if text))[-40:]
    made = [("", unit, end) for unit in units for end in ("", "\0")]
    made += [("", prefix, end) for prefix in prefixes for end in ("", "\0")]
    # Texts that mix the expression's characters at random.
    mixing = Random(len(units))
    mixed = [
        "".join(mixing.choices(units, k=mixing.randint(2, 6))) for _ in range((24 if at_length else 6) if units else 0)
    ]
    made += [("", each, end) for each in mixed for end in ("", "\0")]
    # Expressions backtrack over the boundary between two classes.
    of_classes = units[:6]
    made += [(prefix, unit, "\0") for prefix in prefixes[:16] for unit in of_classes]
    made += [
        (prefix, one + other, "\0")
        for prefix in prefixes[: 4 if at_length else 1]
        for one in of_classes
        for other in of_classes
    ]
    return list(dict.fromkeys(made))


# -- time --------------------------------------------------------------------------------------------------------------


class TookTooLong(Exception):
    """The work reached the limit of CPU time."""


def cpu_seconds(work: Callable[[], object], limit: float) -> float:
    """Call a function, and return its CPU seconds; infinity if it is stopped because it needs more than `limit` CPU
    seconds.
    """

    def over(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGVTALRM, over)
    began = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)
        work()
    except TookTooLong:
        return inf
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - began


def runs(expression: Expression, text: str) -> list[Callable[[], object]]:
    """Return functions that each apply one of the expression's `uses` to a text."""
    pattern = expression.compiled
    data: Any = text if isinstance(expression.pattern, str) else text.encode("latin-1", "replace")
    empty: Any = data[:0]
    made: dict[str, Callable[[], object]] = {
        "search": lambda: pattern.search(data),
        "match": lambda: pattern.match(data),
        "fullmatch": lambda: pattern.fullmatch(data),
        "sub": lambda: pattern.sub(empty, data),
        "subn": lambda: pattern.subn(empty, data),
        "split": lambda: pattern.split(data),
        "findall": lambda: pattern.findall(data),
        "finditer": lambda: deque(pattern.finditer(data), maxlen=0),
    }
    return [made[use] for use in sorted(expression.uses)]


HALF, WHOLE = 4 << 10, 8 << 10
_SURELY_LINEAR = 0.01
"""CPU seconds. An expression with linear time needs less for a few passes over 8 KB; one with more than linear time
needs more.
"""
_LIMIT = 0.1
GROWTH = 3


def grown(begin: str, repeated: str, end: str, size: int) -> str:
    """Return `begin`, then `repeated` as often as fits about `size` characters, then `end`."""
    return begin + repeated * (size // len(repeated)) + end


def slow_text(expression: Expression, *, at_length: bool = False) -> str:
    """Return a description of a text for which an expression needs more than `GROWTH` times the CPU time when the text
    is twice as long; "" if no generated text does.
    """
    for begin, repeated, end in texts(expression, at_length=at_length):
        whole = runs(expression, grown(begin, repeated, end, WHOLE))
        half = runs(expression, grown(begin, repeated, end, HALF))
        for long, short in zip(whole, half, strict=True):
            took = cpu_seconds(long, _LIMIT)
            if took < _SURELY_LINEAR:
                continue
            # Take the least time of several runs, because other work on the machine makes runs longer.
            for _ in range(4):
                took = min(took, cpu_seconds(long, _LIMIT))
                if took < inf and took <= max(GROWTH * cpu_seconds(short, _LIMIT), _SURELY_LINEAR):
                    break
            else:
                return f"{begin!r} + {repeated!r}… + {end!r}: {took:.2f} s"
    return ""
