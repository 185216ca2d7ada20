"""Which offsets kafka-consumer-groups --reset-offsets means, by its own rules (OffsetsUtils, 4.3), and its CSV files.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from msgspec import Struct, field

from console.cli.noun import OptionsError
from console.model.cluster import LogRange

Place = tuple[str, int]
"""(topic, partition)"""

EARLIEST, LATEST, CURRENT = "to-earliest", "to-latest", "to-current"
OFFSET, SHIFT, TIME, FILE = "to-offset", "shift-by", "to-datetime", "from-file"
"""The targets of a reset, by their options; `--by-duration` is a time."""

_DATE = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{3})(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?"
)
_DURATION = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)
_INT = re.compile(r"[+-]?\d+")


class Positions(Struct, frozen=True):
    """The committed offsets of a group, and the ranges of the logs.

    committed: its offsets. logs: of all partitions to reset, unless each of them stays where it is. at: the offset of
    the first record that is not older than the time that was asked for, -1 if there is none.
    """

    committed: Mapping[Place, int] = field(default_factory=dict)
    logs: Mapping[Place, LogRange] = field(default_factory=dict)
    at: Mapping[Place, int] = field(default_factory=dict)


class Wanted(NamedTuple):
    """Offsets by partition, sorted, and the lines that kafka-consumer-groups prints and logs about them."""

    offsets: Mapping[Place, int]
    warnings: tuple[str, ...] = ()
    clamped: tuple[str, ...] = ()


class NoOffset(Exception):
    """A requested offset does not exist; the text is kafka-consumer-groups' own."""


def wanted_offsets(
    to: str, amount: int, places: Iterable[Place], positions: Positions, plan: Mapping[Place, int] | None = None
) -> Wanted:
    """Return the new offset of each partition. Offsets outside of a log become its start or its end.

    Args:
        to: `EARLIEST` and so on; `--by-duration` is a `TIME`.
        amount: the offset of `OFFSET`, the step of `SHIFT`.
        places: (topic, partition); `FILE` has its own.
        positions: what was read of the partitions, as far as `to` needs it.
        plan: the offsets of `FILE`.

    Raises:
        NoOffset: a partition has no committed offset to shift.
    """
    chosen = sorted(set(places)) if plan is None else sorted(plan)
    logs = positions.logs
    match to:
        case "to-earliest":
            return Wanted({place: logs[place].start for place in chosen})
        case "to-latest":
            return Wanted({place: logs[place].end for place in chosen})
        case "to-current":
            committed = positions.committed
            return Wanted({place: committed[place] if place in committed else logs[place].end for place in chosen})
        case "to-datetime":
            return _at(chosen, positions)
        case "to-offset":
            return _inside(dict.fromkeys(chosen, amount), logs)
        case "shift-by":
            return _inside({place: _committed(place, positions) + amount for place in chosen}, logs)
    return _inside({place: (plan or {})[place] for place in chosen}, logs)


def _committed(place: Place, positions: Positions) -> int:
    if place not in positions.committed:
        raise NoOffset(
            f"Cannot shift offset for partition {place[0]}-{place[1]} since there is no current committed offset"
        )
    return positions.committed[place]


def _at(chosen: Sequence[Place], positions: Positions) -> Wanted:
    later = {place: positions.at.get(place, -1) for place in chosen}
    warnings = tuple(
        f"Warn: Partition {number} from topic {topic} is empty. Falling back to latest known offset."
        for (topic, number), offset in later.items()
        if offset < 0
    )
    return Wanted(
        {place: offset if offset >= 0 else positions.logs[place].end for place, offset in later.items()}, warnings
    )


def _inside(requested: Mapping[Place, int], logs: Mapping[Place, LogRange]) -> Wanted:
    found: dict[Place, int] = {}
    clamped: list[str] = []
    for (topic, number), offset in requested.items():
        start, end = logs[topic, number]
        inside = min(max(offset, start), end)
        if inside != offset:
            than = "higher than latest" if offset > end else "lower than earliest"
            clamped.append(
                f"New offset ({offset}) is {than} offset for topic partition {topic}-{number}. "
                f"Value will be set to {inside}"
            )
        found[topic, number] = inside
    return Wanted(found, (), tuple(clamped))


# -- arguments ---------------------------------------------------------------------------------------------------------


def topic_arguments(texts: Iterable[str]) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    """Parse ``T`` and ``T:0,1``.

    Returns:
        The topics of which all partitions are meant, and the single partitions.

    Raises:
        OptionsError: the text is kafka-consumer-groups' own.
    """
    topics: list[str] = []
    places: list[Place] = []
    for text in texts:
        if not text.partition(":")[0]:
            raise OptionsError(f"Invalid topic arg '{text}', expected topic name and partitions")
        if ":" not in text:
            topics.append(text)
            continue
        parts = text.split(":")
        while parts and not parts[-1]:
            parts.pop()  # as Java's split
        if len(parts) != 2:
            raise OptionsError(f"Invalid topic arg '{text}', expected topic name and partitions")
        for number in parts[1].split(","):
            if not _INT.fullmatch(number) or abs(int(number)) >= 1 << 31:
                raise OptionsError(f"Invalid partition '{number}' specified in topic arg '{text}''")
            places.append((parts[0], int(number)))
    return tuple(topics), tuple(places)


def date_time(text: str) -> int:
    """Parse a time of --to-datetime into ms since 1970.

    Args:
        text: ``YYYY-MM-DDThh:mm:ss.sss`` with ``Z``, ``+hh:mm`` or no zone, which is UTC.

    Raises:
        OptionsError: any other form, or no such time.
    """
    found = _DATE.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second, thousandth = (int(part) for part in found.groups()[:7])
        local = datetime(year, month, day, hour, minute, second, thousandth * 1000, UTC)
        sign, hours, minutes = found.groups()[7:]
        ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
        moment = local + ahead if sign == "-" else local - ahead
    except (ValueError, OverflowError):
        raise OptionsError(f'--to-datetime is YYYY-MM-DDThh:mm:ss.sss, not "{text[:80]}"') from None
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def duration(text: str) -> int:
    """Parse ``PnDTnHnMnS`` (java.time.Duration.parse) into ms. Raises OptionsError."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()[index] for index in (1, 3, 4, 5)) or found[3] in ("T", "t"):
        raise OptionsError(f'--by-duration is PnDTnHnMnS, as PT1H30M, not "{text[:80]}"')
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    nanos = int((fraction or "").ljust(9, "0")) * (-1 if (seconds or "").startswith("-") else 1)
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    total = whole * 1_000_000_000 + nanos
    return (-total if sign == "-" else total) // 1_000_000


# -- CSV files ---------------------------------------------------------------------------------------------------------

_UNQUOTED = 24
_QUOTED = re.compile("[\x00-\x2c]")
"""Jackson's CsvMapper quotes texts of more than 24 characters, and those with a character up to a comma."""


def csv_lines(offsets: Mapping[str, Mapping[Place, int]], *, with_group: bool) -> list[str]:
    """Return the lines of --export, which `language.offset_files` reads."""
    return [
        ",".join([*([_cell(group)] if with_group else []), _cell(topic), str(number), str(offset)])
        for group, places in offsets.items()
        for (topic, number), offset in places.items()
    ]


def _cell(text: str) -> str:
    if text and len(text) <= _UNQUOTED and not _QUOTED.search(text):
        return text
    return '"' + text.replace('"', '""') + '"'
