"""Tests of numbers in texts that people write: all parsers of kac agree on them, and refuse other texts with a
message.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.admin.oauth import _timeout
from console.cli.kafka_configs.alter import _quota
from console.cli.kafka_configs.command_line import UsageError
from console.cli.main import COMMANDS, command_parser
from console.files.reading import read_files
from console.language.arguments import whole_number
from console.model.numbers import decimal_number, is_decimal, is_natural, is_whole, natural_number
from console.model.yaml_places import FileProblems
from console.plan.values import DOUBLE, LONG, parse_quota, parse_value, quota_problem

ODD = (
    "0x1p3",
    "0x10",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "1e400",
    "1_000",
    "1_0.5",
    "٣",
    "³",
    "1e",
    "",
    " 5",
    "5\n",
    "1,5",
)
"""Texts that Python, Java or YAML accept as numbers, or that look similar."""


@given(st.text(max_size=8) | st.from_regex(r"[-+]?[0-9_.eE٣]{1,8}", fullmatch=True))
@example("1e400")
def test_what_is_read_is_plain_and_finite(text: str) -> None:
    for accepts in (is_natural, is_whole, is_decimal):
        if accepts(text):
            assert set(text) <= set("0123456789+-.eE")
            assert math.isfinite(float(text))
    assert is_natural(text) <= is_whole(text) <= is_decimal(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_is_written_is_read_back(value: float) -> None:
    assert decimal_number(repr(value)) == value


QUOTAS = ("request_percentage", "producer_byte_rate", "controller_mutation_rate", "connection_creation_rate")
TRIMMED = tuple(text for text in ODD if text == text.strip())
"""The texts of `ODD` without spaces around them, because parsers of files remove such spaces."""


@pytest.mark.parametrize("text", ODD)
def test_an_odd_number_is_none(text: str) -> None:
    for read in (natural_number, decimal_number):
        with pytest.raises(ValueError, match="is not a"):
            read(text)
    assert whole_number(text) is None


@pytest.mark.parametrize("text", TRIMMED)
@pytest.mark.parametrize("key", QUOTAS)
def test_no_quota_is_odd(key: str, text: str) -> None:
    with pytest.raises(ValueError, match=key):
        parse_quota(key, text)


@pytest.mark.parametrize("text", TRIMMED)
def test_no_quota_of_kafka_configs_is_odd(text: str) -> None:
    try:
        value = _quota("request_percentage", text)
    except UsageError:
        return
    assert quota_problem("request_percentage", value)  # a value that Java reads as infinite is refused


@pytest.mark.parametrize("text", [text for text in TRIMMED if text])
def test_no_config_and_no_file_is_odd(text: str, tmp_path: Path) -> None:
    for key, type_ in (("retention.ms", LONG), ("min.cleanable.dirty.ratio", DOUBLE)):
        with pytest.raises(ValueError, match=key):
            parse_value(key, type_, text)
    file = tmp_path / "wanted.yaml"
    for wanted in (
        f'topics: {{t: {{partitions: "{text}", replication: 1}}}}',
        f"topics: {{t: {{partitions: {text if ',' not in text else 'x'}, replication: 1}}}}",
        f'quotas: [{{user: u, limits: {{request_percentage: "{text}"}}}}]',
        f'brokers: {{"{text}": {{log.cleaner.threads: 1}}}}',
    ):
        file.write_text(f"version: 1\n{wanted}\n", encoding="utf-8")
        with pytest.raises(FileProblems):
            read_files([str(file)])


def test_a_client_of_oauth_waits_for_no_odd_time() -> None:
    assert _timeout({"connect.timeout.ms": "³", "read.timeout.ms": "1_000"}, 7.0) == 7.0


def numbers_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield a parser's options whose value is a number, including those of subcommands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from numbers_of(below)
        elif callable(action.type) and _reads(action, "5"):
            yield action


def _reads(action: argparse.Action, text: str) -> bool:
    try:
        return isinstance(action.type(text), int | float)  # type: ignore[operator, misc]
    except (ValueError, argparse.ArgumentTypeError):
        return _reads(action, "1") if text == "5" else False


def test_no_option_takes_an_odd_number() -> None:
    found = [
        (command.name, action)
        for command in COMMANDS
        if not command.own_parser
        for action in numbers_of(command_parser(command))
    ]
    assert len(found) > 10
    taken = [(name, action.option_strings, text) for name, action in found for text in ODD if _reads(action, text)]
    assert taken == []
