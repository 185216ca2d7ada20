"""Tests of marked rows: keys act on those that are shown, messages name those that a filter hides, and an apply removes
the marks.
"""

import pytest

from console.model.config import topic_resource
from console.plan.edits import DeleteTopic, SetConfig
from console.present.text import Line
from console.tui.applying import MOST_LINES, _danger
from console.tui.screens import Confirm
from tests.tui.console_app import Driven, cluster, driven
from tests.tui.model_client import ModelClient

SET = "set retention.ms=1d"


def staged(it: Driven) -> list[str]:
    """Return the names of the topics whose configs the plan changes."""
    return sorted(str(s.edit.target.name) for s in it.app.session.plan.staged if isinstance(s.edit, SetConfig))


async def mark_all(it: Driven) -> None:
    await it.press("g", "space", "space", "space")
    assert it.app.view.query_one("RowTable").marks == {"audit", "orders", "payments"}  # type: ignore[attr-defined]


async def test_marked_rows_that_a_filter_hides_are_named_and_left_out() -> None:
    async with driven(size=(120, 24)) as it:
        await mark_all(it)
        await it.filter("pay")
        await it.command(SET)
        assert staged(it) == ["payments"]
        await it.shows("staged: topic payments retention.ms; not for audit, orders: marked, but not shown")


async def test_where_all_that_is_marked_is_hidden_nothing_is_meant() -> None:
    async with driven(size=(120, 24)) as it:
        await it.press("g", "space")
        await it.filter("pay")
        await it.command(SET)
        assert staged(it) == [], "the row under the cursor is not what was marked"
        await it.shows("what is marked is not shown: audit")
        await it.press("escape", "escape")
        await it.command(SET)
        assert staged(it) == ["audit"]


async def test_internal_topics_that_are_hidden_again_are_left_out_too() -> None:
    client = ModelClient(cluster(), internal={"audit"})
    async with driven(client, size=(120, 24)) as it:
        await it.press("i", shows="audit")
        await mark_all(it)
        await it.press("i")
        await it.until(lambda: "audit" not in it.text)
        await it.command(SET)
        assert staged(it) == ["orders", "payments"]
        await it.shows("not for audit: marked, but not shown")


async def test_a_deletion_of_all_that_is_marked_spares_kafkas_own() -> None:
    """The deletion of all marked topics omits Kafka's own topics, as a deletion by pattern does. One of them can be
    marked: the topic of remote storage, which brokers do not return as internal.
    """
    made = cluster()
    made.topics |= {"__remote_log_metadata": 1, "__consumer_offsets": 1}
    async with driven(ModelClient(made, internal={"__consumer_offsets"}), size=(160, 24)) as it:
        await it.press("i", shows="__consumer_offsets")
        await it.press("asterisk", "D")
        await it.shows("staged: 3 edits; not __consumer_offsets, __remote_log_metadata: Kafka's own")
        assert sorted(one.name for one in it.edits if isinstance(one, DeleteTopic)) == [
            "audit",
            "orders",
            "payments",
        ]


async def test_unset_in_configs_leaves_hidden_keys_alone() -> None:
    async with driven(size=(120, 30)) as it:
        await it.press("j", "enter", shows="2 overrides of")
        await it.press("g", "space", "space")
        await it.press("slash")
        await it.type("cleanup", "enter", "x", shows="not for retention.ms: marked, but not shown")
        assert [s.edit.key for s in it.app.session.plan.staged] == ["cleanup.policy"]


async def test_marks_end_with_the_apply(it: Driven) -> None:
    await mark_all(it)
    await it.command(SET)
    assert staged(it) == ["audit", "orders", "payments"]
    await it.press("7", "A", "y", shows="applied: 3 entities")
    await it.press("2", shows="payments")
    assert "+" not in it.line("audit") + it.line("orders") + it.line("payments")
    await it.press("g")
    await it.command("set retention.ms=2d")
    assert staged(it) == ["audit"]
    assert it.app.session.plan.staged[0].edit.target == topic_resource("audit")


@pytest.mark.parametrize(
    ("keys", "shown"), [(("enter", "tab"), "Leader"), (("6", "enter"), "Committed")], ids=["partitions", "lag"]
)
async def test_where_nothing_can_be_done_to_several_rows_none_is_marked(
    keys: tuple[str, ...], shown: str, it: Driven
) -> None:
    await it.press(*keys, shows=shown)
    await it.press("space")
    assert not it.app.view.query_one("RowTable").marks  # type: ignore[attr-defined]


@pytest.mark.parametrize("names", [(), (("the context's name", "test"),)])
async def test_a_question_that_does_not_fit_says_how_much_is_left_out(names: tuple[tuple[str, str], ...]) -> None:
    async with driven(size=(80, 24)) as it:
        warnings: list[Line] = [[(f"warning {number}", "danger")] for number in range(1, 41)]
        it.app.push_screen(Confirm("Delete 40 topics?", warnings, "deletes them", names))
        await it.shows("Delete 40 topics?", "Type test, the context's name, and Enter." if names else "y deletes them")
        shown = [line.split()[-1] for line in it.lines if line.strip().startswith("warning ")]
        assert shown == [str(number) for number in range(1, len(shown) + 1)]
        assert it.line("more").strip() == f"and {40 - len(shown)} more lines, which a taller terminal shows"
        await it.pilot.resize_terminal(80, 60)
        await it.shows("warning 40")
        assert "more lines" not in it.text


def test_more_warnings_than_a_question_shows_are_counted() -> None:
    lines = [f"topic-deleted: topic t{number}" for number in range(MOST_LINES + 7)]
    shown = ["".join(text for text, _ in line) for line in _danger(lines)]
    assert shown[:MOST_LINES] == lines[:MOST_LINES]
    assert shown[MOST_LINES:] == ["and 7 more: Esc goes back to the plan, which has all"]
    assert len(_danger(lines[:MOST_LINES])) == MOST_LINES
