"""Topics of dead letters and of retries, recognized by their names, and those of them that suddenly get many records.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from console.model.cluster import GroupLag, Topic
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
OF_SINK = "connect-"
"""The prefix of a group of a sink connector; the connector's name follows."""
MOST_PARTITIONS, MOST_TOPICS = 5_000, 10_000
"""Maximum number of partitions, and of topics, of a cluster whose dead letters are counted at each poll."""


@lru_cache(10_000)
def original_of(topic: str) -> str | None:
    """Return the topic whose dead letters a topic contains, by the topic's name; None if the name has no such form."""
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
"""The lowest number at the end of a retry topic's name that is a delay in milliseconds, as Spring Kafka appends it; a
lower number counts the retries.
"""
UNKNOWN_DELAY, LONGEST_DELAY = 450.0, 3_600.0
"""Seconds that a retry topic may delay its records if its name has no delay; and the most that a name gives: a larger
number is another one, as a date."""


class Retry(NamedTuple):
    """A topic with records that failed and are processed again after a delay."""

    original: str
    """The topic from which the records are."""
    delay: float
    """The delay in seconds, if the topic's name has it; else `UNKNOWN_DELAY`."""


@lru_cache(10_000)
def retry_of(topic: str) -> Retry | None:
    """Return the original topic and the delay of a retry topic, by its name; None if the name has no such form."""
    if (first := _RETRY_FIRST.match(topic)) is not None:
        return Retry(topic[first.end() :], UNKNOWN_DELAY) if topic[first.end() :] else None
    found = _RETRY.search(topic)
    if found is None or not found.start():
        return None
    number = int(found[1] or 0)
    delay = min(LONGEST_DELAY, number / 1000) if number >= SHORTEST_DELAY_MS else UNKNOWN_DELAY
    return Retry(topic[: found.start()], delay)


class Letters(NamedTuple):
    """A topic of dead letters, or of retries, that suddenly gets many records."""

    topic: str
    original: str
    """The topic from which the records are."""
    rate: float
    """The records per second that it gets, as of the last poll; of several retry topics, the rate of the one
    with most.
    """
    was: float
    """The records per second that it got before."""
    share: float | None
    """Its records as a share of the original topic's, 0 to 1, as of the last poll. None if the original topic got
    fewer: then its readers read older records, or the dead letters circulate.
    """
    usual: float | None
    """The same share before; None if unknown, so that nothing proves a higher share."""
    at: datetime
    """The time of the first poll that shows it, UTC."""
    more: int = 0
    """The number of further retry topics that are counted with it."""
    is_retry: bool = False
    """Whether it is a topic of retries; otherwise of dead letters."""
    group: str = ""
    """The group that reads the original topics, if the topic of letters is named after a group or a sink."""
    is_unseen: bool = False
    """Whether it counts because most records since kac looked were letters, not because they became more."""


def letters_after(
    known: Sequence[Letters],
    logs: ObservedLogs,
    topics: Mapping[str, Topic],
    rates: Rates,
    before: Rates,
    at: datetime,
    lags: Mapping[str, GroupLag],
) -> Sequence[Letters]:
    """Return the topics that get many dead letters, after one more poll.

    Args:
        known: the result for the last poll. A topic in it remains as long as it gets as many records, and as long as
            its share is as high, if the share is known.
        logs: the observed logs of this poll.
        rates, before: the write rates of this poll and of the last one.
        at: the time of this poll, UTC.
        lags: group -> its lag, for letters that are named after a group or a sink.
    """
    if rates.ends is before.ends or len(rates.ends) > MOST_PARTITIONS:
        return known
    had, found = {each.topic: each for each in known}, []
    for names, originals, group in (*_asides(topics), *_of_groups(topics, lags)):
        name, is_retry = names[0], not group and original_of(names[0]) not in originals
        letters = _most([_grown(topics[each], logs, rates) for each in names])
        others = _sum([_grown(topics[each], logs, rates) for each in originals])
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
                more, original = len(names) - 1, _text(originals, group)
                found.append(
                    Letters(name, original, letters.rate, letters.was, share, usual, at, more, is_retry, group)
                )
        elif share is not None and share >= MOST and not is_retry and _most_ever(letters, others):
            original, was = _text(originals, group), letters.was
            found.append(Letters(name, original, letters.rate, was, share, None, at, group=group, is_unseen=True))
    return tuple(found)


def _text(originals: Sequence[str], group: str) -> str:
    return originals[0] if len(originals) == 1 else f"the {len(originals)} topics that {group} reads"


def _most_ever(letters: _Grown, others: _Grown) -> bool:
    """Return whether most records that the original topics got since kac looked became letters; False if that is not
    long ago.
    """
    all_letters, all_others = letters.was * letters.watched + letters.recent, others.was * others.watched
    share = _share(all_letters, all_others + others.recent)
    return letters.watched + letters.lately >= WATCHED and share is not None and share >= MOST


def _share(letters: float, others: float) -> float | None:
    """Return the dead letters as a share of the original topic's records; None if there are more of them than
    of these.
    """
    return min(1.0, letters / others) if 0 < letters <= OVER * others else None


def _usual(letters: _Grown, others: _Grown, share: float | None) -> float | None:
    """Return the former share of dead letters; None if the original topic got too few records for a comparison with
    `share`.
    """
    before = others.was * others.watched
    return letters.was / others.was if share is not None and before * share >= FEWEST else None


def _lasts(first: Letters, rate: float, share: float | None) -> bool:
    if first.is_unseen:
        return share is not None and share >= MOST / 2
    # The load of a night may be a tenth of that of the day: compare shares if they are known.
    if share is None or first.usual is None:
        return rate >= TIMES * first.was
    return share >= TIMES * first.usual


@remembered
def _asides(topics: Mapping[str, Topic]) -> Sequence[_Aside]:
    """Return topics with their original topic: each topic of dead letters alone, and all retry topics of a topic
    together.
    """
    if len(topics) > MOST_TOPICS:
        return ()
    dead = [
        _Aside((name,), (other,)) for name in topics if (other := original_of(name)) is not None and other in topics
    ]
    retries: dict[str, list[str]] = {}
    for name in topics:
        retry = retry_of(name)
        if retry is not None and retry.original in topics:
            retries.setdefault(retry.original, []).append(name)
    return (*dead, *(_Aside(tuple(sorted(names)), (original,)) for original, names in retries.items()))


@remembered
def _unplaced(topics: Mapping[str, Topic]) -> Sequence[tuple[str, str]]:
    """Return the topics of dead letters whose name has no topic's name, with the rest of the name."""
    if len(topics) > MOST_TOPICS:
        return ()
    return [(name, rest) for name in topics if (rest := original_of(name)) is not None and rest not in topics]


def _of_groups(topics: Mapping[str, Topic], lags: Mapping[str, GroupLag]) -> Iterator[_Aside]:
    """Yield the topics of dead letters that are named after a sink connector or a group, with the topics it reads."""
    for name, rest in _unplaced(topics):
        for group in (f"{OF_SINK}{rest}", rest):
            if (lag := lags.get(group)) is not None:
                read = {each.topic for each in lag.partitions} - {name}
                if read and read <= topics.keys():
                    yield _Aside((name,), tuple(sorted(read)), group)
                break


class _Aside(NamedTuple):
    """Topics of letters, or retry topics, with the topics whose records become letters."""

    names: tuple[str, ...]
    originals: tuple[str, ...]
    group: str = ""
    """The group that reads the original topics, if the names are after the group; else ``""``."""


class _Grown(NamedTuple):
    """The records that a topic got.

    Attributes:
        recent: the number of the latest records.
        rate: the rate of the latest records, per second.
        was: the rate before them, per second.
        watched: the number of seconds over which `was` was measured.
        lately: the number of seconds over which `rate` was measured.
    """

    recent: int
    rate: float
    was: float
    watched: float
    lately: float = 0.0


def _sum(each: Sequence[_Grown]) -> _Grown:
    """Return the record counts of several topics together; those of the only one unchanged."""
    recent, rate, was, watched, lately = zip(*each, strict=True)
    return _Grown(sum(recent), sum(rate), sum(was), max(watched), max(lately))


def _most(each: Sequence[_Grown]) -> _Grown:
    """Return the record counts of that one of several retry topics that got most: a record that fails again and again
    is written to each of them.
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
    return _Grown(recent, recent / max(1.0, lately), former / max(1.0, watched), watched, lately)
