"""A tree as numbered lines, where only opened nodes cost anything. Pure: no drawing, no waiting."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, Protocol

from widgets.row_source import Cell


class Node(NamedTuple):
    """One node as it is drawn: a label, the cells of the columns after it, and whether it can be opened."""

    label: Cell
    cells: Sequence[Cell] = ()
    openable: bool = False
    state: Cell = ""


class Branch(Protocol):
    """The children of one node by index; a million of them need not exist before they are seen."""

    def __len__(self) -> int:
        """Return the number of children."""
        ...

    def key(self, index: int) -> Hashable:
        """Return what identifies a child, in the whole tree."""
        ...

    def node(self, index: int) -> Node:
        """Return what is drawn of a child."""
        ...

    def index_of(self, key: Hashable) -> int | None:
        """Return where the child with this key stands, or None. Should not search."""
        ...


class TreeSource(Protocol):
    """Where nodes come from. A source never changes: for new nodes the tree gets a new source."""

    def roots(self) -> Branch:
        """Return the nodes at the left edge."""
        ...

    def children(self, key: Hashable) -> Branch | None:
        """Return the children of a node, or None where they have to be fetched first."""
        ...


class ListBranch:
    """A branch over nodes that exist already."""

    def __init__(self, nodes: Sequence[tuple[Hashable, Node]]) -> None:
        self._nodes = nodes
        self._places = {key: index for index, (key, _) in enumerate(nodes)}

    def __len__(self) -> int:
        return len(self._nodes)

    def key(self, index: int) -> Hashable:
        """Return a child's key."""
        return self._nodes[index][0]

    def node(self, index: int) -> Node:
        """Return a child."""
        return self._nodes[index][1]

    def index_of(self, key: Hashable) -> int | None:
        """Return a child's place."""
        return self._places.get(key)


class Waiting(NamedTuple):
    """The key of the line that stands for children still to come."""

    parent: Hashable


class Place(NamedTuple):
    """What a line shows: the node, how deep it stands, whether it is open; no node while children are awaited."""

    key: Hashable
    node: Node | None
    depth: int
    open: bool
    parent: Hashable | None


class _Block:
    """The lines of one opened branch: its children, with the blocks of the opened ones between them."""

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

    `opened` holds for each node (None for the left edge) the keys of its children that are open; what is open
    inside a closed node is remembered by whoever keeps that mapping.
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
        """Return the line of `key`, or None where it is not in an open branch. Asks every open branch."""
        if isinstance(key, Waiting):
            found = self._blocks.get(key.parent)
            return found[0] if found is not None and found[1].branch is None else None
        for first, block in self._blocks.values():
            if block.branch is not None and (index := block.branch.index_of(key)) is not None:
                return first + block.line_of(index)
        return None

    def waiting(self) -> Iterator[Hashable]:
        """Yield the open nodes whose children are not there yet."""
        return (block.key for _, block in self._blocks.values() if block.branch is None)
