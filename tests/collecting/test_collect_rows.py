"""What a poll adds: the rows of all polls give back each of them, and nothing is called gone that may not be."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from console.collecting.collect import (
    TYPES,
    Observation,
    Resource,
    Row,
    State,
    Value,
    changed_rows,
    landed,
    observation,
    state_rows,
    status_rows,
)
from console.lake.lake import Lake
from console.lake.landing import deliver, read_polls
from console.lake.schema import SNAPSHOT
from console.model.cluster import Broker, BrokerVersion, ClusterInfo, Partition, ScramCredential, Topic
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
    ScramMechanism,
)
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, Synonym, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.snapshot import ReadFailure, Snapshot

AT = datetime(2026, 3, 4, tzinfo=UTC)
DENIED = Failure("CLUSTER_AUTHORIZATION_FAILED", "no")

VALUES = st.builds(
    Value,
    st.sampled_from([":partitions", "retention.ms", "cleanup.policy"]),
    st.sampled_from(["1", "2", "", None]),
    st.sampled_from([None, "DYNAMIC_TOPIC_CONFIG"]),
)
RESOURCES = st.builds(Resource, st.sampled_from(["topic", "quota", "acl"]), st.sampled_from(["a", "b", "c"]))
STATES = st.dictionaries(
    RESOURCES,
    st.lists(VALUES, min_size=1, max_size=3, unique_by=lambda value: value.attr).map(
        lambda values: tuple(sorted(values, key=lambda value: value.attr))
    ),
    max_size=6,
)


def seen(state: State, **more: object) -> Observation:
    return Observation("c", AT, state, **more)  # type: ignore[arg-type]


def after(*polls: list[Row]) -> State:
    """The state that follows from the rows of polls, one after the other: those of a resource replace all former."""
    known: dict[Resource, tuple[Value, ...]] = {}
    for rows in polls:
        told: dict[Resource, list[Value]] = {}
        for row in rows:
            values = told.setdefault(Resource(row.entity_type, str(row.entity_key)), [])
            if row.kind == "state":
                values.append(Value(str(row.attr), *row[4:]))
        known |= {resource: tuple(values) for resource, values in told.items()}
    return {resource: values for resource, values in known.items() if values}


@given(st.lists(STATES, max_size=6))
def test_the_rows_of_all_polls_give_back_each_poll(states: list[Mapping[Resource, tuple[Value, ...]]]) -> None:
    known: State = {}
    written_down = []
    for state in states:
        before = known
        rows, known = changed_rows(known, seen(state))
        written_down.append(rows)
        assert after(*written_down) == known == state
        written = {(row.entity_type, row.entity_key) for row in rows if row.kind in ("state", "absent")}
        assert written == {entity for entity in before.keys() | state.keys() if before.get(entity) != state.get(entity)}
    assert status_rows(seen({})) == [Row("heartbeat", ",".join(TYPES))]


@given(STATES, STATES, st.sets(st.sampled_from(["topic", "quota", "acl"])))
def test_nothing_is_gone_where_a_type_could_not_be_read(
    before: Mapping[Resource, tuple[Value, ...]], now: Mapping[Resource, tuple[Value, ...]], refused: set[str]
) -> None:
    readable = {entity: values for entity, values in now.items() if entity.entity_type not in refused}
    failed: dict[tuple[str, str | None], str] = {(each, None): "no right" for each in refused}
    poll = Observation("c", AT, readable, failed)
    rows, known = changed_rows(before, poll)
    kept = {entity: values for entity, values in before.items() if entity.entity_type in refused}
    assert known == {**readable, **kept} == after(state_rows(before), rows)
    status = status_rows(poll)
    assert {row.entity_type for row in status if row.kind == "failed"} == refused
    (heartbeat,) = (row for row in status if row.kind == "heartbeat")
    assert set(heartbeat.entity_type.split(",")) == set(TYPES) - refused


def test_a_resource_whose_configs_could_not_be_read_keeps_those_that_it_had() -> None:
    broker = Resource("broker", "3")
    before = {broker: (Value(":fenced", "false"), Value("log.retention.ms", "1", "DYNAMIC_BROKER_CONFIG"))}
    poll = seen({broker: (Value(":fenced", "true"),)}, failed={("broker", "3"): "UNREACHABLE"})
    rows, known = changed_rows(before, poll)
    assert known == {broker: (Value(":fenced", "true"), before[broker][1])}
    assert after(state_rows(before), rows) == known
    without_brokers = ",".join(each for each in TYPES if each != "broker")
    assert status_rows(poll) == [
        Row("heartbeat", without_brokers),
        Row("failed", "broker", "3", value="UNREACHABLE"),
    ]


def entry(name: str, value: str | None, *synonyms: Synonym, sensitive: bool = False) -> ConfigEntry:
    source = synonyms[0].source if synonyms else DEFAULT_CONFIG
    return ConfigEntry(name, value, source, sensitive=sensitive, synonyms=synonyms)


def example() -> Snapshot:
    own = entry("retention.ms", "5", Synonym("retention.ms", "5", DYNAMIC_TOPIC_CONFIG))
    inherited = entry("segment.bytes", "9", Synonym("log.segment.bytes", "9", DYNAMIC_BROKER_CONFIG))
    below_default = entry(
        "log.segment.bytes",
        "7",
        Synonym("log.segment.bytes", "7", DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("log.segment.bytes", "8", STATIC_BROKER_CONFIG),
    )
    by_another_name = entry("log.retention.ms", None, Synonym("log.retention.hours", "24", STATIC_BROKER_CONFIG))
    password = entry("ssl.key.password", None, Synonym("ssl.key.password", None, STATIC_BROKER_CONFIG), sensitive=True)
    # A broker that tells what it should not: an unknown key is hidden all the same.
    plugin = entry("plugin.token", "tell-nobody", Synonym("plugin.token", "tell-nobody", STATIC_BROKER_CONFIG))
    default = entry("log.segment.bytes", "7", Synonym("log.segment.bytes", "7", DYNAMIC_DEFAULT_BROKER_CONFIG))
    partitions = tuple(Partition(number, 1, (1, 2), (1, 2)) for number in range(3))
    return Snapshot(
        cluster=ClusterInfo("c", 1, (Broker(1, "h", 9092, "r"), Broker(2, "h2", 9093, fenced=True))),
        versions={1: BrokerVersion("4.3", {}, {}, {"metadata.version": 29}), 2: BrokerVersion("4.3", {})},
        topics={"t": Topic("t", partitions, topic_id="ID"), "just-deleted": Topic("just-deleted", partitions)},
        configs={
            topic_resource("t"): ConfigSet((own, inherited)),
            broker_resource(1): ConfigSet((below_default, by_another_name, password, plugin)),
            CLUSTER_DEFAULT: ConfigSet((default,)),
        },
        quotas={QuotaEntity.of({"user": "a", "client-id": None}): {"producer_byte_rate": 1024.0}},
        scram={"dave": (ScramCredential(ScramMechanism.parse("SCRAM-SHA-512"), 4096),)},
        failures=(
            ReadFailure("configs", "broker 2", Failure("UNREACHABLE", "2")),
            ReadFailure("acls", "", DENIED),
            ReadFailure("quorum", "quorum", DENIED),
        ),
    )


def test_what_a_poll_tells() -> None:
    told = observation(example(), AT, {("group", None): Failure("UNSUPPORTED", "groups"), ("topic", "hidden"): DENIED})
    assert told.state == {
        Resource("topic", "t"): (
            Value(":partitions", "3"),
            Value(":replication", "2"),
            Value(":topic_id", "ID"),
            Value("retention.ms", "5", "DYNAMIC_TOPIC_CONFIG"),
        ),
        Resource("broker", "1"): (
            Value(":endpoints", "h:9092"),
            Value(":fenced", "false"),
            Value(":rack", "r"),
            Value("log.segment.bytes", "8", "STATIC_BROKER_CONFIG"),
            Value("plugin.token", None, "STATIC_BROKER_CONFIG", True),
            Value("ssl.key.password", None, "STATIC_BROKER_CONFIG", True),
        ),
        Resource("broker", "2"): (Value(":endpoints", "h2:9093"), Value(":fenced", "true")),
        Resource("broker", "<default>"): (Value("log.segment.bytes", "7", "DYNAMIC_DEFAULT_BROKER_CONFIG"),),
        Resource("quota", "user=a,client-id=<default>"): (Value("producer_byte_rate", "1024"),),
        Resource("scram", "dave"): (Value("SCRAM-SHA-512", "iterations=4096"),),
        Resource("feature", "metadata.version"): (Value(":level", "29"),),
    }
    assert told.failed == {
        ("broker", "2"): "UNREACHABLE: 2",
        ("acl", None): "CLUSTER_AUTHORIZATION_FAILED: no",
        ("group", None): "UNSUPPORTED: groups",
        ("topic", "hidden"): "CLUSTER_AUTHORIZATION_FAILED: no",
    }


def test_rows_fit_the_table(tmp_path: Path) -> None:
    rows, _ = changed_rows({}, seen({Resource("topic", "t"): (Value(":partitions", "1"),)}))
    at = AT + timedelta(microseconds=7)
    path = deliver(Lake.create(str(tmp_path)), [landed(rows, "c", at), landed([], "c", at)], "x")
    table, nothing = read_polls(Path(path))
    assert (*table.schema.names,) == SNAPSHOT.names
    assert nothing.num_rows == 0
    (first,) = table.to_pylist()
    assert (first["observed_ts"], first["kind"], first["entity_key"]) == (at, "state", "t")
