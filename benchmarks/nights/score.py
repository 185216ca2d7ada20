"""The score of a night and its twin: 0, 1 or 2 points in each of three matters. Pure.

**Named.** 2: a row above info that stands at the last poll fits `cause`; if the night is `unknowable`, any such row or
line about what can't be known suffices. 1: a row above info that stands then fits `symptom`. 0: neither. A wrong
diagnosis costs no points, but is listed: a row that stands then, above info and surer than possible, and fits neither.
It is only listed with less than 2 points, because it is the diagnosis in place of the cause.

**Step.** 0: a statement that was proposed at any time after `Begin` began fits `wrong`, also a statement that only a
later key stages. Else 2: a proposal of a row that stands at the last poll (its advice with its statement), all
proposals of one such row with its subject, or the place to look of a line fits `step`. Else, if `step` is None: 2. Else
1 if any row stands, 0 if none does.

**Twin.** 2: since the opening of the console, every row above info was one that `fine` allows. 1: other rows were only
possible. 0: another row was likely or certain.

**First row.** Seconds from the end of `Begin` to the first poll with a row above info that fits `cause` or `symptom`; 0
if it stood before. It is None if no such row came.

A row is judged by its text in the last poll that had it. In earlier polls, the numbers in the text may have differed.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from benchmarks.nights.night import Night
from benchmarks.nights.said import Half, Row

NAMED, TWINS, FIRST_ROW = 1.5, 1.9, 20.0
"""The required averages of the nights' and the twins' points, and the maximum seconds to the first row."""


class Score(Struct, frozen=True, kw_only=True):
    """The points of a night and its twin; None for points of a half that was not made.

    Attributes:
        first: seconds from the end of `Begin` to the first right row; None if there was no such row.
        instead: titles of the wrong diagnoses.
        harmful: the proposed statements that match `Night.wrong`.
        alarms: the titles of the twin's rows that are false alarms.
    """

    slug: str
    version: str
    named: int | None = None
    step: int | None = None
    twin: int | None = None
    first: float | None = None
    instead: tuple[str, ...] = ()
    harmful: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()


def judge(night: Night, made: Half | None, twin: Half | None) -> Score:
    """Return the score of a night and its twin; None as argument for the one that was not made."""
    either = made or twin
    assert either is not None
    known: dict[str, object] = {"slug": either.slug, "version": either.version}
    if made is not None:
        points = named(night, made)
        known |= {
            "named": points,
            "step": step(night, made),
            "first": first_row(night, made),
            "instead": _titles(_instead(night, made)) if points < 2 else (),
            "harmful": tuple(dict.fromkeys(_harmful(night, made))),
        }
    if twin is not None:
        known |= {"twin": silence(night, twin), "alarms": _titles(_alarms(night, twin))}
    return Score(**known)  # type: ignore[arg-type]


def named(night: Night, made: Half) -> int:
    """Return the points for naming the cause: 2 if a row names it, 1 if a row only names the symptom, else 0."""
    rows = list(made.standing())
    if night.unknowable and any(
        night.cause.fit(text) for text in (*(row.whole for row in rows), *made.standing_lines())
    ):
        return 2
    troubles = [row for row in rows if row.is_trouble]
    if any(night.cause.fit(row.whole) for row in troubles):
        return 2
    return int(any(night.symptom.fit(row.whole) for row in troubles))


def step(night: Night, made: Half) -> int:
    """Return the points for the proposed step: 2 if a proposed step helps, or if no step in the console can help; 1 if
    there are rows, but none has a step that helps; 0 if there is no row, or if a proposed statement would make the
    situation worse.
    """
    if any(_harmful(night, made)):
        return 0
    if night.step is None:
        return 2
    rows = list(made.standing())
    if any(night.step.fit(text) for text in (*_proposed(rows), *made.standing_lines())):
        return 2
    return int(bool(rows))


def silence(night: Night, twin: Half) -> int:
    """Return the points for the twin: 2 if there is no false alarm, 1 if all false alarms are only possible, else 0."""
    alarms = list(_alarms(night, twin))
    if not alarms:
        return 2
    return int(not any(row.is_sure for row in alarms))


def first_row(night: Night, made: Half) -> float | None:
    """Return the seconds from the end of `Begin` to the first row that names the cause or its symptom; 0 if it came
    before that; None if there was no such row.
    """
    right = [row.first for row in made.rows if row.is_trouble and row.last >= 0 and _is_right(night, row)]
    return round(max(0.0, min(right) - made.begun), 1) if right else None


def _is_right(night: Night, row: Row) -> bool:
    return night.cause.fit(row.whole) or night.symptom.fit(row.whole)


def _instead(night: Night, made: Half) -> Iterator[Row]:
    return (row for row in made.standing() if row.is_trouble and row.is_sure and not _is_right(night, row))


def _proposed(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        if row.proposals:
            yield from map(str, row.proposals)
            yield "\n".join([row.subject, *map(str, row.proposals)])


def _harmful(night: Night, made: Half) -> Iterator[str]:
    for row in made.rows:
        for proposal in row.proposals if row.last >= 0 else ():
            if proposal.statement and any(_found(pattern, proposal.statement) for pattern in night.wrong):
                yield proposal.statement


def _alarms(night: Night, twin: Half) -> Iterator[Row]:
    return (row for row in twin.rows if row.is_trouble and not any(_found(each, row.whole) for each in night.fine))


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _titles(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{row.title} ({row.certainty})" for row in rows))


class Average(Struct, frozen=True):
    """The figures over several nights. named, step, twin: mean points, 0 to 2. harmful: the number of nights with a
    harmful step. first: the median of `Score.first` in seconds; None if no night has one.
    """

    nights: int
    named: float
    step: float
    twin: float
    harmful: int
    first: float | None


def average(scores: Sequence[Score]) -> Average:
    """Return the figures over those nights and twins that were made. If there are none, the means are 0.0, and the
    median is None.
    """

    def mean(points: Iterable[int | None]) -> float:
        known = [each for each in points if each is not None]
        return round(statistics.fmean(known), 2) if known else 0.0

    first = [each.first for each in scores if each.first is not None]
    return Average(
        len(scores),
        mean(each.named for each in scores),
        mean(each.step for each in scores),
        mean(each.twin for each in scores),
        sum(bool(each.harmful) for each in scores),
        round(statistics.median(first), 1) if first else None,
    )


def worse(now: Score, then: Score) -> list[str]:
    """Return a text for each of the points that is lower in `now` than in `then`, such as ``step 1, was 2``."""
    pairs = {name: (getattr(now, name), getattr(then, name)) for name in ("named", "step", "twin")}
    return [
        f"{name} {after}, was {before}"
        for name, (after, before) in pairs.items()
        if before is not None and (after is None or after < before)
    ]
