"""Tests of `find`: it searches all parts of the snapshot that were read, counts all results, and never matches a hidden
value.
"""

from hypothesis import given
from hypothesis import strategies as st

from console.model.cluster import Broker, ClusterInfo, Group, Partition, Topic
from console.model.codes import DYNAMIC_BROKER_CONFIG, DYNAMIC_TOPIC_CONFIG
from console.model.config import ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from console.plan.plan import EMPTY
from console.present.find import MOST, PANES, Known, find, unread

names = st.text("abc.-", min_size=1, max_size=6)


def topics(wanted: list[str]) -> dict[str, Topic]:
    return {name: Topic(name, (Partition(0, 1, (1,), (1,)),)) for name in wanted}


@given(st.lists(names, unique=True, max_size=30), names)
def test_a_topic_is_found_by_any_part_of_its_name(there: list[str], wanted: str) -> None:
    found = {hits.pane: hits for hits in find(wanted, Known(Snapshot(topics=topics(there)), EMPTY))}
    expected = [name for name in sorted(there) if wanted in name]
    assert (found["topics"].total if "topics" in found else 0) == len(expected)
    assert [hit.row for hit in found["topics"].hits] == expected if expected else "topics" not in found


def test_all_are_counted_some_listed_and_equal_sets_found_for_each_entity() -> None:
    (hits,) = find("t", Known(Snapshot(topics=topics([f"t{n}" for n in range(MOST + 50)])), EMPTY))
    assert (hits.total, len(hits.hits)) == (MOST + 50, MOST)
    same = ConfigSet((ConfigEntry("retention.ms", "5", DYNAMIC_TOPIC_CONFIG),))
    snapshot = Snapshot(configs={topic_resource("a"): same, topic_resource("b"): same})
    (hits,) = find("retention", Known(snapshot, EMPTY))
    assert [hit.name for hit in hits.hits] == ["topic a", "topic b"]


def test_everything_that_is_known_is_searched() -> None:
    entry = ConfigEntry("retention.ms", "needle", DYNAMIC_TOPIC_CONFIG)
    snapshot = Snapshot(
        cluster=ClusterInfo("c", 1, (Broker(1, "needle.example", 9092),)),
        topics=topics(["needle"]),
        configs={topic_resource("t"): ConfigSet((entry,))},
        quotas={QuotaEntity.of({"user": "needle"}): {"producer_byte_rate": 1.0}},
        groups={"needle": Group("needle", "Stable", "consumer")},
    )
    found = {hits.pane for hits in find("needle", Known(snapshot, EMPTY))}
    assert found == {"brokers", "topics", "configs", "quotas", "groups"}
    assert found < PANES.keys()
    assert unread(snapshot) == ["cluster", "topics", "groups", "quotas", "acls"]


def test_a_hidden_value_is_not_found_and_its_key_is() -> None:
    entry = ConfigEntry("ssl.key.password", "needle", DYNAMIC_BROKER_CONFIG, sensitive=True)
    snapshot = Snapshot(configs={broker_resource(1): ConfigSet((entry,))})
    assert not list(find("needle", Known(snapshot, EMPTY)))
    (hits,) = find("key.password", Known(snapshot, EMPTY))
    assert hits.hits[0].shows == "ssl.key.password is hidden"
    assert "needle" not in repr(hits)
