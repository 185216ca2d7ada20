"""Tests of the tree widget: it has a line for each visible node, fetches the children of a node when the node is
opened, and keeps its cursor on the same node.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.geometry import Offset

from tests.tui.stage import Stage, shown
from widgets import lazy_tree
from widgets.line_view import LineView
from widgets.row_source import Column

COLUMNS = [
    Column("state", width=2, gutter=True),
    Column("entity", "Entity", flex=1, min_width=12),
    Column("rate", "produce", align="right", width=9),
]

Names = Mapping[str, Sequence[str]]
"""Name of a node -> names of its children; "" -> names of the roots. Only nodes with an entry can be opened."""


class NamedNodes:
    """A tree whose nodes are identified by their names. Nodes in `unread` have children that must be fetched first."""

    def __init__(self, names: Names, unread: Sequence[str] = ()) -> None:
        self.names = names
        self.unread = unread

    def _branch(self, name: str) -> lazy_tree.ListBranch:
        return lazy_tree.ListBranch([(child, self._node(child)) for child in self.names.get(name, ())])

    def _node(self, name: str) -> lazy_tree.Node:
        return lazy_tree.Node(name, [f"{len(name)} MB/s"], openable=name in self.names or name in self.unread)

    def roots(self) -> lazy_tree.ListBranch:
        return self._branch("")

    def children(self, key: Hashable) -> lazy_tree.ListBranch | None:
        return None if key in self.unread else self._branch(str(key))


class Many:
    """A branch with a million leaves, each created when the tree asks for it."""

    def __init__(self) -> None:
        self.made = 0

    def __len__(self) -> int:
        return 1_000_000

    def key(self, index: int) -> Hashable:
        return ("leaf", index)

    def node(self, index: int) -> lazy_tree.Node:
        self.made += 1
        return lazy_tree.Node(f"client {index}", ["1 MB/s"])

    def index_of(self, key: Hashable) -> int | None:
        return key[1] if isinstance(key, tuple) else None


class ManyLeaves:
    """A tree with two root nodes, the first of which has a million children."""

    def __init__(self) -> None:
        self.leaves = Many()

    def roots(self) -> lazy_tree.Branch:
        return lazy_tree.ListBranch(
            [("user", lazy_tree.Node("user alice", ["–"], openable=True)), ("ip", lazy_tree.Node("ip", ["–"]))]
        )

    def children(self, key: Hashable) -> lazy_tree.Branch:
        return self.leaves


QUOTAS = {
    "": ["user <default>", "user alice", "ip <default>"],
    "user <default>": ["client a"],
    "user alice": ["client <default>", "client checkout"],
}


def stage(names: Names, unread: Sequence[str] = (), opened: Sequence[tuple[str | None, str]] = ()) -> Stage:
    return Stage(
        lambda: lazy_tree.LazyTree(COLUMNS, NamedNodes(names, unread), opened=opened),
        hear=(lazy_tree.LazyTree.NodeMessage, LineView.Selected),
    )


@st.composite
def trees(draw: st.DrawFn) -> tuple[dict[str, list[str]], set[str], set[str]]:
    """Draw a tree of up to 30 nodes, as (its names, its open nodes, those open nodes whose children are not fetched
    yet).
    """
    count = draw(st.integers(0, 30))
    names: dict[str, list[str]] = {"": []}
    for number in range(count):
        parent = draw(st.sampled_from(["", *(str(earlier) for earlier in range(number))]))
        names.setdefault(parent, []).append(str(number))
    nodes = [str(number) for number in range(count)]
    opened = draw(st.sets(st.sampled_from(nodes))) if nodes else set()
    unread = draw(st.sets(st.sampled_from(sorted(opened)))) if opened else set()
    return names, opened, unread


def naive(
    names: Names, opened: set[str], unread: set[str], name: str = "", depth: int = 0
) -> Iterator[tuple[Hashable, int]]:
    """Yield (key, depth) of each visible line below the node `name`, by a simple walk of the whole tree."""
    for child in names.get(name, ()):
        yield child, depth
        if child in opened and child in unread:
            yield lazy_tree.Waiting(child), depth + 1
        elif child in opened:
            yield from naive(names, opened, unread, child, depth + 1)


def by_parent(names: Names, opened: set[str]) -> dict[Hashable | None, set[Hashable]]:
    return {name or None: {child for child in children if child in opened} for name, children in names.items()}


@given(trees())
def test_a_flat_tree_has_the_lines_of_a_walk(tree: tuple[dict[str, list[str]], set[str], set[str]]) -> None:
    names, opened, unread = tree
    flat = lazy_tree.FlatTree(NamedNodes(names, sorted(unread)), by_parent(names, opened))
    expected = list(naive(names, opened, unread))
    assert [(flat[line].key, flat[line].depth) for line in range(len(flat))] == expected
    assert [flat.index_of(key) for key, _ in expected] == list(range(len(expected)))
    shown = {key for key, _ in expected}
    assert all(flat.index_of(name) is None for name in map(str, range(40)) if name not in shown)
    assert set(flat.waiting()) == {key.parent for key in shown if isinstance(key, lazy_tree.Waiting)}
    parents = {child: name or None for name, children in names.items() for child in children}
    for line in range(len(flat)):
        place = flat[line]
        if not isinstance(place.key, lazy_tree.Waiting):
            assert place.parent == parents[str(place.key)]
            assert place.open == (place.key in opened)


@settings(max_examples=5)
@given(trees(), st.lists(st.tuples(st.integers(0, 29), st.sets(st.integers(0, 29))), min_size=3, max_size=6))
async def test_the_cursor_stays_on_its_node_through_any_changes(
    tree: tuple[dict[str, list[str]], set[str], set[str]], steps: list[tuple[int, set[int]]]
) -> None:
    names, opened, _ = tree
    pairs = [(parent, str(child)) for parent, children in by_parent(names, opened).items() for child in children]
    app = Stage(lambda: lazy_tree.LazyTree(COLUMNS, NamedNodes(names), opened=pairs))
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(lazy_tree.LazyTree)
        for wanted, gone in steps:
            moved = view.move_cursor(str(wanted))
            assert moved == (str(wanted) in {key for key, _ in naive(names, opened, set())})
            key = view.cursor_key
            left = {name: [child for child in kids if int(child) not in gone] for name, kids in names.items()}
            view.set_source(NamedNodes(left))
            await pilot.pause()
            if key in {key for key, _ in naive(left, opened, set())}:
                assert view.cursor_key == key
            view.set_source(NamedNodes(names))
            assert view.cursor_key == key


async def test_a_million_leaves_are_lines_without_being_nodes() -> None:
    source = ManyLeaves()
    app = Stage(lambda: lazy_tree.LazyTree(COLUMNS, source, opened=[(None, "user")]))
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.query_one(lazy_tree.LazyTree)
        assert view.line_count() == 1_000_002
        await pilot.press("G")
        assert view.cursor_key == "ip"
        assert app.screen_lines()[-1].startswith(">    ip")
        await pilot.press("k")
        assert view.cursor_key == ("leaf", 999_999)
        await pilot.press("h")
        assert view.cursor_key == "user"
        assert source.leaves.made < 1000


async def test_nodes_stand_under_their_parents_with_their_columns() -> None:
    app = stage(QUOTAS, opened=[(None, "user alice")])
    async with app.run_test(size=(44, 7)):
        assert app.screen_lines()[:6] == [
            f"   {'Entity':30}  {'produce':>9}",
            f">  {'▸ user <default>':30}  {'14 MB/s':>9}",
            f"   {'▾ user alice':30}  {'10 MB/s':>9}",
            f"   {'    client <default>':30}  {'16 MB/s':>9}",
            f"   {'    client checkout':30}  {'15 MB/s':>9}",
            f"   {'  ip <default>':30}  {'12 MB/s':>9}",
        ]


async def test_children_are_asked_for_once_and_shown_when_they_come() -> None:
    async with shown(stage(QUOTAS, unread=["user alice"]), lazy_tree.LazyTree, (44, 8)) as (app, pilot, view):
        await pilot.press("j", "enter")
        assert [(type(message), message.key) for message in app.heard] == [
            (lazy_tree.LazyTree.Opened, "user alice"),
            (lazy_tree.LazyTree.ChildrenWanted, "user alice"),
        ]
        assert app.screen_lines()[3].strip() == "reading…"
        view.set_source(NamedNodes(QUOTAS))
        await pilot.pause()
        assert [line.split()[0] for line in app.screen_lines()[3:5]] == ["client", "client"]
        assert view.cursor_key == "user alice"
        await pilot.press("enter", "enter")
        assert [type(message) for message in app.heard[2:]] == [lazy_tree.LazyTree.Closed, lazy_tree.LazyTree.Opened]


async def test_right_opens_and_goes_in_left_closes_and_goes_out() -> None:
    async with shown(stage(QUOTAS), lazy_tree.LazyTree, (44, 8)) as (_, pilot, view):
        places = []
        for key in ["j", "right", "right", "l", "left", "left", "h"]:
            await pilot.press(key)
            places.append((view.cursor_key, view.is_open("user alice")))
        assert places == [
            ("user alice", False),
            ("user alice", True),
            ("client <default>", True),
            ("client <default>", True),
            ("user alice", True),
            ("user alice", False),
            ("user alice", False),
        ]


async def test_enter_on_a_leaf_selects_it() -> None:
    app = stage(QUOTAS)
    async with app.run_test(size=(44, 8)) as pilot:
        await pilot.press("G", "enter")
        assert [(type(message), message.key) for message in app.heard] == [(LineView.Selected, "ip <default>")]


async def test_what_was_open_inside_a_closed_node_opens_with_it() -> None:
    names = {"": ["a", "z"], "a": ["b"], "b": ["c"]}
    async with shown(stage(names, opened=[(None, "a"), ("a", "b")]), lazy_tree.LazyTree, (44, 8)) as (_, pilot, view):
        assert view.line_count() == 4
        view.move_cursor("a")
        await pilot.press("enter")
        assert (view.line_count(), view.is_open("b")) == (2, False)
        await pilot.press("enter")
        assert (view.line_count(), view.is_open("b")) == (4, True)


async def test_closing_a_parent_takes_the_cursor_out_of_it() -> None:
    app = stage(QUOTAS, opened=[(None, "user alice")])
    async with app.run_test(size=(44, 8)) as pilot:
        view = app.query_one(lazy_tree.LazyTree)
        view.move_cursor("client checkout")
        await pilot.click(view, offset=(3, 1 + view.index_of("user alice")))
        assert view.cursor_key == "user alice"


@pytest.mark.parametrize(("column", "opens"), [(3, True), (10, False)], ids=["on its sign", "next to it"])
async def test_a_click_moves_the_cursor_and_on_the_sign_opens(column: int, *, opens: bool) -> None:
    async with shown(stage(QUOTAS), lazy_tree.LazyTree, (44, 8)) as (_, pilot, view):
        await pilot.click(view, offset=Offset(column, 2))
        assert (view.cursor_key, view.is_open("user alice")) == ("user alice", opens)


LONG = NamedNodes(
    {"": ["user team-of.many-words.production", "short"], "user team-of.many-words.production": ["a client of it, too"]}
)


async def test_labels_are_folded_beside_their_sign_where_there_are_lines_to_spare() -> None:
    opened = [(None, "user team-of.many-words.production")]
    app = Stage(lambda: lazy_tree.LazyTree(COLUMNS[1:], LONG, opened=opened))
    async with app.run_test(size=(31, 10)) as pilot:
        lines = [line.rstrip() for line in app.screen_lines()]
        assert [line[1:] for line in lines[1:7]] == [
            "▾ user team-of.        34 MB/s",
            "  many-words.",
            "  production",
            "    a client of it,    19 MB/s",
            "    too",
            "  short                 5 MB/s",
        ]
        tree = app.query_one(lazy_tree.LazyTree)
        await pilot.click(offset=Offset(1, 3))  # next to the second line of the label there is no sign
        assert tree.is_open("user team-of.many-words.production")
        await pilot.click(offset=Offset(1, 1))
        assert not tree.is_open("user team-of.many-words.production")


async def test_labels_take_a_line_each_where_the_lines_fill_the_window() -> None:
    app = Stage(lambda: lazy_tree.LazyTree(COLUMNS[1:], LONG))
    async with app.run_test(size=(31, 3)):
        assert [line.rstrip() for line in app.screen_lines()[1:]] == [
            ">▸ user team-of.man…    34 MB/s",
            "   short                 5 MB/s",
        ]
