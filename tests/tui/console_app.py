"""A driver by which tests use the console without a terminal, on a model cluster or an embedded one."""

import asyncio
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from textual import events
from textual.app import ScreenError
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.message_pump import MessagePump
from textual.pilot import Pilot

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.console_settings import ConsoleSettings
from console.contexts.context import Context
from console.model.config import CLUSTER_DEFAULT, topic_resource
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.session.session import Session
from console.tui.app import Console
from console.tui.key_order import waits
from tests.support import worlds
from tests.support.model_cluster import ModelCluster
from tests.support.patience import PATIENCE
from tests.tui.model_client import ModelClient, lag

PASSING = ("goto", "command", "check", "apply", "palette")
"""Names of the console's workers that end by themselves, so that tests can wait for them."""
SPELL = 0.005
"""Seconds between two checks in a wait."""
ROUNDS, MANY = 4, 60
"""Rounds of the event loop: until a driver's message has arrived, and until a wait begins to sleep between checks."""


def cluster() -> ModelCluster:
    """Return a model cluster with two brokers, topics with and without configs of their own, and quotas."""
    made = ModelCluster()
    made.topics = {"orders": 3, "payments": 1, "audit": 2}
    made.configs = {
        topic_resource("orders"): {"retention.ms": "604800000", "cleanup.policy": "compact,delete"},
        topic_resource("payments"): {},
        topic_resource("audit"): {},
        CLUSTER_DEFAULT: {},
    }
    made.quotas = {
        QuotaEntity.of({"user": None}): {"producer_byte_rate": 10_000_000.0},
        QuotaEntity.of({"user": "alice"}): {"consumer_byte_rate": 50_000_000.0, "request_percentage": 200.0},
        QuotaEntity.of({"user": "alice", "client-id": None}): {"producer_byte_rate": 1_000_000.0},
        QuotaEntity.of({"user": "alice", "client-id": "checkout"}): {"producer_byte_rate": 5_000_000.0},
    }
    return made


def context(**changes: Any) -> Context:
    """Return a context without restrictions. changes: its fields to replace; `connection` is the settings of the
    connection, by default for 127.0.0.1:9092.
    """
    plain = ConnectionSettings((("127.0.0.1", 9092),))
    return Context("test", "tests", changes.pop("connection", plain), **changes)


def _character(key: str) -> str | None:
    """Return the character that a key with this name in Textual types; None if it types none."""
    try:
        return unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(key, key)))
    except KeyError:
        return key if len(key) == 1 else None


class Driven:
    """An open console with its client. Tests read its screen and press its keys."""

    def __init__(self, app: Console, pilot: Pilot[Any], client: Any) -> None:
        """client: the client of the console's session, a `ModelClient`, or a real one for tests that check requests."""
        self.app = app
        self.pilot = pilot
        self.client = client

    @property
    def lines(self) -> list[str]:
        """Return all lines of the screen, without trailing blanks."""
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        """Return all lines of the screen as one text."""
        return "\n".join(self.lines)

    @property
    def rows(self) -> list[str]:
        """Return the lines of the list in the current view, without the lines of its details."""
        region = self.app.view.lines.region
        return [line[region.x : region.right].rstrip() for line in self.lines[region.y : region.bottom]]

    def row(self, part: str) -> str:
        """Return the first line of the list that contains the text; ``""`` if no line does."""
        return next((line for line in self.rows if part in line), "")

    @property
    def edits(self) -> list[Any]:
        """Return the edits of the staged plan, in their order."""
        return [each.edit for each in self.app.session.plan.staged]

    def line(self, part: str) -> str:
        """Return the first line of the screen that contains the text. Raises AssertionError if no line does."""
        found = next((line for line in self.lines if part in line), None)
        if found is None:
            raise AssertionError(f"no line contains {part!r} in\n{self.text}")
        return found

    @asynccontextmanager
    async def _patiently(self, what: str) -> AsyncIterator[None]:
        """Limit the waits within the block to `PATIENCE` seconds. Raises AssertionError after this time, with the
        screen and with `what`, the awaited text or state.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                yield
        except TimeoutError:
            raise AssertionError(f"{what} did not come in {PATIENCE:g} s:\n{self.text}") from None

    async def press(self, *keys: str, shows: str | tuple[str, ...] = ()) -> None:
        """Press keys without pauses, and wait until the work that they start is done.

        Args:
            keys: Textual's names of the keys.
            shows: a text, or several, to wait for afterwards; ``()`` for none. `type` and `command` have the same
                argument.
        """
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            event = events.Key(_character_to_key(key) if len(key) == 1 and not key.isalnum() else key, _character(key))
            event.set_sender(self.app)
            driver.send_message(event)
        await self.painted()
        async with self._patiently(f"the end of the keys {keys}"):
            while self.app.keys_under_way:
                await asyncio.sleep(SPELL)
                await self.painted()
        await self.settle()
        await self.shows(*((shows,) if isinstance(shows, str) else shows))

    async def type(self, text: str, *keys: str, shows: str | tuple[str, ...] = ()) -> None:
        """Type a text, then press keys."""
        await self.press(*("space" if char == " " else char for char in text), shows=() if keys else shows)
        if keys:
            await self.press(*keys, shows=shows)

    async def command(self, text: str, shows: str | tuple[str, ...] = ()) -> None:
        """Open the command bar, type a command, and press Enter."""
        await self.press("colon")
        self.app.bar.line.open(text=text)
        await self.press("enter", shows=shows)

    async def filter(self, text: str, shows: str | tuple[str, ...] = ()) -> None:
        """Type a text into the filter of the list, and press Enter."""
        await self.press("slash")
        await self.type(text, "enter", shows=shows)

    async def painted(self) -> None:
        """Wait until all widgets have handled their messages and those that follow from them, and until the screen is
        laid out.
        """
        async with self._patiently("a painted screen"):
            await self._rest()
            self._lay_out()
            await self._rest()

    async def _rest(self) -> None:
        """Wait until every widget waits for a message, twice in succession, because between two checks a message may be
        on its way from one widget to another.

        It does not use Textual's pilot, which sends each widget a message: Textual would take longer to dispatch these
        messages than to do everything else in a test.
        """
        checks, rested = 0, 0
        while rested < 2 and not self.app._exception_event.is_set():
            await asyncio.sleep(0 if checks < MANY else SPELL)
            checks += 1
            # A driver's message arrives after some rounds of the loop.
            rested = rested + 1 if checks > ROUNDS and all(map(waits, self._pumps())) else 0

    def _pumps(self) -> list[MessagePump]:
        """Return the app, the screen and its widgets; empty if there is no screen."""
        with suppress(ScreenError):
            return [self.app, *self.app.screen.walk_children(with_self=True)]
        return []

    def _lay_out(self) -> None:
        """Lay out the screen now, not up to a sixtieth of a second later."""
        with suppress(ScreenError):
            self.app.screen._on_timer_update()

    async def settle(self) -> None:
        """Wait until all work in progress is done and its results are on the screen."""
        while True:
            await self.painted()
            under_way = any(worker.name in PASSING and not worker.is_finished for worker in self.app.workers)
            # Do not wait for a worker while the bar is open: after its reads it may ask a question, and wait for the
            # answer.
            if (under_way and not self.app.bar.line.is_open) or self.app.applying.busy:
                await asyncio.sleep(2 * SPELL)
            else:
                return

    async def until(self, holds: Callable[[], bool], what: str = "") -> None:
        """Wait until `holds` returns true. If it raises AssertionError, as for a missing line, it counts as false.
        Raises AssertionError after `PATIENCE` seconds. what: the awaited state, for the message.
        """

        def is_so() -> bool:
            with suppress(AssertionError):
                return holds()
            return False

        # Each check draws the whole screen, so the pauses grow.
        pause = 2 * SPELL
        async with self._patiently(what or "what is waited for"):
            while not is_so():
                await asyncio.sleep(pause)
                self._lay_out()
                pause = min(1.5 * pause, 10 * SPELL)
        assert holds(), what or self.text
        # Paint also other changes of the same moment, such as the mark of a row, before the test reads the screen.
        await self.painted()

    async def watches(self, *parts: Part) -> None:
        """Wait until triage has read these kinds of data once, so that it can detect later changes in them."""

        def has_read() -> bool:
            observations = self.app.triage.observations
            return observations is not None and observations.last.snapshot.read_at.keys() >= {*parts}

        await self.until(has_read, f"the first read of {', '.join(parts)}")

    async def fix(self) -> None:
        """Stage the fix of the cause under the cursor by the key F. If the cursor moved there by itself, the first F
        only names the cause, so press F up to three times. Raises AssertionError if nothing is staged then.
        """
        for _ in range(3):
            if not self.edits:
                await self.press("F")
        assert self.edits, self.text

    async def shows(self, *parts: str) -> None:
        """Wait until these texts are on the screen, for one after the other."""
        for part in parts:
            await self.until(lambda part=part: part in self.text, repr(part))  # type: ignore[misc]


@asynccontextmanager
async def driven(
    client: ModelClient | None = None,
    size: tuple[int, int] = (80, 24),
    settings: ConsoleSettings | None = None,
    **changes: Any,
) -> AsyncIterator[Driven]:
    """Open the console on a model cluster, and yield it once it shows the topics, or at once if `settings` are given
    or the client is lost. client: None for a new model. settings: None for the console's defaults. changes:
    fields of the context.
    """
    client = client or ModelClient(cluster(), groups={"billing": lag("orders", 5, 0, 37)})
    app = Console(Session(client, context(**changes)), settings or ConsoleSettings(start_pane="topics", refresh=0.2))
    async with app.run_test(size=size) as pilot:
        it = Driven(app, pilot, client)
        if client.lost is None and settings is None:
            await it.shows("orders")
        yield it


class HasBootstrap(Protocol):
    """An embedded or a real cluster, of which the console needs only the bootstrap servers."""

    @property
    def bootstrap(self) -> str:
        """Return the addresses as ``host:port,…``."""
        ...


@asynccontextmanager
async def driven_on(
    cluster: HasBootstrap,
    size: tuple[int, int] = (80, 24),
    settings: ConsoleSettings | None = None,
    start_pane: str = "topics",
    shows: str | tuple[str, ...] = (),
    **changes: Any,
) -> AsyncIterator[Driven]:
    """Open the console on a cluster with a real client, and yield it.

    Args:
        settings: the settings of the console; None for the pane `start_pane`, refreshed every 0.2 seconds.
        shows: texts to wait for.
        changes: fields of the context, and of its connection: ``schemas``, ``connect`` and ``request_timeout``.
    """
    named = ("schemas", "connect", "request_timeout")
    connected = {name: changes.pop(name) for name in named if name in changes}
    with AdminClient(worlds.settings(cluster, **connected)) as client:
        app = Console(
            Session(client, Context("test", "tests", client.settings, **changes)),
            settings or ConsoleSettings(start_pane=start_pane, refresh=0.2),
        )
        async with app.run_test(size=size) as pilot:
            it = Driven(app, pilot, client)
            await it.shows(*((shows,) if isinstance(shows, str) else shows))
            yield it
