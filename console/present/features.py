"""Features: their finalized levels, and the levels that each node supports. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.model.cluster import ClusterFeatures, NodeFeatures
from console.model.feature_levels import brings, level_name, why_no_way_back
from console.model.grouping import grouped
from console.model.snapshot import Snapshot
from console.present import columns
from console.present.text import Line, clean


class FeatureRow(NamedTuple):
    """A feature, its finalized level, and the levels that nodes support."""

    name: str
    level: int
    """The finalized level; 0 if the feature is off."""
    supported: Mapping[int, tuple[int, int] | None]
    """Node id -> the lowest and the highest level that the node supports; None if it does not know the feature."""
    edited: bool = False
    """Whether the plan changes the feature."""

    @property
    def differs(self) -> bool:
        """Whether nodes support different levels."""
        return len(set(self.supported.values())) > 1

    @property
    def common(self) -> tuple[int, int] | None:
        """The lowest and the highest level that all nodes support; None if they have no level in common."""
        ranges = [each or (0, 0) for each in self.supported.values()]
        low, high = max((each[0] for each in ranges), default=1), min((each[1] for each in ranges), default=0)
        return (low, high) if low <= high else None


def feature_rows(snapshot: Snapshot, edited: Iterable[str] = ()) -> list[FeatureRow]:
    """Return the features that are finalized or supported by a node, by name; empty if the features were not read.

    Args:
        edited: names of the features that the plan changes.
    """
    features = snapshot.features
    if features is None:
        return []
    answered = [node for node in features.nodes if node.failure is None]
    names = {name for node in answered for name in node.supported} | features.finalized.keys()
    staged = frozenset(edited)
    return [
        FeatureRow(
            name,
            features.finalized.get(name, 0),
            {node.id: node.supported.get(name) for node in answered},
            name in staged,
        )
        for name in sorted(names)
    ]


def unasked(features: ClusterFeatures | None) -> tuple[NodeFeatures, ...]:
    """Return the nodes that failed to describe their features; empty also if no features were read."""
    return tuple(node for node in features.nodes if node.failure is not None) if features is not None else ()


def span(levels: tuple[int, int] | None) -> str:
    """Return a range of levels as ``1–30``; ``–`` for None, a node without the feature."""
    return "–" if levels is None else f"{levels[0]}" if levels[0] == levels[1] else f"{levels[0]}–{levels[1]}"


def by_range(supported: Mapping[int, tuple[int, int] | None]) -> str:
    """Return the range of levels that all nodes support, ``1–30``; if they differ, each range with the ids of its
    nodes: ``1–21 on 3; 1–30 on 1, 2``.
    """
    nodes = grouped((levels, node) for node, levels in sorted(supported.items()))
    if len(nodes) < 2:
        return "".join(map(span, nodes))
    ordered = sorted(nodes.items(), key=lambda each: each[0] or (0, 0))
    return "; ".join(f"{span(levels)} on {', '.join(map(str, some))}" for levels, some in ordered)


def feature_lines(row: FeatureRow) -> list[Line]:
    """Return lines with the finalized level, the levels that nodes support, the lowest level to which the feature can
    go back, and what higher levels add.
    """
    name = level_name(row.name, row.level)
    named = f" ({name})" if name else ""
    lines: list[Line] = [
        [(clean(row.name), "strong"), (f"  level {row.level}{named}" if row.level else "  off", "")],
        [],
        [("Supported  ", "muted"), (by_range(row.supported) or "by no node that answered", "")],
    ]
    low, high = row.common or (row.level, row.level)
    # Find the lowest level that can be reached: a feature can't go back below a level that changed the metadata log's
    # format.
    back = next(
        level for level in range(min(low, row.level), row.level + 1) if not why_no_way_back(row.name, level, row.level)
    )
    if row.level:
        why = why_no_way_back(row.name, back - 1, row.level) if back > low else ""
        text = f"down to {back}" if back < row.level else "not at all"
        lines.append([("Lowered    ", "muted"), (text + (f": {why}" if why else ""), "")])
    above = brings(row.name, row.level, high)
    if above:
        lines += [[], [("Higher levels bring", "header")]]
        lines += [[(f"  {level:>3}  {level_name(row.name, level):<8} {text}", "")] for level, text in above]
    return lines


FEATURES: columns.Columns[FeatureRow] = columns.Columns(
    columns.Column("differs", columns.DATA, type="boolean"),
    columns.Column(
        "state",
        columns.SHOWN,
        title="",
        cell=lambda row: ("!", "failed") if row.differs else "",
        layout=columns.on_screen(1, gutter=True),
    ),
    columns.letter_column("staged", lambda row: ("*", "pending") if row.edited else ""),
    columns.Column("name", layout=columns.on_screen((16, 40), "Feature")),
    columns.Column(
        "level",
        type="number",
        cell=lambda row: (str(row.level), "") if row.level else ("off", "muted"),
        layout=columns.on_screen(5, priority=95),
    ),
    columns.Column(
        "release", get=lambda row: level_name(row.name, row.level) or None, layout=columns.on_screen(8, priority=60)
    ),
    columns.Column("lowest", columns.DATA, lambda row: row.common[0] if row.common else None, "number"),
    columns.Column("highest", columns.DATA, lambda row: row.common[1] if row.common else None, "number"),
    columns.Column(
        "nodes",
        columns.OBJECT,
        lambda row: {str(node): list(levels) if levels else None for node, levels in row.supported.items()},
        "object",
    ),
    columns.Column(
        "supported",
        columns.SHOWN,
        cell=lambda row: (by_range(row.supported), "failed" if row.differs else ""),
        layout=columns.on_screen((14, 70), flex=1, priority=90),
    ),
)
