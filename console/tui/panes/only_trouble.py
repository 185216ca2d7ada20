"""`!`: the filter that keeps only rows in trouble, by the rules of triage, and the text of a view without such rows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from console.model.derived import same
from console.present.text import clean
from console.session.snapshot_reader import MANY
from console.tui.reading import start

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.worker import Worker

    from console.model.snapshot import Snapshot
    from console.triage.observations import Observations
    from console.triage.symptoms import Poll
    from console.triage.trouble import Troubles
    from console.tui.watch import ShownCluster


class OnlyTrouble:
    """The entities in trouble. They are computed once for each state of the cluster; in a cluster with many topics, on
    another thread.
    """

    def __init__(self, node: DOMNode, cluster: ShownCluster, redraw: Callable[[], None]) -> None:
        """Create the filter; this computes nothing yet.

        Args:
            node: the node that runs its worker.
            cluster: has the session, the brokers that do not answer, and the throttles that open operations have set;
                such a throttle is no trouble.
            redraw: redraws the view when a result arrives.
        """
        self._node, self._cluster, self._redraw = node, cluster, redraw
        self._snapshot: Snapshot | None = None
        self._beside: tuple[object, ...] = ()
        self._made_from: tuple[object, ...] = ()
        self._found: Troubles | None = None
        self._worker: Worker[None] | None = None

    @property
    def found(self) -> Troubles:
        """The keys of everything in the cluster that is in trouble. While another thread computes, the previous result;
        empty if there is none.
        """
        cluster = self._cluster
        snapshot, beside = cluster.session.snapshot, (cluster.contact.silent, cluster.triage.observations)
        # Compare identities: this is called for each of 100,000 rows.
        if snapshot is not self._snapshot or beside[0] is not self._beside[0] or beside[1] is not self._beside[1]:
            self._snapshot, self._beside = snapshot, beside
            self._look(snapshot, *beside)
        return self._found or _nothing()

    def _look(self, snapshot: Snapshot, silent: frozenset[int], observations: Observations | None) -> None:
        """Compute the entities in trouble; no-op if the data are the same as in the last call."""
        from console.triage.symptoms import Poll
        from console.triage.trouble import troubles

        own = observations.last.own_throttles if observations is not None else frozenset()
        made_from = (
            snapshot.cluster,
            snapshot.topics,
            snapshot.configs,
            snapshot.groups,
            snapshot.lags,
            snapshot.lag_trends,
            snapshot.log_dirs,
            snapshot.log_ranges,
            snapshot.quorum,
            snapshot.reassignments,
            silent,
            own,
        )
        if same(made_from, self._made_from):
            return
        poll = Poll(datetime.now(UTC), snapshot, frozenset(silent), own_throttles=own)
        if len(snapshot.topics) <= MANY:
            self._made_from, self._found = made_from, troubles(poll)
        elif self._worker is None or self._worker.is_finished:
            self._made_from = made_from
            self._worker = start(self._node, partial(self._compute, poll), group="trouble", name="trouble")

    async def _compute(self, poll: Poll) -> None:
        from console.triage.trouble import troubles

        self._found = await asyncio.to_thread(troubles, poll)
        self._snapshot = None  # let the next access check for changes since then
        self._redraw()

    def calm(self, calm: str, wanted: str) -> str:
        """Return the text of a view that shows only rows in trouble and has none.

        Args:
            calm: the view's own sentence for this case, such as ``no connector is in trouble``.
            wanted: the view's filter; ``""`` without a filter.
        """
        if self._found is None and self._worker is not None:
            return "looking for what is in trouble…"
        passes = f" and passes /{clean(wanted, 60)}" if wanted else ""
        return f"{calm}{passes}; `!` shows all"


def _nothing() -> Troubles:
    from console.triage.trouble import Troubles

    return Troubles()
