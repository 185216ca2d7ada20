"""Texts about dead letters: their numbers by original topic, exception and age, and the letters that a redrive would
send.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from console.model.dead_letters import Age, Pile, Redrive, Stays, Survey
from console.model.numbers import first_few, plural, time_of
from console.plan.amounts import byte_count, measured_time
from console.present import columns
from console.present.text import Line, clean

HIDDEN = "••••"
NAMED = 5
ASKED = 5
"""Maximum number of rows of dead letters in a question; the others are counted."""


class PileRow(NamedTuple):
    """A pile (the dead letters with the same original topic, exception, age and tool that wrote them), and whether
    exceptions are hidden.
    """

    pile: Pile
    masked: bool = False

    @property
    def exception(self) -> str:
        """The exception of the pile; dots if exceptions are hidden."""
        return HIDDEN if self.masked and self.pile.exception else self.pile.exception


def _time(at: int) -> str | None:
    found = time_of(at)
    return None if found is None else found.isoformat()


def _short(exception: str) -> str:
    """Return the name of a Java class without its package; any other text unchanged."""
    parts = exception.replace("$", "_").split(".")
    return exception.rpartition(".")[2] if all(each.isidentifier() for each in parts) else exception


_SHOWN: frozenset[columns.View] = columns.TOLD | columns.SCREEN

PILES: columns.Columns[PileRow] = columns.Columns(
    columns.Column(
        "topic",
        get=lambda row: row.pile.topic,
        title="Original topic",
        cell=lambda row: clean(row.pile.topic, 100) or ("none", "muted"),
        text=lambda row: row.pile.topic,
        layout=columns.on_screen((8, 30), "Topic", priority=95, sort_key="N"),
    ),
    columns.Column(
        "exception",
        cell=lambda row: clean(_short(row.exception), 200),
        text=lambda row: row.exception,
        layout=columns.on_screen((27, 80), flex=1, priority=96, sort_key="X"),
    ),
    columns.Column(
        "age",
        get=lambda row: row.pile.age.value,
        order=lambda row: list(Age).index(row.pile.age),
        layout=columns.on_screen((9, 14), priority=92, sort_key="A"),
    ),
    columns.Column(
        "letters",
        get=lambda row: row.pile.count,
        type="number",
        layout=columns.on_screen((7, 12), priority=94, sort_key="L"),
    ),
    columns.Column(
        "chosen",
        get=lambda row: row.pile.chosen,
        type="number",
        title="Chosen",
        layout=columns.on_screen((6, 12), "Can go", priority=60),
    ),
    columns.Column("first", columns.OBJECT, lambda row: _time(row.pile.first)),
    columns.Column("last", columns.OBJECT, lambda row: _time(row.pile.last)),
    columns.Column(
        "example",
        get=lambda row: {"partition": row.pile.example[0], "offset": row.pile.example[1]},
        type="object",
        text=lambda row: f"{row.pile.example[0]}/{row.pile.example[1]}",
        layout=columns.on_screen((7, 20), priority=50),
    ),
    columns.Column("message", columns.OBJECT, lambda row: HIDDEN if row.masked else row.pile.message),
    columns.Column(
        "written_by", get=lambda row: row.pile.convention, layout=columns.on_screen((12, 26), "Written by", priority=40)
    ),
    views=_SHOWN,
)
"""The columns of piles: original topic, exception, age, numbers of letters, and the partition and offset of an
example.
"""


def pile_rows(found: Survey, *, masked: bool) -> list[PileRow]:
    """Return a row for each pile. Topics and exceptions with the most letters come first; for each of these, the
    youngest letters come first.
    """
    totals: dict[tuple[str, str], int] = {}
    for each in found.piles.values():
        about = each.topic, each.exception
        totals[about] = totals.get(about, 0) + each.count
    ages = list(Age)

    def place(pile: Pile) -> tuple[int, str, str, int, str]:
        about = pile.topic, pile.exception
        return -totals[about], *about, ages.index(pile.age), pile.convention

    return [PileRow(each, masked) for each in sorted(found.piles.values(), key=place)]


def chosen_lines(found: Survey, *, masked: bool) -> list[str]:
    """Return the numbers of letters that a redrive would send: a line for each of the first `ASKED` piles, and one for
    all others.
    """
    rows = [each for each in pile_rows(found, masked=masked) if each.pile.chosen]
    lines = [
        f"{row.pile.chosen:,} of {row.pile.topic or 'no topic'}: "
        f"{_short(row.exception) or 'no exception'}, {row.pile.age.value}"
        for row in rows[:ASKED]
    ]
    left = sum(row.pile.chosen for row in rows[ASKED:])
    return [*lines, f"{left:,} more, of {plural(len(rows) - ASKED, 'other row')}"] if left else lines


def forecast_lines(goal: Redrive, found: Survey, most: int | None) -> Iterator[str]:
    """Yield lines about a redrive: the letters that it would send, and how.

    Args:
        most: maximum letters per second; None for no limit.
    """
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
    yield from staying_lines(goal, found)


def staying_lines(goal: Redrive, found: Survey) -> Iterator[str]:
    """Yield a line with the numbers of letters that a redrive would not send, by reason; and a line about an earlier
    redrive that it continues.
    """
    stays = [f"{count:,} {why.value}" for why, count in found.stays.items() if why is not Stays.NOT_CHOSEN]
    not_chosen = found.stays.get(Stays.NOT_CHOSEN, 0)
    stays += [f"{not_chosen:,} that are not chosen"] if not_chosen else []
    if stays:
        yield f"letters that stay: {first_few(stays, NAMED)}"
    if goal.noted > found.before:
        yield (
            f"continues operation {goal.behind} by this host's journal, behind the {plural(goal.noted, 'letter')} sent "
            f"before: the brokers do not have all positions of group {goal.group} any more"
        )
    elif found.before:
        behind = f"continues operation {goal.behind}: " if goal.behind else ""
        yield f"{behind}{plural(found.before, 'letter')} of this selection {_were(found.before)} sent before"


def others_line(found: Survey) -> str:
    """Return a line about redrives of the topic with other conditions: the number of letters that they have sent, and
    whether all of these redrives are counted. A letter that they sent may be one that this redrive would send again.

    Returns:
        ``""`` if all other redrives are counted and none has sent a letter, or if there are no others.
    """
    by = sorted(group for group, count in found.others.items() if count)
    if not by and found.unread == 0:
        return ""
    read = len(found.others)
    if not read and found.unread is None:
        return "other selections of the topic can't all be listed: they may have sent some of these already"
    which = f"{read:,} of {read + found.unread:,} other selections" if found.unread else "other selections"
    sent = f"{plural(sum(found.others.values()), 'letter')} ({first_few(by, NAMED)})" if by else "no letter"
    unlisted = "; not all of them could be listed" if found.unread is None else ""
    unread = "; the rest was not read" if found.unread else unlisted
    return f"{which} of the topic sent {sent}{unread}: they may have sent some of these already"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def count_text(found: Survey) -> str:
    """Return the number of letters, and the number of those that a redrive would send."""
    return f"{plural(found.count, 'letter')}, {found.chosen:,} can be sent"


def _moment(at: int) -> str:
    found = time_of(at)
    return "" if found is None else f"{found:%Y-%m-%d %H:%M:%S} UTC"


def pile_lines(row: PileRow, topic: str) -> list[Line]:
    """Return lines with the properties that the letters of a row share. topic: the dead-letter topic."""
    pile = row.pile
    partition, offset = pile.example
    message = HIDDEN if row.masked and pile.message else pile.message
    lines = (
        ("original topic", pile.topic),
        ("exception", row.exception),
        ("text", "" if message == row.exception else message),
        ("headers", pile.convention),
        ("first", _moment(pile.first)),
        ("last", _moment(pile.last)),
        ("letters", f"{pile.count:,}, {pile.chosen:,} can be sent"),
        ("example", f"{topic}-{partition} offset {offset}"),
    )
    return [[(f"{name:<16}", "muted"), (clean(text, 400), "")] for name, text in lines if text]
