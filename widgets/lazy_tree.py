"""A tree whose nodes are created when they are drawn: the flat list of open nodes, and the widget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import ClassVar, NamedTuple, Protocol

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.columns import ColumnView
from widgets.row_source import Cell, Column, as_spans

# A tree as numbered lines, in which only open nodes cost time or memory. The classes do not draw and do not wait.


class Node(NamedTuple):
    """A node as it is drawn: its label, the cells of the columns after the label, and whether the user can open it."""

    label: Cell
    cells: Sequence[Cell] = ()
    openable: bool = False
    state: Cell = ""


class Branch(Protocol):
    """The children of one node, by index. A child is created when it becomes visible, since a node may have a
    million.
    """

    def __len__(self) -> int:
        """Return the number of children."""
        ...

    def key(self, index: int) -> Hashable:
        """Return the key of a child, unique in the whole tree."""
        ...

    def node(self, index: int) -> Node:
        """Return the child at an index, as it is drawn."""
        ...

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of the child with this key; None if no child has it. An implementation should look the key
        up, not search all children.
        """
        ...


class TreeSource(Protocol):
    """The source of a tree's nodes. A source is immutable: to show other nodes, give the tree another source."""

    def roots(self) -> Branch:
        """Return the nodes of the top level."""
        ...

    def children(self, key: Hashable) -> Branch | None:
        """Return the children of a node; None if they must be read first."""
        ...


class ListBranch:
    """A branch whose nodes all exist already."""

    def __init__(self, nodes: Sequence[tuple[Hashable, Node]]) -> None:
        self._nodes = nodes
        self._places = {key: index for index, (key, _) in enumerate(nodes)}

    def __len__(self) -> int:
        return len(self._nodes)

    def key(self, index: int) -> Hashable:
        """Return a child's key."""
        return self._nodes[index][0]

    def node(self, index: int) -> Node:
        """Return the child at an index."""
        return self._nodes[index][1]

    def index_of(self, key: Hashable) -> int | None:
        """Return a child's index; None for an unknown key."""
        return self._places.get(key)


class Waiting(NamedTuple):
    """The key of the line that is drawn in place of children that are not read yet; `parent` is the key of the node
    that has these children.
    """

    parent: Hashable


class Place(NamedTuple):
    """The content of a line: a node's key, the node, its depth, and whether it is open. `node` is None for the line in
    place of children that are not read yet.
    """

    key: Hashable
    node: Node | None
    depth: int
    open: bool
    parent: Hashable | None


class _Block:
    """The lines of one open branch: its children, each open child followed by the lines of its own branch."""

    __slots__ = ("branch", "depth", "inner", "key", "opened", "starts", "total")

    def __init__(
        self, key: Hashable | None, branch: Branch | None, depth: int, inner: Sequence[tuple[int, _Block]]
    ) -> None:
        self.key = key
        self.branch = branch
        self.depth = depth
        self.opened = [index for index, _ in inner]
        self.inner = [block for _, block in inner]
        self.starts: list[int] = []
        above = 0
        for index, block in inner:
            self.starts.append(index + above)
            above += block.total
        self.total: int = above + (1 if branch is None else len(branch))

    def place(self, line: int) -> Place:
        if self.branch is None:
            return Place(Waiting(self.key), None, self.depth, open=False, parent=self.key)
        nearest = bisect_right(self.starts, line) - 1
        index, is_open = line, False
        if nearest >= 0:
            below = line - self.starts[nearest]
            block = self.inner[nearest]
            if 0 < below <= block.total:
                return block.place(below - 1)
            is_open = below == 0
            index = self.opened[nearest] + (0 if is_open else below - block.total)
        return Place(self.branch.key(index), self.branch.node(index), self.depth, is_open, self.key)

    def line_of(self, index: int) -> int:
        nearest = bisect_right(self.opened, index) - 1
        if nearest < 0:
            return index
        if self.opened[nearest] == index:
            return self.starts[nearest]
        return self.starts[nearest] + self.inner[nearest].total + index - self.opened[nearest]


class FlatTree:
    """The lines of a tree with some of its nodes open.

    `opened` maps the key of each node (None for the root) to the keys of its open children. The keys of open nodes
    inside a closed node stay in that mapping, which belongs to the caller.
    """

    def __init__(self, source: TreeSource, opened: Mapping[Hashable | None, Set[Hashable]]) -> None:
        self._blocks: dict[Hashable | None, tuple[int, _Block]] = {}
        self._root = self._build(source, opened, None, source.roots(), 0)
        self._number(self._root, 0)

    def _build(
        self,
        source: TreeSource,
        opened: Mapping[Hashable | None, Set[Hashable]],
        key: Hashable | None,
        branch: Branch | None,
        depth: int,
    ) -> _Block:
        inner: list[tuple[int, _Block]] = []
        if branch is not None:
            places = [(index, child) for child in opened.get(key, ()) if (index := branch.index_of(child)) is not None]
            for index, child in sorted(places, key=lambda place: place[0]):
                inner.append((index, self._build(source, opened, child, source.children(child), depth + 1)))
        return _Block(key, branch, depth, inner)

    def _number(self, block: _Block, first: int) -> None:
        self._blocks[block.key] = (first, block)
        for start, inner in zip(block.starts, block.inner, strict=True):
            self._number(inner, first + start + 1)

    def __len__(self) -> int:
        return self._root.total

    def __getitem__(self, line: int) -> Place:
        if not 0 <= line < self._root.total:
            raise IndexError(line)
        return self._root.place(line)

    def index_of(self, key: Hashable) -> int | None:
        """Return the line of the node with a key; None if no open branch has it. Searches all open branches."""
        if isinstance(key, Waiting):
            found = self._blocks.get(key.parent)
            return found[0] if found is not None and found[1].branch is None else None
        for first, block in self._blocks.values():
            if block.branch is not None and (index := block.branch.index_of(key)) is not None:
                return first + block.line_of(index)
        return None

    def waiting(self) -> Iterator[Hashable]:
        """Yield the keys of the open nodes whose children are not read yet."""
        return (block.key for _, block in self._blocks.values() if block.branch is None)


OPEN, CLOSED, LEAF = "▾ ", "▸ ", "  "
INDENT = "  "


class LazyTree(ColumnView):
    """A tree: the first column (after a gutter, if there is one) shows the nodes' labels, the other columns their
    cells.

    `set_source` replaces the nodes; open nodes, the cursor and the scroll position stay on their keys. If a source
    returns None for the children of an open node, the tree posts `ChildrenWanted`, and the owner sets a source that has
    them.
    """

    CURSOR_MARK = ">"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "close_or_parent", "Close", show=False, id="tree.close"),
        Binding("right,l", "open_or_child", "Open", show=False, id="tree.open"),
        Binding("shift+left,<", "pan(-1)", "Columns left", show=False, id="tree.left"),
        Binding("shift+right,>", "pan(1)", "Columns right", show=False, id="tree.right"),
    ]

    class NodeMessage(Message):
        """A message of a tree about one of its nodes."""

        def __init__(self, tree: LazyTree, key: Hashable) -> None:
            self.tree = tree
            self.key = key
            super().__init__()

        @property
        def control(self) -> LazyTree:
            """The tree that sent this."""
            return self.tree

    class ChildrenWanted(NodeMessage):
        """A node is open, but its source does not have its children yet."""

    class Opened(NodeMessage):
        """The user opened a node."""

    class Closed(NodeMessage):
        """The user closed a node."""

    def __init__(
        self,
        columns: Sequence[Column],
        source: TreeSource | None = None,
        *,
        opened: Iterable[tuple[Hashable | None, Hashable]] = (),
        waiting: str = "reading…",
        empty: str = "",
        markable: bool = False,
    ) -> None:
        """Create a tree.

        Args:
            columns: the columns; the first one that is not a gutter shows the labels.
            source: the source of the nodes; None for an empty tree.
            opened: the nodes that are open at first, as pairs of parent's key (None at the top level) and node's key.
            waiting: the text shown in place of children that are not read yet.
            empty: the text of a tree without nodes.
            markable: whether the user can mark nodes.
        """
        super().__init__(columns, empty=empty, markable=markable)
        self._source: TreeSource = _NoNodes() if source is None else source
        self._opened: dict[Hashable | None, set[Hashable]] = {}
        for parent, child in opened:
            self._opened.setdefault(parent, set()).add(child)
        self._waiting = waiting
        self._tree_column = next((i for i, column in enumerate(self._columns) if not column.gutter), 0)
        self._flat = FlatTree(self._source, self._opened)
        self._sample()

    # -- methods for owners ---------------------------------------------------------------------------------------

    @property
    def source(self) -> TreeSource:
        """The source of the nodes."""
        return self._source

    def set_source(self, source: TreeSource) -> None:
        """Show the nodes of this source: after a refresh, a filter, or a read of children."""
        held = self._hold()
        self._source = source
        self._flatten()
        self._restore(held)

    def is_open(self, key: Hashable) -> bool:
        """Return whether the node with a key is open; False if it is not visible."""
        index = self._flat.index_of(key)
        return index is not None and self._flat[index].open

    # -- lines ----------------------------------------------------------------------------------------------------

    def line_count(self) -> int:
        """Return the number of lines: the nodes in open branches, and one line for each branch that is not read yet."""
        return len(self._flat)

    def key_at(self, index: int) -> Hashable:
        """Return the key of the node on a line; a `Waiting` on the line in place of children that are not read yet."""
        return self._flat[index].key

    def index_of(self, key: Hashable) -> int | None:
        """Return a node's line; None if the node is not visible."""
        return self._flat.index_of(key)

    def depth_at(self, index: int) -> int:
        """Return the number of ancestors of the node on a line."""
        return self._flat[index].depth

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return the cells of the node on a line: the indented label, then the cells of the other columns."""
        place = self._flat[index]
        node = place.node
        if node is None:
            node = Node((self._waiting, "muted"))
        sign = (OPEN if place.open else CLOSED) if node.openable else LEAF
        label: Cell = [(INDENT * place.depth + sign, ""), *as_spans(node.label)]
        before: list[Cell] = [node.state] if self._tree_column else []
        cells = [*before, label, *node.cells]
        return cells + [""] * (len(self._columns) - len(cells))

    def hang(self, index: int, column: int) -> int:
        """Return the width in cells of the indentation of a node's label, including the sign of open or closed."""
        return len(INDENT) * self._flat[index].depth + len(OPEN) if column == self._tree_column else 0

    # -- opening and closing --------------------------------------------------------------------------------------

    def _flatten(self) -> None:
        self._flat = FlatTree(self._source, self._opened)
        self._sample()

    def _toggle(self, place: Place) -> None:
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

    @property
    def _place(self) -> Place | None:
        return self._flat[self._cursor] if len(self._flat) else None

    def action_open_or_child(self) -> None:
        """Open the node under the cursor; if it is open, move to its first child. No-op on a leaf."""
        place = self._place
        if place is None or place.node is None or not place.node.openable:
            return
        if place.open:
            self.action_move(1)
        else:
            self._toggle(place)

    def action_close_or_parent(self) -> None:
        """Close the node under the cursor; if it is not open, move to its parent."""
        place = self._place
        if place is None:
            return
        if place.open:
            self._toggle(place)
        elif place.parent is not None:
            self.move_cursor(place.parent)

    def action_select(self) -> None:
        """Open or close the node under the cursor; for a leaf, post `Selected`. No-op on the line of children that are
        not read.
        """
        place = self._place
        if place is None or isinstance(place.key, Waiting):
            return
        if place.node is not None and place.node.openable:
            self._toggle(place)
        else:
            super().action_select()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line; if the click is on the sign of open or closed, open or close the
        node.
        """
        offset = event.get_content_offset(self)
        super().on_click(event)
        if offset is None or event.chain > 1 or (index := self._index_at(offset.y)) is None:
            return
        if index == self._index_at(offset.y - 1):  # a folded line of a label, which has no sign
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
    """A source without nodes."""

    def roots(self) -> ListBranch:
        return ListBranch(())

    def children(self, key: Hashable) -> None:  # noqa: ARG002
        return None
