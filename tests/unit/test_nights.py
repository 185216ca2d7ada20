"""Tests of nights: properties of their scores, the rows that are collected from polls, and the form of each written
night.
"""

import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from benchmarks.faults.kept import RECORDED, record_name, trials
from benchmarks.faults.kept import RECORDS as FAULTS
from benchmarks.nights.catalogue import nights
from benchmarks.nights.cluster import SECURITIES
from benchmarks.nights.field import Field
from benchmarks.nights.kept import again, judged
from benchmarks.nights.night import Begin, Night, Words
from benchmarks.nights.said import NIGHT, TWIN, Half, Line, Proposal, Row, Said
from benchmarks.nights.score import average, first_row, judge, named, silence, step, worse
from benchmarks.nights.table import BEGIN, END, line, written
from console.admin.errors import Disconnected
from console.model.failure import Failure
from console.model.severity import Certainty, Severity
from console.triage.cause import Claim, Evidence, Next
from console.triage.diagnosis import Hidden, Named, Unexplained, Verdict
from console.triage.symptoms import Subject
from tests.support.kafka_jars import RELEASES

WRITTEN = nights()
UNTIL, BEGUN = 100.0, 4.0
CAUSE, SYMPTOM, STEP, HARM = "topic orders was deleted", "group billing lags", "make it again", "delete topic orders"
SEVERITIES, CERTAINTIES = [each.value for each in Severity], [each.value for each in Certainty]


@contextlib.asynccontextmanager
async def _nothing(_field: Field) -> AsyncIterator[Begin]:
    async def begin() -> None:
        """Do nothing."""

    yield begin


def a_night(**changed: Any) -> Night:
    """Return a night with the words defined above and these changed attributes."""
    known: dict[str, Any] = {
        "name": "deleted",
        "source": "https://example.org/report",
        "story": "",
        "make": _nothing,
        "twin_story": "",
        "twin": _nothing,
        "cause": Words(("orders", "deleted|gone")),
        "symptom": Words(("billing", "lags")),
        "step": Words(("again",)),
        "wrong": (r"^delete topic",),
    }
    return Night(**(known | changed))


def a_row(text: str, *proposals: str, first: float = 10.0, last: float = UNTIL, **changed: Any) -> Row:
    """Return a critical, certain row that the last poll has. proposals: each ``advice: statement``, or only advice.
    first, last: seconds.
    """
    steps = tuple(Proposal(*each.partition(": ")[::2]) for each in proposals)
    known = {"severity": "critical", "certainty": "certain", "subject": "topic orders"}
    return Row(text=text, proposals=steps, first=first, last=last, **(known | changed))


def a_half(*rows: Row, lines: tuple[Line, ...] = (), half: str = NIGHT, slug: str = "deleted") -> Half:
    """Return the night, or with `half` its twin, with these rows and lines."""
    made = {"slug": slug, "half": half, "version": "4.3.0", "until": UNTIL, "begun": BEGUN, "began_ms": 0}
    return Half(rows=rows, lines=lines, **made)  # type: ignore[arg-type]


ROWS = st.builds(
    a_row,
    st.sampled_from([CAUSE, SYMPTOM, "broker 2 is down"]),
    st.sampled_from([STEP, f"now: {HARM}", "look at its log"]),
    first=st.floats(-10, UNTIL),
    last=st.sampled_from([50.0, UNTIL]),
    severity=st.sampled_from(SEVERITIES),
    certainty=st.sampled_from(CERTAINTIES),
)
HALVES = st.lists(ROWS, max_size=5).map(lambda rows: a_half(*rows))


def test_a_night_is_named_by_its_cause_a_symptom_or_as_unknowable() -> None:
    assert named(a_night(), a_half(a_row(SYMPTOM), a_row(CAUSE))) == 2
    assert named(a_night(), a_half(a_row(SYMPTOM))) == 1
    assert named(a_night(), a_half(a_row("broker 2 is down"))) == 0
    assert named(a_night(), a_half()) == 0
    night = a_night(cause=Words(("orders", "deleted"), never=("broker",)))
    assert named(night, a_half(a_row(f"{CAUSE} by broker 2"))) == 0
    said = a_half(lines=(Line(text="who DELETED orders: ask the owner of orders", first=5.0, last=UNTIL),))
    over = a_half(lines=(Line(text="who deleted orders", first=5.0, last=UNTIL - 1),))
    assert named(a_night(unknowable=True), said) == 2
    assert named(a_night(unknowable=True), over) == 0
    assert named(a_night(), said) == 0
    assert named(a_night(unknowable=True), a_half(a_row(CAUSE, severity="info"))) == 2


@pytest.mark.parametrize("changed", [{"severity": "info"}, {"last": UNTIL - 1}])
def test_only_what_stands_and_is_trouble_names_it(changed: dict[str, Any]) -> None:
    assert named(a_night(), a_half(a_row(CAUSE, **changed))) == 0


@given(HALVES, ROWS)
def test_one_more_row_names_it_no_less_and_makes_no_twin_more_silent(half: Half, row: Row) -> None:
    assert named(a_night(), replace(half, rows=(*half.rows, row))) >= named(a_night(), half)
    assert silence(a_night(), replace(half, rows=(*half.rows, row))) <= silence(a_night(), half)


def test_a_sure_wrong_diagnosis_is_listed_where_it_stands_instead() -> None:
    wrong, guess = a_row("broker 2 is down\nmore"), a_row("broker 3 is down", certainty="possible")
    score = judge(a_night(), a_half(wrong, guess, a_row(SYMPTOM)), None)
    assert (score.named, score.instead) == (1, ("broker 2 is down (certain)",))
    assert judge(a_night(), a_half(wrong, a_row(CAUSE)), None).instead == ()


def test_how_good_a_step_is() -> None:
    assert step(a_night(), a_half(a_row(CAUSE, STEP))) == 2
    assert step(a_night(), a_half(a_row(CAUSE, "a topic: create topic orders again"))) == 2
    assert step(a_night(), a_half(a_row(CAUSE, "look at its log"))) == 1
    assert step(a_night(), a_half(a_row(CAUSE, STEP, last=UNTIL - 1))) == 0
    assert step(a_night(), a_half()) == 0
    night = a_night(step=Words(("orders", "again", "schema")))
    assert step(night, a_half(a_row("x", "make it again", "with its schema"))) == 2
    assert step(night, a_half(a_row("made again with its schema", "look at it"))) == 1
    assert step(a_night(step=None), a_half()) == 2  # without a right step, silence is right and harm is wrong
    assert step(a_night(step=None), a_half(a_row("x", f"now: {HARM}"))) == 0
    # A line that names the place to look at counts as a step.
    assert step(a_night(), a_half(lines=(Line(text="start it again", first=0.0, last=UNTIL),))) == 2
    before = a_row("x", f"now: {HARM}", first=-9.0, last=-1.0)
    assert step(a_night(), a_half(before, a_row(CAUSE, "delete topic orders by hand, make it again"))) == 2


@given(HALVES)
def test_a_harmful_statement_is_worth_nothing_and_a_twin_is_blamed_for_certainty(half: Half) -> None:
    passing = a_row("x", STEP, f"or: {HARM}", first=5.0, last=6.0, severity="info", certainty="possible")
    score = judge(a_night(), replace(half, rows=(*half.rows, passing, a_row(CAUSE, STEP))), None)
    assert score.step == 0
    assert HARM in score.harmful
    guessed = replace(half, rows=tuple(replace(row, certainty="possible") for row in half.rows))
    assert silence(a_night(), guessed) >= 1


def test_a_twin_is_silent_guessing_or_loud() -> None:
    night = a_night(fine=("rebalances",))
    quiet = (a_row("x", severity="info"), a_row("billing REBALANCES once"))
    assert silence(night, a_half(*quiet)) == 2
    assert silence(night, a_half(*quiet, a_row("y", certainty="possible", last=50.0))) == 1
    assert silence(night, a_half(*quiet, a_row("y", certainty="likely", first=-5.0, last=-4.0))) == 0


def test_the_first_row_is_counted_from_the_end_of_begin() -> None:
    late, early = a_row(CAUSE, first=20.0), a_row(SYMPTOM, first=11.5, last=12.0)
    assert first_row(a_night(), a_half(late, early)) == 11.5 - BEGUN
    assert first_row(a_night(), a_half(a_row(CAUSE, first=-3.0))) == 0
    assert first_row(a_night(), a_half(a_row(CAUSE, first=-3.0, last=-1.0))) is None
    assert first_row(a_night(), a_half(a_row(CAUSE, severity="info"), a_row("broker 2 is down"))) is None


@given(HALVES, HALVES)
def test_points_are_0_1_or_2(made: Half, twin: Half) -> None:
    score = judge(a_night(), made, replace(twin, half=TWIN))
    assert {score.named, score.step, score.twin} <= {0, 1, 2}
    assert (score.twin == 2) == (not score.alarms)
    assert line(score).startswith("deleted 4.3.0:")


def test_halves_are_paired_by_version_and_what_was_not_made_has_no_points() -> None:
    found = judged(
        {"deleted": a_night(), "other": a_night()},
        [
            a_half(half=TWIN),
            a_half(a_row(CAUSE, STEP)),
            a_half(half=TWIN, slug="other"),
            a_half(slug="unwritten"),
        ],
    )
    assert [(each.slug, each.named, each.step, each.twin) for each in found] == [
        ("deleted", 2, 2, 2),
        ("other", None, None, 2),
    ]
    assert asdict(average(found))["named"] == 2.0
    page = written(f"before {BEGIN}\nold\n{END} after", {"deleted": a_night(), "other": a_night()}, found, found)
    assert "| [deleted](https://example.org/report) | 4.3.0 | 2 | 2 | 2 |" in page
    assert page.startswith("before ")
    assert page.endswith(" after")
    assert "old" not in page


def test_less_than_before_is_named() -> None:
    good, bad = judge(a_night(), a_half(a_row(CAUSE, STEP)), None), judge(a_night(), a_half(), None)
    assert worse(bad, good) == ["named 0, was 2", "step 0, was 2"]
    assert worse(good, bad) == worse(good, good) == []


def a_verdict(second: int, *claims: Claim, unexplained: int = 0, hidden: str = "") -> Verdict:
    """Return the verdict of a poll at a second. unexplained: number of symptoms without a cause. hidden: a fact that
    can't be known; ``""`` for none.
    """
    symptoms = (Unexplained("lag-grows", unexplained, (Subject(group="billing"),)),) if unexplained else ()
    unknowable = (Hidden(hidden, "its owner"),) if hidden else ()
    causes = tuple(Named(claim, {}) for claim in claims)
    return Verdict(datetime.fromtimestamp(1000 + second, UTC), causes, symptoms, (), unknowable, ())


def a_claim(broker: int, lag: int) -> Claim:
    """Return a claim about a broker whose evidence contains the lag, in records."""
    return Claim(
        cause="broker-down",
        subject=Subject(broker=broker),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        evidence=(Evidence(f"lag {lag:,}", "ListOffsets"),),
        title=f"broker {broker} is down",
        next=(Next("start it"), Next("or empty it", f"drain broker {broker}")),
    )


def test_a_row_with_other_numbers_is_the_same_row_and_another_subject_another() -> None:
    said = Said()
    said.add(a_verdict(0, a_claim(2, 1_000)))
    said.add(a_verdict(3, a_claim(2, 2_500), a_claim(3, 1)))
    said.add(a_verdict(5, a_claim(3, 2)))
    half = said.half(999_000, slug="deleted", half=NIGHT, version="4.3.0", begun=0.0)
    second, third = half.rows
    assert (second.first, second.last, second.polls, half.until) == (1.0, 4.0, 2, 6.0)
    assert second.text == "broker 2 is down\nbroker 2\nlag 2,500 (ListOffsets)"
    assert [str(each) for each in second.proposals] == ["start it", "or empty it: drain broker 2"]
    assert list(half.standing()) == [third]


def test_symptoms_without_a_cause_lines_and_lost_brokers_are_rows_and_lines() -> None:
    said = Said()
    said.add(a_verdict(0, unexplained=3, hidden="why a JVM pauses"))
    said.lose(Disconnected(Failure("DISCONNECTED", "every broker hung up", "Look at them.")), 1002.0)
    half = said.half(1_000_000, slug="deleted", half=NIGHT, version="4.3.0", begun=0.0)
    unexplained, lost = half.rows
    assert unexplained.title == "unexplained: 3 lag-grows"
    assert (unexplained.severity, unexplained.is_sure) == ("warning", True)
    assert "every broker hung up" in lost.text
    assert list(half.standing()) == [lost]
    assert half.lines == (Line(text="why a JVM pauses. its owner", first=0.0, last=0.0),)


def test_a_record_gives_what_was_written_of_it() -> None:
    (trial,) = [each for each in trials(RECORDED) if (each.version, each.faults) == ("3.9.1", ("broker killed",))]
    live = replace(a_half(), began_ms=trial.began_ms, begun=0.0)
    half = again(live, FAULTS / record_name(trial.version, trial.faults))
    assert 0 < half.until < 120
    down = next(row for row in half.standing() if row.title == "broker 3 is down")
    assert down.is_trouble
    assert down.is_sure
    assert not [row for row in half.rows if row.last < 0 and row.is_trouble]
    told = Words(("broker 3", "down"))
    score = judge(a_night(cause=told, symptom=told, step=None), half, None)
    assert (score.named, score.step) == (2, 2)
    assert score.first is not None
    assert score.first < 15


@pytest.mark.parametrize("slug", WRITTEN)
def test_a_written_night_is_well_formed(slug: str) -> None:
    night = WRITTEN[slug]
    words = [each for each in (night.cause, night.symptom, night.step) if each is not None]
    patterns = [*night.wrong, *night.fine, *(text for each in words for text in (*each.must, *each.never))]
    assert all(re.compile(pattern) and pattern.strip() for pattern in patterns)
    assert all(each.must for each in words), "words that every text fits"
    assert not any(each.fit("") for each in words)
    address = urlsplit(night.source)
    assert address.scheme in ("http", "https")
    assert address.netloc
    assert night.name == night.name.strip() != ""
    assert night.story.strip()
    assert night.twin_story.strip()
    assert night.make is not night.twin
    assert night.versions
    assert set(night.versions) <= RELEASES.keys()
    assert night.security in SECURITIES
    assert 10 <= night.watch <= 150
    assert 1 <= night.brokers <= 5


def test_names_differ_and_slugs_are_names_of_files() -> None:
    assert not [name for name, count in Counter(night.name for night in WRITTEN.values()).items() if count > 1]
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", slug) for slug in WRITTEN)
