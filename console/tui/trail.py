"""The way back: where the operator came from, place by place."""

from __future__ import annotations

from console.tui.places import Place, up

LONGEST = 50


class Trail:
    """The place that is shown, those before it, and the last one."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._before: list[Place] = []
        self._last: Place | None = None

    def go(self, place: Place, *, aside: bool = False) -> None:
        """Show another place. One that was passed on the way is gone back to. aside: another part of the same thing,
        which is no step on the way."""
        if not aside:
            passed = self._before.index(place) if place in self._before else None
            self._before = self._before[:passed] if passed is not None else [*self._before, self.place][-LONGEST:]
        self._last, self.place = self.place, place

    def back(self) -> Place | None:
        """Where the way back leads: the place before, else the pane's own top; None at the end of it."""
        if self._before:
            return self._before[-1]
        return up(self.place)

    def last(self) -> Place | None:
        """The place before this one, whichever way."""
        return self._last
