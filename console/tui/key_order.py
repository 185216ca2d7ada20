"""Keeps keys in order: a key typed ahead waits until the widget that the key before it led to has the focus."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from textual import events
from textual.app import App, SuspendNotSupported
from textual.message_pump import MessagePump

log = logging.getLogger(__name__)

Result = TypeVar("Result")

PASSING = frozenset({"goto", "command", "palette", "check", "apply"})
"""Names of the workers that run the operator's requests; a key typed ahead waits until they have ended."""
TYPING = "typing"
"""Name of the worker that reads names to complete a half-typed command."""
PATIENCE = 1.0
"""Seconds after which a key counts as handled in any case: a widget that was removed meanwhile never reports that it
has handled the key.
"""
AHEAD = 0.15
"""Maximum seconds between two keys for the second to count as typed ahead: in that time the operator can't have seen
the effect of the first.
"""
LONGEST = 5.0
"""Maximum seconds for which a key typed ahead waits for the work of the key before it."""
ALT = "alt+"
CHECK_EVERY = 0.01
"""Seconds between two checks while a key waits."""
RESTS = 8
"""Number of successive checks that must find no widget with messages before the next key is passed on. Between two
checks the event loop runs one round; a worker or a timer may need several rounds before it sends a message.
"""
A_LOOK = 0.002
"""Seconds. A round of the event loop counts as one check, and each full `A_LOOK` of its duration as one more,
because a loop that is busy with other work runs fewer rounds.
"""
ROUNDS = 20
"""Maximum number of rounds of messages for which `no_messages` waits, as messages cause further ones. After the last
round, the next key is passed on in any case.
"""


class Typed(NamedTuple):
    """A key or a paste that the terminal sent."""

    event: events.Key | events.Paste
    ahead: bool
    """Whether the key or paste was typed before the operator can have seen the effect of the key before it."""


class KeysInOrder(App[Result]):
    """An app that holds a key back until the work that the key before it caused is done.

    Textual passes keys to the widget that has the focus when they arrive. Over a slow link several arrive at once: the
    letters of ``:set`` would go to the table, as commands, while the colon is still opening the command bar. The work
    is done when the key's handlers have returned and no widget has a message left, since handlers post messages, also
    to move the focus. For a key typed ahead, `is_busy` must also be False.
    """

    _held: deque[Typed]
    _under_way: events.Event | None = None
    _since = 0.0
    _arrived = 0.0
    _settling: asyncio.Task[None] | None = None
    _held_output = False
    """Whether the last key was Ctrl-S. A Ctrl-Q right after it does not quit, since users type it to resume the
    output that Ctrl-S stops elsewhere.
    """
    keys_seen = 0
    """Number of keys and pastes that were passed on so far."""

    @property
    def keys_under_way(self) -> bool:
        """Whether a key has arrived whose work is not done yet; False once the app exits."""
        waiting = self._under_way is not None or self._settling is not None or bool(getattr(self, "_held", ()))
        return waiting and not self._exit

    def is_busy(self, event: events.Event) -> bool:  # noqa: ARG002
        """Return whether this key has to wait for work of earlier keys, apart from messages; False by default.

        Called for keys typed ahead. Subclasses override it.
        """
        return False

    def busy_with(self) -> str:
        """Return the work that must not be interrupted, as text; ``""``, the default, if there is none. Subclasses
        override it.
        """
        return ""

    def tell(self, text: str) -> None:
        """Show a text to the operator. Subclasses override it."""

    def _is_the_terminals(self, event: events.Event) -> bool:
        """Handle a key that terminals and shells reserve. Ctrl-Z suspends kac; Ctrl-S, which stops output elsewhere,
        and a Ctrl-Q after it only show a message.

        Returns:
            Whether the key is one of these.
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

    @contextmanager
    def suspend(self) -> Iterator[None]:
        r"""Leave the terminal to another program while the ``with`` block runs. kac ignores Ctrl-C and Ctrl-\ during
        that time. Raises SuspendNotSupported if the app's driver can't leave the terminal.
        """
        from console.programs import OF_KEYS, ignoring

        failed: BaseException | None = None
        with super().suspend(), ignoring(*OF_KEYS):
            try:
                yield
            except BaseException as error:  # noqa: BLE001 - raised below: Textual would not take the terminal back
                failed = error
        if failed is not None:
            raise failed

    def suspend_job(self) -> None:
        """Stop this process until the shell continues it, as Ctrl-Z does for a program that reads no keys; then redraw.
        During an apply, only show a message.

        It stops the whole process group, because the parent of this process (make, a script) has to return control to
        the shell. If no shell could continue the job, the kernel does not stop it.
        """
        if why := self.busy_with():
            self.tell(f"{why}: Ctrl-Z once that is over")
            return
        try:
            with self.suspend():
                before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
                os.killpg(0, signal.SIGTSTP)
                signal.signal(signal.SIGTSTP, before)
        except (SuspendNotSupported, ValueError):  # there is no terminal, or this is not the main thread
            self.tell("this screen can't be suspended")

    async def on_event(self, event: events.Event) -> None:
        """Pass on a key, or hold it back until the work of the keys before it is done. Pass on other events at once."""
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
        """Start a task that passes on the next key once the work of the keys before it is done."""
        self._settling = asyncio.create_task(self._at_rest(), name="keys")
        self._settling.add_done_callback(self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self._settling = None
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            # Pass the key on after an error: a key too early is better than none, as one of them quits.
            log.error("the console could not wait for its widgets before a key", exc_info=error)
        self.call_next(self._hand_on)

    async def _at_rest(self) -> None:
        await self.no_messages()
        began = monotonic()
        while self._held and self._held[0].ahead and monotonic() - began < LONGEST:
            if not self.is_busy(self._held[0].event):
                break
            await asyncio.sleep(CHECK_EVERY)
            await self.no_messages()

    async def no_messages(self) -> None:
        """Wait until no widget has a message left and the layout has placed each widget. Give up after `ROUNDS` rounds
        of messages, or if a widget does not handle a message within `PATIENCE` seconds.

        Each round sends a message to the widgets that still handle other messages. The wait ends after `RESTS`
        successive checks that find no widget with messages.
        """
        began, sent, rested = monotonic(), 0, 0
        while sent < ROUNDS and rested < RESTS:
            # Send messages only to widgets that are not waiting: Textual takes longer to dispatch forty messages than
            # to handle most keys.
            reached = [one for pump in self._pumps() if not waits(pump) if (one := _noted(pump)) is not None]
            if reached:
                sent, rested = sent + 1, 0
                if (await asyncio.wait(reached, timeout=PATIENCE))[1]:
                    return
            elif self._is_to_be_laid_out() and monotonic() - began < PATIENCE:
                # A timer of the screen will lay it out, which no queue shows: a key before that would see the former
                # sizes.
                await asyncio.sleep(CHECK_EVERY)
            else:
                looked = monotonic()
                await asyncio.sleep(0)
                rested += 1 + int((monotonic() - looked) / A_LOOK)

    def _is_to_be_laid_out(self) -> bool:
        """Return whether the topmost screen still has to compose its widgets or lay them out."""
        screen = self.screen_stack[-1] if self.screen_stack else None
        return screen is not None and (screen._layout_required or screen._recompose_required)

    def _pumps(self) -> Iterator[MessagePump]:
        """Yield the objects that handle messages: the app, its screens and all of their widgets."""
        yield self
        for screen in self.screen_stack:
            yield screen
            yield from screen.walk_children()

    async def _hand_on(self) -> None:
        self._under_way = None
        if not self._held or self._exit:  # once the app exits, no screen can receive a key
            return
        event = self._held.popleft().event
        if isinstance(event, events.Key) and event.key.startswith(ALT) and not self._is_bound(event.key):
            # Esc and a key that arrive together look like that key with Alt: pass on both.
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
        """Count the event as handled if the focused widget stopped it, or if the event is a paste. A key that no
        widget stopped goes up to the app.
        """
        if event._stop_propagation or isinstance(event, events.Paste):
            self._done(event)

    async def _on_key(self, event: events.Key) -> None:
        """Run the app's bindings for a key that no widget stopped, then count the key as handled."""
        await super()._on_key(event)
        # Prevent Textual from calling the handlers of the bases after this one, which has called them already.
        event.prevent_default()
        self._done(event)

    def _done(self, event: events.Event) -> None:
        if event is self._under_way and self._settling is None:
            self._settle()


def waits(pump: MessagePump) -> bool:
    """Return whether a widget has no message to handle, or no longer handles messages."""
    ready: Any = pump._message_queue.ready_event
    if ready.is_set() or pump._pending_message is not None:
        return pump._closing or pump._closed
    # asyncio has no public attribute for the waiters of an event; a Python without this one sends each widget a message
    # instead.
    waiters = getattr(ready, "_waiters", ())
    return any(not each.done() for each in waiters) or pump._closing or pump._closed


def _noted(pump: MessagePump) -> asyncio.Future[None] | None:
    """Send a widget a message. Return the future that is done once the widget handles it; None if the widget handles no
    messages any more.
    """
    one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    return one if pump.call_later(_note, one) else None


def _note(one: asyncio.Future[None]) -> None:
    if not one.done():
        one.set_result(None)
