"""No key of the pane of causes is dead: whatever is named has its evidence somewhere, and something to do."""

from __future__ import annotations

import pytest

from console.language.grammar import parse
from console.language.verbs import Where
from console.present.triage import CAUSES, CauseRow, details
from console.session.staged_steps import staging_of
from console.triage.diagnosis import diagnose
from console.triage.symptoms import Subject
from console.tui.panes.now import evidence_of
from console.tui.places import PANES, pane
from tests.unit.test_triage import CASES, Change, watched


@pytest.mark.parametrize(("cause", "subject", "change", "how"), CASES, ids=[f"{c[0]}-{n}" for n, c in enumerate(CASES)])
def test_every_cause_has_its_evidence_and_a_way_on(
    cause: str, subject: Subject, change: Change, how: dict[str, object]
) -> None:
    course = watched(change, **{name: value for name, value in how.items() if name != "beside"})  # type: ignore[arg-type]
    verdict = diagnose(course)
    (named,) = (n for n in verdict.causes if (n.claim.cause, n.claim.subject) == (cause, subject))
    place, row = evidence_of(cause, subject)
    assert pane(place.pane).view in PANES
    if subject.partition is not None:
        assert row in (subject.partition, (subject.topic, subject.partition))
    staging = staging_of(named.claim.next, course.last.snapshot)
    outside = [step.text for step in named.claim.next if not step.command and not step.edits]
    assert staging is not None or outside
    for step in named.claim.next:
        assert parse(step.command, Where.BAR) if step.command else True
    shown = "\n".join("".join(text for text, _ in line) for line in details(CauseRow(named), verdict, staging, 78))
    assert named.claim.certainty.value in shown
    assert ("F stages" in shown or "F opens" in shown) == (staging is not None)
    assert ("Look at" in shown) == bool(outside)
    assert CAUSES.cells(CauseRow(named))[2] == (named.claim.title, "")
