"""Tests of tables and lines cut to the width of a terminal: no text is lost, and no name is broken."""

from hypothesis import given
from hypothesis import strategies as st

from console.answers.table_text import Column, table_lines
from console.terminal import folded
from widgets.cells import cell_width

COLUMNS = (Column("Topic"), Column("Partitions", right=True), Column("Under-replicated", right=True), Column("Why"))


def test_a_table_is_as_wide_as_it_is_and_titles_give_way_before_names() -> None:
    assert table_lines(COLUMNS, [("a" * 60, "1", "2", "it waits for a broker")]) == [
        f"{'Topic':60}  Partitions  Under-replicated  Why",
        f"{'a' * 60}           1                 2  it waits for a broker",
    ]
    assert table_lines(COLUMNS[:3], [("batch.import-000002", "3", "2")], 44) == [
        "Topic                Partitions       Under-",
        "                                  replicated",
        "batch.import-000002           3            2",
    ]


def test_a_long_name_stands_whole_and_what_is_behind_it_below() -> None:
    columns = (Column("Key"), Column("Value", right=True), Column("Source"))
    rows = [("a.key", "1", "default"), ("another.key", "22", "default"), ("a.very.long.key.of.a.broker", "3", "topic")]
    assert table_lines(columns, rows, 30) == [
        "Key              Value Source",
        "a.key                1 default",
        "another.key         22 default",
        "a.very.long.key.of.a.broker",
        "                     3 topic",
    ]


def test_sentences_are_folded_in_their_column() -> None:
    columns = (Column("Topic"), Column("Waits"))
    assert table_lines(columns, [("orders", "no broker has room"), ("audit", "it moves")], 20) == [
        "Topic  Waits",
        "orders no broker has",
        "       room",
        "audit  it moves",
    ]


WORDS = st.text("abcdefgh.-/0123", min_size=1, max_size=30)
CELLS = st.lists(WORDS, max_size=5).map(" ".join)


@given(
    st.lists(st.tuples(CELLS, st.integers(0, 9_999).map(str), st.integers(0, 99).map(str), CELLS)), st.integers(60, 99)
)
def test_nothing_is_lost_and_lines_fit(rows: list[tuple[str, ...]], width: int) -> None:
    lines = table_lines(COLUMNS, rows, width)
    shown = sorted("".join(lines[1:]).split())
    words = [word for row in rows for cell in row for word in cell.split()]
    told = " ".join(lines)
    assert all(word in told for word in words if cell_width(word) <= 20)
    assert len("".join(shown)) >= len("".join(words))
    assert all(cell_width(line) <= width for line in lines)


def test_a_folded_line_goes_on_below_its_text() -> None:
    assert folded("  evidence   broker 2 answers, and is missing", 32) == [
        "  evidence   broker 2 answers,",
        "             and is missing",
    ]
    assert folded("kac: no cluster is named: kac demo shows one", 24) == [
        "kac: no cluster is",
        "  named: kac demo shows",
        "  one",
    ]
    assert folded("one line\n  as long as it is", None) == ["one line", "  as long as it is"]


@given(st.lists(WORDS, min_size=1).map(" ".join), st.integers(0, 9), st.integers(20, 90))
def test_folded_lines_fit_and_keep_their_words(text: str, indent: int, width: int) -> None:
    lines = folded(" " * indent + text, width)
    assert all(cell_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
