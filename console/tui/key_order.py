"""Keys one after the other: what is typed ahead goes where the key before it led."""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TypeVar

from textual import events
from textual.app import App

Result = TypeVar("Result")

PATIENCE = 1.0
"""Seconds after which a key counts as done whose widget went away before it could say so."""


class KeysInOrder(App[Result]):
    """Holds a key back until the one before it has been carried out.

    Textual hands keys to what has the focus when they arrive. Over a slow link several arrive at once, so that of
    ``:set`` the letters would still go to the table, as commands, while the colon is only opening the command bar.
    """

    _held: deque[events.Key | events.Paste]
    _under_way: events.Event | None = None
    _since = 0.0
    keys_seen = 0
    """How many keys were handed on."""

    @property
    def keys_under_way(self) -> bool:
        """Whether a key that arrived has not been carried out yet."""
        return self._under_way is not None or bool(getattr(self, "_held", ()))

    async def on_event(self, event: events.Event) -> None:
        """Hand on a key, or hold it back."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        if not hasattr(self, "_held"):
            self._held = deque()
        self._held.append(event)
        if self._under_way is None or monotonic() - self._since > PATIENCE:
            await self._hand_on()

    async def _hand_on(self) -> None:
        self._under_way = None
        if not self._held:
            return
        event = self._under_way = self._held.popleft()
        self._since = monotonic()
        self.keys_seen += 1
        target = self.focused or self.screen
        await super().on_event(event)
        if event.is_forwarded:
            target.call_later(self._after_widget, event)
        else:
            self._done(event)

    def _after_widget(self, event: events.Event) -> None:
        """The widget has had the key: unless it kept it, the key goes up to the app."""
        if event._stop_propagation or isinstance(event, events.Paste):
            self._done(event)

    async def _on_key(self, event: events.Key) -> None:
        """A key that nobody kept has come up to the app, whose bindings carry it out."""
        await super()._on_key(event)
        event.prevent_default()
        self._done(event)

    def _done(self, event: events.Event) -> None:
        if event is self._under_way:
            # Later, so that a change of the focus comes first, which Textual puts off too.
            self.call_later(self._hand_on)
