"""Tests that the keys of the pane Now always work: each cause has a view with its evidence, and a step."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from console.language.grammar import parse
from console.language.statements import Where
from console.present.triage import CAUSES, CauseRow, details
from console.present.triage import watched as since_when
from console.session.staged_steps import staging_of
from console.triage.diagnosis import diagnose
from console.triage.observations import Observations, after
from console.tui.keymap import TRANSACTIONS
from console.tui.panes.now import evidence_of
from console.tui.places import PANES, pane
from tests.unit.test_triage import Case, each_case, observed


@each_case
def test_every_cause_has_its_evidence_and_a_way_on(made: Case) -> None:
    cause, subject, *_ = made
    observations = observed(made)
    verdict = diagnose(observations)
    (named,) = (n for n in verdict.causes if (n.claim.cause, n.claim.subject) == (cause, subject))
    place, row = evidence_of(cause, subject)
    assert pane(place.pane).view in {each.view for each in PANES}
    assert (place.view == TRANSACTIONS) == cause.startswith("transaction-")
    if subject.partition is not None and place.view != TRANSACTIONS:
        assert row in (subject.partition, (subject.topic, subject.partition))
    staging = staging_of(named.claim.next, observations.last.snapshot)
    outside = [step.text for step in named.claim.next if not step.command and not step.edits]
    assert staging is not None or outside
    for step in named.claim.next:
        assert parse(step.command, Where.BAR) if step.command else True
    shown = "\n".join("".join(text for text, _ in line) for line in details(CauseRow(named), verdict, staging, 78))
    assert named.claim.certainty.value in shown
    assert ("F stages" in shown or "F opens" in shown) == (staging is not None)
    assert ("Look at" in shown) == bool(outside)
    meaning = "muted" if named.claim.is_guess else ""
    sure, what = CAUSES.cells(CauseRow(named))[2:4]
    assert (sure, what) == ((named.claim.certainty.value, meaning), (named.claim.title, meaning))


@each_case
def test_while_nothing_changes_no_text_of_a_cause_does(made: Case) -> None:
    observations = _at_rest(observed(made), 300)  # until trends have ended
    settled = _shown(observations)
    shown = _shown(_at_rest(observations, 130))
    both = settled.keys() & shown.keys()
    assert {key: shown[key] for key in both} == {key: settled[key] for key in both}


def _at_rest(observations: Observations, seconds: int) -> Observations:
    """Return the observations after further polls for `seconds` seconds, each with the same answers as the last
    poll.
    """
    last = observations.last
    for later in range(10, seconds + 1, 10):
        observations = after(observations, replace(last, at=last.at + timedelta(seconds=later)))
    return observations


def _shown(observations: Observations) -> dict[object, object]:
    """Return cause -> its texts in the pane, and the text above the causes."""
    verdict = diagnose(observations)
    shown: dict[object, object] = {"since when": since_when(observations)}
    for each in verdict.causes:
        staging = staging_of(each.claim.next, observations.last.snapshot)
        row = CauseRow(each)
        shown[each.claim.cause, each.claim.subject] = CAUSES.cells(row), details(row, verdict, staging, 78)
    return shown


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set this process' time zone to nine hours ahead of UTC, for the test."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
@each_case
def test_times_of_day_are_all_of_this_hosts_clock(made: Case) -> None:
    texts = str(_shown(observed(made)))
    assert {at[:2] for at in re.findall(r"\b\d\d:\d\d:\d\d\b", texts)} == {"12"}
    assert all(zone == " UTC" for zone in re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d(.{4})", texts))
