"""A report on a time span of clusters: read from a lake, drawn as SVG, written as one HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import starmap
from typing import NamedTuple

from console.answers.lake_tables import drift_table, history_table, usage_table
from console.answers.results import Column, Row, Table
from console.lake import reader
from console.lake.reader import gaps, minutes
from console.present import lake
from console.present.text import clean

HOURS = timedelta(hours=24)
"""Default length of the reported time, which ends with the last observation."""
CHANGES = 2_000
PAIRS = 30
PLOTTED = 6


# -- figures, as SVG within the page: no scripts, nothing fetched. Colours are the page's. ---------------------------

WIDTH, HEIGHT = 860, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 12, 12, 26
_BARS = 96
_TICKS = 6
_BREAK = timedelta(minutes=3)


class Scale(NamedTuple):
    """The scale of a figure: from times to x and from amounts to y, in the units of the SVG."""

    since: datetime
    until: datetime
    most: float
    """The amount at the upper edge of the figure."""

    @property
    def length(self) -> timedelta:
        """The length of the time span; at least a second."""
        return max(self.until - self.since, timedelta(seconds=1))

    def x(self, at: datetime) -> float:
        """Return the x of a time; a time outside the time span gets the x of the nearer edge."""
        share = min(1.0, max(0.0, (at - self.since) / self.length))
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, amount: float) -> float:
        """Return the y coordinate of an amount in the SVG; the larger the amount, the smaller y is."""
        return round(HEIGHT - _BOTTOM - amount / (self.most or 1.0) * (HEIGHT - _TOP - _BOTTOM), 1)


def changes_figure(
    changes: Sequence[reader.Change], gaps: Sequence[reader.Gap], since: datetime, until: datetime
) -> str:
    """Return an SVG of the number of changes in equal time spans, as bars, with the times without polls marked."""
    times = [change.valid_from for change in changes if not (change.is_gap or change.is_first_poll)]
    step = Scale(since, until, 0).length / _BARS
    counts = Counter(min(_BARS - 1, max(0, (at - since) // step)) for at in times)
    most = max(counts.values(), default=0)
    scale = Scale(since, until, most)
    bars = (
        _rect("bar", scale.x(since + place * step), scale.y(count), scale.x(since + (place + 1) * step) - 1, str(count))
        for place, count in counts.items()
    )
    return _figure("Changes over time", scale, gaps, [(0.0, "0"), *([(most, str(most))] if most else ())], *bars)


def rate_figure(
    title: str,
    key: str,
    minutes: Sequence[reader.Minute],
    gaps: Sequence[reader.Gap],
    since: datetime,
    until: datetime,
) -> str:
    """Return an SVG of the highest rate of each minute, a line for each broker, with the limit as a dashed line, and a
    mark at the bottom for each minute with throttling.

    Args:
        key: the quota's key, which determines the unit of the rates.
    """
    limits = {each.minute: each.quota_value for each in minutes if each.quota_value is not None}
    most = max([each.rate_max_10s for each in minutes] + list(limits.values()), default=0.0) * 1.05
    scale = Scale(since, until, most)
    lines = [
        _line(
            f"rate b{place % 4}",
            [(each.minute, each.rate_max_10s) for each in minutes if each.broker_id == broker],
            scale,
            f"broker {broker}",
        )
        for place, broker in enumerate(sorted({each.broker_id for each in minutes}))
    ]
    waited = sorted({scale.x(each.minute) for each in minutes if each.throttle_ms})
    marks = [_rect("throttled", left, scale.y(0) - 4, left + 3, "throttled") for left in waited]
    upward = [(share * most, lake.rate_text(key, share * most)) for share in (0.0, 0.5, 1.0)] if most else [(0.0, "0")]
    return _figure(title, scale, gaps, upward, *lines, _line("limit", sorted(limits.items()), scale, "limit"), *marks)


def _line(kind: str, points: Iterable[tuple[datetime, float]], scale: Scale, title: str) -> str:
    """Return an SVG line through points. It is interrupted between two points that are more than `_BREAK` apart."""
    pieces: list[list[str]] = []
    last: datetime | None = None
    for at, amount in points:
        if last is None or at - last > _BREAK:
            pieces.append([])
        pieces[-1].append(f"{scale.x(at)},{scale.y(amount)}")
        last = at
    titled = f"<title>{text(title, 300)}</title>"
    return "".join(f'<polyline class="{kind}" points="{" ".join(piece)}">{titled}</polyline>' for piece in pieces)


def _rect(kind: str, left: float, top: float, right: float, title: str) -> str:
    """Return an SVG rectangle whose lower edge is on the time axis. title: its tooltip."""
    size = f'width="{round(right - left, 1)}" height="{round(HEIGHT - _BOTTOM - top, 1)}"'
    return f'<rect class="{kind}" x="{left}" y="{top}" {size}><title>{title}</title></rect>'


def _figure(
    title: str, scale: Scale, gaps: Iterable[reader.Gap], upward: Iterable[tuple[float, str]], *drawn: str
) -> str:
    """Return an SVG of a figure: the axes, the times without polls, and the elements in `drawn`.

    Args:
        upward: the amounts that the vertical axis marks, with their labels.
    """
    spans = [(scale.x(gap.since), scale.x(gap.until or scale.until)) for gap in gaps]
    parts = [_rect("gap", left, _TOP, right, "not polled") for left, right in spans if right > left]
    ground = scale.y(0)
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{ground}" x2="{WIDTH - _RIGHT}" y2="{ground}"/>')
    for amount, words in upward:
        y = scale.y(amount)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{WIDTH - _RIGHT}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text(words, 300)}</text>')
    for place in range(_TICKS + 1):
        at = scale.since + (scale.until - scale.since) * place / _TICKS
        anchor = "start" if place == 0 else "end" if place == _TICKS else "middle"
        words = f"{at:%m-%d %H:%M}"
        parts.append(f'<text class="tick" x="{scale.x(at)}" y="{HEIGHT - 8}" text-anchor="{anchor}">{words}</text>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{text(title, 300)}</title>{''.join(parts)}{''.join(drawn)}</svg>"
    )


# -- one page of HTML: it loads nothing and runs nothing, and all text of clusters is escaped ------------------------

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--soft:#667;--line:#d5d8de;--ground:#fff;--bar:#3d6fd0;--bad:#c2361f;
--b1:#2a8f6d;--b2:#8a5cc2;--b3:#b07a1e;--shade:#8883}
@media(prefers-color-scheme:dark){:root{--ink:#e3e6ea;--soft:#9aa3ad;--line:#3a4048;--ground:#15181c;--bar:#7ea6f4;
--bad:#ff7a5c;--b1:#5fc9a3;--b2:#c39bf0;--b3:#e0b060}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--ground);margin:2rem auto;max-width:1100px;
padding:0 1rem}
h1{font-size:1.5rem;margin-bottom:.2rem}h2{font-size:1.15rem;margin:2rem 0 .4rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .2rem}p,.soft{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:600;white-space:nowrap}td.n,th.n{text-align:right}
td{overflow-wrap:anywhere}td.t{white-space:nowrap}.bad{color:var(--bad);font-weight:600}
svg{width:100%;height:auto;display:block}.bar{fill:var(--bar)}.gap{fill:var(--shade)}
.axis{stroke:var(--soft)}.grid{stroke:var(--line);stroke-width:.6}.tick{fill:var(--soft);font-size:11px}
.rate{fill:none;stroke-width:1.6;stroke:var(--bar)}.b1{stroke:var(--b1)}.b2{stroke:var(--b2)}.b3{stroke:var(--b3)}
.limit{fill:none;stroke:var(--bad);stroke-width:1.4;stroke-dasharray:6 4}.throttled{fill:var(--bad)}
@media print{body{margin:0;max-width:none}h2{break-after:avoid}tr,svg{break-inside:avoid}}
"""
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
_VIOLATION = ("Severity", "Policy", "Entity", "Key", "Has", "Expected", "Since", "Until")
_TIMES = frozenset({"When", "As of", "Built", "Since", "Until"})


def page(
    tables: reader.Tables, clusters: Sequence[str], since: datetime | None, until: datetime | None, made: datetime
) -> str | None:
    """Return the HTML page, with a section for each cluster; None if the lake has no data of these clusters. Raises
    LakeError.

    Args:
        since: the start of the reported time, UTC; None for `HOURS` (24 hours) before its end.
        until: the end of the reported time, UTC; None for the time of the last observation.
        made: the time of the report, for its heading.
    """
    parts = [part for each in clusters if (part := _part(tables, each, since, until, made)) is not None]
    if not parts:
        return None
    title, body = text(f"What happened: {', '.join(clusters)}"), "\n".join(parts)
    return f"{_HEAD}<title>{title}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"


def text(words: str, limit: int = 2_000) -> str:
    """Return a text that is safe in an HTML page: escaped, with invisible characters made visible, cut to `limit`
    characters.
    """
    return escape(clean(words, limit))


def _part(
    tables: reader.Tables, cluster_id: str, since: datetime | None, until: datetime | None, made: datetime
) -> str | None:
    fresh = reader.freshness(tables, cluster_id)
    known = [each.as_of for each in fresh if each.as_of is not None]
    if not known:
        return None
    # Include the last observed minute.
    until = until or max(known) + timedelta(minutes=1)
    since = since or until - HOURS
    window = reader.Window(cluster_id, since, until)
    unseen = [gap for gap in gaps(tables, cluster_id, since) if gap.since < until]
    spans = [f"{_at(gap.since)} – {_at(gap.until) if gap.until else 'now'}" for gap in unseen]
    unobserved = f"Not polled: {', '.join(spans)}." if spans else "It was polled all the time."
    found = reader.timeline(tables, reader.Wanted(cluster_id, since=since, until=until), CHANGES + 1, folded=True)
    changes = found[:CHANGES]
    first = reader.first_polls(tables, [cluster_id])
    used = reader.hottest(tables, window, PAIRS)
    violated = [
        each
        for each in reader.violations(tables, cluster_id)
        if each.first_seen < until and (each.last_seen is None or each.last_seen > since)
    ]
    return "\n".join(
        (
            f"<h1>{text(cluster_id)}</h1>",
            f"<p>{_at(since)} – {_at(until)}, all times UTC. Made {_at(made)} by kac from the "
            f"lake at {text(tables.where)}. {text(unobserved)}</p>",
            _table(_of_texts(("Table", "As of", "Built", "Run"), map(_fresh, fresh))),
            "<h2>What changed</h2>",
            changes_figure(changes, unseen, since, until),
            f"<p>Only the latest {CHANGES:,} changes are here.</p>" if len(found) > CHANGES else "",
            _table(history_table(changes, clusters=False, first_polls=first, zone=UTC)),
            "<h2>Quotas and their use</h2>",
            "<p>Estimates from request logs: bytes of records, without headers. Limits hold for each broker.</p>",
            _table(usage_table(used, clusters=False)),
            *_plots(tables, window, used, unseen, since, until),
            "<h2>What differs from its peers, as of the last poll</h2>",
            _table(drift_table(reader.drift(tables, cluster_id), clusters=False, zone=UTC)),
            "<h2>Policy violations</h2>",
            _table(_of_texts(_VIOLATION, map(_violation, violated), "no policy is violated")),
        )
    )


def _of_texts(titles: Iterable[str], rows: Iterable[tuple[str, ...]], empty: str = "none") -> Table:
    return Table("", tuple(map(Column, titles)), tuple(Row(each, {}) for each in rows), "", empty)


def _fresh(each: reader.Freshness) -> tuple[str, ...]:
    times = (_at(at) if at else lake.NOTHING for at in (each.as_of, each.built))
    return (each.table.name, *times, each.run or lake.NOTHING)


def _violation(row: reader.Violation) -> tuple[str, ...]:
    return (
        row.severity,
        row.policy_id,
        lake.typed_text(row.entity_key),
        lake.attr_text(row.attr),
        lake.value_text(row.entity_key.partition(":")[0], row.attr, row.actual),
        row.expected,
        _at(row.first_seen),
        _at(row.last_seen) if row.last_seen else "still",
    )


def _plots(
    tables: reader.Tables,
    window: reader.Window,
    used: Sequence[reader.Usage],
    gaps: Sequence[reader.Gap],
    since: datetime,
    until: datetime,
) -> Iterator[str]:
    """Yield the figures of the pairs of a user and a client id. Among the first `PLOTTED` pairs in `used`, which are
    the hottest ones, each pair with a limit gets a figure; if none of these has a limit, only the first pair gets
    one. Yield nothing if `used` is empty.
    """
    limited = [each for each in used[:PLOTTED] if each.quota_value is not None] or used[:1]
    for usage in limited:
        title = f"{lake.pair_text(usage.pair)}: {usage.pair.quota_key}"
        yield f"<h3>{text(title)}</h3>"
        found = minutes(tables, window, usage.pair)
        yield rate_figure(title, usage.pair.quota_key, found, gaps, since, until)
    if limited:
        yield "<p>A line for each broker; dashed: the limit; below: minutes with throttling; shaded: not polled.</p>"


def _table(table: Table) -> str:
    if not table.rows:
        return f"<p>{text(table.empty)}</p>"
    head = "".join(f"<th{' class=n' if each.right else ''}>{text(each.title)}</th>" for each in table.columns)
    body = "".join(
        f"<tr>{''.join(starmap(_cell, zip(table.columns, row.cells, strict=True)))}</tr>\n" for row in table.rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _cell(column: Column, cell: str) -> str:
    is_bad = cell == "high" if column.title == "Severity" else cell and column.title == "Waited"
    kinds = ("n" if column.right else "", "t" if column.title in _TIMES else "", "bad" if is_bad else "")
    return f'<td class="{" ".join(filter(None, kinds))}">{text(cell)}</td>'


def _at(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
