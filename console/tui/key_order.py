"""Keys one after the other: what is typed ahead goes where the key before it led."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Iterator
from time import monotonic
from typing import NamedTuple, TypeVar

from textual import events
from textual.app import App, SuspendNotSupported
from textual.message_pump import MessagePump

Result = TypeVar("Result")

PASSING = frozenset({"goto", "command", "palette", "check", "apply"})
"""Names of the workers that run the operator's requests: a key that was typed ahead waits for them."""
TYPING = "typing"
"""Name of the worker that reads what the completion of a half-typed command needs."""
PATIENCE = 1.0
"""Seconds after which a key counts as handled, because its widget may have been removed before it reported that."""
AHEAD = 0.15
"""Seconds: a key that follows another sooner was typed before the operator can have seen what the other did."""
LONGEST = 5.0
"""Seconds at most for which a key that was typed ahead waits for what the one before it began."""
ALT = "alt+"
CHECK_EVERY = 0.01
"""Seconds between two checks of that, while a key waits."""
ROUNDS = 20
"""How often messages may lead to further messages before a key is passed on nevertheless."""


class Typed(NamedTuple):
    """A key or a paste that arrived. ahead: before the operator can have seen what the one before it did."""

    event: events.Key | events.Paste
    ahead: bool


class KeysInOrder(App[Result]):
    """Holds a key back until what the one before it began has come to rest.

    Textual hands keys to what has the focus when they arrive. Over a slow link several arrive at once, so that of
    ``:set`` the letters would still go to the table, as commands, while the colon is only opening the command bar. What
    a key began is at rest when its handlers are through and no widget has a message left to handle, since handlers post
    messages, and move the focus by one; for a key that was typed ahead, also when `is_busy` no longer holds.
    """

    _held: deque[Typed]
    _under_way: events.Event | None = None
    _since = 0.0
    _arrived = 0.0
    _settling: asyncio.Task[None] | None = None
    _held_output = False
    """Whether the last key was Ctrl-S."""
    keys_seen = 0
    """How many keys were handed on."""

    @property
    def keys_under_way(self) -> bool:
        """Whether a key that arrived has not been carried out yet."""
        waiting = self._under_way is not None or self._settling is not None or bool(getattr(self, "_held", ()))
        return waiting and not self._exit

    def is_busy(self, event: events.Event) -> bool:  # noqa: ARG002
        """Return whether something that earlier keys began, beside messages, has to end before this key is passed on.

        Called for keys that were typed ahead. Subclasses override it.
        """
        return False

    def busy_with(self) -> str:
        """Return what must not be interrupted now, ``""`` if nothing is under way. Subclasses override it."""
        return ""

    def tell(self, text: str) -> None:
        """Say something to the operator. Subclasses override it."""

    def _is_the_terminals(self, event: events.Event) -> bool:
        """Carry out a key that terminals and shells have for themselves, on any screen: Ctrl-Z suspends; Ctrl-S, which
        once held the output, does nothing, and neither does the Ctrl-Q that is typed to let it go on.

        Returns:
            Whether it was one.
        """
        key = event.key if isinstance(event, events.Key) else ""
        held, self._held_output = self._held_output, key == "ctrl+s"
        if key == "ctrl+s":
            self.tell("Ctrl-S holds nothing here: p pauses the refresh")
        elif key == "ctrl+q" and held:
            self.tell("Ctrl-S held nothing, so there is nothing to let go on; q leaves")
        elif key == "ctrl+z":
            self.suspend_job()
        else:
            return False
        return True

    def suspend_job(self) -> None:
        """Stop the job that this is in, as Ctrl-Z does where a program does not read keys, and draw again after it.

        All of the process group, because what waits for this one (make, a script) has to give the shell its turn. Where
        no shell could continue it, the kernel stops nothing.
        """
        if why := self.busy_with():
            self.tell(f"{why}: Ctrl-Z once that is over")
            return
        try:
            with self.suspend():
                before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
                os.killpg(0, signal.SIGTSTP)
                signal.signal(signal.SIGTSTP, before)
        except (SuspendNotSupported, ValueError):  # no terminal, or not the main thread
            self.tell("this screen can't be suspended")

    async def on_event(self, event: events.Event) -> None:
        """Pass on a key, or hold it back."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        if not hasattr(self, "_held"):
            self._held = deque()
        now = monotonic()
        self._held.append(Typed(event, now - self._arrived < AHEAD))
        self._arrived = now
        if self._settling is not None:
            return
        if self._under_way is None or now - self._since > PATIENCE:
            self._under_way = None
            self._settle()

    def _settle(self) -> None:
        """Pass on the next key as soon as nothing is under way."""
        self._settling = asyncio.create_task(self._at_rest(), name="keys")
        self._settling.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling = None
        if not task.cancelled() and task.exception() is None:
            self.call_next(self._hand_on)

    async def _at_rest(self) -> None:
        await self._no_messages()
        began = monotonic()
        while self._held and self._held[0].ahead and monotonic() - began < LONGEST:
            if not self.is_busy(self._held[0].event):
                break
            await asyncio.sleep(CHECK_EVERY)
            await self._no_messages()

    async def _no_messages(self) -> None:
        """Wait until no widget has a message left.

        Each one is sent a message of ours, again and again, until it was the only one in every queue.
        """
        for _ in range(ROUNDS):
            pumps = list(self._pumps())
            had = [asyncio.get_running_loop().create_future() for _ in pumps]
            busy = any(not pump._message_queue.empty() for pump in pumps)
            for pump, one in zip(pumps, had, strict=True):
                if not pump.call_later(_note, pump, one):
                    one.set_result(False)
            _, late = await asyncio.wait(had, timeout=PATIENCE)
            if late or not (busy or any(one.result() for one in had)):
                return

    def _pumps(self) -> Iterator[MessagePump]:
        """Yield all that handle messages of the screen."""
        yield self
        for screen in self.screen_stack:
            yield screen
            yield from screen.walk_children()

    async def _hand_on(self) -> None:
        self._under_way = None
        if not self._held or self._exit:  # where the app ends, no screen is left to have a key
            return
        event = self._held.popleft().event
        if isinstance(event, events.Key) and event.key.startswith(ALT) and not self._is_bound(event.key):
            # Esc and a key that arrive together look like that key with Alt.
            behind = events.Key(event.key.removeprefix(ALT), event.character)
            event = events.Key("escape", "\x1b")
            for key in (event, behind):
                key.set_sender(self)
            self._held.appendleft(Typed(behind, ahead=True))
        self._under_way = event
        self._since = monotonic()
        self.keys_seen += 1
        if self._is_the_terminals(event):
            self._done(event)
            return
        target = self.focused or self.screen
        await super().on_event(event)
        if event.is_forwarded:
            target.call_later(self._after_widget, event)
        else:
            self._done(event)

    def _is_bound(self, key: str) -> bool:
        return any(key in bindings.key_to_bindings for _, bindings in self.screen._modal_binding_chain)

    def _after_widget(self, event: events.Event) -> None:
        """Count a key as handled that the focused widget kept; others go up to the app."""
        if event._stop_propagation or isinstance(event, events.Paste):
            self._done(event)

    async def _on_key(self, event: events.Key) -> None:
        """Count a key as handled that no widget kept, after the app's bindings have carried it out."""
        await super()._on_key(event)
        event.prevent_default()
        self._done(event)

    def _done(self, event: events.Event) -> None:
        if event is self._under_way and self._settling is None:
            self._settle()


def _note(pump: MessagePump, had: asyncio.Future[bool]) -> None:
    """Report whether a pump has messages behind the one that was sent to it."""
    if not had.done():
        had.set_result(not pump._message_queue.empty() or bool(pump._next_callbacks))
