"""Rows of the lake's panes: a timeline, drift, and usage with its plot."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from console.model.quota import CLIENT_ID, USER, QuotaEntity, QuotaValues
from console.pipeline.reader import Change, Drifted, Minute, Pair, Usage
from console.present.events import side, what_text
from console.present.events import who_text as author_text
from console.present.lake import (
    FIRST_SEEN,
    HIDDEN,
    NOTHING,
    SEVERITIES,
    attr_text,
    drift_sides,
    entity_text,
    how_sure,
    level_text,
    limit_text,
    pair_text,
    rate_text,
    sides,
    spark,
    typed_text,
    waited,
    who_text,
)
from console.present.names import named
from console.present.text import Cell, Line, clean, joined
from console.present.values import config_value
from console.triage.events import Event

# A timeline as rows: when, what, from what to what, who, how that is known; of a lake, or of this host's journal.

_STATES = {"applied": ("✓", "ok"), "failed": ("✗", "failed")}


class PastRow(NamedTuple):
    """A change. sure: a letter for how it is known who, or how it went, and its meaning. change: the lake's row.
    number: of the journal's change; event: what this console saw; two of them are None. is_first_seen: the first look
    showed it. is_unknown: the outcome is."""

    key: Hashable
    when: str
    what: str
    old: str
    new: str
    who: str
    sure: tuple[str, str]
    change: Change | None
    number: int | None
    is_first_seen: bool = False
    is_unknown: bool = False
    event: Event | None = None


def of_event(event: Event, when: str) -> PastRow:
    """Return the row of an event that this console saw.

    Args:
        when: ``2026-11-22 03:11:48``, with or without an offset.
    """
    was, became = (side(event, value) for value in (event.was, event.became))
    mark = ("!", "danger") if event.trouble else ("·", "muted")
    key = ("event", event.until, event.place)
    return PastRow(key, when[5:16], what_text(event), was, became, author_text(event), mark, None, None, event=event)


def of_change(change: Change, first_poll: datetime | None = None) -> PastRow:
    """Return the row of a change in a lake's timeline.

    Args:
        first_poll: the time of the first poll of the cluster, whose values are older than that; None if it is unknown.
    """
    when = f"{change.valid_from.astimezone():%m-%d %H:%M}"
    if change.is_gap:
        until = f"until {change.valid_to.astimezone():%m-%d %H:%M}" if change.valid_to is not None else "until now"
        return PastRow(change.place, when, "not polled", "", until, "", ("~", "pending"), change, None)
    if change.is_first_look:
        new = change.new_value or ""
        return PastRow(change.place, when, "first poll", FIRST_SEEN, new, "", ("·", "muted"), change, None, True)
    letter, _ = how_sure(change)
    meaning = "muted" if letter in "RJ" else "pending"
    old, new = (_short(change, side) for side in sides(change)[:2])
    what = f"{entity_text(change.entity_type, change.entity_key)} {attr_text(change.attr)}"
    if change.is_first_seen(first_poll):
        return PastRow(change.place, when, what, FIRST_SEEN, new, "", ("·", "muted"), change, None, True)
    return PastRow(change.place, when, what, old, new, who_text(change.principal), (letter, meaning), change, None)


def _short(change: Change, side: str) -> str:
    """Return the human form of a value alone, where it has one."""
    raw, bracket, human = side.rpartition(" (")
    if bracket and config_value(change.attr, raw) == human.removesuffix(")"):
        return human.removesuffix(")")
    return side


def of_journal(cells: tuple[str, ...], place: int) -> PastRow:
    """Return the row of a line in the journal's table.

    Args:
        cells: number, when, who, entity, key, was, became, state.
        place: of the line in the table: lines of one change differ by it.
    """
    number, when, who, entity, key, was, became, state = (clean(cell, 200) for cell in cells)
    word = state.partition(",")[0]
    sure = _STATES.get(word, ("?", "failed"))
    if "taken back" in state:
        sure = ("↶", "muted")
    what = f"{entity} {key}".rstrip()
    return PastRow(
        ("journal", number, place),
        when[5:16],
        what,
        was,
        became,
        who,
        sure,
        None,
        int(number),
        is_unknown=word == "unknown",
    )


def past_cells(row: PastRow) -> list[Cell]:
    """Return the cells of a row: how sure, when, what, old → new, who."""
    change: Line = [(f"{row.old} → ", "muted"), (row.new, "")] if row.old else [(row.new, "muted")]
    return [row.sure, (row.when, "muted"), row.what, list(change), (row.who, "muted")]


SOURCES = {
    "kraft_log": "metadata log",
    "kraft_snapshot": "snapshot of the metadata log",
    "snapshot": "poll of the cluster",
    "journal": "journal",
    "request_log": "request log",
}
"""Where a change is known from, for people."""


def change_lines(change: Change) -> list[Line]:
    """Return all about a change, without its title."""
    if change.is_gap:
        return [[("What changed in this time is seen only as of its end, and who did it may never be known.", "")]]
    if change.is_first_look:
        return [[("It was so before, since an unknown time. ", ""), ("key=*", "strong"), (" lists each value.", "")]]
    old, new, hidden = sides(change)
    lines: list[Line] = [[(new, "strong"), ("   was ", "muted"), (old, "")]]
    if hidden:
        lines = [[(HIDDEN, "sensitive"), ("   the value is a secret: the lake knows only that it was set", "muted")]]
    since = _full(change.valid_from)
    if change.is_current:
        lines.append([(f"current value since {since}", "")])
    else:
        until = f" until {_full(change.valid_to)}" if change.valid_to else ""
        lines.append([(f"from {since}{until}", "")])
    letter, words = how_sure(change)
    who = who_text(change.principal)
    lines.append([("unknown" if who == NOTHING else who, "strong"), (f"   {letter} {words}", "muted")])
    source = SOURCES.get(change.source, clean(change.source, 40).replace("_", " "))
    lines.append([(f"source: {source}", "muted")])
    return lines


def _full(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().isoformat(sep=" ", timespec="seconds")


# What differs as rows: a key, what most have, and in a column for each peer the odd ones.

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
    """Return the rows of a scope, in the order in which each first comes; of brokers by key, else by entity and key.

    Args:
        found: one for each entity that differs; several may be of one row.
        scope: of all of them: ``broker``, ``cluster`` or ``baseline``.
    """
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
    """Return the head of the column that an entity has: the id of its broker, or of its cluster."""
    return row.entity[1] if row.scope == "broker" else row.cluster_id


def row_name(row: DriftRow) -> str:
    """Return the name of a row: ``topic orders retention.ms``, of a broker's key the key alone."""
    return f"{typed_text(row.entity)} {attr_text(row.attr)}" if row.entity else attr_text(row.attr)


def drift_cells(row: DriftRow, peers: Sequence[str]) -> list[Cell]:
    """Return the cells of a row: a letter for its severity, the key, what most have, then the deviations marked ``!``.

    Args:
        peers: the columns after the third (`peer`).
    """
    cells: list[Cell] = [SEVERITIES.get(row.severity, ("?", "muted")), row_name(row), (row.majority, "muted")]
    for name in peers:
        odd = row.odd.get(name)
        cells.append((SAME, "muted") if odd is None else (f"!{drift_sides(odd)[1]}", "failed"))
    return cells


def drift_lines(
    row: DriftRow, wanted: str = "the baseline wants ", first: str = "as long as anybody looked"
) -> list[Line]:
    """Return each deviation with its value, and since when it has been there.

    Args:
        wanted: the words before the value of a baseline.
        first: the words for an unknown beginning.
    """
    lines: list[Line] = [
        [("most have ", "muted"), (row.majority, ""), (f"   {len(row.odd)} of {row.peers} differ", "muted")]
    ]
    if row.odd and next(iter(row.odd.values())).scope == "baseline":
        lines = [[(wanted, "muted"), (row.majority, "")]]
    for each in row.odd.values():
        since = f"since {each.since.astimezone():%Y-%m-%d %H:%M}" if each.since is not None else first
        own = drift_sides(each)[1]
        what = "nothing of its own" if own == NOTHING else own
        name = typed_text(each.entity_key) if each.scope == "broker" else each.cluster_id
        lines.append([(f"! {name} ", "failed"), (what, "strong"), (f"   {since}, {each.severity}", "muted")])
    return lines


# Who uses what of which quota, as rows; a plot of a pair over time with its limit as a line.

SHORT = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "consume",
    "request_percentage": "request",
}
_NEAR = 0.8
_AXIS = 11
"""Cells of the numbers left of a plot."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"


_MEASURED = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")


def quotas_now(quotas: Mapping[QuotaEntity, QuotaValues], cluster: str) -> dict[Usage, QuotaEntity]:
    """Return the quotas of users and clients as usages without measured rates, by name, each with its entity.

    Args:
        quotas: of the cluster, as they are now.
        cluster: its id, which the usages carry.
    """
    made: dict[Usage, QuotaEntity] = {}
    for entity, values in quotas.items():
        parts = {type_: named(name) for type_, name in entity}
        if not parts.keys() <= {USER, CLIENT_ID}:
            continue
        for key in _MEASURED:
            if key in values:
                pair = Pair(parts.get(USER), parts.get(CLIENT_ID), key)
                why = "rates are not known without a lake"
                limit, level = values[key], _level(entity)
                made[Usage(cluster, pair, -1, limit, level, None, None, None, 0, 0, None, None, why, ())] = entity
    return dict(sorted(made.items(), key=lambda each: (*(name or "" for name in each[0].pair),)))


def _level(entity: QuotaEntity) -> int:
    """Return the level of an entity's own quota, as `console.model.quota` numbers them."""
    user, client = (
        "" if not entity.has(type_) else "default" if entity.name_of(type_) is None else "named"
        for type_ in (USER, CLIENT_ID)
    )
    return _LEVELS[user, client]


_LEVELS = {
    ("named", "named"): 1,
    ("named", "default"): 2,
    ("named", ""): 3,
    ("default", "named"): 4,
    ("default", "default"): 5,
    ("default", ""): 6,
    ("", "named"): 7,
    ("", "default"): 8,
}


def state(usage: Usage) -> tuple[str, str]:
    """Return ``!`` for a pair that was throttled or exceeds its limit, ``~`` near it, with its meaning."""
    if usage.throttle_ms or (usage.utilisation is not None and usage.utilisation >= 1):
        return "!", "failed"
    return ("~", "pending") if usage.utilisation is not None and usage.utilisation >= _NEAR else ("", "")


def usage_cells(usage: Usage, width: int) -> list[Cell]:
    """Return the cells of a usage: state, pair, key, used, bars, highest, limit, throttled for, headroom, level.

    Args:
        width: of the bars, in cells.
    """
    key = usage.pair.quota_key
    _, meaning = state(usage)
    return [
        state(usage),
        pair_text(usage.pair),
        (SHORT.get(key, clean(key)), "muted"),
        (NOTHING, "muted") if usage.utilisation is None else (f"{usage.utilisation:.0%}", meaning),
        (spark(usage.series, width, usage.quota_value), meaning or "muted"),
        rate_text(key, usage.rate_max, usage.quota_value),
        limit_text(usage),
        (waited(usage), "failed") if usage.throttle_ms else "",
        (rate_text(key, usage.headroom, usage.quota_value), "muted"),
        (level_text(usage.level), "muted"),
    ]


def usage_lines(usage: Usage) -> list[Line]:
    """Return the quota of a usage with its level, what was used of it, and the suggestion."""
    key = usage.pair.quota_key
    quota_line: Line = [(f"{SHORT.get(key, clean(key))} quota ", "muted"), (limit_text(usage), "strong")]
    quota_line += [(f"  by {level_text(usage.level)}, per broker", "muted")]
    if usage.rate_max is None:
        return [quota_line, [("how much of it is used is not known without a lake", "muted")]]
    used: Line = [(f"highest over 10 s {rate_text(key, usage.rate_max, usage.quota_value)}", "")]
    used += [(f"  mean {rate_text(key, usage.rate_avg, usage.quota_value)}  on broker {usage.broker_id}", "muted")]
    lines = [quota_line, used]
    room: Line = (
        [] if usage.headroom is None else [(f"headroom {rate_text(key, usage.headroom, usage.quota_value)}", "")]
    )
    if usage.throttle_ms:
        room.insert(0, (f"waited {waited(usage)} in {usage.throttled_requests:,}+ requests   ", "failed"))
    lines += [room] if room else []
    why = clean(usage.reason, 200)
    if usage.suggested_value is None:
        lines.append([(f"nothing is suggested: {why}", "muted")])
    else:
        lines.append(
            [
                ("suggested ", "muted"),
                (rate_text(key, usage.suggested_value, usage.quota_value), "strong"),
                (f"  {why}", "muted"),
            ]
        )
    return lines


def plot(usage: Usage, minutes: Sequence[Minute], width: int, height: int) -> list[Line]:
    """Return a plot of the highest rate in each minute, on the broker where it was highest.

    The limit of that time is a line of dashes; minutes with throttling have the meaning `failed` and a ``!`` below.

    Args:
        minutes: the earliest first.
        width: of the plot with its axis, in cells.
        height: of the bars, in lines; the axis and its key take four more.
    """
    key = usage.pair.quota_key
    columns = _columns(minutes, max(1, width - _AXIS - 1))
    limits = [limit for _, limit, _ in columns if limit is not None]
    top = max([rate for rate, _, _ in columns if rate is not None] + limits, default=0.0) * 1.05
    if not columns or top <= 0:
        return [[("nothing was used in this window", "muted")]]
    lines: list[Line] = []
    for level in range(height, 0, -1):
        number = rate_text(key, top * level / height, usage.quota_value) if level in (height, (height + 1) // 2) else ""
        line: Line = [(f"{number:>{_AXIS - 1}} ", "muted")]
        for rate, limit, throttled in columns:
            filled = 0.0 if rate is None else rate / top * height - (level - 1)
            at_limit = limit is not None and level - 1 <= limit / top * height < level
            bar = _EIGHTHS[max(0, min(8, round(filled * 8)))]
            if at_limit:
                line.append(("╪" if filled > 0 else "─", "danger"))
            else:
                line.append((bar, "failed" if throttled else "ok"))
        lines.append(joined(line))
    marks = "".join("!" if throttled else " " for _, _, throttled in columns)
    lines.append([(" " * _AXIS, ""), (marks, "failed")])
    lines.append([(_axis(minutes[0].minute, minutes[-1].minute, len(columns)), "muted")])
    lines.append([])
    lines.append([(" " * _AXIS, ""), ("─", "danger"), (" limit   ", "muted"), ("!", "failed"), (" throttled", "muted")])
    return lines


def _columns(minutes: Sequence[Minute], width: int) -> list[tuple[float | None, float | None, bool]]:
    """Return the highest rate and the lowest limit of each column, and whether any client was throttled."""
    if not minutes:
        return []
    begin, end = minutes[0].minute.timestamp(), minutes[-1].minute.timestamp()
    count = max(1, min(width, int((end - begin) // 60) + 1))
    made: list[tuple[float | None, float | None, bool]] = [(None, None, False)] * count
    for each in minutes:
        share = (each.minute.timestamp() - begin) / (end - begin + 60)
        place = min(count - 1, int(share * count))
        rate, limit, throttled = made[place]
        limits = [one for one in (limit, each.quota_value) if one is not None]
        made[place] = (
            max(each.rate_max_10s, rate or 0.0),
            min(limits, default=None),
            throttled or each.throttle_ms > 0,
        )
    return made


def _axis(begin: datetime, end: datetime, width: int) -> str:
    first, last = f"{begin.astimezone():%m-%d %H:%M}", f"{end.astimezone():%m-%d %H:%M}"
    return " " * _AXIS + first + " " * max(2, width - len(first) - len(last)) + last
