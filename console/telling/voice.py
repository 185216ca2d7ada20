"""The output of ``kac triage --watch`` other than its lines: messages to receivers, and metrics for Prometheus."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from console.answers.metrics import Health, metrics_text
from console.log_file import state_directory
from console.model.snapshot import Snapshot
from console.present.triage import cause_rows
from console.session.muted_causes import MutedCauses
from console.telling.listening import Address, listening
from console.telling.message import event
from console.telling.news import LOOK, Known, News, news, no_answer
from console.telling.outbox import Outbox
from console.telling.receivers import Deliver
from console.triage.diagnosis import Verdict


class Voice:
    """The sender of the messages and metrics of one watch. Its methods do not wait for deliveries.

    Attributes:
        health: the numbers of polls and failures of the watch so far.
    """

    def __init__(
        self, context: str, outboxes: Sequence[Outbox] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Create the sender. Nothing is sent yet.

        Args:
            context: the name of the cluster's context.
            outboxes: the queue of each receiver.
            clock: returns seconds of a monotonic clock.
        """
        self.health = Health()
        self._clock = clock
        self._context, self._outboxes = context, outboxes
        self._verdict: Verdict | None = None
        self._snapshot: Snapshot | None = None
        self._known = Known()
        self._served = Health(), ""
        self._serving = asyncio.Lock()

    async def judged(self, verdict: Verdict, snapshot: Snapshot, seconds: float) -> None:
        """Send the changes since the former verdict to the receivers, and use this verdict for the metrics. seconds:
        the duration of the diagnosis, for the metrics.
        """
        self._verdict, self._snapshot = verdict, snapshot
        self.health = self.health._replace(polls=self.health.polls + 1, verdict_seconds=seconds)
        if self._outboxes:
            await asyncio.to_thread(self._judge, verdict, snapshot)

    def _judge(self, verdict: Verdict, snapshot: Snapshot) -> None:
        kept = MutedCauses(state_directory(os.environ) / "muted.json")
        rows = cause_rows(verdict, kept.read(snapshot.cluster.cluster_id or ""))
        self._known, found = news(self._known, rows, verdict.at, self._clock(), blind=bool(verdict.blind))
        self._tell(found)

    def lost(self, why: str, at: datetime, step: str = LOOK) -> None:
        """Tell the receivers that no node of the cluster answers, or that kac can't watch it.

        Args:
            why: the reason, in one line.
            at: the time, UTC.
            step: the step that the message recommends.
        """
        self._verdict = None
        self.health = self.health._replace(polls=self.health.polls + 1, failed=self.health.failed + 1)
        self._known, found = news(self._known, (no_answer(why, step),), at, self._clock(), blind=True)
        self._tell(found)

    def _tell(self, found: Sequence[News]) -> None:
        cluster_id = self._snapshot.cluster.cluster_id if self._snapshot is not None else None
        for each in found:
            told = event(each, self._context, cluster_id or "")
            for outbox in self._outboxes:
                outbox.put(told)

    async def metrics(self) -> str:
        """Return the metrics of the last poll in Prometheus' text format. Before the first verdict, and while no
        node responds, they include none of the cluster except that no node responds.
        """
        # Make the text only once for all requests after a poll, as the text of a large cluster takes a while.
        async with self._serving:
            counts = {each.name: each.counts._asdict() for each in self._outboxes}
            health = self.health._replace(receivers=counts)
            made_for, text = self._served
            if not text or made_for != health:
                text = await asyncio.to_thread(metrics_text, self._verdict, self._snapshot, health)
                self._served = health, text
            return text


@asynccontextmanager
async def speaking(
    context: str,
    receivers: Sequence[tuple[str, Deliver]],
    listen: Address | None,
    complain: Callable[[str], None],
) -> AsyncIterator[Voice]:
    """Yield the sender of a watch. At the end of the ``with`` block, deliver the waiting events, for at most `LAST` (5)
    seconds.

    Args:
        context: the name of the cluster's context.
        receivers: the name of each receiver, and the function that delivers to it.
        listen: the address at which to serve metrics; None to serve none.
        complain: prints a line for the operator; called from other threads too.

    Raises:
        OSError: kac can't listen at `listen`.
    """
    outboxes = [Outbox(name, deliver, complain) for name, deliver in receivers]
    voice = Voice(context, outboxes)
    try:
        if listen is None:
            yield voice
        else:
            async with listening(listen, voice.metrics) as at:
                complain(f"metrics: http://{at}/metrics")
                yield voice
    finally:
        await asyncio.gather(*(asyncio.to_thread(outbox.close) for outbox in outboxes))
