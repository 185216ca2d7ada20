"""What differs as rows: a key, what most have, and in a column for each peer the odd ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from console.history.reader.rows import Drifted
from console.present.lake import NOTHING, SEVERITIES, attr_text, drift_sides, typed_text
from console.present.spans import Cell, Line

SAME = "·"


class DriftRow(NamedTuple):
    """A key in which some differ. entity: what has it, `""` where that is the peer itself; odd: by the peer's name."""

    entity: str
    attr: str
    majority: str
    severity: str
    peers: int
    odd: dict[str, Drifted]


def drift_rows(found: Iterable[Drifted], scope: str) -> list[DriftRow]:
    """The rows of a scope, in the order in which each first comes; of brokers by key, else by entity and key."""
    made: dict[tuple[str, str], DriftRow] = {}
    for each in found:
        entity = "" if scope == "broker" else each.entity_key
        row = made.get((entity, each.attr))
        if row is None:
            most, _ = drift_sides(each)
            row = made[entity, each.attr] = DriftRow(entity, each.attr, most, each.severity, each.peers, {})
        row.odd[peer(each)] = each
    return list(made.values())


def peer(row: Drifted) -> str:
    """What stands at the top of its column: the broker's id, or the cluster's."""
    return row.entity[1] if row.scope == "broker" else row.cluster_id


def row_name(row: DriftRow) -> str:
    """``topic orders retention.ms``, of a broker's key the key alone."""
    return f"{typed_text(row.entity)} {attr_text(row.attr)}" if row.entity else attr_text(row.attr)


def drift_cells(row: DriftRow, peers: Sequence[str]) -> list[Cell]:
    """A letter for how bad it is, the key, what most have, then the odd ones with a ``!``."""
    cells: list[Cell] = [SEVERITIES.get(row.severity, ("?", "muted")), row_name(row), (row.majority, "muted")]
    for name in peers:
        odd = row.odd.get(name)
        cells.append((SAME, "muted") if odd is None else (f"!{drift_sides(odd)[1]}", "failed"))
    return cells


def drift_lines(row: DriftRow) -> list[Line]:
    """Each odd one with its value, and since when."""
    lines: list[Line] = [
        [("most have ", "muted"), (row.majority, ""), (f"   {len(row.odd)} of {row.peers} differ", "muted")]
    ]
    if row.odd and next(iter(row.odd.values())).scope == "baseline":
        lines = [[("the baseline wants ", "muted"), (row.majority, "")]]
    for each in row.odd.values():
        since = (
            f"since {each.since.astimezone():%Y-%m-%d %H:%M}" if each.since is not None else "as long as anybody looked"
        )
        own = drift_sides(each)[1]
        what = "nothing of its own" if own == NOTHING else own
        name = typed_text(each.entity_key) if each.scope == "broker" else each.cluster_id
        lines.append([(f"! {name} ", "failed"), (what, "strong"), (f"   {since}, {each.severity}", "muted")])
    return lines
