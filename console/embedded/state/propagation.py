"""Which changes each broker knows of by now."""

from __future__ import annotations

import asyncio

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.tables import View


class Propagation:
    """Changes reach the controller at once, the other brokers after `delay` seconds, and a broker that is down not
    before it is back."""

    def __init__(self, state: ClusterState, delay: float = 0.0) -> None:
        self.delay = delay
        self.delays: dict[int, float] = {}
        self._state = state
        self._stopped_at: dict[int, int] = {}

    def stopped(self, broker_id: int) -> None:
        """A broker is down: it knows what it knew."""
        self._stopped_at.setdefault(broker_id, self.applied(broker_id))

    def resumed(self, broker_id: int) -> None:
        """A broker is back and has caught up."""
        self._stopped_at.pop(broker_id, None)

    def delay_of(self, broker_id: int) -> float:
        """Seconds until a change reaches this broker."""
        return 0.0 if broker_id == self._state.controller_id else self.delays.get(broker_id, self.delay)

    def applied(self, broker_id: int) -> int:
        """The offset up to which this broker has applied the log."""
        if broker_id in self._stopped_at:
            return self._stopped_at[broker_id]
        delay = self.delay_of(broker_id)
        if delay <= 0:
            return self._state.log.end
        return self._state.log.applied_at(self._state.clock.time() - delay)

    def view(self, broker_id: int) -> View:
        """What this broker knows."""
        return self._state.view_at(self.applied(broker_id))

    async def visible(self, offset: int, within: float | None) -> bool:
        """Wait until every live broker has applied the log up to an offset; False where it takes more than `within`
        seconds."""
        wait = max((self.delay_of(broker) for broker in self._behind(offset)), default=0.0)
        if wait <= 0:
            return True
        enough = within is None or wait <= within
        await self._state.clock.sleep(wait if enough else max(within or 0.0, 0.0))
        while enough and self._behind(offset):  # what clocks round off
            await asyncio.sleep(0)
            await self._state.clock.sleep(0.001)
        return enough

    def _behind(self, offset: int) -> list[int]:
        return [broker for broker in self._state.alive() if self.applied(broker) < offset]
