"""A script that takes every picture in this folder from the running console on an embedded cluster, by pressing keys.

``python -m screenshots.take`` runs the walks (keys to press on a scenario) and writes the SVG files; ``--check`` takes
the pictures again and prints the names of those that differ, ``--check --once`` takes each walk in one size only.
Nothing here is drawn by hand; `make pictures` runs it.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from msgspec.structs import replace
from rich.color import Color as RichColor
from rich.console import Console as RichConsole
from rich.terminal_theme import TerminalTheme

from benchmarks import contrast
from console.admin import link
from console.admin.client import AdminClient
from console.cli.demo import CONTROLLERS, context_of
from console.contexts import Context
from console.contexts.configured import Given
from console.contexts.console_settings import ConsoleSettings
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import start_move
from console.embedded.spec import ClusterSpec, clusters_of
from console.model import half_hour, lag_trend, rates, time_lag
from console.model.config import topic_resource
from console.model.half_hour import EVERY, HalfHour
from console.present import groups as shown_groups
from console.session import triage_polls
from console.session.session import Session
from console.tui import polling, watch
from console.tui.app import Console
from console.tui.watch import HalfHourWatch
from tests.support import sample_half_hour
from tests.support.patience import PATIENCE
from tests.support.registry_server import RegistryServer, registry
from tests.support.sample_lake import make_lake
from themes import THEMES

HERE = Path(__file__).parent
CLUSTER_ID = "a-demo-of-kac-00000000"
PORT = 19092
"""The brokers' TCP port. The pictures show the port and the cluster's id, so both are fixed."""
ANY_PORT = 0
SIZES = {"-120x40": (120, 40), "": (80, 24)}
"""Suffix of the file -> columns, rows."""
WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
DAY = r"((\d{4}-)?\d\d-\d\d(?: |&#160;))?"
TIME_OF_DAY = re.compile(DAY + r"\d\d:\d\d:\d\d(\.\d{3})?([+-]\d\d:\d\d)?")
MINUTE_OF_DAY = re.compile(DAY + r"\b\d\d:\d\d\b")
AGE = re.compile(r"(?:&#160;| )*(?:≥(?:&#160;| ))?\b\d+(?:\.\d)?(?:&#160;| )(?:s|min|h)\b")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
ADDRESS = re.compile(r"127\.0\.0\.1:\d{5}")
END_OFFSET = re.compile(r"\b4,1\d\d,\d{3}\b")
"""Matches an end offset of the metadata log, which grows by itself."""
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
PICTURE_ID = re.compile(r"terminal-\d+")
"""Matches an id in an SVG of Textual; Textual derives it from the shown text, which includes times of day."""
TEN_MINUTES, WATCHED, FED = 600, 425, 300
"""TEN_MINUTES: seconds between two labels of a time axis. WATCHED: seconds from such a label to the end of the half
hour, so that labels have the same columns in each picture. FED: seconds from the last minute of the lake to that end.
"""
NO_TICKS = 3600.0
"""Seconds between two polls, so long that a picture only has data of the first poll."""

Step = tuple[str, ...]
"""Keys to press one after another. ``text:…`` types a text. ``see:…`` waits until the screen shows a text.
``other:TOPIC KEY=VALUE`` sets a config as another client. ``orders:TOPIC PARTITION`` writes records with a schema.
``moving:TOPIC PARTITION`` begins a move to a broker that goes down.
"""

WITH_SERVICES = " with its services"
"""The suffix of a scenario's name if its context has the demo's Connect cluster and schema registry."""
WALKS: dict[str, dict[str, Step]] = {"incident": {
    "now": ("see:min ISR 3, 2 replicas", "see:more: a throttle"),
    "topics": ("2", "see:URP 12", "see:internal topic hidden", "see:checkout.payments"),
    "brokers": ("1", "see:active controller", "see:zone-c"),
    "configs": (
        "2", "slash", "text:checkout.orders", "enter", "enter", "see:2 overrides of", "see:Without the override",
    ),
    "command-bar": ("colon", "text:set topic checkout.orders retention.ms=", "see:7d"),
    "quotas": ("escape", "4", "see:mirror-maker", "j", "l", "j", "j", "see:user alice, client checkout"),
    "acls": ("5", "see:User:mirror"),
    "groups": ("6", "see:billing"),
    "history": ("8", "see:checkout.orders retention.ms"),
    "drift": ("9", "see:log.cleaner.threads"),
    "usage": ("0", "see:alice / checkout"),
    "usage-plot": ("d", "see:throttled", "see:Esc"),
    "plan": (
        "escape",
        "colon",
        "text:set topic checkout.orders retention.ms=1d",
        "enter",
        "see:staged",
        "colon",
        "text:unset topic checkout.orders-dlq retention.ms",
        "enter",
        "see:Plan*2",
        "colon",
        "text:set broker <default> log.cleaner.threads=4",
        "enter",
        "see:Plan*3",
        "colon",
        "text:set broker 2 log.retention.ms=36h",
        "enter",
        "see:Plan*4",
        "colon",
        "text:set user alice client <default> producer_byte_rate=2MiB/s",
        "enter",
        "see:Plan*5",
        "7",
        "see:producer_byte_rate",
        "see:17 GiB are deleted within",
    ),
    "runbook": ("R", "see:kafka-configs", "see:Esc"),
    "plan-checked": ("escape", "c", "see:✓"),
    "plan-apply": ("colon", "text:discard broker <default>", "enter", "see:Plan*4", "A", "see:Incremental"),
    "plan-applied": ("y", "see:applied"),
    "conflict": (
        "colon",
        "text:set topic checkout.payments retention.ms=5d",
        "enter",
        "see:Plan*1",
        "other:checkout.payments retention.ms=1296000000",
        "A",
        "see:y checks",
        "y",
        "see:Another client changed",
    ),
    "now-fix": (
        "escape", "colon", "text:discard topic checkout.payments", "enter", "see:taken out of the plan", "full_stop",
        "see:1 group without members", "G", "up", "see:F stages", "F", "see:staged: 8 edits",
    ),
    "now-plan": ("7", "see:8 edits on 4 entities"),
    # A message appears with the next move of the cursor. A poll may or may not move the cursor, so press keys.
    "now-green": (
        "A", "see:y checks the plan", "y", "see:takes it back", "full_stop", "see:2 troubles", "g", "G",
    ),
}, f"incident{WITH_SERVICES}": {
    "now-connect": (
        "see:orders-archive: task 0", "slash", "text:orders-archive", "enter", "see:restart connector",
    ),
    "connectors": ("escape", "ctrl+n", "see:NoSuchFile", "see:paused", "G"),
    "connector": ("enter", "see:FAILED", "see:RUNNING"),
    "subjects": ("escape", "colon", "text:schemas", "enter", "see:BACKWARD"),
}, "transactions": {
    "transactions": ("see:watched since", "colon", "text:transactions", "enter", "see:2 hang"),
}, "groups": {
    "group": (
        "see:watched since", "6", "see:dispatch", "slash", "text:dispatch", "enter", "enter", "see:logistics.shipments",
        "see:lag 52  2 s behind",
    ),
    "records": ("j", "j", "v", "see:from group dispatch", "see:binary"),
    "record-search": (
        "colon", "text:records checkout.orders-dlq where 'value.attempt > 2'", "enter", "see:400 records of 1,200",
    ),
}, "quiet": {
    "schemas": (
        "see:watched since", "orders:checkout.orders 0", "colon",
        "text:records checkout.orders partition 0 last 7", "enter", "see:EUR", "G", "see:Schema not found",
    ),
    "moves": ("moving:checkout.orders 0", "w", "see:is down: no byte can arrive", "see:Now!2"),
}, "quorum": {
    "quorum": ("see:a controller: may", "see:18,240", "see:Now!1"),
    "quorum-vote": ("colon", "text:add voter 104", "enter", "see:staged", "7", "see:4 are needed"),
}}  # fmt: skip
"""Scenario -> picture's name -> the keys to press before it is taken."""

WIDE = {"incident": {
    "overview": (
        "see:min ISR 3, 2 replicas", "see:more: a throttle", "ctrl+g", "see:lag billing",
        "see:by the lake", "down",
    ),
    "now": ("full_stop", "see:lag billing"),
    "topics": (
        "2", "see:URP 12", "see:internal topic hidden", *("j",) * 13, "see:12 partitions under-replicated",
        "see:missing 2", "see:warehouse",
    ),
    "groups": (
        "6", "see:billing", "see:checkout.payments/1", "see:billing-3@10.0.3.12", "see:≥ 2 s behind", "see:36    ≥ 2 s",
    ),
}}  # fmt: skip
"""The walks for pictures of wide screens, taken at `WIDE_SIZE`."""
WIDE_SIZE = {"-200x60": (200, 60)}
WALKED = [(SIZES, WALKS.items()), (WIDE_SIZE, WIDE.items())]

ALARM = "checkout.orders min.insync.replicas=4"
"""Another client's change before the tour begins: it requires more in-sync replicas than the topic has."""
TOUR: dict[str, Step] = {
    "kac: what is wrong": ("see:watched since", "see:1 trouble"),
    "Enter: the evidence, and where the value comes from": ("enter", "see:Without the override"),
    "F stages what mends it": ("full_stop", "see:F stages", "F", "see:staged"),
    "7: the plan": ("7", "see:1 edit"),
    "A: what will be sent once the brokers have checked it": ("A", "see:y checks the plan"),
    "y: applied, and it can be taken back": ("y", "see:applied", "see:. Now 1 Brok"),
    "what was wrong is gone": ("full_stop", "see:no trouble"),
}
"""Title -> the keys to press before each frame of the animated picture, on the scenario quiet."""
TOUR_SECONDS = 3
"""Seconds for which each frame is shown."""
THEMES_WALK: dict[str, Step] = {
    "themes": (
        "see:watched since", "colon", "text:set topic checkout.orders retention.ms=1h", "enter", "see:staged",
        "colon", "text:set broker 2 log.dirs=/elsewhere", "enter", "see:Plan*2",
        "colon", "text:allow User:mallory READ on topic checkout.orders", "enter", "see:Plan*3",
        "7", "see:deleted within", "c", "see:✗", "see:✓",
    ),
}  # fmt: skip
"""The keys that lead to a plan with accepted, refused, risky and staged edits, which is taken in each theme."""


def plain(svg: str) -> str:
    """Return an SVG picture without web fonts: it uses the viewer's monospaced font, and makes no requests."""
    svg = WEB_FONT.sub("", svg).replace("Fira Code", "monospace")
    # Not every viewer supports the no-break spaces of an SVG.
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)


def lasting(svg: str) -> str:
    """Return an SVG picture with the parts that change in each run replaced by words: times, ids, ports, ages and
    offsets.
    """
    timeless = MINUTE_OF_DAY.sub("hh:mm", TIME_OF_DAY.sub("hh:mm:ss", ADDRESS.sub("host:port", svg)))
    timeless = END_OFFSET.sub("offset", AGE.sub("age", timeless))
    return PICTURE_ID.sub("terminal", DATE.sub("date", RUN_ID.sub("run", timeless)))


def somebody_sets(cluster: ThreadedCluster, text: str) -> None:
    """Set a topic's config as another client. text: ``TOPIC KEY=VALUE``."""
    topic, _, assignment = text.partition(" ")
    key, _, value = assignment.partition("=")
    cluster.call(lambda one: one.state.alter_config(topic_resource(topic), {key: value}))


def somebody_orders(cluster: ThreadedCluster, schemas: RegistryServer, text: str) -> None:
    """Write orders with a schema of the registry, and a record whose schema the registry lacks. text: ``TOPIC
    PARTITION``.
    """
    topic, _, number = text.partition(" ")
    schema = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"sum","type":"string"}]}'
    begins = b"\0" + schemas.register("orders-value", schema).to_bytes(4, "big")
    orders = [
        begins + bytes((2 * place,)) + b"\x12" + f"{place}9.90 EUR".rjust(9, "1").encode() for place in range(1, 7)
    ]

    async def write() -> None:
        async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
            for place, value in enumerate((*orders, b"\0\0\0\x01\x2c\x0e")):
                await producer.send_and_wait(topic, value, f"order-{place + 1}".encode(), int(number))

    asyncio.run(write())


def somebody_moves(cluster: ThreadedCluster, text: str) -> None:
    """Begin, as another client, to move a partition to a broker that has no replica of it, and then kill that broker.
    text: ``TOPIC PARTITION``.
    """
    topic, _, number = text.partition(" ")

    async def move(one: EmbeddedCluster) -> None:
        had = one.state.topics[topic].partitions[int(number)].replicas
        other = next(broker for broker in one.state.brokers if broker not in had)
        start_move(one, topic, int(number), (other, *had[1:]))
        await one.broker_killed(other)

    cluster.run(move)


class _Watched(HalfHourWatch):
    """A half hour of sample data in place of watched data; new samples do not change it."""

    until: datetime

    @property
    def known(self) -> HalfHour:
        return sample_half_hour.half_hour(self.until)

    @known.setter
    def known(self, _taken: HalfHour | None) -> None: ...

    def learn_usage(self, usage: Mapping[str, Mapping[int, float]]) -> None:
        """Add usage from a lake, with its times moved so that it ends `FED` seconds before the end of the half hour."""
        ends = int(self.until.timestamp() - FED) // EVERY
        last = max((slot for slots in usage.values() for slot in slots), default=ends)
        super().learn_usage(
            {name: {slot + ends - last: value for slot, value in slots.items()} for name, slots in usage.items()}
        )


def was_watched(app: Console) -> None:
    """Give the console sample data, as if it had watched the cluster for half an hour."""
    until = datetime.fromtimestamp(time.time() // TEN_MINUTES * TEN_MINUTES + WATCHED, UTC)
    half_hour: Any = app.cluster.half_hour
    half_hour.__class__, half_hour.until = _Watched, until
    app.journal.marks = lambda: sample_half_hour.marks(until)  # type: ignore[method-assign]


async def seen(app: Console, text: str, pause: Callable[[], Awaitable[None]]) -> None:
    """Wait until the screen shows a text. Raises TimeoutError after PATIENCE seconds."""
    try:
        async with asyncio.timeout(PATIENCE):
            while text not in shown(app):
                await pause()
    except TimeoutError:
        raise TimeoutError(f"{text!r} was not shown:\n{shown(app)}") from None


async def all_read(app: Console, pause: Callable[[], Awaitable[None]]) -> None:
    """Wait until the console has no read under way for the view, not even in the background. Raises TimeoutError after
    PATIENCE seconds.
    """
    async with asyncio.timeout(PATIENCE):
        while not app.polling.rests:
            await pause()


def shown(app: Console) -> str:
    """Return the screen as text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def pictures() -> set[str]:
    """Return the names of all pictures, without the file suffix."""
    walked = (each for sizes, walks in WALKED for each in product(sizes, walks))
    return {"tour", "themes"} | {name + suffix for suffix, (_, walk) in walked for name in walk}


def moving(frames: dict[str, str]) -> str:
    """Return an animated SVG of several frames; viewers without animation show the first frame.

    Args:
        frames: title -> SVG of each frame, in order.
    """
    whole = TOUR_SECONDS * len(frames)
    delays = "".join(f"#frame-{n} {{ animation-delay: {n * TOUR_SECONDS}s }}\n" for n in range(1, len(frames)))
    style = (
        f".frame {{ visibility: hidden; animation: turn {whole}s step-end infinite }}\n"
        f"#frame-0 {{ visibility: visible }}\n{delays}"
        f"@keyframes turn {{ 0% {{ visibility: visible }} {100 / len(frames):.3f}% {{ visibility: hidden }} }}\n"
        "@media (prefers-reduced-motion: reduce) { .frame { animation: none } }\n"
    )
    parts = []
    for number, svg in enumerate(frames.values()):
        inside = svg[svg.index(">") + 1 : svg.rindex("</svg>")]
        parts.append(f'<g class="frame" id="frame-{number}">{PICTURE_ID.sub(f"frame-{number}", inside)}</g>\n')
    first = next(iter(frames.values()))
    head = PICTURE_ID.sub("terminal", first[: first.index(">") + 1])
    return f"{head}\n<title>{', '.join(frames)}</title>\n<style>\n{style}</style>\n{''.join(parts)}</svg>\n"


def size_of(svg: str) -> tuple[float, float]:
    """Return the width and the height of an SVG picture, in its user units."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def beside(frames: dict[str, str]) -> str:
    """Return one SVG that contains several pictures of the same size, two in each row."""
    width, height = (max(sizes) for sizes in zip(*map(size_of, frames.values()), strict=True))
    parts = []
    for number, svg in enumerate(frames.values()):
        at = (
            f'x="{number % 2 * (width + 8):g}" y="{number // 2 * (height + 8):g}" width="{width:g}" height="{height:g}"'
        )
        parts.append(PICTURE_ID.sub(f"theme-{number}", svg.replace("<svg ", f"<svg {at} ", 1)))
    rows = (len(frames) + 1) // 2
    whole = f"{2 * width + 8:g} {rows * (height + 8) - 8:g}"
    head = f'<svg class="rich-terminal" viewBox="0 0 {whole}" xmlns="http://www.w3.org/2000/svg">'
    return f"{head}\n<title>{', '.join(frames)}</title>\n{''.join(parts)}</svg>\n"


TRUE_COLORS = contrast.Palette("", contrast.XTERM, "#ffffff", "#000000", brightens=False)


def in_theme(app: Console, name: str) -> str:
    """Return the screen as SVG in the colours of a theme. The theme in the terminal's own colours is drawn with the
    palette of the first terminal in `contrast.PALETTES`.
    """
    palette = contrast.PALETTES[name][0] if name in contrast.PALETTES else TRUE_COLORS
    named = [RichColor.parse(each).get_truecolor() for each in (palette.ground, palette.text, *palette.colors)]
    ground, text, *colors = [(each.red, each.green, each.blue) for each in named]
    console = RichConsole(
        width=app.size.width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        record=True,
        legacy_windows=False,
        safe_box=False,
    )
    console.print(app.screen._compositor.render_update(full=True))
    title = ", ".join(filter(None, (name.removeprefix("kac-"), palette.name)))
    return plain(console.export_svg(title=title, theme=TerminalTheme(ground, text, colors[:8], colors[8:])))


async def walk(
    scenario: str,
    steps_of: dict[str, Step],
    client: AdminClient,
    cluster: ThreadedCluster,
    schemas: RegistryServer,
    suffix: str,
    title: str,
    *,
    in_themes: bool = False,
) -> AsyncIterator[tuple[str, str]]:
    """Press every key of a scenario's walk. Yield the name and the SVG of each picture.

    Args:
        steps_of: picture's name -> the keys to press before it.
        suffix: a key of SIZES or WIDE_SIZE: the size of the screen.
        title: the title of all pictures; ``""`` to use each picture's name.
        in_themes: whether to yield a picture in each theme instead of one.
    """
    context = _context(scenario, cluster)
    if "schemas" in steps_of:
        context = replace(context, settings=replace(context.settings, schemas=schemas.settings))
    app = Console(Session(client, context), ConsoleSettings(theme="dark", refresh=NO_TICKS), contexts=Given([context]))
    was_watched(app)
    async with app.run_test(size={**SIZES, **WIDE_SIZE}[suffix]) as pilot:
        for name, steps in steps_of.items():
            for step in steps:
                kind, _, rest = step.partition(":")
                if kind == "see":
                    await seen(app, rest, pilot.pause)
                elif kind == "text":
                    await pilot.press(*rest)
                elif kind == "other":
                    await asyncio.to_thread(somebody_sets, cluster, rest)
                elif kind == "orders":
                    await asyncio.to_thread(somebody_orders, cluster, schemas, rest)
                elif kind == "moving":
                    await asyncio.to_thread(somebody_moves, cluster, rest)
                else:
                    await pilot.press(step)
            await all_read(app, pilot.pause)
            await pilot.pause()
            if not in_themes:
                yield name + suffix, plain(app.export_screenshot(title=title or name))
                continue
            for theme in THEMES:
                app.theme = theme.name
                await pilot.pause()
                yield theme.name, in_theme(app, theme.name)
        await pilot.press("escape")


def _context(scenario: str, cluster: ThreadedCluster) -> Context:
    """Return the context of the console for a cluster; it also connects to the controllers if they are separate
    nodes.
    """
    if cluster.bootstrap_controllers:
        return context_of(CONTROLLERS, cluster.bootstrap_controllers, 1)
    services = (cluster.connect_urls, cluster.schemas_url) if scenario.endswith(WITH_SERVICES) else ()
    return context_of(scenario, cluster.bootstrap, 1, *services)


class OncePoller(triage_polls.Poller):
    """Polls everything at the first poll; at later ones only the cluster, its nodes, topics and moves."""

    def __init__(self, session: Session, request_logs: Sequence[Path] = ()) -> None:
        super().__init__(session, request_logs)
        again = {"cluster", "silent", "quorum", "topics", "reassignments"}
        parts = [each._replace(within=PATIENCE if each.within else None) for each in self.parts]
        still = [each._replace(pace=each.pace._replace(every=NO_TICKS)) for each in parts]
        self.parts = tuple(each if each.name in again else rests for each, rests in zip(parts, still, strict=True))


_as_measured = time_lag.time_lag


def _two_seconds(*asked: Any) -> time_lag.Behind:
    """Return that a record has waited for two seconds. Measured times would vary on a busy machine."""
    behind = _as_measured(*asked)
    return behind._replace(seconds=2.0) if behind.seconds and behind.seconds < PATIENCE else behind


def be_patient() -> None:
    """Set the console's timeouts to PATIENCE seconds and its intervals so long that each picture has data of the first
    poll only: data of a later poll would have another time or place, and move the cursor.
    """
    triage_polls.Poller = OncePoller  # type: ignore[assignment,misc]
    triage_polls.POLL_SECONDS = PATIENCE
    triage_polls.ANSWER_SECONDS = triage_polls.FIRST_ANSWER_SECONDS = PATIENCE
    link.OTHERS_SECONDS = polling.PATIENCE = PATIENCE
    half_hour.own_values = sample_half_hour.own_values  # type: ignore[assignment]  # measured values always differ
    time_lag.LEAST = 0.0  # show every wait, however soon the second poll comes
    time_lag.time_lag = _two_seconds  # type: ignore[assignment]
    rates.SHORTEST = lag_trend.SHORTEST = shown_groups.STILL_AFTER = NO_TICKS  # the time between polls varies
    watch.FIRST_AFTER = NO_TICKS  # otherwise findings are counted 10 s after the start, before or after a picture


def take(port: int = PORT, *, once: bool = False) -> dict[str, str]:
    """Return all pictures as name -> SVG. With `once`, take each walk in one size only, with the sizes in turn. Raises
    OSError if the port is taken.
    """
    be_patient()
    taken: dict[str, str] = {}
    walked = (each for sizes, walks in WALKED for each in (zip(cycle(sizes), walks) if once else product(sizes, walks)))
    for suffix, (scenario, steps_of) in walked:
        # Each walk has a new cluster and a new journal, so that changes of one walk are not in the next.
        # A move needs a broker that has no replica yet.
        asked = ClusterSpec(port=port, cluster_id=CLUSTER_ID, brokers=4 if "moves" in steps_of else 3)
        (spec,) = clusters_of(scenario.removesuffix(WITH_SERVICES), asked).values()
        with TemporaryDirectory() as state, run_in_thread(spec) as cluster, registry() as schemas:
            _same_everywhere(state)
            make_lake(f"{state}/lake", CLUSTER_ID, _a_moment_ago(), prefix="checkout.", hostile=False)
            with AdminClient(_context(scenario, cluster).settings) as client:
                pictures_of = walk(scenario, steps_of, client, cluster, schemas, suffix, "kac")
                taken |= asyncio.run(_collected(pictures_of))
    return taken | {"tour": tour(port), "themes": themes(port)}


def tour(port: int = PORT) -> str:
    """Return the animated SVG. Raises OSError if the port is taken."""
    (spec,) = clusters_of("quiet", ClusterSpec(port=port, cluster_id=CLUSTER_ID)).values()
    with TemporaryDirectory() as state, run_in_thread(spec) as cluster, registry() as schemas:
        _same_everywhere(state)
        somebody_sets(cluster, ALARM)
        with AdminClient(context_of("quiet", cluster.bootstrap, 1).settings) as client:
            return moving(asyncio.run(_collected(walk("quiet", TOUR, client, cluster, schemas, "", ""))))


def themes(port: int = PORT) -> str:
    """Return the SVG of the screen in all themes. Raises OSError if the port is taken."""
    (spec,) = clusters_of("quiet", ClusterSpec(port=port, cluster_id=CLUSTER_ID)).values()
    with TemporaryDirectory() as state, run_in_thread(spec) as cluster, registry() as schemas:
        _same_everywhere(state)
        with AdminClient(context_of("quiet", cluster.bootstrap, 1).settings) as client:
            walking = walk("quiet", THEMES_WALK, client, cluster, schemas, "", "", in_themes=True)
            return beside(asyncio.run(_collected(walking)))


def noon(now: datetime) -> str:
    """Return a value of the variable TZ in which it is now less than ten minutes past noon."""
    later = (now.hour * 3600 + now.minute * 60) // TEN_MINUTES * TEN_MINUTES - 12 * 3600
    hours, minutes = divmod(abs(later) // 60, 60)
    return f"HERE{'-' if later < 0 else '+'}{hours}:{minutes:02}"


def _same_everywhere(state: str) -> None:
    """Set the environment variables that change the pictures to fixed values. state: the folder for kac's state and the
    lake.
    """
    os.environ |= {
        # Set the time to noon, so that recent times are always of the same day, and equally wide.
        "TZ": noon(datetime.now(UTC)),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_STATE_HOME": state,
        "LOGNAME": "ops",
        "KAC_LAKE": f"{state}/lake",
    }
    os.environ.pop("NO_COLOR", None)
    time.tzset()


def _a_moment_ago() -> datetime:
    """Return the time of the lake's last data: three minutes before the start of the current minute."""
    return datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=3)


async def _collected(walking: AsyncIterator[tuple[str, str]]) -> dict[str, str]:
    return {name: picture async for name, picture in walking}


def stale(taken: dict[str, str]) -> list[str]:
    """Return the names of the kept pictures that differ from those taken now, and of files that no walk takes.

    Args:
        taken: name -> SVG of the pictures taken now.
    """
    kept = {path.stem: path.read_text(encoding="utf-8") for path in HERE.glob("*.svg")}
    others = (name for name, now in taken.items() if name not in kept or lasting(now) != lasting(kept[name]))
    return sorted((kept.keys() - pictures()).union(others))


def first_difference(taken: str, kept: str) -> str:
    """Return the first line in which two SVG pictures differ, as it is now and as it was; ``""`` if only their lengths
    differ.
    """
    lines = zip(lasting(taken).splitlines(), lasting(kept).splitlines(), strict=False)
    return next((f"  now {now}\n  was {was}\n" for now, was in lines if now != was), "")


def main() -> int:
    """Take all pictures. Write those that have changed, and delete those that no walk takes any more. With --check,
    write and delete nothing, and print the names of the pictures that differ.

    Returns:
        The exit code: 1 if --check found a difference, else 0.
    """
    only_check = "--check" in sys.argv[1:]
    taken = take(ANY_PORT if only_check else PORT, once="--once" in sys.argv[1:])
    old = stale(taken)
    if only_check:
        for name in old:
            print(f"{name} is not what the console shows: run make pictures")  # noqa: T201
            if name in taken and (path := HERE / f"{name}.svg").exists():
                print(first_difference(taken[name], path.read_text(encoding="utf-8")), end="")  # noqa: T201
        return 1 if old else 0
    for name in old:
        path = HERE / f"{name}.svg"
        if name in taken:
            path.write_text(taken[name], encoding="utf-8")
        else:
            path.unlink()
        print(path.name)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
