"""Tests of numbers that mean "absent" or "unknown" in Kafka's protocol: text and JSON never show them."""

import io
import json
from typing import Any

import pytest

from console.answers.snapshot_json import write_snapshot
from console.model import cluster as model
from console.model.numbers import Data
from console.model.records import BatchFacts, Record
from console.model.snapshot import Snapshot
from console.model.tokens import DelegationToken
from console.model.transactions import Transaction
from console.plan.amounts import utc_time
from console.plan.plan import Plan
from console.present.brokers import BROKERS, BrokerRow, broker_loads, broker_rows, quorum_line
from console.present.columns import ABSENT, Columns
from console.present.groups import GROUPS, LAGS, MEMBERS, GroupRow
from console.present.groups import PartitionRow as LagRow
from console.present.kinds import TOKENS
from console.present.quorum import QUORUM, QuorumRow
from console.present.records import RecordRow, record_data, record_lines, time_text
from console.present.text import plain
from console.present.topics import PARTITIONS, PartitionRow
from console.present.transactions import TRANSACTIONS, TransactionRow, detail_lines

LONG_MAX, INT_MAX = 2**63 - 1, 2**31 - 1
NOT_SAID = {-1, -2, -3, -4, -5, LONG_MAX, INT_MAX}
"""Numbers that are never shown: the special offsets of ListOffsets, such as EARLIEST, and Java's largest numbers, which
mean "without limit".
"""

PARTITION = PartitionRow(model.Partition(0, -1, (1,), ()), tiered=model.TieredOffsets(5, -1, -1))
GROUP = GroupRow(model.Group("g", "Empty", "consumer", ""))
LAG = LagRow(model.PartitionLag("t", 0, -1, -1, -1))
REPLICA = QuorumRow(model.QuorumReplica(1, -1, -1, -1, -1), "voter", "")
TRANSACTION = TransactionRow(("t", 0), transaction=Transaction("tx", -1, "Empty"))
TOKEN = DelegationToken("id", "User:a", "User:a", -1, LONG_MAX, LONG_MAX)
MEMBER = model.GroupMember("m", "c", "/1.1.1.1", ())
DOWN = BrokerRow(model.Broker(5, "", -1))

TABLE: tuple[tuple[Columns[Any], object, str, str, Data], ...] = (
    (PARTITIONS, PARTITION, "leader", "–", None),
    (PARTITIONS, PARTITION, "tiered_to", "none", None),
    (PARTITIONS, PARTITION, "pending_from", "none", None),
    (GROUPS, GROUP, "coordinator", "", None),
    (MEMBERS, MEMBER, "epoch", "", None),
    (LAGS, LAG, "committed", "–", None),
    (LAGS, LAG, "end", "–", None),
    (LAGS, LAG, "lag", "–", None),
    (QUORUM, REPLICA, "log_end_offset", "–", None),
    (QUORUM, REPLICA, "lag", "–", None),
    (QUORUM, REPLICA, "last_fetch", "", None),
    (QUORUM, REPLICA, "last_caught_up", "", None),
    (QUORUM, QuorumRow(model.QuorumReplica(1, 0, 0, LONG_MAX, 0), "voter", ""), "last_fetch", "", None),
    (TRANSACTIONS, TRANSACTION, "producer", "–", None),
    (TRANSACTIONS, TRANSACTION, "epoch", "–", None),
    (TRANSACTIONS, TRANSACTION, "age_ms", "–", None),
    (TRANSACTIONS, TRANSACTION, "start_offset", "–", None),
    (TRANSACTIONS, TRANSACTION, "coordinator", "–", None),
    (TOKENS, TOKEN, "issued", "unknown", None),
    (TOKENS, TOKEN, "expires", "after the year 9999", None),
    (TOKENS, TOKEN, "max_time", "after the year 9999", None),
    (BROKERS, DOWN, "host", "", None),
    (BROKERS, DOWN, "port", "", None),
    (BROKERS, DOWN, "address", "down, or not known", None),
)
"""Columns, a row whose numbers are all absent, the name of a field, and the expected text and value in JSON, YAML and
CSV.
"""


@pytest.mark.parametrize(
    ("columns", "row", "name", "text", "data"), TABLE, ids=[f"{each[2]}-{n}" for n, each in enumerate(TABLE)]
)
def test_what_stands_in_place_of_a_sentinel(
    columns: Columns[Any], row: object, name: str, text: str, data: Data
) -> None:
    (column,) = (each for each in columns.all if each.name == name)
    shown, value = column.shown(row), column.value(row)
    assert shown == text
    if column.views & {"data", "detail"}:
        assert value == data


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (PARTITIONS, PARTITION),
        (GROUPS, GROUP),
        (MEMBERS, MEMBER),
        (LAGS, LAG),
        (QUORUM, REPLICA),
        (TRANSACTIONS, TRANSACTION),
        (TOKENS, TOKEN),
        (BROKERS, DOWN),
    ],
)
def test_no_column_of_a_noun_has_a_sentinel(columns: Columns[Any], row: object) -> None:
    for column in columns.all:
        value = column.value(row)
        if value is not ABSENT and isinstance(value, int) and not isinstance(value, bool):
            assert value not in NOT_SAID, column.name
        for bad in NOT_SAID:
            assert str(bad) not in column.shown(row).replace(",", ""), column.name


RECORD = Record("t", 0, 7, -1, b"k", b"v", (), BatchFacts(7))
IDEMPOTENT = Record("t", 0, 7, 0, b"k", b"v", (), BatchFacts(7, producer_id=3))


def test_a_record_of_an_old_producer_and_one_whose_time_no_date_holds() -> None:
    data = record_data(RecordRow(RECORD))
    assert (data["timestamp"], data["leader_epoch"]) == (None, None)
    assert "producer" not in data
    shown = "\n".join(plain(line) for line in record_lines(RecordRow(RECORD), 80))
    assert "-1" not in shown
    assert "Time        none" in shown
    producer = record_data(RecordRow(IDEMPOTENT))["producer"]
    assert producer == {"id": 3, "epoch": None, "sequence": None, "transactional": False}
    record = Record("t", 0, 7, LONG_MAX, b"k", b"v", (), BatchFacts(7))
    shown = "\n".join(plain(line) for line in record_lines(RecordRow(record), 80))
    assert "after the year 9999" in shown
    assert time_text(0) == "1970-01-01 00:00:00.000"
    assert utc_time(0) == "1970-01-01T00:00:00+00:00"


def leaderless() -> Snapshot:
    quorum = model.Quorum(
        -1, 4, -1, (model.QuorumReplica(1, -1, -1), model.QuorumReplica(2, 5, 3)), (model.QuorumReplica(4, -1, -1),)
    )
    topics = {"t": model.Topic("t", (model.Partition(0, -1, (1,), ()),))}
    cluster = model.ClusterInfo("id", -1, (model.Broker(1, "h", 9092), model.Broker(4, "h", 9093)))
    return Snapshot(cluster=cluster, topics=topics, quorum=quorum)


def test_a_cluster_without_a_leader() -> None:
    out = io.StringIO()
    write_snapshot(leaderless(), out, overrides=True)
    document = json.loads(out.getvalue())
    assert document["controller_id"] is None
    assert document["topics"][0]["partitions"][0]["leader"] is None
    line = plain(quorum_line(leaderless()))
    assert "no leader" in line
    assert "-1" not in line
    rows = broker_rows(leaderless(), Plan(), broker_loads(leaderless()))
    assert {row.key: row.quorum for row in rows} == {"": "", "1": "voter, lag unknown", "4": "observer, lag unknown"}


def test_a_transaction_whose_coordinator_is_unknown() -> None:
    shown = "\n".join(plain(line) for line in detail_lines(TRANSACTION, 80))
    assert "-1" not in shown
    assert "says its coordinator" in shown
