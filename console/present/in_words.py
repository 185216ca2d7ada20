"""Rows, changes and graphs as sentences, for screen readers and braille displays. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from console.model import half_hour
from console.model.grouping import grouped
from console.model.half_hour import HalfHour, Kind, Measure
from console.plan.amounts import size
from console.present.columns import clock, time_text
from console.present.text import Cell, Line, clean, plain

# -- texts without signs -----------------------------------------------------------------------------------------------

_SIGNS = {
    "→": "to",
    "←": "from",
    "↑": "up",
    "↓": "down",
    "⏎": "enter",
    "⇧": "shift+",
    "≈ ": "about ",
    "≈": "about ",
    "≥ ": "at least ",
    "≥": "at least ",
    "≤ ": "at most ",
    "≤": "at most ",
    "×": "times ",
    "▸": "",
    "▾": "",
    "✓": "ok",
    "✗": "refused",
}
"""Character -> the text that replaces it: ``""``, or a word."""
_SIGN = re.compile("|".join(map(re.escape, _SIGNS)))
_DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff]+")
"""Matches the characters of a drawing: frames, blocks and braille."""
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_UNKNOWN = frozenset({"·", "–"})
UNKNOWN, NONE = "unknown", "none"
LONGEST_LABEL = 24


def spoken(text: str, *, labelled: bool = False) -> str:
    """Return a text with drawings removed, runs of blanks replaced by commas, and signs replaced by words.

    Args:
        labelled: whether a short text before the only run of blanks is a label, which gets a colon, and ``!`` at the
            beginning marks a warning.
    """
    if labelled and text.lstrip().startswith("! "):
        text = text.replace("! ", "warning: ", 1)
    text = _SIGN.sub(lambda found: _SIGNS[found[0]], _DRAWN.sub("  ", text)).strip().removesuffix("…")
    first, *rest = _GAP.split(text)
    is_label = labelled and len(rest) == 1 and len(first) <= LONGEST_LABEL and not first.endswith((":", ","))
    return (": " if is_label else ", ").join((first, *rest))


def sentences(lines: Iterable[Line], hang: int) -> list[str]:
    """Return lines that were wrapped for a screen as whole sentences; leave out empty lines and drawings.

    Args:
        hang: a line that begins with at least so many blanks continues the line before it.
    """
    found: list[str] = []
    for line in lines:
        text = plain(line)
        told = spoken(text, labelled=True)
        if not told:
            continue
        if found and len(text) - len(text.lstrip()) >= hang:
            found[-1] += f" {told}"
        else:
            found.append(told)
    return found


# -- rows --------------------------------------------------------------------------------------------------------------

_LETTERS: Mapping[tuple[str, str], str] = {
    ("own", "O"): "override",
    ("own", "D"): "default",
    ("is sensitive", "S"): "sensitive",
    ("read only", "R"): "read-only",
    ("severity", "H"): "high",
    ("severity", "M"): "medium",
    ("severity", "L"): "low",
    ("pending", "!"): "edit refused",
    ("", "!"): "in trouble",
    ("", "~"): "nearly in trouble",
    ("", "*"): "edit staged",
    ("", "+"): "creation staged",
    ("", "-"): "deletion staged",
}
"""(name of a column of letters, or ``""`` for any, letter) -> the word that replaces the letter."""


_BRANCHES = {"▸": "closed", "▾": "open"}
"""Sign before the node of a tree -> the word for open or closed."""
_SEVERITIES = {"! CRIT": "critical", "! HIGH": "high", "WARN": "warning", "CRIT": "critical", "HIGH": "high"}
_UNTOLD = frozenset({"changed"})
"""Columns whose changes kac does not report, because they only mark that another value changed."""
_FIRST = "severity"
"""The name of the column whose value comes before the name of the row."""
_ALONE = frozenset({"", "sure", "branch"})
"""Names of columns whose values are printed without the column's name."""


class Told(NamedTuple):
    """A column of a table, as sentences name it."""

    name: str
    """The name in lower case; ``""`` for the column with the names of rows."""
    is_letter: bool = False
    """Whether its cells are letters, which are printed without the column's name."""
    noun: str = ""
    """The noun to print before the name of a row, such as ``broker``, if the name begins with a digit; ``""`` for no
    noun.
    """


def row_words(columns: Sequence[Told], cells: Sequence[Cell]) -> dict[str, str]:
    """Return column -> text for the cells that are not empty: the name of the row first, words for letters last."""
    found: dict[str, str] = {}
    letters: dict[str, str] = {}
    for column, cell in zip(columns, cells, strict=False):
        text = spoken(plain(cell))
        if text in _UNKNOWN:
            found[column.name] = UNKNOWN
        elif column.is_letter and text:
            word = _LETTERS.get((column.name, text)) or _LETTERS.get(("", text)) or f"{column.name} {text}"
            letters[column.name] = word
        elif text and not column.name:
            found[""] = f"{column.noun} {text}".lstrip() if text[0].isdigit() else text
            if (sign := plain(cell).lstrip()[:1]) in _BRANCHES:
                letters["branch"] = _BRANCHES[sign]
        elif text:
            found[column.name] = _SEVERITIES.get(text, text) if column.name == "severity" else text
    return {**({"": found.pop("")} if "" in found else {}), **found, **letters}


def row_text(columns: Sequence[Told], words: Mapping[str, str], usual: Mapping[str, str] = {}) -> str:
    """Return a row as one line: its severity, its name, then each column's name and value; leave out columns with an
    unknown or usual value.

    Args:
        usual: column -> its usual value, which is printed once for all rows. The line of a row with another value has
            that value, even if it is unknown or empty.
    """
    alone = _ALONE | {column.name for column in columns if column.is_letter}
    told = {**words, **{name: NONE for name in usual if words.get(name) is None}}
    said = {name: text for name, text in told.items() if text != usual.get(name, UNKNOWN)}
    severity = said.pop(_FIRST, "")
    row = ", ".join(
        text if name in alone and text not in (NONE, UNKNOWN) else f"{name} {text}" for name, text in said.items()
    )
    return f"{severity}: {row}" if severity else row


MOST_ROWS, LEAST_ROWS = 0.8, 4
"""Minimum share of the rows that have a value for it to be usual, and the minimum number of rows for naming it once for
all of them."""


def usual_values(columns: Sequence[Told], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return column -> the value that nearly all rows have, for columns in which one value is that frequent: kac prints
    it once, not in each row. Empty for fewer than `LEAST_ROWS` rows.
    """
    found: dict[str, str] = {}
    for column in columns:
        if not column.name or column.is_letter or column.name == _FIRST or len(rows) < LEAST_ROWS:
            continue
        (value, count), *_ = Counter(words.get(column.name, NONE) for words in rows).most_common(1)
        if value not in (NONE, UNKNOWN) and count >= MOST_ROWS * len(rows):
            found[column.name] = value
    return found


_BAD = ("critical", "high", "warning")


def badness(words: Mapping[str, str]) -> int:
    """Return the sort key of a changed row: the severest first, rows without trouble last."""
    severity = words.get(_FIRST, "")
    if severity in _BAD:
        return _BAD.index(severity)
    return len(_BAD) - ("in trouble" in words.values())


_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?: (?:[KMGT]iB|B|ms|s|min|h|d)\b)?")
LEAST_CHANGE, OF_BOUNDS = 0.25, 0.5
"""Minimum share by which a number has to differ from the one announced last; the second applies to a lower bound, such
as a lag that began before the first poll, which grows while nothing happens."""
_UNITS = {
    **{"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0},
    **{unit: 1024.0**at for at, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))},
}


def _amount(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * _UNITS.get(unit, 1.0)


def differs(before: str, now: str) -> bool:
    """Return whether a changed value is worth printing: the text differs, or a number moved by more than the share
    `LEAST_CHANGE`, or a lower bound by more than `OF_BOUNDS`.

    Numbers are compared with their units: ``59 s`` and ``1 min`` are near each other.
    """
    if _NUMBER.sub("", before) != _NUMBER.sub("", now):
        return True
    pairs = zip(map(_amount, _NUMBER.findall(before)), map(_amount, _NUMBER.findall(now)), strict=True)
    least = OF_BOUNDS if now.startswith(_SIGNS["≥ "]) else LEAST_CHANGE
    return any(abs(is_ - was) > least * max(was, is_) for was, is_ in pairs)


def changed_columns(columns: Sequence[Told], before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return column -> the text of its change, if that is worth printing (`differs`): ``lag from 4 s to 90 s``, ``now
    in trouble``, ``no longer in trouble``. Leave out changes from or to an unknown value.
    """
    changed: dict[str, str] = {}
    for column in sorted(columns, key=lambda column: bool(column.name)):  # compare the name first
        was, is_ = before.get(column.name, NONE), now.get(column.name, NONE)
        if column.name in _UNTOLD or UNKNOWN in (was, is_) or not differs(was, is_):
            continue
        if not column.name or column.is_letter:
            changed[column.name] = f"now {is_}" if is_ != NONE else f"no longer {was}"
        else:
            changed[column.name] = f"{column.name} from {was} to {is_}"
    return changed


def as_told(before: Mapping[str, str], now: Mapping[str, str], changed: Collection[str]) -> dict[str, str]:
    """Return the texts of a row as they were last printed: those of `now` in the columns `changed`, those of
    `before` in all others. A text that `before` does not have, or has as unknown, is taken from `now`.
    """
    known = {name: before.get(name, UNKNOWN) for name in now}
    return {name: text if name in changed or known[name] == UNKNOWN else known[name] for name, text in now.items()}


# -- graphs ------------------------------------------------------------------------------------------------------------

STEADY = 0.1
"""A share, 0 to 1. A series is steady if its highest and lowest value differ by at most this share of the larger one.
Its last value is near an extreme if they differ by at most this share of the difference of the extremes.
"""


class Course(NamedTuple):
    """The course of a series of values: its trend, and the indexes of its extremes."""

    word: str
    """``rose``, ``fell``, ``steady`` or ``varied``."""
    since: int
    """The index from which on the series rose or fell; 0, the index of the first value, if it is steady or varied."""
    lowest: int
    """The index of the lowest value; of the last one if there are several."""
    highest: int
    """The index of the highest value; of the last one if there are several."""


def course(values: Sequence[float]) -> Course:
    """Return the course of a series of at least one value.

    A series is steady if its extremes are close together. It rose if its last value is near the highest, and fell if
    the last value is near the lowest, each since the last occurrence of the other extreme. Any other series varied.
    """
    last = len(values) - 1
    lowest = max(range(len(values)), key=lambda at: (-values[at], at))
    highest = max(range(len(values)), key=lambda at: (values[at], at))
    span = values[highest] - values[lowest]
    if span <= STEADY * max(abs(values[highest]), abs(values[lowest])):
        return Course("steady", 0, lowest, highest)
    if values[highest] - values[last] <= STEADY * span:
        return Course("rose", lowest, lowest, highest)
    if values[last] - values[lowest] <= STEADY * span:
        return Course("fell", highest, lowest, highest)
    return Course("varied", 0, lowest, highest)


def course_text(what: str, series: Sequence[tuple[str, float]], unit: str, *, is_least: bool = False) -> str:
    """Return a series as a sentence: ``lag of billing rose from 4 s to 90 s since 14:02:10``.

    Args:
        what: the name of the measured quantity.
        series: pairs of a time of day and a value, the earliest first; at least one.
        unit: the unit, as for `amount_text`.
        is_least: whether the true last value may be larger.
    """
    values = [value for _, value in series]
    told = course(values)
    now, begin = amount_text(values[-1], unit), series[0][0]
    now = f"at least {now}" if is_least else now
    if len(series) == 1:
        return f"{what} is {now}"
    if told.word == "steady" or amount_text(values[told.lowest], unit) == amount_text(values[told.highest], unit):
        return f"{what} is steady at {now} since {begin}"
    if told.word in ("rose", "fell"):
        since, was = series[told.since]
        return f"{what} {told.word} from {amount_text(was, unit)} to {now} since {since}"
    low, high = (amount_text(values[at], unit) for at in (told.lowest, told.highest))
    return (
        f"{what} is {now}; since {begin} it went between {low} at {series[told.lowest][0]} "
        f"and {high} at {series[told.highest][0]}"
    )


def amount_text(value: float, unit: str) -> str:
    """Return a value as text by its unit: ``seconds`` as a duration, ``bytes`` as bytes/s, ``share`` (0 to 1) as a
    percentage, any other unit as a number.
    """
    if unit == "seconds":
        return time_text(value) if round(value) else "0 s"
    if unit == "bytes":
        return f"{size(round(value))}/s"
    return f"{100 * value:.0f} %" if unit == "share" else f"{value:,.0f}"


class Sentence(NamedTuple):
    """A sentence about a series, with the values from which its text is made. Times are Unix seconds."""

    text: str
    word: str
    """The trend: `Course.word`."""
    values: tuple[float, float, float]
    """The last, the lowest and the highest value of the series."""
    begin: int
    """The time of the first value."""
    since: int
    """The time from which on the series has had this trend."""

    def is_worth_telling(self, before: Sentence) -> bool:
        """Return whether the sentence differs enough from an earlier one that was printed: another trend, another
        beginning of the trend, or a value that moved by more than a quarter (`LEAST_CHANGE`). It is no difference
        if the earlier beginning is now out of the half hour.
        """
        pairs = zip(before.values, self.values, strict=True)
        has_moved = any(abs(is_ - was) > LEAST_CHANGE * max(abs(was), abs(is_)) for was, is_ in pairs)
        begins_elsewhere = before.since != self.since and before.since >= self.begin
        return self.word != before.word or has_moved or begins_elsewhere


Key = TypeVar("Key")


def still_told(before: Mapping[Key, Sentence], now: Mapping[Key, Sentence]) -> dict[Key, Sentence]:
    """Return the present sentences, but the earlier one in place of each that is not worth telling, so that a line of
    text stays unchanged while a value wavers.
    """
    kept = (key for key, each in now.items() if key in before and not each.is_worth_telling(before[key]))
    return {**now, **{key: before[key] for key in kept}}


_OF_CLUSTER: Mapping[str, tuple[str, str]] = {
    "under-replicated": ("the number of under-replicated partitions", "number"),
    "offline": ("the number of offline partitions", "number"),
    "written": ("what is written to broker {}", "bytes"),
    "read": ("about what is read from broker {}", "bytes"),
    "behind": ("lag of group {}", "seconds"),
    "throttled": ("throttled requests a minute of {}", "number"),
    "disk": ("used disk of broker {}", "share"),
}
_OF_ONE: Mapping[str, tuple[str, str]] = {
    "bytes in": ("what is written to {}", "bytes"),
    "records in": ("the number of records a second written to {}", "number"),
    "lag": ("the number of records that {} has not read", "number"),
    "behind": ("lag of {}", "seconds"),
    "members": ("the number of members of {}", "number"),
    "leaders": ("the number of partitions that {} leads", "number"),
    "out of sync": ("the number of replicas out of sync on {}", "number"),
    "written": ("what is written to {}", "bytes"),
    "read ≈": ("about what is read from {}", "bytes"),
    "disk": ("used disk of {}", "share"),
}
CALM: Mapping[str, float] = {"behind": 5.0, "throttled": 1.0}
"""Measure -> the highest value that is usual: kac leaves out a measure that never exceeded it. ``behind``: seconds,
as between two commits of a healthy group; ``throttled``: requests per minute.
"""


def cluster_graphs(known: HalfHour) -> dict[Measure, Sentence]:
    """Return measure -> a sentence about the last half hour of the cluster, in the order of `_OF_CLUSTER`, without
    the measures whose values never exceeded `CALM`.
    """
    samples = ((each.slot * half_hour.EVERY, each.values) for each in known.samples)
    series = grouped((measure, (at, value)) for at, values in samples for measure, value in values.items())
    order = list(_OF_CLUSTER)
    told: dict[Measure, Sentence] = {}
    for measure in sorted(series, key=lambda each: (order.index(each.what), each.about)):
        values = series[measure]
        if max(value for _, value in values) <= CALM.get(measure.what, -1.0):
            continue
        what, unit = _OF_CLUSTER[measure.what]
        is_least = measure in known.samples[-1].least
        told[measure] = _sentence(what.format(clean(measure.about, 200)), values, unit, is_least=is_least)
    return told


def own_graphs(known: HalfHour, kind: Kind, name: str) -> dict[str, Sentence]:
    """Return quantity -> a sentence about the last half hour of a topic, a group or a broker.

    Args:
        known: the samples of the half hour.
        kind: whether `name` is a topic, a group or a broker.
        name: the name of the topic or the group, or the broker's id.
    """
    told: dict[str, Sentence] = {}
    for what, by_slot in half_hour.own_values(known.own, kind, name).items():
        words, unit = _OF_ONE[what]
        series = [(slot * half_hour.OWN_EVERY, value) for slot, value in sorted(by_slot.items())]
        told[what] = _sentence(words.format(f"{kind} {clean(name, 200)}"), series, unit)
    return told


def _sentence(what: str, series: Sequence[tuple[int, float]], unit: str, *, is_least: bool = False) -> Sentence:
    values = [value for _, value in series]
    told = course(values)
    text = course_text(what, [(_at(at), value) for at, value in series], unit, is_least=is_least)
    extremes = values[told.lowest], values[told.highest]
    return Sentence(text, told.word, (values[-1], *extremes), series[0][0], series[told.since][0])


def _at(seconds: int) -> str:
    return clock(datetime.fromtimestamp(seconds, UTC))
