"""Topics of dead letters and of retries, by their names, and those that suddenly get many records. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from console.model.cluster import Topic
from console.model.observed_logs import ObservedLogs
from console.model.rates import Rates
from console.triage.remembered import remembered

_STEMS = ("dlt", "dlq", "dead")
_WORDS = tuple(
    f"{word}{more}"
    for word in ("dlt", "dlq", "dead-letter", "dead_letter", "dead.letter", "deadletter")
    for more in ("", "s", "-queue", "_queue", ".queue", "queue", "-topic", "_topic", ".topic")
)
"""Usual words in the names of dead letter topics: Spring's ``orders-dlt`` and ``orders.DLT``, ``dlq.orders``."""
FEWEST, SHARE, TIMES, WATCHED = 20, 0.03, 5.0, 30.0
"""Limits for a topic that suddenly gets many letters: the number of the latest ones; their share of the records of the
original topic; their rate, and that share, as a multiple of the one before; and the seconds for which that was seen."""
MOST, OVER = 0.5, 1.25
"""The minimum share if the share before is unknown; the maximum of letters, as a multiple of the latest original
records, that can be letters of these: more are letters of older records, or go round."""
MOST_PARTITIONS, MOST_TOPICS = 5_000, 10_000
"""Maximum number of partitions, and of topics, of a cluster whose dead letters are counted at each poll."""


@lru_cache(10_000)
def original_of(topic: str) -> str | None:
    """Return the topic whose dead letters a topic contains, judged by its name; None for a name of another form."""
    lower = topic.lower()
    if not any(each in lower for each in _STEMS):
        return None
    for word in _WORDS:
        for apart in (".", "-", "_"):
            if lower.endswith(f"{apart}{word}") and len(topic) > len(word) + 1:
                return topic[: -len(word) - 1]
            if lower.startswith(f"{word}{apart}") and len(topic) > len(word) + 1:
                return topic[len(word) + 1 :]
    return None


_RETRY = re.compile(r"[-_.]retry(?:-topic)?(?:[-_.]([0-9]{1,9}))?\Z", re.IGNORECASE)
_RETRY_FIRST = re.compile(r"retry[-_.]", re.IGNORECASE)
SHORTEST_DELAY_MS = 1_000
"""The smallest number at the end of a retry topic's name that is a delay in milliseconds, as Spring Kafka gives it: a
smaller one counts the retries."""
UNKNOWN_DELAY, LONGEST_DELAY = 450.0, 3_600.0
"""Seconds that a retry topic may delay its records if its name has no delay; and the most that a name gives: a larger
number is another one, as a date."""


class Retry(NamedTuple):
    """A topic whose records are read again after a delay."""

    original: str
    """The topic whose records it has."""
    delay: float
    """The seconds for which its reader pauses, as far as the name has them; else `UNKNOWN_DELAY`."""


@lru_cache(10_000)
def retry_of(topic: str) -> Retry | None:
    """Return what a retry topic is for, judged by its name; None for a name of another form."""
    if (first := _RETRY_FIRST.match(topic)) is not None:
        return Retry(topic[first.end() :], UNKNOWN_DELAY) if topic[first.end() :] else None
    found = _RETRY.search(topic)
    if found is None or not found.start():
        return None
    number = int(found[1] or 0)
    delay = min(LONGEST_DELAY, number / 1000) if number >= SHORTEST_DELAY_MS else UNKNOWN_DELAY
    return Retry(topic[: found.start()], delay)


class Letters(NamedTuple):
    """A topic of dead letters that suddenly gets many."""

    topic: str
    original: str
    """The topic whose dead letters it has."""
    rate: float
    """Its records a second, as of the last poll; with further topics, those of the one with most."""
    was: float
    """Its records a second before."""
    share: float | None
    """Its records as a share of those of the original topic, as of the last poll; None if the original got fewer: its
    readers read older records, or letters go round."""
    usual: float | None
    """That share before; None if it is unknown, so that nothing proves that more letters come of as many records."""
    at: datetime
    """The time of the first poll that shows it, UTC."""
    more: int = 0
    """The number of further topics that count with it: those of the later retries."""
    is_retry: bool = False
    """Whether it is a topic of retries, and not of dead letters."""


def letters_after(
    known: Sequence[Letters], logs: ObservedLogs, topics: Mapping[str, Topic], rates: Rates, before: Rates, at: datetime
) -> Sequence[Letters]:
    """Return the topics that get many dead letters, after one more poll.

    Args:
        known: those of the last poll. They stay while as many letters come, and while the share lasts, if it is known.
        rates, before: of this poll and of the last one.
        at: the time of this poll, UTC.
    """
    if rates.ends is before.ends or len(rates.ends) > MOST_PARTITIONS:
        return known
    had, found = {each.topic: each for each in known}, []
    for names, original in _asides(topics):
        name, is_retry = names[0], original_of(names[0]) != original
        letters, others = (
            _most([_grown(topics[each], logs, rates) for each in names]),
            _grown(topics[original], logs, rates),
        )
        share = _share(letters.rate, others.rate)
        if letters.recent < FEWEST or (share is not None and share < SHARE):
            continue
        first = had.get(name)
        if first is not None:
            if _lasts(first, letters.rate, share):
                found.append(first._replace(rate=letters.rate, share=share))
        elif letters.watched >= WATCHED and letters.rate >= TIMES * letters.was:
            usual = _usual(letters, others, share)
            if share is None or share >= (MOST if usual is None else TIMES * usual):
                more = len(names) - 1
                found.append(Letters(name, original, letters.rate, letters.was, share, usual, at, more, is_retry))
    return tuple(found)


def _share(letters: float, others: float) -> float | None:
    """Return letters as a share of the original records; None if they can't be letters of these alone."""
    return min(1.0, letters / others) if 0 < letters <= OVER * others else None


def _usual(letters: _Grown, others: _Grown, share: float | None) -> float | None:
    """Return the share of letters before; None if too few original records came for a comparison with the present
    share.
    """
    before = others.was * others.watched
    return letters.was / others.was if share is not None and before * share >= FEWEST else None


def _lasts(first: Letters, rate: float, share: float | None) -> bool:
    # The load of a night may be a tenth of that of the day: compare shares if they are known.
    if share is None or first.usual is None:
        return rate >= TIMES * first.was
    return share >= TIMES * first.usual


@remembered
def _asides(topics: Mapping[str, Topic]) -> Sequence[tuple[tuple[str, ...], str]]:
    """Return the topics of dead letters, and those of all retries of a topic together, each with the topic whose
    records they have.
    """
    if len(topics) > MOST_TOPICS:
        return ()
    dead = [((name,), other) for name in topics if (other := original_of(name)) is not None and other in topics]
    retries: dict[str, list[str]] = {}
    for name in topics:
        retry = retry_of(name)
        if retry is not None and retry.original in topics:
            retries.setdefault(retry.original, []).append(name)
    return (*dead, *((tuple(sorted(names)), original) for original, names in retries.items()))


class _Grown(NamedTuple):
    """The records that a topic got.

    Attributes:
        recent: the number of the latest ones.
        rate: of these, a second.
        was: records a second before.
        watched: the seconds of that.
    """

    recent: int
    rate: float
    was: float
    watched: float


def _most(each: Sequence[_Grown]) -> _Grown:
    """Return the records of the topic that got most of several retry topics: each of them gets a record that fails
    again and again.
    """
    return max(each, key=lambda one: (one.recent, one.rate))


def _grown(topic: Topic, logs: ObservedLogs, rates: Rates) -> _Grown:
    recent = former = 0
    watched = lately = 0.0
    for each in topic.partitions:
        end, log = rates.ends.get((topic.name, each.number)), logs.logs.get((topic.name, each.number))
        if end is None or log is None or end.base < log.first_end:
            continue
        recent, former = recent + end.value - end.base, former + end.base - log.first_end
        watched, lately = max(watched, end.base_at - log.first_at), max(lately, end.at - end.base_at)
    return _Grown(recent, recent / max(1.0, lately), former / max(1.0, watched), watched)
