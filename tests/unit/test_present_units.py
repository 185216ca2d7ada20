"""Tests of numbers as people write them: exact, or marked as rounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.plan import amounts
from console.present.lake import rate_text
from console.present.values import config_value


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (604_800_000, "7 d"),
        (129_600_000, "36 h"),
        (5_400_000, "90 min"),
        (90_000, "90 s"),
        (250, "250 ms"),
        (1_500, "1.5 s"),
        (123_456_789, "≈ 1.43 d"),
        (315_360_000_000_000, "≈ 3,650,000 d"),
    ],
)
def test_durations(milliseconds: int, text: str) -> None:
    assert amounts.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (121, "2 min"),
        (150, "2.5 min"),
        (598, "10 min"),
        (960, "16 min"),
        (961, "16 min"),
        (7199, "120 min"),
        (18_720, "5.2 h"),
        (172_800, "2 d"),
        (9_000_000_000, "104,167 d"),
    ],
)
def test_measured_times_go_on_in_one_unit(seconds: float, text: str) -> None:
    assert amounts.measured_time(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(1_073_741_824, "1 GiB"), (536_870_912, "512 MiB"), (4096, "4 KiB"), (1_048_588, "≈ 1 MiB"), (999, "999 B")],
)
def test_byte_counts(count: int, text: str) -> None:
    assert amounts.byte_count(count) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (10_000_000, "10 MB/s"),
        (1_048_576, "1 MiB/s"),
        (1_500_000, "1.5 MB/s"),
        (1_234_567, "≈ 1.23 MB/s"),
        (1024, "1 KiB/s"),
        (7.5, "7.50 B/s"),
    ],
)
def test_byte_rates_say_which_mega_they_mean(rate: float, text: str) -> None:
    assert amounts.byte_rate(rate) == text


@pytest.mark.parametrize(
    ("rate", "limit", "text"),
    [
        (900_000, 2**20, "879 KiB/s"),
        (900_000, 10**6, "900 kB/s"),
        (900_000, None, "900 kB/s"),
        (-2048, 2**20, "-2 KiB/s"),
    ],
)
def test_a_rate_is_told_in_the_bytes_of_its_limit(rate: float, limit: float | None, text: str) -> None:
    assert rate_text("producer_byte_rate", rate, limit) == text


@given(st.integers(1, 2**62))
def test_an_exact_text_reads_back_and_a_rounded_one_says_so_and_is_near(count: int) -> None:
    for text, unit in (
        (amounts.duration(count), amounts.Unit.MILLISECONDS),
        (amounts.byte_count(count), amounts.Unit.BYTES),
    ):
        if not text.startswith("≈") and not text.replace(",", "").endswith((" ms", " B")):
            assert amounts.parse_amount(text, unit) == count
    text = amounts.byte_count(count)
    if text.startswith("≈"):
        amount, unit = text.removeprefix("≈ ").replace(",", "").split()
        factor = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}[unit]
        assert abs(float(amount) * factor - count) <= count * 0.006


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("retention.ms", "604800000", "7 d"),
        ("log.retention.hours", "168", "7 d"),
        ("segment.bytes", "1073741824", "1 GiB"),
        ("follower.replication.throttled.rate", "10000000", "10 MB/s"),
        ("retention.ms", "-1", "no limit"),
        ("log.retention.bytes", "-1", "no limit"),
        ("max.compaction.lag.ms", "9223372036854775807", "max"),
        ("local.retention.ms", "-2", ""),
        ("cleanup.policy", "delete", ""),
        ("num.io.threads", "8", ""),
        ("retention.ms", "abc", ""),
        ("retention.ms", "", ""),
        ("retention.ms", None, ""),
        ("linger.ms", "0", ""),
        ("linger.ms", "5", ""),
    ],
)
def test_the_human_form_of_a_config_value(key: str, value: str | None, text: str) -> None:
    assert config_value(key, value) == text


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("producer_byte_rate", 10e6, "10 MB/s"),
        ("request_percentage", 200.0, "200 %"),
        ("request_percentage", 12.5, "12.50 %"),
        ("controller_mutation_rate", 5.0, "5 mut/s"),
        ("connection_creation_rate", 20.0, "20 conn/s"),
        ("somebody_elses_quota", 3.0, "3"),
    ],
)
def test_quotas_have_their_units(key: str, value: float, text: str) -> None:
    assert amounts.quota(key, value) == text


def test_measured_sizes_have_two_figures_or_more() -> None:
    assert [amounts.size(n) for n in (0, 999, 1536, 12 << 20, 1_319_413_953_331, -1)] == [
        "0 B",
        "999 B",
        "1.5 KiB",
        "12 MiB",
        "1.2 TiB",
        "–",
    ]


def test_numbers_without_needless_fractions() -> None:
    assert [amounts.number(n) for n in (2.0, 1234567, 0.25, 2.5)] == ["2", "1,234,567", "0.25", "2.50"]


@given(st.floats(1, 1e11), st.sampled_from([None, 65536.0, 1e6, float(5 << 20), 1e9]))
def test_a_measured_rate_has_three_figures_and_fits_its_column(value: float, limit: float | None) -> None:
    text = rate_text("producer_byte_rate", -value, limit)
    assert len(text) <= 12
    whole, point, part = text.removeprefix("-").partition(" ")[0].partition(".")
    assert not point or len((whole + part).lstrip("0")) <= 3
