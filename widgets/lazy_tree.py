"""A tree with columns, whose children are asked for when their parent opens."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.column_view import ColumnView, as_spans
from widgets.columns import Column
from widgets.flat_tree import FlatTree, ListBranch, Node, Place, TreeSource, Waiting
from widgets.row_source import Cell

OPEN, CLOSED, LEAF = "▾ ", "▸ ", "  "
INDENT = "  "


class LazyTree(ColumnView):
    """A tree: the first column (behind a gutter, if there is one) holds the nodes, the others their cells.

    `set_source` gives it other nodes; what is open, the cursor and the place stay on their keys. Where a source
    answers None for the children of an open node, `ChildrenWanted` asks for them, and the owner sets a source
    that has them.
    """

    CURSOR_MARK = ">"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "close_or_parent", "Close", show=False, id="tree.close"),
        Binding("right,l", "open_or_child", "Open", show=False, id="tree.open"),
        Binding("shift+left,<", "pan(-1)", "Columns left", show=False, id="tree.left"),
        Binding("shift+right,>", "pan(1)", "Columns right", show=False, id="tree.right"),
    ]

    class NodeMessage(Message):
        """A message about one node."""

        def __init__(self, tree: LazyTree, key: Hashable) -> None:
            self.tree = tree
            self.key = key
            super().__init__()

        @property
        def control(self) -> LazyTree:
            """The tree that sent this."""
            return self.tree

    class ChildrenWanted(NodeMessage):
        """A node is open, and its source does not have its children yet."""

    class Opened(NodeMessage):
        """A node was opened."""

    class Closed(NodeMessage):
        """A node was closed."""

    def __init__(
        self,
        columns: Sequence[Column],
        source: TreeSource | None = None,
        *,
        opened: Iterable[tuple[Hashable | None, Hashable]] = (),
        waiting: str = "reading…",
        empty: str = "",
        markable: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a tree; `opened` are pairs of parent (None at the left edge) and child, `waiting` a line's text."""
        super().__init__(columns, empty=empty, markable=markable, name=name, id=id, classes=classes)
        self._source: TreeSource = _NoNodes() if source is None else source
        self._opened: dict[Hashable | None, set[Hashable]] = {}
        for parent, child in opened:
            self._opened.setdefault(parent, set()).add(child)
        self._waiting = waiting
        self._tree_column = next((i for i, column in enumerate(self._columns) if not column.gutter), 0)
        self._flat = FlatTree(self._source, self._opened)
        self._sample()

    # -- what an owner sees ---------------------------------------------------------------------------------------

    @property
    def source(self) -> TreeSource:
        """Where the nodes come from."""
        return self._source

    def set_source(self, source: TreeSource) -> None:
        """Show other nodes: after a refresh, a filter, or when children have come."""
        held = self._hold()
        self._source = source
        self._flatten()
        self._restore(held)

    def is_open(self, key: Hashable) -> bool:
        """Tell whether a node that is on a line is open."""
        index = self._flat.index_of(key)
        return index is not None and self._flat[index].open

    def open_node(self, key: Hashable) -> None:
        """Open a node that is on a line and can be opened."""
        index = self._flat.index_of(key)
        if index is not None:
            place = self._flat[index]
            if place.node is not None and place.node.openable and not place.open:
                self._toggle(place)

    def close_node(self, key: Hashable) -> None:
        """Close a node; what was open inside it opens with it again."""
        index = self._flat.index_of(key)
        if index is not None and (place := self._flat[index]).open:
            self._toggle(place)

    # -- lines ----------------------------------------------------------------------------------------------------

    def line_count(self) -> int:
        """Return how many nodes are in open branches."""
        return len(self._flat)

    def key_at(self, index: int) -> Hashable:
        """Return a node's key."""
        return self._flat[index].key

    def index_of(self, key: Hashable) -> int | None:
        """Return a node's line."""
        return self._flat.index_of(key)

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return the indented label and the cells after it."""
        place = self._flat[index]
        node = place.node
        if node is None:
            node = Node((self._waiting, "muted"))
        sign = (OPEN if place.open else CLOSED) if node.openable else LEAF
        label: Cell = [(INDENT * place.depth + sign, ""), *as_spans(node.label)]
        before: list[Cell] = [node.state] if self._tree_column else []
        cells = [*before, label, *node.cells]
        return cells + [""] * (len(self._columns) - len(cells))

    # -- opening and closing --------------------------------------------------------------------------------------

    def _flatten(self) -> None:
        self._flat = FlatTree(self._source, self._opened)
        self._sample()

    def _toggle(self, place: Place) -> None:
        if place.open and self._is_inside(place.key):
            self._wanted_key = place.key
        held = self._hold()
        branch = self._opened.setdefault(place.parent, set())
        branch ^= {place.key}
        self._flatten()
        self._restore(held)
        if place.open:
            self.post_message(self.Closed(self, place.key))
            return
        self.post_message(self.Opened(self, place.key))
        if self._source.children(place.key) is None:
            self.post_message(self.ChildrenWanted(self, place.key))

    def _is_inside(self, key: Hashable) -> bool:
        """Tell whether the cursor is on a node below `key`."""
        here = self._place
        while here is not None and here.parent is not None:
            if here.parent == key:
                return True
            index = self._flat.index_of(here.parent)
            here = None if index is None else self._flat[index]
        return False

    @property
    def _place(self) -> Place | None:
        return self._flat[self._cursor] if len(self._flat) else None

    def action_open_or_child(self) -> None:
        """Open the node under the cursor, or go to its first child."""
        place = self._place
        if place is None or place.node is None or not place.node.openable:
            return
        if place.open:
            self.action_move(1)
        else:
            self._toggle(place)

    def action_close_or_parent(self) -> None:
        """Close the node under the cursor, or go to its parent."""
        place = self._place
        if place is None:
            return
        if place.open:
            self._toggle(place)
        elif place.parent is not None:
            self.move_cursor(place.parent)

    def action_select(self) -> None:
        """Open or close the node under the cursor; a leaf is selected."""
        place = self._place
        if place is None or isinstance(place.key, Waiting):
            return
        if place.node is not None and place.node.openable:
            self._toggle(place)
        else:
            super().action_select()

    def on_click(self, event: events.Click) -> None:
        """Besides moving the cursor, open or close where the sign was hit."""
        offset = event.get_content_offset(self)
        super().on_click(event)
        if offset is None or event.chain > 1 or (index := self._index_at(offset.y)) is None:
            return
        place = self._flat[index]
        start = 1 + sum(
            place.gap + place.width
            for place in self._layout_for(self.size.width - 1).placed
            if place.column < self._tree_column
        )
        sign = start + len(INDENT) * place.depth
        if place.node is not None and place.node.openable and sign <= offset.x < sign + len(OPEN):
            self._toggle(place)


class _NoNodes:
    """A source of nothing."""

    def roots(self) -> ListBranch:
        return ListBranch(())

    def children(self, key: Hashable) -> None:  # noqa: ARG002
        return None
