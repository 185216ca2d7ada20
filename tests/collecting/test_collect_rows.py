"""Tests of the rows that a poll adds: the state after each poll can be computed from the rows of all polls up to it,
and no entity counts as deleted because a poll could not read it.
"""

import dataclasses
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.collecting import collect
from console.lake.lake import Lake
from console.lake.landing import deliver, read_polls
from console.lake.schema import SNAPSHOT
from console.model import cluster, codes, config
from console.model.connect import FAILED, ConnectCluster
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.snapshot import ReadFailure, Snapshot
from tests.support import connectors

AT = datetime(2026, 3, 4, tzinfo=UTC)
DENIED = Failure("CLUSTER_AUTHORIZATION_FAILED", "no")

VALUES = st.builds(
    collect.Value,
    st.sampled_from([":partitions", "retention.ms", "cleanup.policy"]),
    st.sampled_from(["1", "2", "", None]),
    st.sampled_from([None, "DYNAMIC_TOPIC_CONFIG"]),
)
RESOURCES = st.builds(collect.Resource, st.sampled_from(["topic", "quota", "acl"]), st.sampled_from(["a", "b", "c"]))
STATES = st.dictionaries(
    RESOURCES,
    st.lists(VALUES, min_size=1, max_size=3, unique_by=lambda value: value.attr).map(
        lambda values: tuple(sorted(values, key=lambda value: value.attr))
    ),
    max_size=6,
)


def seen(state: collect.State, **more: object) -> collect.Observation:
    return collect.Observation("c", AT, state, **more)  # type: ignore[arg-type]


def after(*polls: list[collect.Row]) -> collect.State:
    """Return the state after several polls, from their rows. The rows of a resource in a poll replace its earlier
    rows.
    """
    known: dict[collect.Resource, tuple[collect.Value, ...]] = {}
    for rows in polls:
        told: dict[collect.Resource, list[collect.Value]] = {}
        for row in rows:
            values = told.setdefault(collect.Resource(row.entity_type, str(row.entity_key)), [])
            if row.kind == "state":
                values.append(collect.Value(str(row.attr), *row[4:]))
        known |= {resource: tuple(values) for resource, values in told.items()}
    return {resource: values for resource, values in known.items() if values}


@given(st.lists(STATES, max_size=6))
def test_the_rows_of_all_polls_give_back_each_poll(
    states: list[Mapping[collect.Resource, tuple[collect.Value, ...]]],
) -> None:
    known: collect.State = {}
    written_down = []
    for state in states:
        before = known
        rows, known = collect.changed_rows(known, seen(state))
        written_down.append(rows)
        assert after(*written_down) == known == state
        written = {(row.entity_type, row.entity_key) for row in rows if row.kind in ("state", "absent")}
        assert written == {entity for entity in before.keys() | state.keys() if before.get(entity) != state.get(entity)}
    assert collect.status_rows(seen({})) == [collect.Row("heartbeat", ",".join(collect.TYPES))]


@given(STATES, STATES, st.sets(st.sampled_from(["topic", "quota", "acl"])))
def test_nothing_is_gone_where_a_type_could_not_be_read(
    before: Mapping[collect.Resource, tuple[collect.Value, ...]],
    now: Mapping[collect.Resource, tuple[collect.Value, ...]],
    refused: set[str],
) -> None:
    readable = {entity: values for entity, values in now.items() if entity.entity_type not in refused}
    failed: dict[tuple[str, str | None], str] = {(each, None): "no right" for each in refused}
    poll = collect.Observation("c", AT, readable, failed)
    rows, known = collect.changed_rows(before, poll)
    kept = {entity: values for entity, values in before.items() if entity.entity_type in refused}
    assert known == {**readable, **kept} == after(collect.state_rows(before), rows)
    status = collect.status_rows(poll)
    assert {row.entity_type for row in status if row.kind == "failed"} == refused
    (heartbeat,) = (row for row in status if row.kind == "heartbeat")
    assert set(heartbeat.entity_type.split(",")) == set(collect.TYPES) - refused


def test_a_resource_whose_configs_could_not_be_read_keeps_those_that_it_had() -> None:
    broker = collect.Resource("broker", "3")
    before = {
        broker: (collect.Value(":fenced", "false"), collect.Value("log.retention.ms", "1", "DYNAMIC_BROKER_CONFIG"))
    }
    poll = seen({broker: (collect.Value(":fenced", "true"),)}, failed={("broker", "3"): "UNREACHABLE"})
    rows, known = collect.changed_rows(before, poll)
    assert known == {broker: (collect.Value(":fenced", "true"), before[broker][1])}
    assert after(collect.state_rows(before), rows) == known
    without_brokers = ",".join(each for each in collect.TYPES if each != "broker")
    assert collect.status_rows(poll) == [
        collect.Row("heartbeat", without_brokers),
        collect.Row("failed", "broker", "3", value="UNREACHABLE"),
    ]


def entry(name: str, value: str | None, *synonyms: config.Synonym, sensitive: bool = False) -> config.ConfigEntry:
    source = synonyms[0].source if synonyms else codes.DEFAULT_CONFIG
    return config.ConfigEntry(name, value, source, sensitive=sensitive, synonyms=synonyms)


def example() -> Snapshot:
    own = entry("retention.ms", "5", config.Synonym("retention.ms", "5", codes.DYNAMIC_TOPIC_CONFIG))
    inherited = entry("segment.bytes", "9", config.Synonym("log.segment.bytes", "9", codes.DYNAMIC_BROKER_CONFIG))
    below_default = entry(
        "log.segment.bytes",
        "7",
        config.Synonym("log.segment.bytes", "7", codes.DYNAMIC_DEFAULT_BROKER_CONFIG),
        config.Synonym("log.segment.bytes", "8", codes.STATIC_BROKER_CONFIG),
    )
    by_another_name = entry(
        "log.retention.ms", None, config.Synonym("log.retention.hours", "24", codes.STATIC_BROKER_CONFIG)
    )
    password = entry(
        "ssl.key.password", None, config.Synonym("ssl.key.password", None, codes.STATIC_BROKER_CONFIG), sensitive=True
    )
    # The broker shows a value that it should hide: kac hides the value of an unknown key anyway.
    plugin = entry(
        "plugin.token", "tell-nobody", config.Synonym("plugin.token", "tell-nobody", codes.STATIC_BROKER_CONFIG)
    )
    default = entry(
        "log.segment.bytes", "7", config.Synonym("log.segment.bytes", "7", codes.DYNAMIC_DEFAULT_BROKER_CONFIG)
    )
    partitions = tuple(cluster.Partition(number, 1, (1, 2), (1, 2)) for number in range(3))
    return Snapshot(
        cluster=cluster.ClusterInfo(
            "c", 1, (cluster.Broker(1, "h", 9092, "r"), cluster.Broker(2, "h2", 9093, fenced=True))
        ),
        versions={
            1: cluster.BrokerVersion("4.3", {}, {}, {"metadata.version": 29}),
            2: cluster.BrokerVersion("4.3", {}),
        },
        topics={
            "t": cluster.Topic("t", partitions, topic_id="ID"),
            "just-deleted": cluster.Topic("just-deleted", partitions),
        },
        configs={
            config.topic_resource("t"): config.ConfigSet((own, inherited)),
            config.broker_resource(1): config.ConfigSet((below_default, by_another_name, password, plugin)),
            config.CLUSTER_DEFAULT: config.ConfigSet((default,)),
        },
        quotas={QuotaEntity.of({"user": "a", "client-id": None}): {"producer_byte_rate": 1024.0}},
        scram={"dave": (cluster.ScramCredential(codes.ScramMechanism.parse("SCRAM-SHA-512"), 4096),)},
        failures=(
            ReadFailure("configs", "broker 2", Failure("UNREACHABLE", "2")),
            ReadFailure("acls", "", DENIED),
            ReadFailure("quorum", "quorum", DENIED),
        ),
    )


def test_what_a_poll_tells() -> None:
    told = collect.observation(
        example(), AT, {("group", None): Failure("UNSUPPORTED", "groups"), ("topic", "hidden"): DENIED}
    )
    assert told.state == {
        collect.Resource("topic", "t"): (
            collect.Value(":partitions", "3"),
            collect.Value(":replication", "2"),
            collect.Value(":topic_id", "ID"),
            collect.Value("retention.ms", "5", "DYNAMIC_TOPIC_CONFIG"),
        ),
        collect.Resource("broker", "1"): (
            collect.Value(":endpoints", "h:9092"),
            collect.Value(":fenced", "false"),
            collect.Value(":rack", "r"),
            collect.Value("log.segment.bytes", "8", "STATIC_BROKER_CONFIG"),
            collect.Value("plugin.token", None, "STATIC_BROKER_CONFIG", True),
            collect.Value("ssl.key.password", None, "STATIC_BROKER_CONFIG", True),
        ),
        collect.Resource("broker", "2"): (collect.Value(":endpoints", "h2:9093"), collect.Value(":fenced", "true")),
        collect.Resource("broker", "<default>"): (
            collect.Value("log.segment.bytes", "7", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        ),
        collect.Resource("quota", "user=a,client-id=<default>"): (collect.Value("producer_byte_rate", "1024"),),
        collect.Resource("scram", "dave"): (collect.Value("SCRAM-SHA-512", "iterations=4096"),),
        collect.Resource("feature", "metadata.version"): (collect.Value(":level", "29"),),
    }
    assert told.failed == {
        ("broker", "2"): "UNREACHABLE: 2",
        ("acl", None): "CLUSTER_AUTHORIZATION_FAILED: no",
        ("group", None): "UNSUPPORTED: groups",
        ("topic", "hidden"): "CLUSTER_AUTHORIZATION_FAILED: no",
    }


def test_rows_fit_the_table(tmp_path: Path) -> None:
    rows, _ = collect.changed_rows({}, seen({collect.Resource("topic", "t"): (collect.Value(":partitions", "1"),)}))
    at = AT + timedelta(microseconds=7)
    path = deliver(Lake.create(str(tmp_path)), [collect.landed(rows, "c", at), collect.landed([], "c", at)], "x")
    table, nothing = read_polls(Path(path))
    assert (*table.schema.names,) == SNAPSHOT.names
    assert nothing.num_rows == 0
    (first,) = table.to_pylist()
    assert (first["observed_ts"], first["kind"], first["entity_key"]) == (at, "state", "t")


# -- Connect -----------------------------------------------------------------------------------------------------------


def polled(connect: ConnectCluster, *failures: ReadFailure, **configs: str) -> collect.Observation:
    known = connectors.with_connect(
        Snapshot(cluster=cluster.ClusterInfo("c", 1, ())),
        connect,
        configs={f"main/{name}": connectors.config(**configs) for name in connect.connectors},
    )
    seen = collect.observation(replace(known, failures=failures), AT, {})
    return dataclasses.replace(seen, unasked=frozenset())


def test_a_connector_is_an_entity_with_its_state_and_its_config_and_without_what_may_be_secret() -> None:
    one = connectors.cluster(connectors.connector(tasks=[connectors.task(0), connectors.task(1, FAILED)]))
    state = polled(one, connection_url="jdbc:x", database_password="hunter22").state
    values = {each.attr: each for each in state[collect.Resource("connector", "main/orders-sink")]}
    assert values[":state"].value == "RUNNING"
    assert values[":tasks"].value == "1/2 running, 1 failed"
    assert values["topics"].value == "orders"
    assert (values["connection.url"].value, values["connection.url"].is_sensitive) == (None, True)
    assert (values["database.password"].value, values["database.password"].is_sensitive) == (None, True)


def test_a_connect_cluster_that_does_not_answer_or_is_named_no_more_deletes_no_connector() -> None:
    known = polled(connectors.cluster()).state
    silent = ReadFailure("connect", "main", Failure("UNREACHABLE", "no"))
    empty = ConnectCluster("main")
    rows, state = collect.changed_rows(known, polled(empty, silent))
    assert (rows, state) == ([], known)
    assert "connector" not in _heartbeat(polled(empty, silent))
    unasked = dataclasses.replace(polled(empty), unasked=frozenset({"connector"}))
    assert collect.changed_rows(known, unasked) == ([], known)
    assert "connector" not in _heartbeat(unasked)
    rows, state = collect.changed_rows(known, polled(empty))
    assert [(row.kind, row.entity_key) for row in rows] == [("absent", "main/orders-sink")]
    assert "connector" in _heartbeat(polled(empty))


def _heartbeat(seen: collect.Observation) -> list[str]:
    return next(row.entity_type.split(",") for row in collect.status_rows(seen) if row.kind == "heartbeat")
