"""The keys by which records of the metadata log are found again: of an entity all of them, and no more are needed."""

from __future__ import annotations

import random
from collections import defaultdict

import pyarrow as pa
import pytest

from console.lake.kraft import ROW_SCHEMA
from console.lake.schema import KRAFT_RECORD, RECORD_COLUMNS, arrow_schema
from console.lake.transforms.change_event import NAMING, records_of, tagged
from console.lake.transforms.kraft_changes import placed_facts
from tests.lake import change_worlds as worlds

OTHERS = (
    ("BeginTransactionRecord", '{"name":null}'),
    ("NoOpRecord", "{}"),
    ("UnregisterControllerRecord", '{"controllerId":7}'),
    ("UNKNOWN(99)", "{}"),
    ("PartitionChangeRecord", '{"topicId":"unknown","partitionId":0,"replicas":null}'),
    ("PartitionChangeRecord", '{"topicId":"unknown","partitionId":0,"replicas":[1]}'),
    ("RemoveAccessControlEntryRecord", '{"id":"unknown"}'),
    ("UnregisterBrokerRecord", '{"brokerId":7,"brokerEpoch":1}'),
    ("FenceBrokerRecord", '{"id":7,"epoch":1}'),
)


def world(seed: int) -> pa.Table:
    """The log of a small world with its snapshots, and records that are about nothing or nobody."""
    made = worlds.made(seed, 40)
    rows = [*worlds.log_rows(made), *worlds.checkpoint_rows(made, 20)]
    rows += [{**rows[0], "record_type": type_, "payload": payload, "value_hmac": None} for type_, payload in OTHERS]
    random.Random(seed).shuffle(rows)
    return pa.Table.from_pylist([{name: row[name] for name in RECORD_COLUMNS} for row in rows], schema=ROW_SCHEMA)


@pytest.mark.parametrize("seed", range(20))
def test_an_entitys_records_are_found_by_their_tags_alone(seed: int) -> None:
    decoded = world(seed)
    # Wherever it was cut into batches: what names an id may be in another one.
    batches = [tagged(batch) for batch in decoded.to_batches(max_chunksize=random.Random(seed).randint(1, 9))]
    rows = pa.Table.from_batches(batches)
    assert rows.schema == arrow_schema(KRAFT_RECORD)
    assert rows.select(RECORD_COLUMNS) == decoded
    assert rows["quarantined"].null_count == len(rows)
    named: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in rows.to_pylist():
        if row["record_type"] in NAMING:
            assert None not in (row["entity_type"], row["entity_key"], row["entity_id"])
            named[row["entity_id"]].add((row["entity_type"], row["entity_key"]))
    of: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows.to_pylist()):
        key = row["entity_key"]
        keys = [(row["entity_type"], key)] if key is not None else named.get(row["entity_id"], ())
        for each in keys:
            of[each].append(place)
    (records,) = records_of(decoded).values()
    facts = placed_facts(records)
    assert {entity for entity, placed in facts.items() if placed} <= of.keys()
    assert {type_ for type_, _ in facts} >= {"topic", "broker"}
    for entity, placed in facts.items():
        mine = records_of(rows.take(of[entity]))
        (alone,) = mine.values() if mine else ([],)
        found = placed_facts(alone).get(entity, [])
        assert sorted(found, key=repr) == sorted(placed, key=repr), entity


def test_records_of_unknown_things_have_the_id_and_others_no_tag() -> None:
    rows = tagged(world(3).to_batches()[0]).to_pylist()
    tags = {
        (row["record_type"], row["payload"]): tuple(row[name] for name in ("entity_type", "entity_key", "entity_id"))
        for row in rows
    }
    assert [tags[each] for each in OTHERS] == [
        (None, None, None),
        (None, None, None),
        (None, None, None),
        (None, None, None),
        (None, None, None),
        ("topic", None, "unknown"),
        ("acl", None, "unknown"),
        ("broker", "7", None),
        ("broker", "7", None),
    ]
    assert {row["entity_id"] is not None for row in rows if row["record_type"] == "PartitionRecord"} == {True}
