"""The figures of a report, as SVG that stands in its page: no scripts, nothing fetched. Colours are the page's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from html import escape

from console.history.reader.rows import Change, Gap, Minute
from console.present.sanitize import clean
from console.present.usage_rows import rate_text

WIDTH, HEIGHT = 860, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 12, 12, 26
_BARS = 96
_TICKS = 6
_BREAK = timedelta(minutes=3)


class Scale:
    """Times on the way across, amounts on the way up."""

    def __init__(self, since: datetime, until: datetime, most: float) -> None:
        self._begin, self._seconds = since.timestamp(), max(1.0, (until - since).total_seconds())
        self._most = most or 1.0
        self.since, self.until = since, until

    def x(self, at: datetime) -> float:
        """Where a time stands; those outside stand at the edge."""
        share = min(1.0, max(0.0, (at.timestamp() - self._begin) / self._seconds))
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, amount: float) -> float:
        """Where an amount stands."""
        return round(HEIGHT - _BOTTOM - amount / self._most * (HEIGHT - _TOP - _BOTTOM), 1)


def changes_figure(changes: Sequence[Change], gaps: Sequence[Gap], since: datetime, until: datetime) -> str:
    """How many changes when, in bars of equal times, and where nobody looked."""
    counts = [0] * _BARS
    seconds = max(1.0, (until - since).total_seconds())
    for change in changes:
        if not change.is_gap:
            share = (change.valid_from - since).total_seconds() / seconds
            counts[min(_BARS - 1, max(0, int(share * _BARS)))] += 1
    most = max(counts, default=0)
    scale = Scale(since, until, most)
    step = (until - since) / _BARS
    bars = "".join(
        f'<rect class="bar" x="{scale.x(since + place * step)}" y="{scale.y(count)}"'
        f' width="{round(scale.x(since + (place + 1) * step) - scale.x(since + place * step) - 1, 1)}"'
        f' height="{round(scale.y(0) - scale.y(count), 1)}"><title>{count}</title></rect>'
        for place, count in enumerate(counts)
        if count
    )
    upward = [(0.0, "0"), (float(most), str(most))] if most else [(0.0, "0")]
    return _svg("Changes over time", (*_shades(gaps, scale), bars, *_axes(scale, upward)))


def rate_figure(
    title: str, key: str, minutes: Sequence[Minute], gaps: Sequence[Gap], since: datetime, until: datetime
) -> str:
    """The highest rate of each minute by broker, the limit of its time as a dashed line, minutes with throttling marked
    on the ground."""
    limits = [each.quota_value for each in minutes if each.quota_value is not None]
    most = max([each.rate_max_10s for each in minutes] + limits, default=0.0) * 1.05
    scale = Scale(since, until, most)
    brokers = sorted({each.broker_id for each in minutes})
    lines = [
        _line(f"rate b{place % 4}", [(m.minute, m.rate_max_10s) for m in of], scale, f"broker {broker}")
        for place, broker in enumerate(brokers)
        if (of := [each for each in minutes if each.broker_id == broker])
    ]
    by_minute = {each.minute: each.quota_value for each in minutes if each.quota_value is not None}
    limit = _line("limit", sorted(by_minute.items()), scale, "limit") if by_minute else ""
    waited = sorted({each.minute for each in minutes if each.throttle_ms})
    marks = "".join(
        f'<rect class="throttled" x="{scale.x(at)}" y="{scale.y(0) - 4}" width="3" height="4"/>' for at in waited
    )
    upward = [(share * most, rate_text(key, share * most)) for share in (0.0, 0.5, 1.0)] if most else [(0.0, "0")]
    return _svg(title, (*_shades(gaps, scale), *_axes(scale, upward), *lines, limit, marks))


def _line(kind: str, points: Iterable[tuple[datetime, float]], scale: Scale, title: str) -> str:
    """A line, broken where nothing is known for longer than `_BREAK`."""
    pieces: list[list[str]] = []
    last: datetime | None = None
    for at, amount in points:
        if last is None or at - last > _BREAK:
            pieces.append([])
        pieces[-1].append(f"{scale.x(at)},{scale.y(amount)}")
        last = at
    titled = f"<title>{_text(title)}</title>"
    return "".join(f'<polyline class="{kind}" points="{" ".join(piece)}">{titled}</polyline>' for piece in pieces)


def _shades(gaps: Iterable[Gap], scale: Scale) -> Iterator[str]:
    """The times in which nobody looked."""
    for gap in gaps:
        left, right = scale.x(gap.since), scale.x(gap.until or scale.until)
        if right > left:
            height = HEIGHT - _TOP - _BOTTOM
            yield (
                f'<rect class="gap" x="{left}" y="{_TOP}" width="{round(right - left, 1)}" height="{height}">'
                "<title>nobody looked</title></rect>"
            )


def _axes(scale: Scale, upward: Sequence[tuple[float, str]]) -> Iterator[str]:
    ground = scale.y(0)
    yield f'<line class="axis" x1="{_LEFT}" y1="{ground}" x2="{WIDTH - _RIGHT}" y2="{ground}"/>'
    for amount, words in upward:
        y = scale.y(amount)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{WIDTH - _RIGHT}" y2="{y}"/>'
        yield f'<text class="tick" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{_text(words)}</text>'
    for place in range(_TICKS + 1):
        at = scale.since + (scale.until - scale.since) * place / _TICKS
        anchor = "start" if place == 0 else "end" if place == _TICKS else "middle"
        words = f"{at:%m-%d %H:%M}"
        yield f'<text class="tick" x="{scale.x(at)}" y="{HEIGHT - 8}" text-anchor="{anchor}">{words}</text>'


def _svg(title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{_text(title)}</title>{''.join(parts)}</svg>"
    )


def _text(text: str) -> str:
    return escape(clean(text, 300))
