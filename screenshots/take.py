"""Takes every picture in this folder from the running console on a real cluster, by pressing keys.

``python -m screenshots.take`` starts three brokers with the demo data, walks, and writes the SVG files. Nothing here is
drawn by hand; `make pictures` runs it.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.commands.session import Session
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.tui.app import Console
from tests.support.demo_data import demo_cluster, seed

HERE = Path(__file__).parent
SIZES = {"-120x40": (120, 40), "": (80, 24)}
"""Suffix of the file -> columns, rows. Only the last walks to the end: what was applied can't be applied twice."""
WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)

Step = tuple[str, ...]
"""Keys to press one after another; ``text:…`` types, ``see:…`` waits until the screen shows a text."""

WALK: dict[str, Step] = {
    "topics": ("2", "see:checkout.payments"),
    "brokers": ("1", "see:ctrl"),
    "configs": ("2", "see:checkout.orders", "slash", "text:checkout.orders", "enter", "enter", "see:retention.ms"),
    "command-bar": ("colon", "text:set topic checkout.orders retention.ms=", "see:7d"),
    "quotas": ("escape", "4", "see:mirror-maker"),
    "acls": ("5", "see:User:mirror"),
    "groups": ("6", "see:billing"),
    "plan": (
        "colon",
        "text:set topic checkout.orders retention.ms=1d",
        "enter",
        "see:staged",
        "colon",
        "text:unset topic checkout.orders-dlq retention.ms",
        "enter",
        "colon",
        "text:set broker <default> log.cleaner.threads=4",
        "enter",
        "colon",
        "text:set broker 2 log.retention.ms=36h",
        "enter",
        "colon",
        "text:set user alice client <default> producer_byte_rate=2MiB/s",
        "enter",
        "7",
        "see:producer_byte_rate",
    ),
    "plan-checked": ("c", "see:✓"),
    "plan-apply": ("colon", "text:discard broker <default>", "enter", "A", "see:IncrementalAlterConfigs"),
    "plan-applied": ("y", "see:applied"),
}


LAST = "plan-applied"


def plain(svg: str) -> str:
    """Without fonts from the web: the viewer's own monospaced one serves, and no picture calls anywhere."""
    svg = WEB_FONT.sub("", svg).replace("Fira Code", "monospace")
    # Not every viewer takes the no-break spaces of an SVG for what they are.
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)


async def seen(app: Console, text: str, pause: Callable[[], Awaitable[None]]) -> None:
    """Until the screen shows the text; raises TimeoutError."""
    try:
        async with asyncio.timeout(20):
            while text not in shown(app):
                await pause()
    except TimeoutError:
        raise TimeoutError(f"{text!r} was not shown:\n{shown(app)}") from None


def shown(app: Console) -> str:
    """The screen as text."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def pictures() -> set[str]:
    """The names of all pictures, without the ending."""
    return {name + suffix for suffix in SIZES for name in WALK if name != LAST or suffix == ""}


async def walk(client: AdminClient, suffix: str) -> None:
    """Press every key of the walk and keep a picture after each part."""
    context = Context("demo", "pictures", client.settings)
    app = Console(Session(client, context), ConsoleSettings(theme="dark"))
    async with app.run_test(size=SIZES[suffix]) as pilot:
        for name, steps in WALK.items():
            if name + suffix not in pictures():
                continue
            for step in steps:
                kind, _, rest = step.partition(":")
                if kind == "see":
                    await seen(app, rest, pilot.pause)
                elif kind == "text":
                    await pilot.press(*rest)
                else:
                    await pilot.press(step)
            await pilot.pause()
            (HERE / f"{name}{suffix}.svg").write_text(plain(app.export_screenshot(title="kac")))
            print(f"{name}{suffix}.svg")  # noqa: T201
        await pilot.press("escape")


def main() -> int:
    """Take them all."""
    with demo_cluster() as cluster:
        seed(cluster.addresses)
        with AdminClient(ConnectionSettings(cluster.addresses)) as client:
            for suffix in SIZES:
                asyncio.run(walk(client, suffix))
    return 0


if __name__ == "__main__":
    sys.exit(main())
