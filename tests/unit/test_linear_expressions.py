"""Tests that the time of regular expressions is linear in the length of texts from clusters, services and files. An
expression holds Python's lock, so a slow one would delay everything else, also the steps after a sent change.
"""

import ast
import importlib
import logging
import re
from collections import defaultdict
from collections.abc import Callable
from fnmatch import translate
from functools import cache
from io import StringIO
from struct import Struct

import pytest

from console.admin.errors import MOST_WORDS, failure
from console.admin.settings import SshHost
from console.admin.ssh import ssh_failed
from console.admin.tls import pem_certificates
from console.log_file import LONGEST_RECORD, WithoutSecrets
from console.model import record_masks
from console.model.certificates import advertised_with_tls
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigSet
from console.model.foreign_json import deeper_than
from console.present.configs import plain_text
from console.sensitive import without_secrets
from console.wire import quota_decoder
from tests.support import expressions

_MODULES = expressions.modules_with_expressions()
"""Names of modules with expressions. The expressions themselves are searched in each test, because that takes seconds
and would delay every process that collects tests.
"""


@cache
def _of_modules() -> dict[str, list[expressions.Expression]]:
    found: dict[str, list[expressions.Expression]] = defaultdict(list)
    for each in expressions.expressions()[0]:
        found[each.place.partition(":")[0]].append(each)
    return found


@pytest.mark.parametrize("at_length", [False, pytest.param(True, marks=pytest.mark.long)], ids=["short", "long"])
@pytest.mark.parametrize("module", _MODULES)
def test_twice_the_text_takes_at_most_threefold_the_time(module: str, at_length: bool) -> None:
    slow = {
        each.place: text
        for each in _of_modules().get(module, ())
        if (text := expressions.slow_text(each, at_length=at_length))
    }
    assert not slow


def test_no_module_has_expressions_under_another_name() -> None:
    other = re.compile(r"^\s*(?:from re import|import re as|import regex|from regex )", re.MULTILINE)
    rooms = [path for room in ("console", "widgets", "themes") for path in (expressions.ROOT / room).rglob("*.py")]
    assert not [path for path in rooms if other.search(path.read_text(encoding="utf-8"))]


def test_one_that_is_slow_by_a_method_that_nobody_calls_is_found() -> None:
    for pattern in (r"\d+-\d+(?:-\d+)?", r"\[(?P<name>[^\]]*)\]", r"(?:a|a)*b", r"x*x*y", r"\s+\Z"):
        assert expressions.slow_text(expressions.Expression("", pattern, 0, frozenset({"search", "fullmatch"}))), (
            pattern
        )


def test_every_module_with_expressions_is_measured() -> None:
    assert len(_of_modules()) > 40
    unknown = {each.place.partition(":")[0] for each in expressions.expressions()[1]}
    assert set(_of_modules()) | unknown == set(_MODULES)
    for name in ("console.sensitive", "console.model.certificates", "console.flight.pseudonyms"):
        assert name in _of_modules()


def _own(name: str, code: str) -> str:
    return f"{name}: {code}"


def _of_calls(file: str, function: str) -> list[str]:
    """Return the first arguments of all calls of a function in a file, as source; the function uses them as
    expressions.
    """
    calls = [node for node in ast.walk(ast.parse((expressions.ROOT / file).read_text())) if isinstance(node, ast.Call)]
    named = [each for each in calls if isinstance(each.func, ast.Name) and each.func.id == function]
    found = [ast.literal_eval(each.args[0]) for each in named]
    assert found
    return found


_LAYOUT = quota_decoder._Types(("user", "client-id"), (b"\x03\x05user", b"\x00\x0aclient-id"), (), (0, 1))
_KEYS = quota_decoder._Keys(("a", "b"), (b"\x00\x03\x05rate", b"\x00\x02x", b"\x00\x00"), Struct(">d"))
_MADE: dict[str, tuple[expressions.Expression, ...]] = {
    _own("console.model.record_masks", "pattern"): tuple(
        expressions.Expression("record_masks", given.pattern, given.flags, frozenset({"search"}))
        for given in map(record_masks._given, ("card", " ", "aa", ""))
    ),
    _own("console.language.filters", "translate(pattern)"): tuple(
        expressions.Expression("filters", translate(glob), 0, frozenset({"fullmatch"}))
        for glob in ("*a*b*", "a?c*", "[a-f]*x", "*" * 20 + "y")
    ),
    _own("console.wire.quota_decoder", "'(?:' + names + ')(' + values + ')|(.+)'"): tuple(
        expressions.Expression("quota_decoder", made.pattern, made.flags, frozenset({"findall"}))
        for made in (quota_decoder._pattern([_LAYOUT], [_KEYS], exact=exact) for exact in (False, True))
    ),
    _own("console.model.system_topics", "pattern"): tuple(
        expressions.Expression("system_topics", pattern, 0, frozenset({"fullmatch"}))
        for pattern in _of_calls("console/model/system_topics.py", "_named")
    ),
    _own("console.lake.s3", "pattern"): tuple(
        expressions.Expression("s3", pattern, 0, frozenset({"search"}))
        for pattern in _of_calls("console/lake/s3.py", "_found")
    ),
    _own("console.triage.connectors", "f'(?<![\\\\w.-]){re.escape(name)}(?![\\\\w-]|\\\\.\\\\w)'"): tuple(
        expressions.Expression("connectors", rf"(?<![\w.-]){re.escape(topic)}(?![\w-]|\.\w)", 0, frozenset({"search"}))
        for topic in ("orders", "a", "a.b-c_d", "a" * 249)
    ),
    _own("console.model.drift_rules", "pattern"): tuple(
        expressions.Expression("drift_rules", pattern, 0, frozenset({"search"}))
        for _, pattern in importlib.import_module("console.model.drift_rules").BY_PATTERN
    ),
}
"""Place of an expression that code makes at run time from texts that the operator did not write -> an example."""
_OPERATORS = {
    _own("widgets.row_table", "source"),
    _own("console.model.yaml_places", "(found := self.text())"),
    _own("console.lake.transforms.drift", "each.names.pattern"),
    _own("console.lake.transforms.drift", "each.clusters.pattern"),
    _own("console.lake.transforms.policy_violation", "policy.names.pattern"),
    _own("console.lake.transforms.policy_violation", "policy.clusters.pattern"),
    _own("console.lake.transforms.policy_violation", "policy.acl or policy.attrs.pattern"),
    _own("console.lake.transforms.policy_violation", "expected.matches"),
    _own("console.lake.transforms.policy_violation", "expected.matches_not"),
    # From the operator's own client.properties: the variables that a provider may give.
    _own("console.contexts.config_providers", "pattern or ''"),
    _own("console.contexts.config_providers", "self.pattern"),
    # From a client of an embedded Connect worker, which only compiles the expression.
    _own("console.embedded.connect.validation", "text"),
    # From clients of an embedded cluster: patterns of metrics, which it only compiles, and patterns of transactions,
    # which it matches.
    _own("console.embedded.own_resources", "expression.strip()"),
    _own("console.embedded.handlers.transactions", "getattr(request, 'transactional_id_pattern', None) or ''"),
}
"""Places of expressions that the operator writes, and of others for which docs/security.md promises no linear time."""


def test_an_expression_that_is_made_at_run_time_is_measured_or_an_operators_own() -> None:
    found = {_own(each.place.partition(":")[0], each.code) for each in expressions.expressions()[1]}
    assert found == set(_MADE) | _OPERATORS


@pytest.mark.parametrize("made", _MADE)
def test_what_is_made_at_run_time_is_linear(made: str) -> None:
    assert not [text for each in _MADE[made] if (text := expressions.slow_text(each))]


def _listeners(text: str) -> object:
    return list(advertised_with_tls(1, ConfigSet((ConfigEntry("advertised.listeners", text, ConfigSource(4)),))))


_READERS: dict[str, Callable[[str], object]] = {
    "secrets": lambda text: without_secrets(f"password {text}", "…"),
    "listeners": _listeners,
    "documentation": plain_text,
    "PEM": pem_certificates,
    "ssh": lambda text: ssh_failed(SshHost("bastion", None), text, in_time=True, asked=True),
    "nesting": lambda text: deeper_than(text.encode(), 1 << 20),
}
_PIECES = (
    "a", " ", "=", "://", "password=\"", "password='\\", "token:", "x.", "<p", "< ", "-----BEGIN CERTIFICATE-----\n",
    "-----END", "channel 1: open failed: x\n", "[", '"\\', "\n", "bearer ", "a://b", "/",
    "eyJ", "eyJ.", "basic ", "authorization: ", "sig=", "-----BEGIN PRIVATE KEY-----", '\\"', "password\\\": \\\"", "@",
    "://a:b",
)  # fmt: skip


@pytest.mark.parametrize("reader", _READERS)
def test_readers_of_foreign_text_take_time_by_its_length(reader: str) -> None:
    read = _READERS[reader]
    for piece in _PIECES:
        for end in ("", "\0"):
            long, short = (piece * (size // len(piece)) + end for size in (16 << 10, 8 << 10))
            took = min(expressions.cpu_seconds(lambda text=long: read(text), 2.0) for _ in range(2))  # type: ignore[misc]
            half = min(expressions.cpu_seconds(lambda text=short: read(text), 2.0) for _ in range(2))  # type: ignore[misc]
            assert took < max(expressions.GROWTH * half, 0.1), (piece, took, half)


def test_a_brokers_error_and_a_record_of_the_log_are_bounded_before_they_are_looked_at() -> None:
    assert len(failure(40, "password" * 200_000).message) == MOST_WORDS + 1
    assert failure(40, "Invalid value -1").message == "Invalid value -1"
    record = logging.LogRecord("console", logging.INFO, "", 0, "%s", ("secret" * 1_000_000,), None)
    out = StringIO()
    took = expressions.cpu_seconds(lambda: out.write(WithoutSecrets("%(message)s").format(record)), 5.0)
    assert len(out.getvalue()) <= LONGEST_RECORD
    assert took < 2
