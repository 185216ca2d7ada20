"""Who uses what of which quota, as rows; a plot of a pair over time with its limit as a line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from console.history.reader.rows import Minute, Usage
from console.present.lake import NOTHING, level_text, pair_text, spark
from console.present.sanitize import clean
from console.present.spans import Cell, Line, joined
from console.present.units import duration, quota

SHORT = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "consume",
    "request_percentage": "request",
}
_NEAR = 0.8
_AXIS = 11
"""Cells of the numbers left of a plot."""
_EIGHTHS = " ▁▂▃▄▅▆▇█"


def rate_text(key: str, value: float | None) -> str:
    """A measured rate: three figures are enough, and no ``≈`` is needed to say so."""
    if value is None:
        return NOTHING
    sign = "-" if value < 0 else ""
    return sign + quota(key, float(f"{abs(value):.3g}")).removeprefix("≈ ")


def limit_text(usage: Usage) -> str:
    """The effective quota."""
    return NOTHING if usage.quota_value is None else quota(usage.pair.quota_key, usage.quota_value)


def state(usage: Usage) -> tuple[str, str]:
    """``!`` throttled or over the limit, ``~`` near it: a letter and a meaning."""
    if usage.throttle_ms or (usage.utilisation is not None and usage.utilisation >= 1):
        return "!", "failed"
    return ("~", "pending") if usage.utilisation is not None and usage.utilisation >= _NEAR else ("", "")


def usage_cells(usage: Usage, width: int) -> list[Cell]:
    """State, pair, key, used, bars, highest, limit, waited, headroom, level. width: of the bars."""
    key = usage.pair.quota_key
    _, meaning = state(usage)
    return [
        state(usage),
        pair_text(usage.pair),
        (SHORT.get(key, clean(key)), "muted"),
        (NOTHING, "muted") if usage.utilisation is None else (f"{usage.utilisation:.0%}", meaning),
        (spark(usage.series, width, usage.quota_value), meaning or "muted"),
        rate_text(key, usage.rate_max),
        limit_text(usage),
        (waited(usage), "failed") if usage.throttle_ms else "",
        (rate_text(key, usage.headroom), "muted"),
        (level_text(usage.level), "muted"),
    ]


def waited(usage: Usage) -> str:
    """How long clients were made to wait, of all together."""
    return duration(usage.throttle_ms).removeprefix("≈ ") if usage.throttle_ms else ""


def usage_lines(usage: Usage) -> list[Line]:
    """The quota with its level, what was used, the suggestion."""
    key = usage.pair.quota_key
    quota_line: Line = [(f"{SHORT.get(key, clean(key))} quota ", "muted"), (limit_text(usage), "strong")]
    quota_line += [(f"  by {level_text(usage.level)}, per broker", "muted")]
    used: Line = [(f"highest over 10 s {rate_text(key, usage.rate_max)}", "")]
    used += [(f"  mean {rate_text(key, usage.rate_avg)}  on broker {usage.broker_id}", "muted")]
    lines = [quota_line, used]
    room: Line = [] if usage.headroom is None else [(f"headroom {rate_text(key, usage.headroom)}", "")]
    if usage.throttle_ms:
        room.insert(0, (f"waited {waited(usage)} in {usage.throttled_requests:,}+ requests   ", "failed"))
    lines += [room] if room else []
    why = clean(usage.reason, 200)
    if usage.suggested_value is None:
        lines.append([(f"nothing is suggested: {why}", "muted")])
    else:
        lines.append(
            [("suggested ", "muted"), (rate_text(key, usage.suggested_value), "strong"), (f"  {why}", "muted")]
        )
    return lines


def plot(usage: Usage, minutes: Sequence[Minute], width: int, height: int) -> list[Line]:
    """The highest rate in each minute, of the brokers the one where it was highest, as bars; the limit of that time as
    a line of dashes; minutes with throttling in the meaning `failed`, and marked below with ``!``."""
    key = usage.pair.quota_key
    columns = _columns(minutes, max(1, width - _AXIS - 1))
    limits = [limit for _, limit, _ in columns if limit is not None]
    top = max([rate for rate, _, _ in columns if rate is not None] + limits, default=0.0) * 1.05
    if not columns or top <= 0:
        return [[("nothing was used in this window", "muted")]]
    lines: list[Line] = []
    for level in range(height, 0, -1):
        number = rate_text(key, top * level / height) if level in (height, (height + 1) // 2) else ""
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
    """Each column's highest rate, lowest limit, and whether anything was throttled."""
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
