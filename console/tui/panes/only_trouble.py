"""`!`: a view that shows only what is in trouble, by one rule with triage; and what stands in it where nothing is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.present.text import clean

if TYPE_CHECKING:
    from console.triage.trouble import Troubles
    from console.tui.watch import ShownCluster


class OnlyTrouble:
    """What is in trouble; computed once for each state of the cluster."""

    def __init__(self, cluster: ShownCluster) -> None:
        """Create it with nothing computed.

        Args:
            cluster: knows the brokers that do not answer, and the throttles that open operations set: no trouble.
        """
        self._cluster = cluster
        self._made_from: tuple[object, ...] = ()
        self._found: Troubles | None = None

    @property
    def found(self) -> Troubles:
        """Everything in the cluster that is in trouble."""
        from console.triage.symptoms import Poll
        from console.triage.trouble import troubles

        cluster = self._cluster
        snapshot, silent, observations = cluster.session.snapshot, cluster.contact.silent, cluster.triage.observations
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
        is_old = len(made_from) != len(self._made_from)
        if is_old or any(a is not b for a, b in zip(made_from, self._made_from, strict=True)):
            poll = Poll(datetime.now(UTC), snapshot, frozenset(silent), own_throttles=own)
            self._made_from, self._found = made_from, troubles(poll)
        assert self._found is not None
        return self._found

    def calm(self, calm: str, wanted: str) -> str:
        """Return the text of a view in which nothing is in trouble.

        Args:
            calm: says so in the view's words.
            wanted: the filter, ``""`` for none.
        """
        passes = f" and passes /{clean(wanted, 60)}" if wanted else ""
        return f"{calm}{passes}; `!` shows all"
