"""Tests of lint's findings as rows of a pane: each row is distinct, opens a place, and has a key that stages a step."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from console.answers.lint import remedy
from console.answers.lint_rows import LINT, lint_counts, lint_details, lint_rows, nothing_found, now_row, source_text
from console.lint.acceptance import Acceptance
from console.lint.report import Report, lint, partly
from console.lint.rule import Rule
from console.lint.rules import BY_NAME, RULES
from console.model.acl import Acl
from console.model.changes import GroupTarget, OwnTarget, ScramUser
from console.model.cluster import GroupPolls
from console.model.config import ConfigResource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.snapshot import ReadFailure, with_group_polls
from console.present.names import target
from console.present.text import plain
from console.session.staged_steps import first_step
from console.tui import keymap
from tests.support.lint_cases import CASES, healthy, log_dir, log_dirs, made


def report(*rules: str, accepted: tuple[Acceptance, ...] = ()) -> Report:
    """Return lint's report for these rules on a cluster that combines the bad case of each rule. accepted: findings
    that a file accepts.
    """
    seen = replace(made([CASES[name].bad for name in rules]), accepted=accepted)
    return lint(seen, target, [BY_NAME[name] for name in rules])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_finding_has_a_row_a_place_and_its_step(rule: Rule) -> None:
    found = report(rule.name)
    rows = lint_rows(found)
    assert len({row.key for row in rows}) == len(rows) > 0
    for row in rows:
        subject = row.finding.found.subject
        known = isinstance(subject, ConfigResource | QuotaEntity | Acl | GroupTarget | ScramUser)
        is_shown = isinstance(subject, OwnTarget) and subject.part is not None
        assert known or (is_shown and keymap.view_of(subject.part) in keymap.VIEWS)
        step = first_step(row.next)
        assert (step is not None) == bool(remedy(row.finding.found))
        assert step is not None or row.next[0].text == row.finding.found.advice
        assert [plain(cell) for cell in LINT.cells(row)][1:3] == [rule.certainty.value, target(subject)]
        told = "\n".join("".join(text for text, _ in line) for line in lint_details(row, found, None))
        assert row.finding.found.what[:80] in told
        assert rule.why in told
        assert source_text(rule) in told


def test_two_findings_of_a_rule_on_one_key_are_two_rows_and_the_worst_come_first() -> None:
    failed = Failure("KAFKA_STORAGE_ERROR", "disk")
    seen = made([log_dirs(log_dir("/a", failure=failed), log_dir("/b", failure=failed))])
    assert [row.number for row in lint_rows(lint(seen, target, [BY_NAME["log-dir-offline"]]))] == [0, 1]
    accepted = (Acceptance("single-replica", "topic orders", "it is made again"),)
    found = report("single-replica", "min-isr-one", "auto-create", accepted=accepted)
    rows = lint_rows(found)
    assert [row.accepted for row in rows] == sorted(row.accepted for row in rows)
    assert rows[-1].finding.rule.name == "single-replica"
    assert plain(LINT.cells(rows[-1])[4]) == "accepted: it is made again"
    assert "1 accepted" in "".join(text for text, _ in lint_counts(found))


def test_now_has_a_row_only_of_what_counts() -> None:
    found = report("single-replica", "auto-create")
    row = now_row(found, {})
    assert row is not None
    assert row.claim.title == "lint: 2 findings, 1 high"
    assert not row.counts
    until = datetime(2026, 11, 20, tzinfo=UTC)
    muted = now_row(found, {"lint": until})
    assert muted is not None
    assert muted.muted == until
    assert now_row(lint(healthy(), target), {}) is None
    assert now_row(report("replication-throttled"), {}) is None, "it is a cause there itself"
    assert now_row(report("single-replica", accepted=(Acceptance("single-replica", "*", "so"),)), {}) is None


def test_without_findings_it_says_who_looked_and_who_could_not() -> None:
    failed = ReadFailure(Part.ACLS, "", Failure("SECURITY_DISABLED", "no authorizer"))
    seen = replace(healthy(), snapshot=replace(healthy().snapshot, failures=(failed,)))
    rules = [BY_NAME[name] for name in ("auto-create", "acl-denied")]
    text = nothing_found(lint(seen, target, rules), ["configs of 3 topics were not read"])
    assert text.split("\n")[0] == "1 rule looked, none found anything"
    assert text.split("\n")[1].startswith("1 could not look: acl-denied (ACLs: SECURITY_DISABLED")
    assert text.split("\n")[2] == "configs of 3 topics were not read"


def test_what_is_unread_of_single_groups_is_told_with_each_name_once() -> None:
    late = Failure("TIMED_OUT", "no answer")
    asked = GroupPolls({}, {}, {"new": late, "old": late}, {"new": late})
    seen = healthy()
    known = with_group_polls(seen.snapshot, asked, {}, datetime.now(UTC))
    lines = [*partly(replace(seen, snapshot=known))]
    assert "members of new and 1 more could not be read: TIMED_OUT: no answer" in lines
    assert "lag of new could not be read: TIMED_OUT: no answer" in lines
