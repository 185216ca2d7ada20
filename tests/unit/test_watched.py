"""Tests of watched entities: which names a subject matches, the order of the rows, and the graph of the last half
hour.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.settings import ConnectionSettings
from console.contexts.configured import Configured
from console.contexts.context import BrokenContext, Context
from console.language.errors import CommandError
from console.model import cluster, half_hour, watched
from console.model.config import CLUSTER_DEFAULT, broker_resource
from console.model.failure import Failure
from console.model.parts import Part
from console.model.snapshot import ReadFailure, Snapshot
from console.model.watched import Watched
from console.present import watched as shown
from console.present.graphs import BLOCKS, MOMENT
from console.tui.watching import Watching, subject_of, subjects_in
from tests.support import fleets

AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
MEANINGS = ("danger", "failed", "pending", "changed", "", "muted")
ROWS = st.lists(
    st.builds(
        lambda name, meaning: shown.WatchRow(Watched("topic", name), name, "state", meaning),
        st.text("abc", max_size=3),
        st.sampled_from(MEANINGS),
    ),
    max_size=12,
)


@given(ROWS)
def test_the_worst_comes_first_and_equals_keep_their_order(rows: list[shown.WatchRow]) -> None:
    found = shown.worst_first(rows)
    assert [row.meaning for row in found] == [m for m in MEANINGS for row in rows if row.meaning == m]
    for meaning in MEANINGS:
        assert [row for row in found if row.meaning == meaning] == [row for row in rows if row.meaning == meaning]
    assert shown.worst_first(found) == found


@given(st.lists(st.text("ab/*", min_size=1, max_size=4)), st.text("ab/*", min_size=1, max_size=4))
def test_an_exact_name_means_itself_alone(names: list[str], name: str) -> None:
    found = Watched(watched.TOPIC, name).among(names)
    assert found == [each for each in names if each == name]
    assert set(Watched(watched.TOPIC, "*", is_pattern=True).among(names)) == set(names)


def test_the_connect_cluster_of_a_connector_may_be_left_out() -> None:
    names = ["main/pg", "other/pg", "main/pg2"]
    assert Watched(watched.CONNECTOR, "pg").among(names) == ["main/pg", "other/pg"]
    assert Watched(watched.CONNECTOR, "main/pg").among(names) == ["main/pg"]
    assert Watched(watched.CONNECTOR, "pg*", is_pattern=True).among(names) == names


def topic(name: str, *isrs: int, leader: int = 1) -> cluster.Topic:
    """Return a topic on three brokers with a partition for each number of in-sync replicas in `isrs`."""
    parts = (cluster.Partition(n, leader, (1, 2, 3), (1, 2, 3)[:isr]) for n, isr in enumerate(isrs))
    return cluster.Topic(name, tuple(parts))


def world(*topics: cluster.Topic, **parts: object) -> Snapshot:
    made = replace(Snapshot(), topics={each.name: each for each in topics}, read_at={Part.TOPICS: AT})
    return replace(made, **parts)


NOTHING_BESIDE = shown.Beside()


def rows(snapshot: Snapshot, *subjects: Watched, beside: shown.Beside = NOTHING_BESIDE) -> list[tuple[str, str, str]]:
    return [(row.name, row.state, row.meaning) for row in shown.watch_rows(subjects, snapshot, beside)]


def test_each_entity_has_one_row_and_a_subject_without_one_says_so() -> None:
    known = world(topic("a", 3), topic("ab", 3, 2), topic("b", 0, leader=-1))
    subjects = (Watched("topic", "a"), Watched("topic", "*", is_pattern=True), Watched("topic", "c"))
    pattern = Watched("topic", "x*", is_pattern=True)
    assert rows(known, *subjects, pattern) == [
        ("b", "1 of 1 offline", "danger"),
        ("ab", "URP 1 of 2", "failed"),
        ("c", "no such topic", "failed"),
        ("x*", "no topic matches", "failed"),
        ("a", "ok", ""),
    ]


def test_what_could_not_be_read_is_not_called_absent() -> None:
    denied = ReadFailure(Part.TOPICS, "secret", Failure("TOPIC_AUTHORIZATION_FAILED"))
    subject = Watched("topic", "secret")
    assert rows(world(failures=(denied,)), subject) == [
        ("secret", "not read: TOPIC_AUTHORIZATION_FAILED", "pending")
    ]  # fmt: skip
    assert rows(world(failures=(denied,)), Watched("topic", "other")) == [("other", "no such topic", "failed")]
    assert rows(world(), subject, beside=shown.Beside(is_read=False)) == [("secret", "reading", "muted")]
    absent = shown.Beside(absent=shown.NOT_NAMED)
    assert rows(world(), Watched("connector", "pg"), beside=absent) == [
        ("pg", "not read: no Connect cluster is named", "pending")
    ]


@given(
    st.dictionaries(st.integers(0, 200), st.floats(0, 1e12), max_size=60),
    st.integers(0, 200),
    st.sampled_from([shown.LINE_CELLS, shown.SHORT_CELLS]),
)
def test_the_line_has_its_newest_value_at_the_right_and_a_blank_for_the_unknown(
    values: dict[int, float], newest: int, columns: int
) -> None:
    line = shown.line_of(values, newest, columns)
    each = half_hour.OWN_SLOTS // columns
    assert len(line) == columns
    for place, sign in enumerate(line):
        column = newest // each - columns + 1 + place
        known = [value for slot, value in values.items() if slot // each == column]
        assert (sign == " ") == (not known)
        assert (sign == BLOCKS[0]) == (bool(known) and max(known) == 0)


def test_a_line_grows_with_its_values() -> None:
    assert shown.line_of({1: 0.0, 2: 1.0, 3: 4.0, 4: 8.0}, 4, 45).lstrip() == "▁▂▅█"


@given(st.integers(-60, 2000), st.sampled_from([shown.LINE_CELLS, shown.SHORT_CELLS]))
def test_a_line_marks_the_cursor_in_time_where_its_value_of_then_is(ago: int, columns: int) -> None:
    newest = 41_000_000
    values = {newest - at: float(at == ago // half_hour.OWN_EVERY) for at in range(half_hour.OWN_SLOTS)}
    line = shown.line_of(values, newest, columns)
    moment = newest * half_hour.OWN_EVERY - ago // half_hour.OWN_EVERY * half_hour.OWN_EVERY
    marked = shown.marked(line, newest, moment)
    assert len(marked) == columns
    if BLOCKS[-1] in line:
        assert marked.index(MOMENT) == line.index(BLOCKS[-1])
    assert shown.marked(line, newest, None) == line


def test_what_is_under_the_cursor_becomes_a_subject() -> None:
    watching = Watching(Context("c", "tests", ConnectionSettings((("127.0.0.1", 9092),))), "")
    assert watching.add([broker_resource(3)]) == [Watched("broker", "3")]
    watching.add([broker_resource(3), broker_resource(4)])
    assert watching.subjects == (Watched("broker", "3"), Watched("broker", "4"))
    watching.take_off([Watched("broker", "3")])
    assert [each.name for each in watching.subjects] == ["4"]
    assert subject_of(CLUSTER_DEFAULT) is None


def context(folder: Path, lines: str) -> Context | BrokenContext:
    environ = fleets.write(folder, {"prod": "a:1"}, prod=lines)
    (found,) = Configured(environ, folder).all()
    return found


def test_a_context_has_sets(tmp_path: Path) -> None:
    found = context(tmp_path, '[contexts.prod.watch]\ncheckout = "topic orders, group billing"\n')
    assert isinstance(found, Context)
    assert found.watch == {"checkout": "topic orders, group billing"}
    assert Watching(found, "checkout").subjects == (Watched("topic", "orders"), Watched("group", "billing"))
    assert Watching(found, "other").subjects == ()


@pytest.mark.parametrize("text", ["other", "topic a; topic b", "user alice", "topic 'a"])
def test_the_text_of_a_set_names_subjects(text: str) -> None:
    settings = ConnectionSettings((("127.0.0.1", 9092),))
    with pytest.raises(CommandError, match="set odd"):
        subjects_in(Context("c", "tests", settings, watch={"odd": text}), "odd")


@pytest.mark.parametrize(
    "lines",
    [
        'watch = "topic orders"', "[contexts.prod.watch]\na = 1", '[contexts.prod.watch]\na = ""',
        '[contexts.prod.watch]\n"a b" = "topic a"', '[contexts.prod.watch]\ntopic = "topic a"',
        '[contexts.prod.watch]\na = "topic \\u001b"',
    ],
)  # fmt: skip
def test_a_set_that_can_not_be_one_is_refused_with_its_place(tmp_path: Path, lines: str) -> None:
    found = context(tmp_path, lines)
    assert isinstance(found, BrokenContext)
    assert f"{tmp_path}/config.toml:" in found.problem
