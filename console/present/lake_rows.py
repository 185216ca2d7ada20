"""Rows of the lake's tables: changes, drift, denied accesses, and quota usage with its plot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from console.lake.denials import Denied
from console.lake.reader import Change, Drifted, Minute, Pair, Usage
from console.model import quota
from console.model.numbers import Data
from console.plan.amounts import Unit
from console.present import columns, lake
from console.present.names import named
from console.present.text import Cell, Line, clean, joined

# A lake's changes as rows: time, entity, old and new value, author, and the source of the author.


class ChangeTexts(NamedTuple):
    """The fields of a change as texts."""

    entity: str
    key: str
    old: str
    new: str
    who: str
    how: str
    """A text about the source from which the author is known."""
    is_first_seen: bool = False
    """Whether the first poll of the cluster found the value, so that the time of the change is unknown."""


def change_texts(change: Change, first_poll: datetime | None, at: Callable[[datetime], str]) -> ChangeTexts:
    """Return the fields of a change as texts.

    Args:
        change: the change from the lake.
        first_poll: the time of the first poll of the cluster, as for `Change.is_first_seen`; None if unknown.
        at: returns a time as text.
    """
    if change.is_gap:
        until = at(change.valid_to) if change.valid_to is not None else "now"
        return ChangeTexts("not polled", "", "", f"until {until}", "", "")
    if change.is_first_poll:
        return ChangeTexts("first poll", "", lake.FIRST_SEEN, change.new_value or "", "", "", True)
    old, new, _ = lake.sides(change)
    is_first_seen = change.is_first_seen(first_poll)
    entity, key = lake.entity_text(change.entity_type, change.entity_key), lake.attr_text(change.attr)
    how = change.attribution if change.principal is not None else "none"
    return ChangeTexts(
        entity, key, lake.FIRST_SEEN if is_first_seen else old, new, lake.who_text(change.principal), how, is_first_seen
    )


class Dated(NamedTuple):
    """A change from the lake, as a row of the timeline on the command line."""

    change: Change
    words: ChangeTexts
    zone: tzinfo | None
    """The time zone in which times are printed; None for this host's."""


def dated(change: Change, first_poll: datetime | None, zone: tzinfo | None = None) -> Dated:
    """Return the row of a change, with complete times.

    Args:
        change: the change from the lake.
        first_poll: the time of the first poll of the cluster, as for `Change.is_first_seen`; None if unknown.
        zone: the time zone in which times are printed; None for this host's.
    """
    return Dated(change, change_texts(change, first_poll, lambda at: _full(at, zone)), zone)


HISTORY: columns.Columns[Dated] = columns.Columns(
    columns.Column("when", columns.LIST, text=lambda row: _full(row.change.valid_from, row.zone)),
    columns.Column("cluster", columns.LIST, text=lambda row: row.change.cluster_id),
    columns.Column("cluster_id", columns.OBJECT, lambda row: row.change.cluster_id),
    columns.Column("entity_type", columns.OBJECT, lambda row: row.change.entity_type),
    columns.Column("entity_key", columns.OBJECT, lambda row: row.change.entity_key),
    columns.Column("entity", columns.LIST, text=lambda row: row.words.entity),
    columns.Column("attr", get=lambda row: row.change.attr, title="Key", text=lambda row: row.words.key),
    columns.Column("old_value", get=lambda row: row.change.old_value, title="Was", text=lambda row: row.words.old),
    columns.Column("new_value", get=lambda row: row.change.new_value, title="Became", text=lambda row: row.words.new),
    columns.Column("valid_from", columns.OBJECT, lambda row: row.change.valid_from.isoformat()),
    columns.Column("valid_to", columns.OBJECT, lambda row: _iso(row.change.valid_to)),
    columns.Column("is_current", columns.OBJECT, lambda row: row.change.is_current, "boolean"),
    columns.Column("is_deleted", columns.OBJECT, lambda row: row.change.is_deleted, "boolean"),
    columns.Column("principal", get=lambda row: row.change.principal, title="Who", text=lambda row: row.words.who),
    columns.Column(
        "attribution", get=lambda row: row.change.attribution, title="Known by", text=lambda row: row.words.how
    ),
    columns.Column("source", columns.OBJECT, lambda row: row.change.source),
    views=columns.TOLD,
)
"""The columns of the timeline on the command line: entity and key are separate, values and times are not shortened."""


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


SOURCES = {
    "kraft_log": "metadata log",
    "kraft_snapshot": "snapshot of the metadata log",
    "snapshot": "poll of the cluster",
    "journal": "journal",
    "request_log": "request log",
}
"""The source of a change, as the lake spells it -> its name for an operator."""


def change_lines(change: Change) -> list[Line]:
    """Return lines with the details of a change, without a title."""
    if change.is_gap:
        return [[("What changed in this time is seen only as of its end, and who did it may never be known.", "")]]
    if change.is_first_poll:
        return [[("It was so before, since an unknown time. ", ""), ("key=*", "strong"), (" lists each value.", "")]]
    old, new, hidden = lake.sides(change)
    lines: list[Line] = [[(new, "strong"), ("   was ", "muted"), (old, "")]]
    if hidden:
        lines = [
            [(lake.HIDDEN, "sensitive"), ("   the value is a secret: the lake knows only that it was set", "muted")]
        ]
    since = _full(change.valid_from)
    if change.is_current:
        lines.append([(f"current value since {since}", "")])
    else:
        until = f" until {_full(change.valid_to)}" if change.valid_to else ""
        lines.append([(f"from {since}{until}", "")])
    letter, words = lake.how_sure(change)
    who = lake.who_text(change.principal)
    lines.append([("unknown" if who == lake.NOTHING else who, "strong"), (f"   {letter} {words}", "muted")])
    source = SOURCES.get(change.source, clean(change.source, 40).replace("_", " "))
    lines.append([(f"source: {source}", "muted")])
    return lines


def _full(at: datetime | None, zone: tzinfo | None = None) -> str:
    return "" if at is None else at.astimezone(zone).isoformat(sep=" ", timespec="seconds")


# Deviations as rows: a key, the majority's value, and a column for each peer with its deviations.

SAME = "·"


class DriftRow(NamedTuple):
    """A config key whose value differs between peers: brokers, clusters, or a cluster and its baseline."""

    entity: str
    """The entity that has the key; ``""`` if each peer (a broker) itself has it."""
    attr: str
    majority: str
    severity: str
    peers: int
    odd: dict[str, Drifted]
    """Name of a peer whose value differs from the majority's -> that difference."""


def drift_rows(drifted: Iterable[Drifted], scope: str) -> list[DriftRow]:
    """Return the rows of differences, in order of first occurrence: a row for each key in the scope of brokers,
    otherwise for each entity and key.

    Args:
        drifted: a difference for each entity whose value differs; several may share a row.
        scope: the scope of all of them: ``broker``, ``cluster`` or ``baseline``.
    """
    made: dict[tuple[str, str], DriftRow] = {}
    for each in drifted:
        entity = "" if scope == "broker" else each.entity_key
        row = made.get((entity, each.attr))
        if row is None:
            most, _ = lake.drift_sides(each)
            row = made[entity, each.attr] = DriftRow(entity, each.attr, most, each.severity, each.peers, {})
        row.odd[peer(each)] = each
    return list(made.values())


def peer(row: Drifted) -> str:
    """Return the name of the peer that differs: the id of its broker or of its cluster."""
    return row.entity[1] if row.scope == "broker" else row.cluster_id


def row_name(row: DriftRow) -> str:
    """Return the name of a row: ``topic orders retention.ms``; in the scope of brokers only the key."""
    return f"{lake.typed_text(row.entity)} {lake.attr_text(row.attr)}" if row.entity else lake.attr_text(row.attr)


START = "start"
"""The name of the baseline's scope if there is no lake: the state when the console began."""


def drift_columns(scope: str, peers: Sequence[str]) -> columns.Columns[DriftRow]:
    """Return the columns of differences: the severity, the key, the value of the majority, then a column for each peer
    with its value if it differs.

    Args:
        scope: the scope of the rows, or `START`.
        peers: ids of brokers or clusters. A narrow screen leaves out the last ones first.
    """
    most = {"baseline": "Wanted", START: "At start"}.get(scope, "Most")
    return columns.Columns(
        columns.letter_column("severity", lambda row: lake.SEVERITIES.get(row.severity, ("?", "muted")), width=2),
        columns.Column("key", columns.SCREEN, row_name, layout=columns.on_screen((22, 70), flex=2, sort_key="N")),
        columns.Column(
            "most",
            columns.SCREEN,
            cell=lambda row: (row.majority, "muted"),
            layout=columns.on_screen((8, 30), most, flex=1, priority=95),
        ),
        *(
            _peer_column(name, "Now" if scope == START else clean(name, 16), 90 - min(place, 80))
            for place, name in enumerate(peers)
        ),
    )


def _peer_column(name: str, label: str, priority: int) -> columns.Column[DriftRow]:
    def cell(row: DriftRow) -> Cell:
        odd = row.odd.get(name)
        return (SAME, "muted") if odd is None else (f"!{lake.drift_sides(odd)[1]}", "failed")

    return columns.Column(
        f"peer-{name}", columns.SCREEN, cell=cell, layout=columns.on_screen((5, 24), label, priority=priority)
    )


_PEERS = {"broker": "brokers", "cluster": "clusters"}


def drifted_columns(zone: tzinfo | None) -> columns.Columns[Drifted]:
    """Return the columns of differences on the command line, where each entity whose value differs has a row.

    Args:
        zone: the time zone in which times are printed; None for this host's.
    """
    return columns.Columns(
        columns.Column("severity"),
        columns.Column("scope", title="Among", text=lambda row: _PEERS.get(row.scope, row.scope)),
        columns.Column("cluster", columns.LIST, text=lambda row: row.cluster_id),
        columns.Column("cluster_id", columns.OBJECT),
        columns.Column("entity_key", title="Entity", text=lambda row: lake.typed_text(row.entity_key)),
        columns.Column("attr", title="Key", text=lambda row: lake.attr_text(row.attr)),
        columns.Column("majority_value", title="Most", text=lambda row: lake.drift_sides(row)[0]),
        columns.Column("this_value", title="This", text=lambda row: lake.drift_sides(row)[1]),
        columns.Column("peers", columns.OBJECT, type="number"),
        columns.Column("differing", type="number", title="Differ", text=lambda row: f"{row.differing} of {row.peers}"),
        columns.Column("since", get=lambda row: _iso(row.since), text=lambda row: _full(row.since, zone) or "always"),
        orders={"data": Drifted._fields},
        views=columns.TOLD,
    )


def drift_lines(
    row: DriftRow, wanted: str = "the baseline wants ", first: str = "as long as anybody looked"
) -> list[Line]:
    """Return a line with the value of the majority or the baseline, and a line for each peer that differs: the peer's
    value, and since when the peer has had it.

    Args:
        wanted: the words before the value of a baseline.
        first: the words in place of an unknown beginning.
    """
    lines: list[Line] = [
        [("most have ", "muted"), (row.majority, ""), (f"   {len(row.odd)} of {row.peers} differ", "muted")]
    ]
    if row.odd and next(iter(row.odd.values())).scope == "baseline":
        lines = [[(wanted, "muted"), (row.majority, "")]]
    for each in row.odd.values():
        since = f"since {each.since.astimezone():%Y-%m-%d %H:%M}" if each.since is not None else first
        own = lake.drift_sides(each)[1]
        what = "nothing of its own" if own == lake.NOTHING else own
        name = lake.typed_text(each.entity_key) if each.scope == "broker" else each.cluster_id
        lines.append([(f"! {name} ", "failed"), (what, "strong"), (f"   {since}, {each.severity}", "muted")])
    return lines


# Denials as rows.


_FEW_NAMES = 3


def _few(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - _FEW_NAMES:,} more" if len(names) > _FEW_NAMES else ""
    return ", ".join(map(clean, names[:_FEW_NAMES])) + more


def _change_before(row: Denied) -> str:
    """Return the last change before a denied access that may explain it: ``acl topic orders, ALLOW READ User:alice from
    *: deleted, 2026-11-20 14:02:11 by bob``; a dash if there is none.
    """
    if row.change is None:
        return lake.NOTHING
    words = change_texts(row.change, None, lambda at: _full(at, None))
    by = f" by {words.who}" if words.who != lake.NOTHING else ""
    return f"{words.entity}, {words.key}: {words.new}, {_full(row.change.valid_from, None)}{by}"


def _change_data(change: Change | None) -> Data:
    if change is None:
        return None
    times = {"valid_from": change.valid_from.isoformat(), "valid_to": _iso(change.valid_to)}
    return {**change._asdict(), **times}


DENIED: columns.Columns[Denied] = columns.Columns(
    columns.Column("cluster", columns.LIST, text=lambda row: row.cluster_id),
    columns.Column("cluster_id", columns.OBJECT),
    columns.Column("principal", title="Who", text=lambda row: lake.who_text(row.principal)),
    columns.Column("operation"),
    columns.Column("resource", columns.LIST, text=lambda row: lake.resource_text(row)),
    columns.Column("resource_type", columns.OBJECT),
    columns.Column("resource_name", columns.OBJECT),
    columns.Column("denials", type="number", title="Denied", text=lambda row: f"{row.denials:,} ×"),
    columns.Column("since", get=lambda row: _iso(row.since), text=lambda row: _full(row.since, None)),
    columns.Column("last", get=lambda row: _iso(row.last), text=lambda row: _full(row.last, None)),
    columns.Column(
        "last_allowed",
        get=lambda row: _iso(row.last_allowed),
        text=lambda row: _full(row.last_allowed, None) or lake.NOTHING,
    ),
    columns.Column(
        "hosts", get=lambda row: list(row.hosts), type="object", title="From", text=lambda row: _few(row.hosts)
    ),
    columns.Column(
        "requests",
        get=lambda row: list(row.requests),
        type="object",
        title="Asked by",
        text=lambda row: _few(row.requests),
    ),
    columns.Column("rule", columns.OBJECT),
    columns.Column(
        "change",
        get=lambda row: _change_data(row.change),
        type="object",
        title="Changed before",
        text=lambda row: _change_before(row),
    ),
    orders={"data": Denied._fields},
    views=columns.TOLD,
)
"""The columns of denied accesses, one row for each right that a principal was denied; times are this host's."""


# Usage of quotas as rows; a plot of a pair over time with its limit as a line.

_NEAR = 0.8
_AXIS = 11
"""Width in cells of the numbers on the left of a plot."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"


_MEASURED = (quota.PRODUCER_BYTE_RATE, quota.CONSUMER_BYTE_RATE, quota.REQUEST_PERCENTAGE)


def _short(key: str) -> str:
    return quota.BY_KEY[key].short if key in quota.BY_KEY else clean(key)


def quotas_now(quotas: Mapping[quota.QuotaEntity, quota.QuotaValues], cluster: str) -> dict[Usage, quota.QuotaEntity]:
    """Return the present quotas of users and client ids, as far as the lake measures their rates.

    Args:
        quotas: the present quotas of the cluster.
        cluster: the id of the cluster, for the usages.

    Returns:
        A usage without measured rates, for each quota -> the entity on which the quota is set; sorted by user, client
        id and quota key.
    """
    made: dict[Usage, quota.QuotaEntity] = {}
    for entity, values in quotas.items():
        parts = {type_: named(name) for type_, name in entity.parts}
        if not parts.keys() <= {quota.USER, quota.CLIENT_ID}:
            continue
        for key in _MEASURED:
            if key in values:
                pair = Pair(parts.get(quota.USER), parts.get(quota.CLIENT_ID), key)
                why = "rates are not known without a lake"
                limit, level = values[key], _level(entity)
                made[Usage(cluster, pair, -1, limit, level, None, None, None, 0, 0, None, None, why, ())] = entity
    return dict(sorted(made.items(), key=lambda each: (*(name or "" for name in each[0].pair),)))


def _level(entity: quota.QuotaEntity) -> int:
    """Return the level of an entity's own quota, numbered as in `console.model.quota`."""
    user, client = (
        "" if not entity.has(type_) else "default" if entity.name_of(type_) is None else "named"
        for type_ in (quota.USER, quota.CLIENT_ID)
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
    """Return a letter and the meaning of its colour: ``!`` for a pair that was throttled or uses its whole quota, ``~``
    for a pair that uses at least eight tenths of it, else ``""``.
    """
    if usage.throttle_ms or (usage.utilisation is not None and usage.utilisation >= 1):
        return "!", "failed"
    return ("~", "pending") if usage.utilisation is not None and usage.utilisation >= _NEAR else ("", "")


BARS, MORE_BARS = 8, 20
"""Number of cells of a series on the screen, and in tables of the command line."""


def _rate(usage: Usage, value: float | None) -> str:
    return lake.rate_text(usage.pair.quota_key, value, usage.quota_value)


def _used(usage: Usage) -> Cell:
    return (lake.NOTHING, "muted") if usage.utilisation is None else (f"{usage.utilisation:.0%}", state(usage)[1])


USAGE: columns.Columns[Usage] = columns.Columns(
    columns.letter_column("state", state, width=2),
    columns.Column("cluster", columns.LIST, text=lambda row: row.cluster_id),
    columns.Column("cluster_id", columns.OBJECT),
    columns.Column("scope_user", columns.OBJECT, lambda row: row.pair.scope_user),
    columns.Column("scope_client", columns.OBJECT, lambda row: row.pair.scope_client),
    columns.Column(
        "pair",
        columns.SHOWN,
        lambda row: lake.pair_text(row.pair),
        layout=columns.on_screen((14, 60), "User / client", flex=1, sort_key="N"),
    ),
    columns.Column(
        "quota_key",
        get=lambda row: row.pair.quota_key,
        title="Key",
        cell=lambda row: (_short(row.pair.quota_key), "muted"),
        text=lambda row: row.pair.quota_key,
        layout=columns.on_screen(7, "Quota", priority=92),
    ),
    columns.Column("broker_id", columns.OBJECT, type="number"),
    columns.Column(
        "utilisation",
        type="number",
        cell=_used,
        order=lambda row: -(row.utilisation or 0.0),
        layout=columns.on_screen(5, "Used", priority=95, sort_key="P"),
    ),
    columns.Column(
        "series",
        get=lambda row: [[at.isoformat(), rate] for at, rate in row.series],
        type="object",
        title="Rate",
        cell=lambda row: (lake.spark(row.series, BARS, row.quota_value), state(row)[1] or "muted"),
        text=lambda row: lake.spark(row.series, MORE_BARS, row.quota_value),
        layout=columns.on_screen(BARS, columns.BLANK, priority=80),
    ),
    columns.Column(
        "rate_max",
        type="number",
        cell=lambda row: _rate(row, row.rate_max),
        order=lambda row: -(row.rate_max or 0.0),
        layout=columns.on_screen(9, "Highest", priority=60, sort_key="R"),
    ),
    columns.Column("rate_avg", columns.OBJECT, type="number"),
    columns.Column(
        "quota_value", type="number", cell=lake.limit_text, layout=columns.on_screen(9, "Limit", priority=91)
    ),
    columns.Column(
        "throttle_ms",
        type="number",
        unit=Unit.MILLISECONDS,
        cell=lambda row: (lake.waited(row), "failed") if row.throttle_ms else "",
        layout=columns.on_screen(8, "Waited", priority=93, sort_key="W"),
    ),
    columns.Column("throttled_requests", columns.OBJECT, type="number"),
    columns.Column(
        "headroom",
        type="number",
        cell=lambda row: (_rate(row, row.headroom), "muted"),
        layout=columns.on_screen(10, priority=70),
    ),
    columns.Column(
        "level",
        type="number",
        cell=lambda row: (lake.level_text(row.level), "muted"),
        left=True,
        layout=columns.on_screen((8, 30), priority=50),
    ),
    columns.Column(
        "suggested_value",
        columns.TOLD,
        type="number",
        title="Suggested",
        text=lambda row: _rate(row, row.suggested_value),
    ),
    columns.Column("reason", columns.TOLD, title="Why"),
    orders={
        "list": (
            "cluster",
            "pair",
            "quota_key",
            "rate_max",
            "quota_value",
            "utilisation",
            "level",
            "throttle_ms",
            "headroom",
            "suggested_value",
            "series",
        ),
        "data": (*Usage._fields, *Pair._fields),
    },
    views=columns.TOLD | columns.SCREEN,
)
"""The columns of pairs of user and client id, one row for each of their quotas; the pair nearest to its limit is
first.
"""


def usage_lines(usage: Usage) -> list[Line]:
    """Return lines with the quota of a usage and its level, the measured rates, and the suggested quota."""
    key = usage.pair.quota_key
    quota_line: Line = [(f"{_short(key)} quota ", "muted"), (lake.limit_text(usage), "strong")]
    quota_line += [(f"  by {lake.level_text(usage.level)}, per broker", "muted")]
    if usage.rate_max is None:
        return [quota_line, [("how much of it is used is not known without a lake", "muted")]]
    used: Line = [(f"highest over 10 s {lake.rate_text(key, usage.rate_max, usage.quota_value)}", "")]
    used += [(f"  mean {lake.rate_text(key, usage.rate_avg, usage.quota_value)}  on broker {usage.broker_id}", "muted")]
    lines = [quota_line, used]
    room: Line = (
        [] if usage.headroom is None else [(f"headroom {lake.rate_text(key, usage.headroom, usage.quota_value)}", "")]
    )
    if usage.throttle_ms:
        room.insert(0, (f"waited {lake.waited(usage)} in {usage.throttled_requests:,}+ requests   ", "failed"))
    lines += [room] if room else []
    why = clean(usage.reason, 200)
    if usage.suggested_value is None:
        lines.append([(f"nothing is suggested: {why}", "muted")])
    else:
        lines.append(
            [
                ("suggested ", "muted"),
                (lake.rate_text(key, usage.suggested_value, usage.quota_value), "strong"),
                (f"  {why}", "muted"),
            ]
        )
    return lines


def plot(usage: Usage, minutes: Sequence[Minute], width: int, height: int) -> list[Line]:
    """Return a plot of a rate over time: in each column the highest rate, on the broker where it was highest. If
    nothing was used, return a note.

    The limit at each time is a line of dashes; columns with throttling are in the style `failed`, and have a ``!``
    below.

    Args:
        usage: the pair and its quota.
        minutes: the measured minutes, the earliest first.
        width: the width of the plot with its axis, in cells.
        height: the height of the bars, in lines; the axis and the legend take four more.
    """
    key = usage.pair.quota_key
    bars = _columns(minutes, max(1, width - _AXIS - 1))
    limits = [limit for _, limit, _ in bars if limit is not None]
    top = max([rate for rate, _, _ in bars if rate is not None] + limits, default=0.0) * 1.05
    if not bars or top <= 0:
        return [[("nothing was used in this window", "muted")]]
    lines: list[Line] = []
    for level in range(height, 0, -1):
        number = (
            lake.rate_text(key, top * level / height, usage.quota_value) if level in (height, (height + 1) // 2) else ""
        )
        line: Line = [(f"{number:>{_AXIS - 1}} ", "muted")]
        for rate, limit, throttled in bars:
            filled = 0.0 if rate is None else rate / top * height - (level - 1)
            at_limit = limit is not None and level - 1 <= limit / top * height < level
            bar = _EIGHTHS[max(0, min(8, round(filled * 8)))]
            if at_limit:
                line.append(("╪" if filled > 0 else "─", "danger"))
            else:
                line.append((bar, "failed" if throttled else "ok"))
        lines.append(joined(line))
    marks = "".join("!" if throttled else " " for _, _, throttled in bars)
    lines.append([(" " * _AXIS, ""), (marks, "failed")])
    lines.append([(_axis(minutes[0].minute, minutes[-1].minute, len(bars)), "muted")])
    lines.append([])
    lines.append([(" " * _AXIS, ""), ("─", "danger"), (" limit   ", "muted"), ("!", "failed"), (" throttled", "muted")])
    return lines


def _columns(minutes: Sequence[Minute], width: int) -> list[tuple[float | None, float | None, bool]]:
    """Return for each column of a plot the highest rate, the lowest limit, and whether the client was throttled; rate
    or limit are None if no minute of the column has one. Empty without minutes.
    """
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
