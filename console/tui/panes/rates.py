"""The reads of rates for a view: beside its own, so that a slow broker holds up nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from console.model.cluster import Topic
from console.model.rates import Place, Rate, RateTotals
from console.model.snapshot import Snapshot
from console.tui.panes.view import View
from console.tui.reading import start

log = logging.getLogger(__name__)


def read_rates(view: View, topics: Iterable[Topic] = ()) -> None:
    """Read the log end offsets of these topics' partitions and of the next others in turn, in a worker.

    Not within `View.read`: a broker that is slow to answer must not hold up the view.
    """
    places = [(topic.name, each.number) for topic in topics for each in topic.partitions]
    start(view, partial(_read, view, places), group="rates", name="rates")


async def _read(view: View, places: Sequence[Place]) -> None:
    try:
        await view.session.rates.read(places, view.cluster.contact.silent)
    except Exception:  # the screen has to go on, whatever one read ran into
        log.exception("reading for rates")


class ShownRates:
    """Rates by topic and by leader, computed once for each read; the same mapping while no rate has changed."""

    def __init__(self) -> None:
        self._totals = RateTotals()
        self._leaders: Mapping[int, Rate] = {}

    def by_topic(self, snapshot: Snapshot) -> Mapping[str, Rate]:
        """Return the rate of each topic whose rate is known."""
        self._is_new(snapshot)
        return self._totals.topics

    def by_leader(self, snapshot: Snapshot) -> Mapping[int, Rate]:
        """Return broker id -> rate of writes to the partitions that it leads, where known."""
        if self._is_new(snapshot) and (leaders := self._totals.leaders()) != self._leaders:
            self._leaders = leaders
        return self._leaders

    def _is_new(self, snapshot: Snapshot) -> bool:
        """Return whether the snapshot has other rates or topics than before, and take them."""
        known = self._totals
        if snapshot.rates is known.rates and snapshot.topics is known.made_of:
            return False
        self._totals = known.after(snapshot.rates, snapshot.topics)
        return True
