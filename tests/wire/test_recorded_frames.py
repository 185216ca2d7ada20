"""Tests of frames of real brokers: kac decodes them, by the client's code, to the state that the brokers were in."""

import ast
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from kio.serial import entity_reader

import console.admin
from console.admin.errors import error_name
from console.model.codes import ConfigSource, ConfigType
from console.model.config import ConfigResource, ConfigSet
from console.model.quota import QuotaEntity
from console.wire import config_decoder, quota_decoder, record_batches, tagged_fields
from console.wire.frames import encode_header, encode_payload, open_reader
from console.wire.schemas import api_key, response_type
from tests.support.requests_of_kafka import request_type
from tests.wire import recordings
from tests.wire.recordings import VERSIONS, Recording, errors, named, read

# -- Frames of real brokers, decoded as the client decodes them, against the known state of the brokers ----------------
# The requests, from which the expected responses follow, are in record_frames.py.

ALL = [(kafka, recorded.step) for kafka in recordings.VERSIONS for recorded in recordings.read(kafka).exchanges]


@pytest.fixture(params=recordings.VERSIONS)
def recording(request: pytest.FixtureRequest) -> recordings.Recording:
    return recordings.read(request.param)


@pytest.fixture(params=ALL, ids="-".join)
def recorded(request: pytest.FixtureRequest) -> recordings.Recorded:
    kafka, step = request.param
    return recordings.read(kafka)[step]


# --- every frame


def test_every_byte_of_a_response_is_read(recorded: recordings.Recorded) -> None:
    kio = response_type(recorded.api, recorded.exchange.version)
    entity, size = open_reader(kio)(recorded.body, 0)
    assert size == len(recorded.body)
    assert entity == recorded.decode()


def test_a_request_read_and_written_again_gives_the_bytes_that_were_sent(recorded: recordings.Recorded) -> None:
    kio = request_type(recorded.api, recorded.exchange.version)
    frame = recorded.exchange.request
    header, size = entity_reader(kio.__header_schema__)(frame, 0)
    assert (header.request_api_key, header.request_api_version) == (api_key(recorded.api), recorded.exchange.version)
    payload, payload_size = entity_reader(kio)(frame, size)
    assert size + payload_size == len(frame)
    assert encode_header(payload, header.correlation_id, header.client_id or "") + encode_payload(payload) == frame


def test_taking_unknown_tags_out_changes_nothing_where_there_are_none(recorded: recordings.Recorded) -> None:
    kio = response_type(recorded.api, recorded.exchange.version)
    body = bytes(recorded.body)
    assert tagged_fields.without_unknown_tags(kio, body) == (body, len(body))


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in recordings.FOLDER.iterdir()) <= 1 << 20


def test_every_api_that_the_client_calls_is_recorded() -> None:
    called = set()
    for path in Path(console.admin.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("call", "call_raw"):
                called |= {arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    assert called <= {recorded.api for recorded in recordings.read("4.3.0").exchanges}
    assert {"metadata", "describe_configs"} <= called


# --- the cluster


def test_versions(recording: recordings.Recording) -> None:
    keys = recordings.named(recording["versions"].decode().api_keys, "api_key")
    highest = {"3.9.1": {3: 12, 60: 1, 35: 4, 9: 9}, "4.3.0": {3: 13, 60: 2, 35: 5, 9: 10}}[recording.kafka]
    assert {key: keys[key].max_version for key in highest} == highest
    assert recording["all topics"].exchange.version == highest[3]


def test_finalized_features(recording: recordings.Recording) -> None:
    features = recordings.named(recording["versions"].decode().finalized_features, "name")
    level = {"3.9.1": 21, "4.3.0": 30}[recording.kafka]  # 3.9-IV0 and 4.3-IV0 of MetadataVersion
    assert features["metadata.version"].max_version_level == level


def test_features_that_were_checked(recording: recordings.Recording) -> None:
    """In the answer of UpdateFeatures up to v1 each feature has its own result. In v2 (Kafka 4) there is one result for
    all, and its message names the wrong feature.
    """
    checked, refused = recording["features checked"].decode(), recording["features refused"].decode()
    wrong = "Invalid update version 2 for feature nope. Local controller 1 does not support this feature."
    if recording.kafka == "3.9.1":
        assert recordings.errors(checked.results, "feature") == {"group.version": "NONE"}
        assert recordings.errors(refused.results, "feature") == {
            "group.version": "NONE",
            "nope": "INVALID_UPDATE_VERSION",
        }
        assert recordings.named(refused.results, "feature")["nope"].error_message == wrong
    else:
        assert error_name(refused.error_code) == "INVALID_UPDATE_VERSION"
        assert refused.error_message.endswith(wrong)
    assert error_name(checked.error_code) == "NONE"
    before, after = recording["versions"].decode(), recording["versions after the checks"].decode()
    assert set(after.finalized_features) == set(before.finalized_features)


def test_registrations(recording: recordings.Recording) -> None:
    """Broker 2, which was registered and never ran, can be unregistered; an unknown broker can't."""
    assert error_name(recording["broker unregistered"].decode().error_code) == "NONE"
    assert error_name(recording["unknown broker"].decode().error_code) == "BROKER_ID_NOT_REGISTERED"
    if recording.kafka == "4.3.0":  # DescribeCluster has fenced brokers from v2 on
        known = recordings.named(recording["fenced broker"].decode().brokers, "broker_id")
        assert {number: broker.is_fenced for number, broker in known.items()} == {1: False, 2: True}
        assert (known[2].host, known[2].port, known[2].rack) == ("127.0.0.1", 9, "rack-2")
        assert list(recordings.named(recording["broker gone"].decode().brokers, "broker_id")) == [1]


def test_cluster(recording: recordings.Recording) -> None:
    answer = recording["cluster"].decode()
    (broker,) = answer.brokers
    assert answer.cluster_id == recording.cluster_id
    assert (broker.broker_id, broker.host, broker.port, broker.rack) == (1, "127.0.0.1", recording.port, "rack-1")
    assert getattr(broker, "is_fenced", False) is False


def test_quorum(recording: recordings.Recording) -> None:
    (topic,) = recording["quorum"].decode().topics
    (partition,) = topic.partitions
    assert (topic.topic_name, partition.partition_index) == ("__cluster_metadata", 0)
    assert partition.leader_id == 1
    assert [voter.replica_id for voter in partition.current_voters] == [1]
    assert partition.observers == ()
    assert 0 < partition.high_watermark <= partition.current_voters[0].log_end_offset


# --- topics


ERRORS: list[tuple[str, str, tuple[str, ...], dict[Any, str]]] = [
    ("topics checked", "topics", ("name",), {"orders": "INVALID_REPLICATION_FACTOR"}),
    (
        "topics made",
        "topics",
        ("name",),
        {"orders": "NONE", "audit.log": "NONE", "bad name!": "INVALID_TOPIC_EXCEPTION"},
    ),
    ("topic there already", "topics", ("name",), {"orders": "TOPIC_ALREADY_EXISTS"}),
    ("partitions", "results", ("name",), {"audit.log": "NONE", "orders": "INVALID_PARTITIONS"}),
    ("named topics", "topics", ("name",), {"orders": "NONE", "missing": "UNKNOWN_TOPIC_OR_PARTITION"}),
    ("partitions, first page", "topics", ("name",), {"orders": "NONE", "missing": "UNKNOWN_TOPIC_OR_PARTITION"}),
    ("topics deleted", "responses", ("name",), {"audit.log": "NONE", "missing": "UNKNOWN_TOPIC_OR_PARTITION"}),
    (
        "configs altered",
        "responses",
        ("resource_type", "resource_name"),
        {
            (2, "orders"): "NONE",
            (2, "missing"): "UNKNOWN_TOPIC_OR_PARTITION",
            (4, ""): "NONE",
            (4, "1"): "NONE",
            (16, "fleet"): "NONE",
        },
    ),
    (
        "configs refused",
        "responses",
        ("resource_type", "resource_name"),
        {(2, "orders"): "INVALID_CONFIG", (2, "audit.log"): "INVALID_CONFIG", (4, "1"): "INVALID_REQUEST"},
    ),
    ("configs replaced", "responses", ("resource_name",), {"audit.log": "NONE"}),
    (
        "topic configs",
        "results",
        ("resource_name",),
        {"orders": "NONE", "audit.log": "NONE", "missing": "UNKNOWN_TOPIC_OR_PARTITION"},
    ),
    (
        "scram altered",
        "results",
        ("user",),
        {"alice": "NONE", "bob": "UNACCEPTABLE_CREDENTIAL", "nobody": "RESOURCE_NOT_FOUND"},
    ),
    ("scram of two", "results", ("user",), {"alice": "NONE", "nobody": "RESOURCE_NOT_FOUND"}),
]


@pytest.mark.parametrize(("step", "array", "names", "told"), ERRORS, ids=[step for step, *_ in ERRORS])
def test_errors(
    recording: recordings.Recording, step: str, array: str, names: tuple[str, ...], told: dict[Any, str]
) -> None:
    assert recordings.errors(getattr(recording[step].decode(), array), *names) == told


def test_topics_made(recording: recordings.Recording) -> None:
    orders = recordings.named(recording["topics made"].decode().topics, "name")["orders"]
    assert (orders.num_partitions, orders.replication_factor) == (3, 1)
    configs = recordings.named(orders.configs, "name")
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("86400000", 1)


def test_metadata(recording: recordings.Recording) -> None:
    answer = recording["all topics"].decode()
    assert (answer.cluster_id, answer.controller_id) == (recording.cluster_id, 1)
    topics = recordings.named(answer.topics, "name")
    assert {name: sorted(p.partition_index for p in topic.partitions) for name, topic in topics.items()} == {
        "orders": [0, 1, 2],
        "audit.log": [0, 1, 2, 3],
    }
    for topic in topics.values():
        for partition in topic.partitions:
            assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, (1,), (1,))
    made = recordings.named(recording["topics made"].decode().topics, "name")
    assert topics["orders"].topic_id == made["orders"].topic_id


def test_pages_of_partitions(recording: recordings.Recording) -> None:
    """With at most two partitions for a page, the first page of a topic with three partitions has two and names
    partition 2 as the next; the second page has one, and names none.
    """
    first, following = recording["partitions, first page"].decode(), recording["partitions, next page"].decode()
    assert (first.next_cursor.topic_name, first.next_cursor.partition_index) == ("orders", 2)
    (rest,) = following.topics
    assert (rest.name, following.next_cursor) == ("orders", None)
    orders = recordings.named(first.topics, "name")["orders"]
    made = recordings.named(recording["topics made"].decode().topics, "name")
    assert orders.topic_id == rest.topic_id == made["orders"].topic_id
    assert [list(recordings.named(topic.partitions, "partition_index")) for topic in (orders, rest)] == [[0, 1], [2]]
    for partition in (*orders.partitions, *rest.partitions):
        assert (partition.error_code, partition.leader_id, partition.replica_nodes) == (0, 1, (1,))
        assert (partition.isr_nodes, partition.eligible_leader_replicas, partition.last_known_elr) == ((1,), (), ())


# --- configs


def test_configs_refused(recording: recordings.Recording) -> None:
    messages = recordings.named(recording["configs refused"].decode().responses, "resource_name")
    assert messages["orders"].error_message == "Unknown topic config name: no.such.key"
    assert "log.dirs" in messages["1"].error_message


def test_topic_configs(recording: recordings.Recording) -> None:
    results = recordings.named(recording["topic configs"].decode().results, "resource_name")
    orders = recordings.named(results["orders"].configs, "name")
    overrides = {name: config.value for name, config in orders.items() if config.config_source == 1}
    assert overrides == {"retention.ms": "86400000", "cleanup.policy": "delete", "min.insync.replicas": "1"}
    retention = orders["retention.ms"]
    assert [(synonym.name, synonym.value, synonym.source) for synonym in retention.synonyms] == [
        ("retention.ms", "86400000", 1),
        ("log.retention.ms", "5000000", 2),
        ("log.retention.hours", "168", 5),
    ]
    assert retention.config_type == 5
    audit = recordings.named(results["audit.log"].configs, "name")
    assert (audit["retention.bytes"].value, audit["retention.bytes"].config_source) == ("1000", 1)
    assert (audit["retention.ms"].value, audit["retention.ms"].config_source) == ("5000000", 2)


def test_broker_configs(recording: recordings.Recording) -> None:
    (result,) = recording["broker configs"].decode().results
    configs = recordings.named(result.configs, "name")
    assert (configs["node.id"].value, configs["node.id"].config_source, configs["node.id"].read_only) == ("1", 4, True)
    assert (configs["log.cleaner.threads"].value, configs["log.cleaner.threads"].config_source) == ("2", 3)
    assert (configs["log.retention.ms"].value, configs["log.retention.ms"].config_source) == ("5000000", 2)
    assert "milliseconds to keep a log file" in configs["log.retention.ms"].documentation
    password = configs["ssl.keystore.password"]
    assert (password.value, password.is_sensitive, password.config_type) == (None, True, 9)


def test_the_cluster_default_has_dynamic_values_alone(recording: recordings.Recording) -> None:
    (result,) = recording["cluster default"].decode().results
    configs = recordings.named(result.configs, "name")
    assert configs["log.cleaner.threads"].value == "2"
    assert {config.config_source for config in configs.values()} == {3}


def test_a_broker_answers_for_itself_alone(recording: recordings.Recording) -> None:
    (result,) = recording["wrong broker"].decode().results
    assert error_name(result.error_code) == "INVALID_REQUEST"
    assert result.error_message == "Unexpected broker id, expected 1 or empty string, but received 2"


def test_loggers_and_client_metrics(recording: recordings.Recording) -> None:
    (result,) = recording["loggers"].decode().results
    loggers = recordings.named(result.configs, "name")
    assert {config.config_source for config in loggers.values()} == {6}
    assert loggers["kafka.server.ControllerServer"].value == "INFO"
    (metrics,) = recording["client metrics"].decode().results
    interval = recordings.named(metrics.configs, "name")["interval.ms"]
    assert (interval.value, interval.config_source) == ("60000", 7)


def test_config_resources(recording: recordings.Recording) -> None:
    """ListConfigResources version 0 (Kafka 3.7 to 4.0) lists only client metrics, without a type; version 1 lists
    resources of every type.
    """
    resources = recording["config resources"].decode().config_resources
    if recording.kafka == "3.9.1":
        assert [resource.resource_name for resource in resources] == ["fleet"]
    else:
        assert {(16, "fleet"), (4, "1"), (2, "orders"), (2, "audit.log")} <= {
            (resource.resource_type, resource.resource_name) for resource in resources
        }


CONFIG_STEPS = (
    "topic configs",
    "broker configs",
    "cluster default",
    "wrong broker",
    "loggers",
    "client metrics",
    "group configs",
)


@pytest.mark.parametrize("step", CONFIG_STEPS)
def test_the_config_decoder_gives_what_kio_gives(recording: recordings.Recording, step: str) -> None:
    recorded = recording[step]
    decoder = config_decoder.ConfigDecoder(recorded.exchange.version)
    for _ in range(2):  # the second time from the decoder's memory
        described = decoder.decode(bytes(recorded.body), {})
        results = recorded.decode().results
        assert len(described) == len(results)
        for (resource, got), result in zip(described, results, strict=True):
            assert (resource.type, resource.name) == (result.resource_type, result.resource_name)
            if isinstance(got, ConfigSet):
                assert result.error_code == 0
                assert [plain(entry) for entry in got] == sorted(kio_entry(config) for config in result.configs)
            else:
                assert (got.code, got.message) == (result.error_code, result.error_message or "")


SHARED = ("name", "value", "read_only")


def plain(entry: Any) -> tuple[Any, ...]:
    synonyms = [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]
    own = entry.source, entry.sensitive, entry.type
    return *attrgetter(*SHARED)(entry), *own, synonyms, entry.documentation


def kio_entry(config: Any) -> tuple[Any, ...]:
    synonyms = [(synonym.name, synonym.value, ConfigSource(synonym.source)) for synonym in config.synonyms]
    own = ConfigSource(config.config_source), config.is_sensitive, ConfigType(config.config_type)
    return *attrgetter(*SHARED)(config), *own, synonyms, config.documentation


# --- quotas, ACLs, SCRAM

QUOTAS = {
    QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
    QuotaEntity.of({"user": "alice", "client-id": None}): {"consumer_byte_rate": 2048.0},
    QuotaEntity.of({"user": None}): {"controller_mutation_rate": 0.5},
    QuotaEntity.of({"client-id": "ü"}): {"producer_byte_rate": 1.0},
    QuotaEntity.of({"ip": "10.1.2.3"}): {"connection_creation_rate": 7.0},
}


def test_quotas(recording: recordings.Recording) -> None:
    every = recording["all quotas"]
    assert quota_decoder.decode_quotas(every.exchange.version, bytes(every.body)) == QUOTAS
    alone = recording["quotas of alice alone"]
    alice = QuotaEntity.of({"user": "alice"})
    assert quota_decoder.decode_quotas(alone.exchange.version, bytes(alone.body)) == {alice: QUOTAS[alice]}
    answer = recording["quotas of no type"].decode()
    assert (error_name(answer.error_code), answer.entries) == ("UNSUPPORTED_VERSION", None)
    assert answer.error_message == "Unsupported entity type planet"


def test_quotas_by_kios_own_objects(recording: recordings.Recording) -> None:
    entries = recording["all quotas"].decode().entries
    assert {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): {
            value.key: value.value for value in entry.values
        }
        for entry in entries
    } == QUOTAS


@pytest.mark.parametrize("step", ["quotas checked", "quotas altered"])
def test_quotas_altered(recording: recordings.Recording, step: str) -> None:
    told = {
        QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity}): error_name(entry.error_code)
        for entry in recording[step].decode().entries
    }
    good = dict.fromkeys(QUOTAS, "NONE") if step == "quotas altered" else {}
    carol, both = QuotaEntity.of({"user": "carol"}), QuotaEntity.of({"user": "carol", "ip": "10.1.2.3"})
    assert told == good | {carol: "INVALID_REQUEST", both: "INVALID_REQUEST"}


def test_acls(recording: recordings.Recording) -> None:
    made = recording["acls made"].decode().results
    assert [error_name(result.error_code) for result in made] == ["NONE", "NONE", "INVALID_REQUEST"]
    assert made[2].error_message == "The only valid name for the CLUSTER resource is kafka-cluster"
    resources = recordings.named(
        recording["all acls"].decode().resources, "resource_type", "resource_name", "pattern_type"
    )
    assert {
        (*key, acl.principal, acl.host, acl.operation, acl.permission_type)
        for key, resource in resources.items()
        for acl in resource.acls
    } == {(2, "orders", 3, "User:alice", "*", 3, 3), (2, "ord", 4, "User:bob", "10.0.0.9", 4, 2)}
    (deleted,) = recording["acls deleted"].decode().filter_results
    (acl,) = deleted.matching_acls
    assert (deleted.error_code, acl.error_code, acl.principal, acl.pattern_type) == (0, 0, "User:bob", 4)


def test_scram(recording: recordings.Recording) -> None:
    (alice,) = recording["all scram"].decode().results
    assert alice.user == "alice"
    assert [(info.mechanism, info.iterations) for info in alice.credential_infos] == [(1, 4096)]


# --- log dirs, groups, moves


def test_log_dirs(recording: recordings.Recording) -> None:
    (directory,) = recording["log dirs"].decode().results
    topics = recordings.named(directory.topics, "name")
    assert {name: len(topic.partitions) for name, topic in topics.items()} == {"orders": 3, "audit.log": 4}
    assert 0 < directory.usable_bytes <= directory.total_bytes
    assert all(p.partition_size == 0 and not p.is_future_key for topic in topics.values() for p in topic.partitions)


def test_groups(recording: recordings.Recording) -> None:
    (coordinator,) = recording["coordinator"].decode().coordinators
    assert (coordinator.key, coordinator.node_id, coordinator.port) == ("billing", 1, recording.port)
    (listed,) = recording["groups"].decode().groups
    assert (listed.group_id, listed.group_state, listed.group_type) == ("billing", "Stable", "classic")
    groups = recordings.named(recording["group members"].decode().groups, "group_id")
    (member,) = groups["billing"].members
    assert (member.client_id, groups["billing"].group_state) == ("biller", "Stable")
    assert b"orders" in member.member_assignment
    assert groups["missing"].group_state == "Dead"
    # Up to version 5 a missing group is Dead; version 6 has an error (KIP-1043).
    assert error_name(groups["missing"].error_code) == ("NONE" if recording.kafka == "3.9.1" else "GROUP_ID_NOT_FOUND")


def test_a_classic_group_is_not_described_by_the_new_call(recording: recordings.Recording) -> None:
    (group,) = recording["not a new group"].decode().groups
    assert error_name(group.error_code) in ("GROUP_ID_NOT_FOUND", "UNSUPPORTED_VERSION")


def test_a_group_of_the_new_protocol() -> None:
    (group,) = recordings.read("4.3.0")["new group"].decode().groups
    (member,) = group.members
    (assigned,) = member.assignment.topic_partitions
    assert (group.group_id, group.group_state, member.client_id) == ("shipping", "Stable", "shipper")
    assert (assigned.topic_name, sorted(assigned.partitions)) == ("orders", [0, 1, 2])


def test_offsets(recording: recordings.Recording) -> None:
    """The recorded answers have the offsets of four records in partition 0 and one in partition 1, all of which a group
    has read and committed.
    """
    (group,) = recording["committed"].decode().groups
    (topic,) = group.topics
    committed = {p.partition_index: p.committed_offset for p in topic.partitions}
    assert (group.group_id, committed) == ("billing", {0: 4, 1: 1, 2: 0})
    (latest,) = recording["latest"].decode().topics
    partitions = recordings.named(latest.partitions, "partition_index")
    assert partitions[0].offset == 4
    assert error_name(partitions[9].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_moves_and_elections(recording: recordings.Recording) -> None:
    assert recording["reassignments"].decode().topics == ()
    (topic,) = recording["nothing to cancel"].decode().responses
    assert [error_name(p.error_code) for p in topic.partitions] == ["NO_REASSIGNMENT_IN_PROGRESS"]
    (elected,) = recording["elections"].decode().replica_election_results
    assert {p.partition_id: error_name(p.error_code) for p in elected.partition_result} == {
        0: "ELECTION_NOT_NEEDED",
        9: "UNKNOWN_TOPIC_OR_PARTITION",
    }


def test_resources_are_given_back_as_they_were_asked_for(recording: recordings.Recording) -> None:
    recorded = recording["wrong broker"]
    mine = ConfigResource(4, "2")  # type: ignore[arg-type]
    ((resource, _),) = config_decoder.ConfigDecoder(recorded.exchange.version).decode(
        bytes(recorded.body), {(4, "2"): mine}
    )
    assert resource is mine


# -- Records and transactions in frames of real brokers, against the requests in record_frames.py ----------------------


@pytest.fixture(params=VERSIONS)
def recording_of(request: pytest.FixtureRequest) -> Recording:
    return read(request.param)


def fetched(recording_of: Recording, step: str) -> dict[Any, Any]:
    """Return partition -> its part of the answer, for the Fetch of the topic orders in this step."""
    (topic,) = recording_of[step].decode().responses
    assert topic.topic_id == named(recording_of["topics made"].decode().topics, "name")["orders"].topic_id
    return named(topic.partitions, "partition_index")


def values(partition: Any) -> dict[int, bytes | None]:
    """Return offset -> value of the records in a partition's part of an answer, without transaction markers."""
    return {
        record.offset: record.value
        for batch in record_batches.batches(partition.records)
        if not batch.control
        for record in record_batches.records(batch, "orders", partition.partition_index)
    }


def markers(partition: Any) -> list[tuple[int, int, bool]]:
    """Return (offset, producer id, whether it aborts) of each transaction marker in a partition's part of an answer."""
    found = [batch for batch in record_batches.batches(partition.records) if batch.control]
    return [(batch.base_offset, batch.facts.producer_id, batch.aborts) for batch in found]


def producer_id(recording_of: Recording) -> int:
    """Return the producer id of the transactional id till-1, which wrote the record "paid"."""
    states = recording_of["transactions by id"].decode().transaction_states
    found: int = named(states, "transactional_id")["till-1"].producer_id
    return found


BY_PARTITION = {0: "NONE", 1: "NONE", 2: "OFFSET_OUT_OF_RANGE", 9: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_records(recording_of: Recording) -> None:
    """The recorded answers have four orders in partition 0 and one in partition 1, and "paid" in partition 0, in an
    aborted transaction. Fetches of an unknown partition, and of an offset out of range, have errors.
    """
    partitions = fetched(recording_of, "records")
    assert {number: error_name(part.error_code) for number, part in partitions.items()} == BY_PARTITION
    assert values(partitions[0]) == {0: b"order", 1: b"order", 2: b"order", 3: b"order", 4: b"paid"}
    assert values(partitions[1]) == {0: b"order"}
    mine = producer_id(recording_of)
    assert markers(partitions[0]) == [(5, mine, True)]
    assert [(each.producer_id, each.first_offset) for each in partitions[0].aborted_transactions] == [(mine, 4)]
    ends = {number: (partitions[number].log_start_offset, partitions[number].high_watermark) for number in (0, 1)}
    assert ends == {0: (0, 6), 1: (0, 1)}


def test_records_deleted(recording_of: Recording) -> None:
    """The recorded answers have the new first offsets: 3 in partition 0, and the end in partition 1. The deletion up to
    offset 99 in partition 2, which is empty, has an error.
    """
    topics = named(recording_of["records deleted"].decode().topics, "name")
    orders = topics["orders"].partitions
    assert errors(orders, "partition_index") == BY_PARTITION
    assert errors(topics["missing"].partitions, "partition_index") == {0: "UNKNOWN_TOPIC_OR_PARTITION"}
    lowest = {number: part.low_watermark for number, part in named(orders, "partition_index").items()}
    assert lowest == {0: 3, 1: 1, 2: -1, 9: -1}


def test_records_left(recording_of: Recording) -> None:
    """After the deletions, the log still has the transaction marker that a client wrote for producer id 999999, which
    no coordinator knows.
    """
    partitions = fetched(recording_of, "records left")
    assert values(partitions[0]) == {3: b"order", 4: b"paid"}
    assert markers(partitions[0]) == [(5, producer_id(recording_of), True), (6, 999_999, True)]
    assert (partitions[0].log_start_offset, partitions[0].high_watermark) == (3, 7)
    assert error_name(partitions[1].error_code) == "OFFSET_OUT_OF_RANGE"


def test_producers(recording_of: Recording) -> None:
    topics = named(recording_of["producers"].decode().topics, "name")
    orders = named(topics["orders"].partitions, "partition_index")
    (producer,) = orders[0].active_producers
    assert (producer.producer_id, producer.current_txn_start_offset) == (producer_id(recording_of), 4)
    assert error_name(orders[7].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    missing = errors(topics["missing"].partitions, "partition_index")
    assert missing == dict.fromkeys((0, 7), "UNKNOWN_TOPIC_OR_PARTITION")


def test_transactions(recording_of: Recording) -> None:
    listed = named(recording_of["transactions"].decode().transaction_states, "transactional_id")
    assert {name: each.transaction_state for name, each in listed.items()} == {"till-1": "Ongoing", "till-2": "Empty"}
    described = recording_of["transactions by id"].decode().transaction_states
    assert errors(described, "transactional_id") == {
        "till-1": "NONE",
        "till-2": "NONE",
        "missing": "TRANSACTIONAL_ID_NOT_FOUND",
    }
    by_id = named(described, "transactional_id")
    (topic,) = by_id["till-1"].topics
    assert (topic.topic, topic.partitions, by_id["till-2"].topics) == ("orders", (0,), ())
    assert by_id["till-1"].transaction_start_time > 0
    assert by_id["till-2"].transaction_start_time == -1


def test_markers_written(recording_of: Recording) -> None:
    (marker,) = recording_of["markers"].decode().markers
    assert marker.producer_id == 999_999
    told = {topic.name: errors(topic.partitions, "partition_index") for topic in marker.topics}
    assert told == {"orders": {0: "NONE"}, "missing": {0: "UNKNOWN_TOPIC_OR_PARTITION"}}
