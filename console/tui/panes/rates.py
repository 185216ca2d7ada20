"""Reads of rates for a view, in a worker, so that a broker that answers late delays only the rates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.model.cluster import Topic
from console.model.rates import Place, Rate, RateTotals
from console.tui.panes.view import View
from console.tui.reading import start

if TYPE_CHECKING:
    from textual.worker import Worker

log = logging.getLogger(__name__)


def read_rates(view: View, topics: Iterable[Topic] = ()) -> None:
    """Read the data from which rates are computed, in a worker: the log end offsets of the partitions of `topics`, and
    each time the next few of all other partitions and log directories, if they are due.

    Not part of `View.read`, because a broker that answers late must not delay the view.
    """
    places = [(topic.name, each.number) for topic in topics for each in topic.partitions]
    start(view, partial(_read, view, places), group="rates", name="rates")


async def _read(view: View, places: Sequence[Place]) -> None:
    try:
        await view.session.rates.read(places, view.cluster.contact.silent)
    except Exception:  # the screen has to continue after any error
        log.exception("reading for rates")


class ShownRates:
    """Rates of writes by topic and by leader; the same mapping object until a rate changes."""

    def __init__(self, view: View) -> None:
        """Create the rates. view: the view that is updated when rates were summed again."""
        self._view = view
        self._worker: Worker[None] | None = None

    def by_topic(self) -> Mapping[str, Rate]:
        """Return topic -> rate of writes; topics whose rate is unknown are missing."""
        return self._totals().topics

    def by_leader(self) -> Mapping[int, Rate]:
        """Return broker id -> rate of writes to the partitions that the broker leads; brokers with an unknown rate are
        missing.
        """
        return self._totals().leaders

    def _totals(self) -> RateTotals:
        session = self._view.session
        if not session.rates.is_summed_up(session.snapshot) and (self._worker is None or self._worker.is_finished):
            self._worker = start(self._view, self._sum_up, group="rate totals", name="rate totals")
        return session.rates.totals

    async def _sum_up(self) -> None:
        await self._view.session.rates.sum_up(self._view.snapshot)
        self._view.update()
