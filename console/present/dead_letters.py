"""Dead letters by original topic, exception and age, and what a redrive would send."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from console.model.dead_letters import Age, Pile, Redrive, Stays, Survey
from console.model.numbers import first_few, plural
from console.plan.amounts import byte_count, measured_time
from console.present import columns

HIDDEN = "••••"
NAMED = 5


class PileRow(NamedTuple):
    """A pile, and whether the texts of exceptions are hidden."""

    pile: Pile
    masked: bool = False

    @property
    def exception(self) -> str:
        """The exception; dots if contents are hidden."""
        return HIDDEN if self.masked and self.pile.exception else self.pile.exception


def _time(at: int) -> str | None:
    return None if at < 0 else datetime.fromtimestamp(at / 1000, UTC).isoformat()


PILES: columns.Columns[PileRow] = columns.Columns(
    columns.Column("topic", columns.TOLD, lambda row: row.pile.topic, title="Original topic"),
    columns.Column("exception", columns.TOLD, lambda row: row.exception),
    columns.Column("letters", columns.TOLD, lambda row: row.pile.count, "number"),
    columns.Column("chosen", columns.TOLD, lambda row: row.pile.chosen, "number"),
    columns.Column("age", columns.TOLD, lambda row: row.pile.age.value),
    columns.Column("first", columns.OBJECT, lambda row: _time(row.pile.first)),
    columns.Column("last", columns.OBJECT, lambda row: _time(row.pile.last)),
    columns.Column(
        "example",
        columns.TOLD,
        lambda row: {"partition": row.pile.example[0], "offset": row.pile.example[1]},
        "object",
        text=lambda row: f"{row.pile.example[0]}/{row.pile.example[1]}",
    ),
    columns.Column("message", columns.OBJECT, lambda row: HIDDEN if row.masked else row.pile.message),
    columns.Column("written_by", columns.TOLD, lambda row: row.pile.convention, title="Written by"),
)
"""Dead letters by original topic, exception and age; an example is a partition and an offset."""


def pile_rows(found: Survey, *, masked: bool) -> list[PileRow]:
    """Return the piles: the exceptions of a topic with the most letters first, the youngest letters of each first."""
    totals: dict[tuple[str, str], int] = {}
    for each in found.piles.values():
        about = each.topic, each.exception
        totals[about] = totals.get(about, 0) + each.count
    ages = list(Age)

    def place(pile: Pile) -> tuple[int, str, str, int, str]:
        about = pile.topic, pile.exception
        return -totals[about], *about, ages.index(pile.age), pile.convention

    return [PileRow(each, masked) for each in sorted(found.piles.values(), key=place)]


def forecast_lines(goal: Redrive, found: Survey, most: int | None) -> Iterator[str]:
    """Yield what a redrive would send, a line each."""
    by_topic: dict[str, list[int]] = {}
    for (topic, _), heap in sorted(found.heaps.items()):
        known = by_topic.setdefault(topic, [0, 0, 0])
        known[0] += len(heap.sizes)
        known[1] += sum(heap.sizes)
        known[2] += 1
    for topic, (count, size, places) in by_topic.items():
        yield f"{plural(count, 'letter')}, {byte_count(size)}, to {topic} ({plural(places, 'partition')})"
    if found.chosen:
        yield "each with its key, value and the application's headers; those of the dead-letter topic are left out"
        yield "its time is that of sending; its partition is the original one, else that of its key"
        if most:
            yield f"at most {most:,} a second: about {measured_time(found.chosen / most)}"
        yield f"the first goes alone, until a group passes it; positions are those of group {goal.group}"
    stays = [f"{count:,} {why.value}" for why, count in found.stays.items() if why is not Stays.NOT_CHOSEN]
    not_chosen = found.stays.get(Stays.NOT_CHOSEN, 0)
    stays += [f"{not_chosen:,} that are not chosen"] if not_chosen else []
    if stays:
        yield f"letters that stay: {first_few(stays, NAMED)}"
    if found.before:
        yield f"{plural(found.before, 'letter')} of this selection were sent before"
