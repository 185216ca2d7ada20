"""Tests that kac's names of error codes equal those of Kafka's table (org.apache.kafka.common.protocol.Errors of 4.4.0,
in KAFKA_ERRORS).
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.admin.errors import REMEDIES, error_name, failure, is_retriable

KAFKA_ERRORS = Path(__file__).with_name("kafka_4_4_errors.txt")
TABLE = {int(code): (name, kind) for code, name, kind in map(str.split, KAFKA_ERRORS.read_text().splitlines())}


def test_every_error_of_kafka_has_its_name_and_kind_and_every_remedy_an_error() -> None:
    assert {code: (error_name(code), "retriable" if is_retriable(code) else "final") for code in TABLE} == TABLE
    assert set(REMEDIES) <= {name for name, _ in TABLE.values()}


@given(st.integers(-(2**15), 2**15 - 1).filter(lambda code: code not in TABLE))
def test_an_error_that_is_not_known_keeps_its_number(code: int) -> None:
    told = failure(code, "words of tomorrow")
    assert (told.name, told.message) == (f"UNKNOWN({code})", "words of tomorrow")
    assert told.remedy
    assert not is_retriable(code)


def test_a_failure_has_the_brokers_words_and_ours() -> None:
    told = failure(40, "Unknown topic config name: x")
    assert (told.name, told.message) == ("INVALID_CONFIG", "Unknown topic config name: x")
    assert "key" in told.remedy
    assert failure(3).message == ""


@pytest.mark.parametrize("code", [5, 6, 7, 14, 15, 16, 29, 31, 35, 36, 38, 40, 41, 42, 44, 54, 62, 89])
def test_what_an_administrator_meets_has_a_remedy(code: int) -> None:
    assert len(failure(code).remedy) > 20
