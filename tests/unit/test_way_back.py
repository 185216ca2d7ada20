"""Tests of the texts about reverting a change: they only promise what a revert can do."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from console.answers.plan_results import report_table
from console.model.changes import Outcome, Status
from console.model.config import topic_resource
from console.plan.compile import compile_plan
from console.plan.conflicts import set_back
from console.plan.edits import ConfigEdit, DeleteTopic, GrowTopic, SetConfig
from console.plan.plan import EMPTY, Plan, stage
from console.plan.reconcile import ApplyReport, StepResult
from console.plan.requests import Facts
from console.plan.reversal import reversal
from console.plan.staged import UNREAD
from console.tui.applying import report_text
from tests.support.model_cluster import ModelCluster
from tests.unit.test_plan_laws import busy_cluster, staged_on

TAKES = "takes it back"


def applied(plan: Plan, *, failed: int = 0) -> ApplyReport:
    """Return the report of a plan that was applied, except its first `failed` requests."""
    results = []
    for number, step in enumerate(compile_plan(plan, Facts())):
        status = Status.NOT_APPLIED if number < failed else Status.APPLIED
        results.append(StepResult(step, tuple(Outcome(each.edit.target, status) for each in step.staged)))
    return ApplyReport(tuple(results), sent=True, change=7)


def said(report: ApplyReport) -> str:
    """Return everything that the screen, the shell, `kac run` and the nouns' commands print about an apply."""
    return "\n".join((*report_table(report, "apply").notes, report_text(report, "applied")[0]))


@given(st.integers(0, 2**32))
def test_an_edit_without_a_way_back_is_never_said_to_be_taken_back(seed: int) -> None:
    rng = Random(seed)
    known = busy_cluster(rng).describe()
    plan = staged_on(rng, known)
    text = said(applied(plan))
    gone = [each for each in plan.staged if not reversal(each).edits or isinstance(each.edit, DeleteTopic)]
    if gone or not plan.staged:
        assert TAKES not in text
    elif all(isinstance(each.edit, ConfigEdit) and each.was is not UNREAD for each in plan.staged):
        assert text.count(f"revert 7 {TAKES}") == 2


def test_a_part_is_said_as_a_part() -> None:
    known = ModelCluster(topics={"a": 1, "b": 1}).describe()
    config = SetConfig(topic_resource("b"), "retention.ms", "5")
    both = stage(EMPTY, [config, DeleteTopic("a")], known).plan
    gone = "the records are gone: the topic comes back empty"
    assert f"change 7: revert 7 brings back 1 of 2 edits; of the others {gone}" in said(applied(both))
    alone = stage(EMPTY, [DeleteTopic("a")], known).plan
    assert f"change 7: revert 7 brings back a part: {gone}" in said(applied(alone))
    assert "revert" not in said(applied(stage(EMPTY, [GrowTopic("a", 3)], known).plan))
    # An edit that was not applied needs no way back.
    assert TAKES in said(applied(stage(EMPTY, [config], known).plan))
    assert "revert" not in said(applied(stage(EMPTY, [config], known).plan, failed=1))


def test_what_was_set_back_since_is_no_change_that_lasts() -> None:
    known = ModelCluster(topics={"a": 1}).describe()
    (staged,) = stage(EMPTY, [SetConfig(topic_resource("a"), "retention.ms", "5")], known).added
    (conflict,) = set_back([staged], known)
    assert conflict.staged is staged
    plan = stage(EMPTY, [staged.edit], known).plan
    report = ApplyReport(applied(plan).results, sent=True, change=7, set_back=(conflict,))
    assert not report.ok
    assert "revert" not in said(report)
    assert "it does not last: topic a is as before again" in said(report)
