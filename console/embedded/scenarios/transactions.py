"""The scenario `quiet` with transactions: two that hang, one that is too young to be called hanging, and healthy
ones.
"""

from __future__ import annotations

from console.embedded.context import Cluster
from console.embedded.group_coordinator import TRANSACTION_TOPIC, ensure_topic
from console.embedded.groups import Committed
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import COMPLETE, ONGOING, Transaction
from console.embedded.record_batch import marker_batch, read_batch, transactional_batch
from console.embedded.scenarios import quiet
from console.embedded.scenarios.seed import DAY, HOUR, Scenario, batch_of

MINUTE = 60_000
ORDERS, PAYMENTS, SHIPMENTS = "checkout.orders", "checkout.payments", "logistics.shipments"
LATE, FORGOTTEN, YOUNG, HEALTHY = 4012, 3977, 4020, 4015
"""Producer ids: a producer with records after the end of its transaction, one with an expired transactional id, one
with records after the end two minutes ago, and one with a running transaction."""
HANGING = (ORDERS, 3)
"""The topic and partition in which the transaction of `LATE` hangs."""
WAITING_GROUP = "billing"
_TIMEOUT, _LONG = 15 * MINUTE, 12 * HOUR


def seed(cluster: Cluster) -> None:
    """Fill the cluster as the scenario `quiet` does, and add the transactions."""
    quiet.seed(cluster)
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    ensure_topic(state, TRANSACTION_TOPIC)
    for id_, producer, epoch, name in (("orders-app-2", LATE, 5, "late"), ("orders-app-7", YOUNG, 0, "young")):
        state.transactions[id_] = Transaction(id_, producer, epoch, _TIMEOUT, COMPLETE[False], now - HOUR)
        place = HANGING if name == "late" else (ORDERS, 5)
        ago = 25 * MINUTE if name == "late" else 2 * MINUTE
        _write(cluster, place, producer, epoch, now - ago - MINUTE, 0)
        _log(cluster, place).append(marker_batch(producer, epoch, 3, now - ago - MINUTE // 2, commit=False), 0)
        _write(cluster, place, producer, epoch, now - ago, 2)
    stands_at = _log(cluster, HANGING).stable
    state.groups[WAITING_GROUP].offsets[HANGING] = Committed(stands_at, at=now / 1000)
    for number in range(30):
        values = [f"{number}-{place}".encode() for place in range(40)]
        _log(cluster, HANGING).append(read_batch(batch_of(values, now - (30 - number) * 1000, b"k"), 0), 0)
    _write(cluster, (SHIPMENTS, 0), FORGOTTEN, 1, now - 2 * DAY, 0)
    running = {(PAYMENTS, 0), (PAYMENTS, 1)}
    state.transactions["payments-7"] = Transaction(
        "payments-7", HEALTHY, 12, _TIMEOUT, ONGOING, now - MINUTE, set(running)
    )
    exported = "payments-export"
    state.transactions[exported] = Transaction(exported, HEALTHY + 1, 0, _LONG, ONGOING, now - HOUR, {(PAYMENTS, 2)})
    for place in sorted(running):
        _write(cluster, place, HEALTHY, 12, now - MINUTE, 0)
    _write(cluster, (PAYMENTS, 2), HEALTHY + 1, 0, now - HOUR, 0)
    state.transactions["orders-app-1"] = Transaction("orders-app-1", 4011, 9, _TIMEOUT, COMPLETE[True], now - MINUTE)


def _log(cluster: Cluster, place: tuple[str, int]) -> PartitionLog:
    return cluster.state.logs[place]


def _write(cluster: Cluster, place: tuple[str, int], producer: int, epoch: int, moment: int, sequence: int) -> None:
    """Append two records to a partition as a part of a producer's transaction. moment: their timestamp, ms since 1970.
    sequence: the sequence number of the first one.
    """
    batch = read_batch(batch_of([b"one", b"two"], moment, b"k"), 0)
    _log(cluster, place).append(transactional_batch(batch, producer, epoch, sequence), 0)


SCENARIO = Scenario(seed, live=quiet.SCENARIO.live)
