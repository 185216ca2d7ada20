"""Makes request logs of any length for measurements, in the forms that brokers write; each form is a `Shape`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from tests.lake.request_lines import Logged, alter_configs, fetch, metadata, produce

PAIRS = 300
TEMPLATES = 4000
BEGIN = datetime(2026, 11, 21, 10)
_WRITTEN_AT_ONCE = 20_000
_NUMBER = "#number#"
"""The placeholder for the line's number in a template."""


def _usual(dice: random.Random) -> Logged:
    """Return a request: half are PRODUCE, nearly half FETCH (an eighth of these from replicas), the rest METADATA. Some
    PRODUCE and METADATA requests have errors.
    """
    kind = dice.random()
    topics = [dice.randrange(100, 90_000) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
    if kind < 0.5:
        return produce(*topics, error=6 if dice.random() < 0.01 else 0)
    if kind < 0.99:
        return fetch(*topics[:2], replica=dice.randrange(3) if dice.random() < 0.125 else None)
    return metadata(error=3 if dice.random() < 0.1 else 0)


def _long(dice: random.Random) -> Logged:
    """Return a request with hundreds of partitions, few of which have records."""
    sizes = [dice.randrange(100, 90_000) if dice.random() < 0.1 else 0 for _ in range(dice.randrange(100, 300))]
    return produce(*sizes) if dice.random() < 0.2 else fetch(*sizes)


def _short(dice: random.Random) -> Logged:
    """Return a nearly empty request."""
    return metadata(error=3) if dice.random() < 0.01 else metadata()


def _mixed(dice: random.Random) -> Logged:
    """Return a random request: a fetch of many topics, possibly in an old form; a produce request, possibly without a
    response (acks=0); a metadata request; or a rare change, possibly forwarded by a broker.
    """
    kind = dice.random()
    sizes = [dice.randrange(100, 9_000) if dice.random() < 0.3 else 0 for _ in range(dice.randrange(5, 20))]
    if kind < 0.5:
        return fetch(*sizes, old=dice.random() < 0.3, error=3 if dice.random() < 0.01 else 0)
    if kind < 0.9:
        return produce(*sizes[:3], response="" if dice.random() < 0.5 else produce(*sizes[:3]).response)
    if kind < 0.998:
        return metadata(error=3 if dice.random() < 0.1 else 0)
    return alter_configs([("retention.ms", 0, str(dice.randrange(10**6)))], forwarded=dice.random() < 0.5)


def _pattern(clock: datetime, text: str) -> tuple[str, str]:
    """Return the text before and after the request in a line of Kafka's own layout. text: the request's JSON."""
    made = replace(produce(), at=clock).line
    return made[: made.index("{")], text + made[made.rindex("}") + 1 :]


def _json(clock: datetime, text: str) -> tuple[str, str]:
    """Return the text before and after the request in a line of the layout of Elastic's schema (ECS). text: the
    request's JSON.
    """
    quoted = json.dumps(f"Completed request:{text}", ensure_ascii=False)
    at = f"{clock:%Y-%m-%dT%H:%M:%S}.{clock.microsecond // 1000:03}Z"
    more = '"log.level":"DEBUG","log.logger":"kafka.request.logger","process.thread.name":"data-plane-1"'
    return f'{{"@timestamp":"{at}","ecs.version":"1.2.0",{more},"message":', quoted + "}\n"


def _container(clock: datetime, text: str) -> tuple[str, str]:
    """Return the text before and after the request in a line with whole seconds, a thread and the logger's last name.
    Before it is the timestamp of a container's runtime (CRI), some milliseconds later; after the request there is no
    text.
    """
    thread = f"data-plane-kafka-request-handler-{clock.microsecond // 1000 % 8}"
    written = clock + timedelta(milliseconds=clock.microsecond // 1000 % 5)
    before = f"{written:%Y-%m-%dT%H:%M:%S.%f}789Z stdout F {clock:%Y-%m-%d %H:%M:%S} DEBUG [{thread}] logger:249"
    return f"{before} - Completed request:", f"{text}\n"


@dataclass(frozen=True)
class Shape:
    """A form of request log.

    request: makes a random request. pairs: the number of pairs of user and client; None if no client occurs twice.
    client: format of a client's name, from the pair's number. per_second: the number of lines for each second of the
    log's time. layout: returns, for a time and a request's JSON, the text before the JSON, with the time, and the rest
    of the line. form: the layout's name for the programs of benchmarks/peers. fewer: the number by which numbers of
    lines are divided, so that a log of long lines has about as many bytes as one of usual lines.
    """

    request: Callable[[random.Random], Logged] = _usual
    pairs: int | None = PAIRS
    client: str = "app-{}-client"
    per_second: int = 10_000
    layout: Callable[[datetime, str], tuple[str, str]] = _pattern
    form: str = "pattern"
    fewer: int = 1


_LONG_NAME = f"прод/заказы/{'süß-' * 20}{{}}-消費者-🚚-2026-11-21 09:59:59,999 Completed request"
"""A client's name with characters of several bytes, and with text that also occurs elsewhere in a line."""

SHAPES: Mapping[str, Shape] = {
    "usual": Shape(),
    "long": Shape(_long, per_second=200, fewer=50),
    "short": Shape(_short, per_second=20_000),
    "strangers": Shape(pairs=None, per_second=500),
    "json": Shape(layout=_json, form="json"),
    "container": Shape(_mixed, client=_LONG_NAME, per_second=2_000, layout=_container, form="container", fewer=2),
}
"""Name -> shape. usual: lines of 1.3 kB. long: few lines of 70 kB. short: many lines of 0.7 kB. strangers: an hour in
which no client comes twice, at two million lines. json: an object in each line, with the request as a text. container:
lines of 4 kB in another layout, as a container's runtime keeps them, with long names of clients.
"""


def templates(shape: Shape, seed: int = 7) -> list[str]:
    """Return requests as the ends of lines, after their times, made at random from `seed`. One client's name contains
    characters that JSON has to escape.
    """
    dice = random.Random(seed)
    pairs = [(f"User:svc-{each % 40}", shape.client.format(each)) for each in range((shape.pairs or 2) - 1)]
    pairs.append(("User:odd", 'we "quote" \\ thïs'))
    if shape.pairs is None:
        pairs = [("User:stranger", shape.client.format(_NUMBER))]
    return [_line(shape, dice, *dice.choice(pairs)) for _ in range(max(TEMPLATES // shape.fewer, 2 * len(pairs)))]


def _line(shape: Shape, dice: random.Random, principal: str, client_id: str) -> str:
    made = replace(
        shape.request(dice),
        principal=principal,
        client_id=client_id,
        local_ms=round(dice.random() * 5, 3),
        total_ms=round(dice.random() * 20, 3),
        throttle_ms=dice.randrange(200) if dice.random() < 0.03 else 0,
        correlation_id=dice.randrange(1 << 30),
    )
    return shape.layout(BEGIN, made.text)[1]


def write(path: Path, lines: int, shape: Shape = SHAPES["usual"]) -> None:
    """Write a log of `lines` lines; the same arguments give the same log."""
    dice = random.Random(lines)
    pool = templates(shape)
    with path.open("w") as file:
        for begin in range(0, lines, _WRITTEN_AT_ONCE):
            file.writelines(_timed(shape, dice, pool, range(begin, min(lines, begin + _WRITTEN_AT_ONCE))))


def _timed(shape: Shape, dice: random.Random, pool: list[str], numbers: range) -> Iterator[str]:
    clock, shown = -1, ""
    for number, line in zip(numbers, dice.choices(pool, k=len(numbers)), strict=True):
        millis = number * 1000 // shape.per_second
        if millis != clock:
            clock = millis
            shown, _ = shape.layout(BEGIN + timedelta(milliseconds=millis), "")
        yield shown + (line if shape.pairs else line.replace(_NUMBER, str(number)))
