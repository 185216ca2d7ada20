"""The pane of brokers, with the quorum's status and the cluster default of broker configs."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource
from console.model.derived import Derived
from console.model.numbers import commas
from console.model.parts import Part
from console.present import brokers as present_brokers
from console.present.names import DEFAULT
from console.present.text import Line
from console.tui import keymap
from console.tui.panes.details import FEW, DetailsView
from console.tui.panes.rates import ShownRates, read_rates
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.half_hour import Kind
    from console.tui.watch import Drawn


class BrokersView(DetailsView[present_brokers.BrokerRow]):
    """One row for each broker, and one for the cluster default of broker configs; Enter opens the row's configs."""

    NAME = keymap.BROKERS
    PARTS = frozenset({Part.CLUSTER, Part.LOG_DIRS, Part.VERSIONS, Part.TOPICS})
    NEEDS = Part.CLUSTER
    ENTER = "configs"
    NOUN = present_brokers.BROKERS
    TAKES = FEW
    DETAILS_AFTER = 0.0
    EMPTY = "no brokers"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._loads: Derived[Mapping[int, present_brokers.BrokerLoad]] = Derived({})
        self._rates = ShownRates(self)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the cluster, its quorum, the brokers' load, rates and configs,
        the staged edits, and the marks of changes.
        """
        known = self.snapshot
        return (
            known.cluster,
            known.quorum,
            known.versions,
            known.topics,
            known.log_dirs,
            known.configs,
            self._rates.by_leader(),
            known.rates.seconds_left,
            self.plan.staged,
            self.cluster.changed.version,
            self.cluster.triage.is_led,
            self.own_samples(),
        )

    def subject(self) -> tuple[Kind, str] | None:
        """Return the broker under the cursor as kind and id, for the graphs; None on the cluster default."""
        row = self.row()
        return ("broker", str(row.broker.id)) if row is not None and row.broker is not None else None

    def own_chart(self, width: int, room: int) -> Drawn:
        """Return the chart of the broker under the cursor; on the cluster default, that of the cluster. width: in
        cells; room: maximum lines.
        """
        if self.subject() is not None:
            return super().own_chart(width, room)
        return self.cluster.half_hour.cluster(width, room)

    async def read(self) -> None:
        """Read the brokers and the quorum, the topics for their counts per broker, and the brokers' own configs.

        Raises:
            AdminError: no broker answered.
        """
        session, reading = self.session, self.cluster.reading
        # Controllers report no topics, so there are no partitions to count and no logs that grow.
        if reading.at_controllers:
            await asyncio.gather(session.read_cluster(), session.read_quorum())
        else:
            read_rates(self)
            await asyncio.gather(session.read_cluster(), session.read_quorum(), reading.whole(Part.TOPICS))
        await session.read_configs([CLUSTER_DEFAULT, *map(broker_resource, self.cluster.answering())])

    def rows(self) -> list[present_brokers.BrokerRow]:
        """Return the cluster default, then the brokers; empty before the first read."""
        if not self.known():
            return []
        loads = self._loads.of((self.snapshot.topics,), lambda: present_brokers.broker_loads(self.snapshot))
        return present_brokers.broker_rows(
            self.snapshot, self.plan, loads, self._rates.by_leader(), is_led=self.cluster.triage.is_led
        )

    def key(self, row: present_brokers.BrokerRow) -> Hashable:
        """Return the row's key, the name of its config resource: the broker's id as text, ``""`` for the cluster
        default.
        """
        return row.key

    def key_text(self, key: Hashable) -> str:
        """Return the row's key as text for messages: ``broker 3``, or the cluster default."""
        return f"broker {key or DEFAULT}"

    def words(self, row: present_brokers.BrokerRow) -> str:
        """Return the text that the filter searches: id, host and rack."""
        broker = row.broker
        return f"{broker.id} {broker.host} {broker.rack or ''}" if broker else "<default>"

    def in_trouble(self, row: present_brokers.BrokerRow) -> bool:
        """Return whether triage finds a symptom of the broker, or names the row's configs in a cause."""
        found = self.trouble.found
        return (row.broker is not None and row.broker.id in found.brokers) or row.resource in found.configs

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the quorum's leader and health."""
        return present_brokers.quorum_line(self.snapshot, is_led=self.cluster.triage.is_led)

    def target_of(self, row: present_brokers.BrokerRow) -> ConfigResource:
        """Return the config resource of the broker or of the cluster default."""
        return row.resource

    def copied_of(self, row: present_brokers.BrokerRow) -> str:
        """Return the text that `y` copies: ``host:port``; ``""`` for the cluster default."""
        return f"{row.broker.host}:{row.broker.port}" if row.broker else ""

    async def enter(self, row: present_brokers.BrokerRow) -> None:
        """Open the row's configs."""
        self._navigator.open_resource(self.target_of(row))

    def do_unregister(self) -> None:
        """Open the command bar with the command that unregisters the broker; if the broker is alive, only show a
        message.
        """
        row = self.row()
        if row is None or row.broker is None:
            self._message.say("the cluster default is no broker", "muted")
        elif row.broker.port >= 0 and not row.broker.fenced:
            self._message.say(f"broker {row.broker.id} is alive: only one that is down can be unregistered", "muted")
        else:
            self._editing.begin(f"unregister broker {row.broker.id}")

    def do_drain(self) -> None:
        """Open the command bar with the command that moves all replicas off the marked brokers, or the broker under the
        cursor; on the cluster default, with the command that balances all brokers.
        """
        brokers = [row.broker.id for row in self.rows_meant() if row.broker is not None]
        self._editing.begin(f"drain broker {commas(brokers)} throttle " if brokers else "balance throttle ")

    def do_elect(self) -> None:
        """Stage elections of the marked brokers, or of the broker under the cursor, as leaders of the partitions whose
        preferred leader they are; on the cluster default, of all brokers.
        """
        from console.tui.electing import elect_leaders

        brokers = [row.broker.id for row in self.rows_meant() if row.broker is not None]
        elect_leaders(self._editing, self.snapshot, brokers, self.left_out())
