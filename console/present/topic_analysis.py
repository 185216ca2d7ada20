"""The analysis of a topic (counts over its records) as lines with bars, as data, and as one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from console.model import topic_analysis as model
from console.model.numbers import Data, known_number, time_of
from console.model.topic_analysis import Analysed, TopicAnalysis
from console.plan.amounts import measured_time, size
from console.present.graphs import BLOCKS
from console.present.names import plural
from console.present.records import AUTO, in_a_line, masked_text, part_bytes, time_text
from console.present.text import Cell, Line, clean, fit, in_columns

_EIGHTHS = " ▏▎▍▌▋▊▉"
WIDEST_BAR = 40
MOST_PARTITIONS = 30
"""Maximum number of partitions that have a line; if there are more, those with the most and the fewest records have
one.
"""
LONGEST_NAME = 60
"""Maximum width in cells of a key or the name of a header."""
RANK_TITLES = ("50 %", "90 %", "99 %", "99.9 %")


def percent(share: float) -> str:
    """Return a share, 0 to 1, as text: ``34.0 %``; ``< 0.1 %`` for a smaller share that is not 0."""
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def bar(share: float, width: int) -> str:
    """Return a bar that is `share` (0 to 1) of `width` cells long, in eighths of a cell; at least one eighth for a
    share above 0.
    """
    eighths = min(8 * width, max(round(8 * width * share), int(share > 0)))
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def whole_text(facts: TopicAnalysis) -> str:
    """Return which records the analysis is based on: all, a sample, or those that were read before it ended."""
    count = plural(facts.records, "record")
    since = f" since {time_text(facts.since_ms)[:19]} UTC" if facts.since_ms >= 0 else ""
    if facts.is_whole:
        return f"{'no record' if not facts.records else f'all {count}'}{since}"
    stopped = "stopped: " if facts.progress.stopped else ""
    sample = f"a sample of {100 * facts.sample:g} %: " if facts.sample else ""
    return f"{stopped}{sample}{facts.records:,} of about {plural(facts.in_all, 'record')}{since}"


def limits(facts: TopicAnalysis) -> list[str]:
    """Return the limits of the analysis' accuracy, a line each."""
    made = []
    if facts.sample:
        made.append("shares are those of the sample; different keys, gaps and the largest sizes are only the sample's")
    elif not facts.is_whole:
        made.append("shares are those of the records that were read")
    if facts.problems:
        made.append(f"{plural(facts.problems, 'partition')} could not be read to the end")
    if facts.undecodable:
        made.append(f"{plural(facts.undecodable, 'range')} of offsets can't be decoded")
    return made


def stopped_line(facts: TopicAnalysis) -> str:
    """Return a line about an analysis that was stopped early: the records on which it is based, and the key that
    analyzes again.
    """
    return f"{whole_text(facts)}; r analyzes again"


def analysis_line(facts: TopicAnalysis) -> str:
    """Return the result of an analysis as one line, for the details of the topic."""
    heaviest = facts.heaviest[0] if facts.heaviest else None
    parts = [whole_text(facts)]
    parts += [f"heaviest key {percent(facts.share(heaviest.seen.value))}"] if heaviest is not None else []
    parts += [f"fullest partition {facts.skew:.1f}× the mean"] if len(facts.partitions) > 1 else []
    parts += [f"{percent(facts.share(facts.nulls))} null"] if facts.nulls else []
    return f"{', '.join(parts)} (at {facts.at:%H:%M} UTC)"


def analysis_lines(found: Analysed, width: int, *, masked: bool) -> list[Line]:
    """Return the result of an analysis as lines with bars.

    Args:
        found: the analysis, with record keys masked if they may not be shown.
        width: the width of the lines, in cells; some may be longer.
        masked: whether record keys and header names are hidden.
    """
    facts = found.facts
    progress = facts.progress
    took = f"{size(progress.bytes)} read in {measured_time(progress.seconds)}"
    lines: list[Line] = [[(whole_text(facts), "strong" if facts.is_whole else "pending"), (f"  {took}", "muted")]]
    lines += [[(text, "pending")] for text in limits(facts)]
    if not facts.records:
        return lines
    bars = max(8, min(WIDEST_BAR, width - 46))
    parts: tuple[Callable[[], Iterator[Line]], ...] = (
        partial(_records, facts),
        partial(_sizes, facts),
        partial(_codecs, facts),
        partial(_keys, found, bars, max(16, width - bars // 2 - 24), masked=masked),
        partial(_partitions, facts, bars),
        partial(_schemas, facts, bars),
        partial(_headers, found, bars, masked=masked),
        partial(_times, facts, width),
    )
    for part in parts:
        some = [*part()]
        lines += [[], *some] if some else []
    return lines


def _head(title: str, *more: str) -> Line:
    return [(title, "header"), (f"  {', '.join(each for each in more if each)}", "muted")]


def _records(facts: TopicAnalysis) -> Iterator[Line]:
    yield _head("Records")
    rows: list[list[Cell]] = [
        [name, f"{count:,}", percent(facts.share(count))]
        for name, count in (("null value", facts.nulls), ("without a key", facts.keyless))
    ]
    yield from in_columns(rows, right={1, 2})


def _sizes(facts: TopicAnalysis) -> Iterator[Line]:
    yield _head("Sizes", f"ranks within {percent(facts.rank_error)}")
    rows: list[list[Cell]] = [[(each, "muted") for each in ("", "least", *RANK_TITLES, "most")]]
    for name, known in (("key", facts.key_sizes), ("value", facts.value_sizes), ("record", facts.sizes)):
        if known is not None:
            rows.append([name, *map(size, (known.least, *known.at, known.most))])
    yield from in_columns(rows, right=range(1, 7))


def _codecs(facts: TopicAnalysis) -> Iterator[Line]:
    yield _head("Compression")
    rows: list[list[Cell]] = []
    for each in facts.codecs:
        ratio = f"{size(each.stored)} in the log for {size(each.plain)}" if each.stored else "sizes unknown"
        per_batch = f"{each.records / max(1, each.batches):,.0f} records a batch"
        rows.append([each.name, percent(facts.share(each.records)), per_batch, ratio])
    yield from in_columns(rows, right={1, 2})


def _keys(found: Analysed, bars: int, names: int, *, masked: bool) -> Iterator[Line]:
    facts = found.facts
    distinct = facts.distinct
    bounds = f"{distinct.low:,} to {distinct.high:,}" if distinct.low < distinct.value else ""
    yield _head("Keys", f"about {distinct.value:,} different" if bounds else f"{distinct.value:,} different", bounds)
    rows: list[list[Cell]] = []
    for each, key in found.named():
        text = masked_text(b" " * each.size) if masked else fit(in_a_line(key, AUTO), min(names, LONGEST_NAME))
        text += "…" if each.size > model.LONGEST_KEY and not masked else ""
        share = facts.share(each.seen.value)
        meaning = "failed" if each is facts.hot else ""
        where = f"partition {each.partition}" if each.partition >= 0 else ""
        rows.append([(percent(share), meaning), (_wide(share, bars), meaning), (text, meaning), (where, "muted")])
    yield from in_columns(rows, right={0})
    if not rows and distinct.value:
        yield [("no key stands out", "muted")]


def _wide(share: float, bars: int) -> str:
    return bar(share, bars // 2).ljust(bars // 2)


def _partitions(facts: TopicAnalysis, bars: int) -> Iterator[Line]:
    if len(facts.partitions) < 2:
        return
    yield _head("Partitions", f"the fullest has {facts.skew:.1f}× the mean")
    shown: Sequence[model.PartitionCount] = facts.partitions
    if len(shown) > MOST_PARTITIONS:
        ordered = sorted(shown, key=lambda each: -each.records)
        shown = [*ordered[: MOST_PARTITIONS // 2], *ordered[-MOST_PARTITIONS // 2 :]]
    most = max(each.records for each in facts.partitions)
    mean = facts.records / len(facts.partitions)
    rows: list[list[Cell]] = []
    for each in shown:
        meaning = "changed" if each.records >= 2 * mean else ""
        share = percent(facts.share(each.records))
        drawn = bar(each.records / most, bars).ljust(bars)
        rows.append([f"{each.number}", (share, meaning), (drawn, meaning), f"{each.records:,}", size(each.size)])
    yield from in_columns(rows, right={0, 1, 3, 4})
    if len(shown) < len(facts.partitions):
        yield [(f"and {len(facts.partitions) - len(shown):,} between these", "muted")]


def _schemas(facts: TopicAnalysis, bars: int) -> Iterator[Line]:
    if not facts.schemas:
        return
    yield _head("Schemas")
    rows: list[list[Cell]] = []
    for each in facts.schemas[: model.HEAVIEST]:
        share = facts.share(each.records)
        if not each.tried:
            state: Cell = ("not decoded here", "muted")
        elif each.failed:
            why = clean(each.why, 200)
            state = (f"{percent(each.failed / each.tried)} of {each.tried:,} tried do not decode: {why}", "failed")
        else:
            state = (f"all of {each.tried:,} tried decode", "ok")
        rows.append([each.part, clean(each.schema, 60), percent(share), _wide(share, bars), state])
    yield from in_columns(rows, right={2})
    if len(facts.schemas) > model.HEAVIEST:
        yield [(f"and {len(facts.schemas) - model.HEAVIEST:,} more", "muted")]


def _headers(found: Analysed, bars: int, *, masked: bool) -> Iterator[Line]:
    facts = found.facts
    if not facts.with_headers:
        return
    yield _head("Headers", f"{percent(facts.share(facts.with_headers))} of the records have some")
    rows: list[list[Cell]] = []
    for name, count in zip(found.headers, facts.headers, strict=True):
        share = facts.share(count)
        text = masked_text(name) if masked else fit(in_a_line(name, AUTO), LONGEST_NAME)
        rows.append([percent(share), _wide(share, bars), text])
    yield from in_columns(rows, right={0})


def _times(facts: TopicAnalysis, width: int) -> Iterator[Line]:
    times = facts.times
    by = "set by brokers" if times.by_broker == facts.records else "set by producers" if not times.by_broker else ""
    yield _head("Times", "UTC", by)
    if times.first >= 0:
        line = timeline(times, max(8, min(width - 4, 100)))
        yield [(time_text(times.first)[:19], ""), (" to ", "muted"), (time_text(times.last)[:19], "")]
        yield [(line, "")]
    odd = (
        ("in the future", times.ahead, f"by up to {measured_time(times.furthest_ms / 1000)}"),
        ("out of order", times.disordered, f"by up to {measured_time(times.furthest_back_ms / 1000)}"),
        ("before 2011: seconds, not milliseconds?", times.too_early, ""),
        ("without a time", times.without, ""),
    )
    for name, count, how_far in odd:
        if count:
            text = f"{plural(count, 'record')} {name} ({percent(facts.share(count))}) {how_far}"
            yield [(text.rstrip(), "changed" if name != "in the future" else "failed")]
    if facts.is_whole:
        for gap in times.gaps:
            span = measured_time((gap.until - gap.after) / 1000)
            yield [(f"no record for {span} after {time_text(gap.after)[:19]}", "changed")]
    else:
        yield [("gaps in time are known only if all records are read", "muted")]


def timeline(times: model.Times, width: int) -> str:
    """Return the number of records over time as a row of `width` bars; a blank for a time without records."""
    first, step = times.first, max(1, (times.last - times.first) // width + 1)
    counts = [0] * width
    for at, count in times.timeline:
        # A bucket may begin before the first record: limit the index.
        counts[max(0, min(width - 1, (at - first) // step))] += count
    most = max(counts)
    return "".join(BLOCKS[(count * len(BLOCKS) - 1) // most] if count else " " for count in counts)


# -- data for JSON -----------------------------------------------------------------------------------------------------


def analysis_data(found: Analysed, *, masked: bool) -> dict[str, Data]:
    """Return the result of an analysis as a JSON object.

    Args:
        found: the analysis.
        masked: whether record keys and header names are left out.
    """
    facts = found.facts
    return {
        "topic": facts.topic,
        "at": facts.at.isoformat(timespec="seconds"),
        "whole": facts.is_whole,
        "stopped": bool(facts.progress.stopped),
        "sample": facts.sample or None,
        "since": known_number(facts.since_ms),
        "records": facts.records,
        "records_in_all": facts.in_all,
        "bytes_read": facts.progress.bytes,
        "seconds": round(facts.progress.seconds, 3),
        "partitions_failed": facts.problems,
        "ranges_undecodable": facts.undecodable,
        "null_values": facts.nulls,
        "without_key": facts.keyless,
        "sizes": {
            "rank_error": facts.rank_error,
            **{
                name: _quantiles(known)
                for name, known in (("key", facts.key_sizes), ("value", facts.value_sizes), ("record", facts.sizes))
            },
        },
        "compression": [each._asdict() for each in facts.codecs],
        "different_keys": facts.distinct._asdict(),
        "heaviest_keys": [
            {
                **({} if masked else part_bytes("key", key)),
                "bytes": each.size,
                "records": each.seen._asdict(),
                "share": facts.share(each.seen.value),
                "partition": known_number(each.partition),
            }
            for each, key in found.named()
        ],
        "skew": facts.skew,
        "partitions": [
            {"partition": each.number, "records": each.records, "bytes": each.size, "share": facts.share(each.records)}
            for each in facts.partitions
        ],
        "schemas": [{**each._asdict(), "share": facts.share(each.records)} for each in facts.schemas],
        "records_with_headers": facts.with_headers,
        "headers": [
            {**({} if masked else part_bytes("name", name)), "records": count, "share": facts.share(count)}
            for name, count in zip(found.headers, facts.headers, strict=True)
        ],
        "times": _times_data(facts.times, facts.is_whole),
    }


def _times_data(times: model.Times, whole: bool) -> dict[str, Data]:
    gaps = [{"after": _time(gap.after), "until": _time(gap.until)} for gap in times.gaps]
    return {
        "first": _time(times.first),
        "last": _time(times.last),
        "without": times.without,
        "before_2011": times.too_early,
        "in_the_future": times.ahead,
        "furthest_ahead_ms": times.furthest_ms,
        "out_of_order": times.disordered,
        "furthest_back_ms": times.furthest_back_ms,
        "set_by_brokers": times.by_broker,
        "gaps": gaps if whole else None,
    }


def _quantiles(known: model.Quantiles | None) -> dict[str, Data] | None:
    if known is None:
        return None
    at = zip(("p50", "p90", "p99", "p999"), known.at, strict=True)
    return {"least": known.least, **dict(at), "most": known.most}


def _time(milliseconds: int) -> str | None:
    at = time_of(milliseconds) if milliseconds >= 0 else None
    return None if at is None else at.isoformat(timespec="milliseconds")
