"""Causes in dead letters: a service writes more of them than before; or a group reads what it writes: a service puts
records that it can't process into a topic of dead letters that it also reads, so that the same records circulate
without end. The latter shows only in offsets, not in a symptom, because such groups do not lag.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from console.model.cluster import GroupLag
from console.model.lag_trend import LagTrend
from console.model.numbers import first_few, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage.connectors import placed
from console.triage.letters import OF_SINK, Letters, original_of
from console.triage.observations import Observations
from console.triage.readers import Reading
from console.triage.remembered import RememberedAmong, remembered
from console.triage.symptoms import Subject, readings

NAME, MORE = "dead-letters-reread", "dead-letters-of-service"
FEW_READERS = 3
LONG = 12.0
"""Minimum number of seconds over which records are counted: over a shorter time, a single batch could decide."""
FEW = 20
"""Minimum number of records: with fewer, equal numbers may be chance."""


class _Round(NamedTuple):
    """Dead letters that a group writes and reads again, counted over the window of its trend.

    Attributes:
        dead: the topic of the dead letters.
        seconds: the length of the window in seconds.
        since: the beginning of the window, Unix seconds.
        came: the number of records that were written to the topic.
        read: the number of its records that the group read.
        others: the number of records of other topics that the group read.
    """

    group: str
    dead: str
    seconds: float
    since: float
    came: int
    read: int
    others: int


def _loops(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for found in _rounds(readings(snapshot), snapshot.lags):
        yield _claim(found)


@remembered
def _rounds(known: Mapping[str, Reading], lags: Mapping[str, GroupLag]) -> Sequence[_Round]:
    """Return the dead letters that circulate, for all groups."""
    # Few groups have offsets of both topics, and their offsets change more often than their topics.
    topics = _each_topics.of(lags)
    some = (known[name] for name in _with_letters(topics) if name in known)
    found = [each for reading in some if (each := _round(reading)) is not None]
    if not found:
        return ()
    readers = _readers(topics)

    def most(topic: str) -> float:
        return max((_read(known.get(name), topic) for name in readers.get(topic, ())), default=0.0)

    # Another group may have read more of the original records, and may be the one that writes the dead letters.
    return [each for each in found if each.came > most(original_of(each.dead) or "") * each.seconds]


def _read(known: Reading | None, topic: str) -> float:
    """Return the records per second that a group read from a topic; 0 if unknown."""
    if known is None or known.trend is None:
        return 0.0
    _, read = _moved(known.trend)
    return read.get(topic, 0) / max(1.0, known.trend.last.at - known.trend.base.at)


def _round(reading: Reading) -> _Round | None:
    """Return the dead letters that a group reads if some of them certainly come from dead letters that it read; else
    None.

    If more dead letters were written than the group read records of other topics, these records can't be the source of
    all dead letters.
    """
    trend = reading.trend
    if trend is None:
        return None
    seconds = trend.last.at - trend.base.at
    topics = {each.topic for each in trend.last.lag.partitions}
    dead = _dead(topics)
    if dead is None or seconds < LONG:
        return None
    written, read = _moved(trend)
    others = sum(count for topic, count in read.items() if topic != dead)
    came, taken = written.get(dead, 0), read.get(dead, 0)
    if min(came, taken) < FEW or came <= others:
        return None
    return _Round(reading.group.name, dead, seconds, trend.base.at, came, taken, others)


def _more_letters(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each topic of dead letters that suddenly gets many; topics of sinks, and those that circulate,
    have other claims.
    """
    snapshot = observations.last.snapshot
    if not observations.past.letters:
        return
    known = readings(snapshot)
    named = {each.dead_letters for each in placed(snapshot.connect, snapshot.configs)}
    named.update(each.dead for each in _rounds(known, snapshot.lags))
    groups = _readers(_each_topics.of(snapshot.lags))
    for each in observations.past.letters:
        if each.topic in named:
            continue
        readers = sorted(name for name in groups.get(each.original, ()) if _reads(known.get(name), each.original))
        who = (
            f"; {first_few(readers, FEW_READERS)} {'read' if readers[1:] else 'reads'} {each.original}"
            if readers
            else ""
        )
        yield cause.Claim(
            cause=MORE,
            subject=Subject(topic=each.topic),
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE if each.share is None or each.usual is None else Certainty.LIKELY,
            title=f"{each.topic} "
            f"{f'and {each.more} more get up to' if each.more else 'gets'} {about(each.rate)} records/s"
            f"{' each' if each.more else ''}, "
            + (
                f"and got {about(each.was)} before"
                if each.share is None
                else f"{about(each.share * 100)}% of those of {each.original}"
            ),
            since=each.at,
            evidence=(*_before(each), *_unproven(each), cause.Evidence(f"{_by_name(each)}{who}", "Metadata")),
            next=(
                cause.Next(
                    "look at its newest records: their headers have the exception, and the place of the record that "
                    "failed; then at the last releases of the service that writes them, and of the producers",
                    f"records {each.topic}",
                ),
                *_of_connector(each),
            ),
            alone=True,
        )


def _before(each: Letters) -> Sequence[cause.Evidence]:
    """Return the evidence on the rate before the letters came; nothing if kac did not see them begin."""
    if each.is_unseen:
        return ()
    usual = "" if each.usual is None else f", {about(each.usual * 100)}% of those of {each.original}"
    what = f"it got {about(each.was)} records/s before {time_of_day(each.at)}{usual}"
    return (cause.Evidence(what, "ListOffsets over time"),)


def _by_name(each: Letters) -> str:
    """Return what the name of a topic of letters says, as a clause."""
    if not each.group:
        return f"its name says that it has the {'retries' if each.is_retry else 'dead letters'} of {each.original}"
    return (
        f"it is named after group {each.group}, which reads {each.original.removesuffix(f' that {each.group} reads')}"
    )


def _of_connector(each: Letters) -> Sequence[cause.Next]:
    """Return the step for the letters of a sink connector; empty for others."""
    if not each.group.startswith(OF_SINK):
        return ()
    name = each.group.removeprefix(OF_SINK)
    return (
        cause.Next(
            f"look at the log of the sink connector {name} and at its target: with errors.tolerance=all it runs, has "
            "no lag, and writes each record that fails into the dead letters"
        ),
    )


def _unproven(letters: Letters) -> Sequence[cause.Evidence]:
    if letters.is_unseen:
        what = f"most records that {letters.original} got since kac looked have become letters: it may be as usual"
    elif letters.share is None:
        what = f"{letters.original} gets fewer: these may be letters of older records, as usual with as many"
    elif letters.usual is None:
        what = f"{letters.original} got too few records before to tell how many of them become letters"
    else:
        return ()
    return (cause.Evidence(what, "ListOffsets over time"),)


def about(number: float) -> str:
    """Return a number as text with two significant digits, so that small changes do not change the row's text."""
    return f"{float(f'{number:.2g}'):,.12g}"


def _reads(known: Reading | None, topic: str) -> bool:
    """Return whether a group reads from a topic now, and does not only have old offsets of it."""
    return known is not None and known.trend is not None and topic in _topics(known.trend.last.lag)


def _topics(lag: GroupLag) -> frozenset[str]:
    return frozenset(each.topic for each in lag.partitions)


def _dead(topics: Collection[str]) -> str | None:
    """Return one of these topics that has the dead letters of another one of them; None if there is none."""
    return next((topic for topic in sorted(topics) if original_of(topic) in topics), None)


@remembered
def _with_letters(topics: Mapping[str, frozenset[str]]) -> Sequence[str]:
    """Return the groups that have offsets of a topic and of the topic with its dead letters. topics: group -> its
    topics.
    """
    return [group for group, mine in topics.items() if len(mine) > 1 and _dead(mine) is not None]


@remembered
def _readers(topics: Mapping[str, frozenset[str]]) -> Mapping[str, Sequence[str]]:
    """Return topic -> the groups that have offsets of it. topics: group -> its topics."""
    found: dict[str, list[str]] = {}
    for group, mine in topics.items():
        for topic in mine:
            found.setdefault(topic, []).append(group)
    return found


def _claim(found: _Round) -> cause.Claim:
    dead, rate = found.dead, found.came / found.seconds
    return cause.Claim(
        cause=NAME,
        subject=Subject(group=found.group, topic=dead),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"group {found.group} reads its own dead letters: {about(rate)} records/s go round in {dead}",
        since=datetime.fromtimestamp(found.since, UTC),
        evidence=(
            cause.Evidence(
                f"{found.came:,} records came into {dead} in {found.seconds:.0f} s, and the group read only "
                f"{found.others:,} others: they can't all be letters of these",
                "ListOffsets, OffsetFetch",
            ),
            cause.Evidence(f"the group read {found.read:,} records of {dead} meanwhile", "OffsetFetch"),
        ),
        next=(
            cause.Next(
                f"leave {dead} out of its subscription: a pattern such as {original_of(dead)}.* fits it too; stop the "
                "service until then, its offsets stay"
            ),
        ),
    )


def _moved(trend: LagTrend) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return topic -> the number of records written, and topic -> the number of records that the group read, both over
    the window of the trend.
    """
    before = {(each.topic, each.partition): each for each in trend.base.lag.partitions}
    written: dict[str, int] = {}
    read: dict[str, int] = {}
    for each in trend.last.lag.partitions:
        was = before.get((each.topic, each.partition))
        if was is not None:
            written[each.topic] = written.get(each.topic, 0) + _came(was.end, each.end)
            read[each.topic] = read.get(each.topic, 0) + _came(was.committed, each.committed)
    return written, read


def _came(before: int, now: int) -> int:
    """Return the number of records between two offsets of a log; 0 if one is unknown, or if the second is lower."""
    return max(0, now - before) if min(before, now) >= 0 else 0


_each_topics: RememberedAmong[str, frozenset[str]] = RememberedAmong(_topics)

CAUSES = (
    cause.CauseRule(
        MORE,
        _more_letters,
        reads="ListOffsets over time, Metadata",
        takes=(
            "likely: a topic whose name says that it has the dead letters of another one, or all those with its "
            "retries, get 20 records in 30 s, 3 % of those of the other topic, and both the letters and that share are "
            "5 times those before. Possible: the other topic gets fewer records than letters; or it got too few "
            "before, and half of them are letters now; or half of them since kac looked, for at least 30 s, became "
            "letters. A topic may also be named after a group or a sink, whose topics count together then. Not those "
            "that go round, nor with more than 5,000 partitions"
        ),
    ),
    cause.CauseRule(
        NAME,
        _loops,
        reads="ListOffsets, OffsetFetch",
        takes=(
            "likely: a group reads a topic and the topic's dead letters, and more dead letters come than it reads "
            "other records"
        ),
    ),
)
