"""Tests of the sentences that describe rows, changes and graphs: they are true, and contain every value that is
unusual.
"""

from array import array
from math import nan

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from console.model import half_hour
from console.model.half_hour import HalfHour, Measure, OwnSample, Packed, Sample, Values
from console.present import in_words
from console.present.in_words import Told
from console.present.text import Cell

amounts = st.floats(min_value=0, max_value=1e12, allow_nan=False).map(lambda value: round(value, 3))
series = st.lists(amounts, min_size=1, max_size=180)
COLUMNS = (Told(""), Told("lag"), Told("members"), Told("state", is_letter=True))


@given(series)
def test_a_course_is_that_of_its_series(values: list[float]) -> None:
    course, last = in_words.course(values), values[-1]
    assert values[course.lowest] == min(values)
    assert values[course.highest] == max(values)
    span = max(values) - min(values)
    if course.word == "rose":
        assert last > values[course.since] == min(values)
        assert all(value > values[course.since] for value in values[course.since + 1 :])
    elif course.word == "fell":
        assert last < values[course.since] == max(values)
        assert all(value < values[course.since] for value in values[course.since + 1 :])
    elif course.word == "steady":
        assert span <= in_words.STEADY * max(values)
    else:
        assert min(values) < last < max(values)
        assert span > in_words.STEADY * max(values)


@given(series)
def test_what_only_grows_rose_and_backwards_it_fell(values: list[float]) -> None:
    up = sorted(values)
    assume(up[-1] - up[0] > in_words.STEADY * up[-1])
    assert in_words.course(up).word == "rose"
    assert in_words.course(up[::-1]).word == "fell"


@given(series, st.sampled_from(["seconds", "bytes", "share", "number"]))
def test_a_sentence_never_says_that_a_value_rose_to_itself(values: list[float], unit: str) -> None:
    text = in_words.course_text("lag", [(f"14:{at:02}", value) for at, value in enumerate(values)], unit)
    now = in_words.amount_text(values[-1], unit)
    assert now in text
    if " rose " in text or " fell " in text:
        was = text.partition(" from ")[2].partition(" to ")[0]
        assert was != now
        assert (values[-1] > min(values)) if " rose " in text else (values[-1] < max(values))


def test_sentences() -> None:
    rising = [("14:02:10", 4.0), ("14:02:20", 30.0), ("14:02:30", 90.0)]
    assert (
        in_words.course_text("lag of billing", rising, "seconds")
        == "lag of billing rose from 4 s to 90 s since 14:02:10"
    )
    falling = [("14:02:10", 90.0), ("14:02:20", 95.0), ("14:02:30", 4.0)]
    assert in_words.course_text("lag", falling, "seconds") == "lag fell from 95 s to 4 s since 14:02:20"
    assert in_words.course_text("disk", [("14:02:10", 0.5), ("14:02:20", 0.501)], "share") == (
        "disk is steady at 50 % since 14:02:10"
    )
    assert in_words.course_text("lag", [("14:02:10", 7.0)], "seconds") == "lag is 7 s"
    between = [("14:02:10", 0.0), ("14:02:20", 10.0), ("14:02:30", 5.0)]
    assert in_words.course_text("lag", between, "number") == (
        "lag is 5; since 14:02:10 it went between 0 at 14:02:10 and 10 at 14:02:20"
    )


def test_the_half_hour_names_each_measure_but_no_healthy_lag() -> None:
    values = [(Measure("behind", "billing"), (4.0, 90.0)), (Measure("behind", "calm"), (1.0, 4.0))]
    values += [(Measure("offline"), (0.0, 0.0)), (Measure("disk", "1 /data"), (0.1, 0.9))]
    bounded = frozenset({Measure("behind", "billing")})
    samples = tuple(Sample(at, {measure: each[at] for measure, each in values}, bounded) for at in (0, 1))
    told = [each.text for each in in_words.cluster_graphs(HalfHour(samples)).values()]
    assert [each.partition(" rose ")[0].partition(" is ")[0] for each in told] == [
        "the number of offline partitions",
        "lag of group billing",
        "used disk of broker 1 /data",
    ]
    assert "from 4 s to at least 90 s since " in told[1]  # the lag may have begun before the first look


def test_the_half_hour_of_one_group() -> None:
    def packed(lag: float, behind: float) -> Packed:
        columns = (Values(nan, None, array("f", [value]).tobytes()) for value in (lag, behind, nan))
        return Packed(("billing",), tuple(columns))

    own = tuple(OwnSample(at, {"group": packed(403.0, behind)}) for at, behind in enumerate((4.0, 90.0)))
    records, time = (each.text for each in in_words.own_graphs(HalfHour((), own), "group", "billing").values())
    assert records.startswith("the number of records that group billing has not read is steady at 403 since ")
    assert time.startswith("lag of group billing rose from 4 s to 90 s since ")
    assert not in_words.own_graphs(HalfHour((), own), "group", "another")


WINDOW = 12
"""Number of the newest values that are kept."""


@given(series)
@example([4.0, 90.0, 0.0, 0.0, 90.0])
@example([4.0, 1000.0, 500.0, 90_000.0, 20.0, 500.0])
def test_a_value_that_wavers_is_told_once_and_one_that_moves_again(values: list[float]) -> None:
    """At each sample, the sentence for the user is the previous or the current one, and its values are close to the
    current values.
    """
    told: dict[str, in_words.Sentence] = {}
    for at in range(len(values)):
        pairs = [*enumerate(values[: at + 1])][-WINDOW:]
        now = {"lag": in_words._sentence("lag", pairs, "number")}
        before, told = told, in_words.still_told(told, now)
        shown, is_ = told["lag"], now["lag"]
        assert shown.word == is_.word
        for was, each in zip(shown.values, is_.values, strict=True):
            assert abs(was - each) <= in_words.LEAST_CHANGE * max(was, each)
        # The told beginning differs from the current one only if it is earlier than all kept values.
        assert shown.since == is_.since or shown.since < pairs[0][0]
        assert before == {} or shown == before["lag"] or shown == is_


def test_a_value_within_a_quarter_of_the_one_told_is_not_told_again() -> None:
    pairs = [(0, 100.0), (60, 104.0), (120, 101.0)]
    first, second, third = (in_words._sentence("lag", pairs[: at + 1], "number") for at in range(3))
    assert second.text != third.text
    assert in_words.still_told(in_words.still_told({1: first}, {1: second}), {1: third}) == {1: first}
    assert in_words.still_told({1: first, 2: first}, {2: third}) == {2: first}


def test_what_rose_again_is_told_with_its_new_beginning() -> None:
    first, again = (
        in_words._sentence("lag", [*enumerate(values)], "seconds")
        for values in ([4.0, 90.0], [4.0, 90.0, 0, 4.0, 90.0])
    )
    assert first.word == again.word == "rose"
    assert in_words.still_told({1: first}, {1: again}) == {1: again}
    earlier = in_words._sentence("lag", [(-900, 4.0), (-890, 90.0)], "seconds")  # a replay went back
    assert in_words.still_told({1: again}, {1: earlier}) == {1: earlier}
    swung, swings = (
        in_words._sentence("lag", [*enumerate(values)], "seconds")
        for values in ([4.0, 1000.0, 500.0], [4.0, 1000.0, 500.0, 90_000.0, 500.0])
    )
    assert in_words.still_told({1: swung}, {1: swings}) == {1: swings}


def test_the_severity_comes_first_and_so_do_the_severest_rows() -> None:
    words = {"": "broker 2 is down", "severity": "high", "since": "14:00"}
    assert in_words.row_text((Told(""), Told("severity"), Told("since")), words) == (
        "high: broker 2 is down, since 14:00"
    )
    rows: list[dict[str, str]] = [{"severity": "info"}, {"": "x", "state": "in trouble"}, {"severity": "critical"}]
    assert sorted(rows, key=in_words.badness) == rows[::-1]


UNSAID = (in_words.UNKNOWN, in_words.NONE)
MOSTLY = st.sampled_from(["3"] * 8 + [*UNSAID])
"""Draws mostly "3", sometimes the word for an unknown or missing value."""


@given(
    st.lists(
        st.fixed_dictionaries({"": st.text("ab"), "lag": st.sampled_from(["0", "1", *UNSAID]), "members": MOSTLY}).map(
            lambda words: {name: text for name, text in words.items() if text != in_words.NONE}
        )
    )
)
@example([{"": "a", "lag": "0", "members": "3"}] * 8 + [{"": "b", "members": in_words.UNKNOWN}, {"": "c", "lag": "0"}])
def test_a_usual_value_is_that_of_most_rows_and_said_once(rows: list[dict[str, str]]) -> None:
    usual = in_words.usual_values(COLUMNS, rows)
    of_most = sum(words.get("members") == "3" for words in rows) >= in_words.MOST_ROWS * len(rows)
    assert ("members" in usual) == (len(rows) >= in_words.LEAST_ROWS and of_most)
    for name, value in usual.items():
        assert sum(words.get(name) == value for words in rows) >= in_words.MOST_ROWS * len(rows)
    for words in rows:
        said = {*in_words.row_text(COLUMNS, words, usual).split(", ")} - {words[""]}
        # A row names each value that differs from the usual one, even if it is unknown or none.
        values = {name: words.get(name, in_words.NONE) for name in ("lag", "members")}
        assert said == {
            f"{name} {value}"
            for name, value in values.items()
            if (value != usual[name] if name in usual else value not in UNSAID)
        }


def test_every_measure_has_words() -> None:
    assert set(in_words._OF_CLUSTER) == set(half_hour.What.__args__)  # type: ignore[attr-defined]
    assert set(in_words._OF_ONE) == {what for each in half_hour.OWN.values() for what in each}


@given(st.text())
def test_nothing_drawn_is_spoken(text: str) -> None:
    told = in_words.spoken(text)
    assert not in_words._DRAWN.search(told)
    assert "   " not in told
    assert in_words.spoken("── a row ──  ▸ 4 → 5  ▁▂▇  ⠿ ≥ 3 ⏎") == "a row, 4 to 5, at least 3 enter"


def test_a_row_says_its_name_first_and_what_changed_of_it() -> None:
    cells: list[Cell] = ["▸ billing", ("≥ 4 s", "failed"), "·", ("!", "failed")]
    words = in_words.row_words(COLUMNS, cells)
    assert in_words.row_text(COLUMNS, words) == "billing, lag at least 4 s, closed, in trouble"
    numbered = in_words.row_words([Told("", noun="broker")], ["2 ctrl"])
    assert numbered == {"": "broker 2 ctrl"}
    before = {"": "billing", "lag": "4 s", "members": "2"}
    now = {"": "billing", "lag": "90 s", "members": in_words.UNKNOWN, "state": "in trouble"}
    changed = in_words.changed_columns(COLUMNS, before, now)
    assert list(changed.values()) == ["lag from 4 s to 90 s", "now in trouble"]
    back = in_words.changed_columns(COLUMNS, now, before)
    assert list(back.values()) == ["lag from 90 s to 4 s", "no longer in trouble"]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("4 s", "90 s", True),
        ("4 s", "4 s", False),
        ("100 MiB", "110 MiB", False),
        ("100 MiB", "140 MiB", True),
        ("1,000 KiB", "1 MiB", False),
        ("59 s", "1 min", False),
        ("Stable", "Empty", True),
        ("out of the ISR of 12 partitions", "out of the ISR of 13 partitions", False),
        ("out of the ISR of 12 partitions", "out of the ISR of 39 partitions", True),
        ("at least 20 s", "at least 30 s", False),
        ("at least 20 s", "at least 50 s", True),
        ("at least 20 s", "1 s", True),
    ],
)
def test_what_is_worth_telling(before: str, now: str, told: bool) -> None:
    assert in_words.differs(before, now) is told
    assert in_words.differs(now, before) is told or before.startswith("at least")


@given(st.floats(min_value=1.01, max_value=1.2), st.integers(min_value=1, max_value=10_000))
def test_small_steps_are_told_once_they_add_up(step: float, start: int) -> None:
    """A new sentence is given once the value differs enough from the value in the last sentence given, not from the
    previous sample.
    """
    known, value = {"lag": f"{start}"}, float(start)
    for _ in range(200):
        value *= step
        words = {"lag": f"{value:.0f}"}
        changed = in_words.changed_columns(COLUMNS, known, words)
        told = float(known["lag"])
        assert bool(changed) == (round(value) - told > in_words.LEAST_CHANGE * round(value))
        known = in_words.as_told(known, words, changed)
    assert float(known["lag"]) > start


def test_wrapped_lines_become_whole_sentences() -> None:
    lines = [[("Explains   3 topics, as orders", "")], [(" " * 11 + "and billing", "")], [("", "")], [("▁▂▃", "")]]
    assert in_words.sentences(lines, 11) == ["Explains: 3 topics, as orders and billing"]
    assert in_words.sentences([[("! retention: 4 GiB go", "danger")]], 11) == ["warning: retention: 4 GiB go"]
