"""Tests of real brokers' metadata logs: kac reads the same records as Kafka's own DumpLogSegments. Secrets are compared
by their HMAC.
"""

import asyncio
import contextlib
import json
import re
import shutil
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from console.admin.cluster import describe_quorum
from console.lake.kraft import ROW_SCHEMA, known_schemas
from console.lake.redact import HIDDEN, hmac_hex
from console.model.cluster import Quorum
from console.model.kafka_structs import schemas_of
from tests.support import cached_folder, kafka_cluster, kafka_jars, metadata_log, patience, real_clusters, worlds
from tests.support import record_metadata_schemas as recorded
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_commands import ACLS, CONFIGS, TOPICS, KafkaCommands

pytestmark = [pytest.mark.broker, pytest.mark.slow]

KEY = b"key of the lake"
PLANTED = "planted-4711"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
KEYSTORE = "listener.name.sasl_plaintext.ssl.keystore.password"
_DUMPED = re.compile(r"\| offset: (\d+) \w+: (-?\d+) .*? payload: (\{.*\})$")
_BATCH = re.compile(r"baseOffset: .* partitionLeaderEpoch: (\d+) .* isControl: (true|false)")
_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.log.max.snapshot.interval.ms": "5000",
    "metadata.max.idle.interval.ms": "500",  # an internal config: each record may begin a segment
    "metadata.log.segment.ms": "2000",
    "delegation.token.secret.key": PLANTED,
}
MADE_BY_ALL = {
    "AccessControlEntryRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClientQuotaRecord",
    "ConfigRecord",
    "DelegationTokenRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveAccessControlEntryRecord",
    "RemoveDelegationTokenRecord",
    "RemoveTopicRecord",
    "RemoveUserScramCredentialRecord",
    "TopicRecord",
    "UserScramCredentialRecord",
}

NOT_HEARD_OF = ("does not exist as expected", "Invalid config(s)")
"""Texts of errors with which tools fail for an entity that was just created, because brokers learn of it later than the
controller.
"""
UNREGISTER_CONTROLLER = 29
NUMBERS = {schema.name: schema.api_key for schema in known_schemas().values()}


@dataclass(frozen=True)
class Recorded:
    """The metadata logs of a cluster's brokers.

    folders: directories `__cluster_metadata-0`, each with `dump.txt`, the output of DumpLogSegments, in its parent.
    """

    version: str
    cluster_id: str
    folders: tuple[Path, ...]


@pytest.fixture(params=[kafka_jars.KAFKA_4_3, pytest.param(kafka_jars.KAFKA_3_9, marks=pytest.mark.long)])
def logs(request: pytest.FixtureRequest) -> Iterator[Recorded]:
    """Provide the metadata logs of a real cluster. They are recorded again if a file changes that takes part in the
    recording.
    """
    version: str = request.param
    support = Path(kafka_cluster.__file__).parent
    made_by = (Path(__file__), *(support / name for name in ("kafka_cluster.py", "kafka_commands.py", "kafka_jars.py")))
    with contextlib.ExitStack() as stack:

        def fill(folder: Path) -> None:
            start = contextlib.contextmanager(real_clusters.running)
            cluster = stack.enter_context(
                start(lambda: KafkaCluster(version, brokers=2, logins=True, properties=_SNAPSHOTS))
            )
            _record(cluster, folder)

        folder = cached_folder.recorded_folder(f"metadata-log-{version}", made_by, fill)
        brokers = sorted(folder.glob("broker-*"))
        cluster_id = (folder / "cluster-id").read_text()
        yield Recorded(version, cluster_id, tuple(broker / "__cluster_metadata-0" for broker in brokers))


def _record(cluster: KafkaCluster, folder: Path) -> None:
    with KafkaCommands(cluster.version) as commands:
        _change_everything(cluster, commands)
    found = {broker: _log_folder(cluster, broker) for broker in cluster.broker_ids}
    for log in found.values():
        _wait_for_a_snapshot(log)
    for broker in cluster.broker_ids:
        cluster.kill(broker)  # the last of two controllers can't stop in order
    (folder / "cluster-id").write_text(cluster.cluster_id)
    for broker, log in found.items():
        kept = folder / f"broker-{broker}"
        kept.mkdir()
        files = sorted((*log.glob("*.log"), *log.glob("*.checkpoint")))
        (kept / log.name).mkdir()
        for file in files:
            shutil.copy(file, kept / log.name)
        shutil.copy(log.parent / "meta.properties", kept)
        tool = "org.apache.kafka.tools" if kafka_jars.major(cluster.version) >= 4 else "kafka.tools"
        names = ",".join(map(str, files))
        dump = cluster.run_tool(f"{tool}.DumpLogSegments", "--cluster-metadata-decoder", "--files", names, timeout=120)
        assert dump.returncode == 0, dump.stderr
        (kept / "dump.txt").write_text(dump.stdout)


def test_every_record_is_what_dump_log_segments_shows(logs: Recorded) -> None:
    of_release = recorded.records(logs.version)
    assert schemas_of(of_release).items() <= known_schemas().items()
    for folder in logs.folders:
        rows = _read(folder)
        assert rows == _dumped(logs.cluster_id, folder, rows)
        assert {row["file"].rpartition(".")[2] for row in rows} == {"log", "checkpoint"}
        assert PLANTED not in str(rows)
    assert {row["record_type"] for row in rows} >= MADE_BY_ALL
    assert len({row["file"] for row in rows if not row["in_snapshot"]}) > 1
    both = _read(*logs.folders)
    in_log = [row["log_offset"] for row in both if not row["in_snapshot"]]
    assert len(in_log) == len(set(in_log))


# The schemas and the jars change only with a commit that records the schemas again.
@pytest.mark.long
def test_the_schemas_are_those_of_the_newest_release_and_have_all_of_the_others() -> None:
    try:
        of = {
            release: recorded.records(version)
            for release, version in kafka_jars.RELEASES.items()
            if kafka_jars.major(version) >= 4
        }
    except kafka_jars.BrokersUnavailableError as reason:
        pytest.skip(str(reason))
    assert recorded.DATA.read_text() == recorded.as_text(of[kafka_jars.NEWEST])
    for each in of.values():
        assert schemas_of(each).items() <= known_schemas().items()


def test_a_controller_that_is_unregistered(tmp_path: Path) -> None:
    """kac reads the record that Kafka 4.4 writes for an unregistered controller as an ordinary row. The test sends the
    request itself, because no published tool of 4.4 does.
    """
    start = contextlib.contextmanager(real_clusters.running)
    with start(lambda: KafkaCluster(kafka_jars.RELEASES["4.4"], brokers=2)) as cluster:
        quorum = asyncio.run(_quorum(cluster))
        (other,) = set(cluster.broker_ids) - {quorum.leader_id}
        host, port = cluster.addresses[0]
        assert _unregister_controller((host, port), other) == 0
        folder = _log_folder(cluster, quorum.leader_id)
        kept = tmp_path / folder.name
        deadline = time.monotonic() + patience.PATIENCE
        while True:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            shutil.copy(folder.parent / "meta.properties", tmp_path)
            rows = [row for row in _read(kept) if row["api_key"] == UNREGISTER_CONTROLLER]
            if rows:
                break
            assert time.monotonic() < deadline
    assert {(row["record_type"], row["payload"]) for row in rows} == {
        ("UnregisterControllerRecord", f'{{"controllerId":{other}}}')
    }


async def _quorum(cluster: KafkaCluster) -> Quorum:
    async with worlds.linked(worlds.settings(cluster)) as link:
        return await describe_quorum(link)


def _unregister_controller(address: tuple[str, int], controller: int) -> int:
    """Send the request that unregisters a controller to a broker, as bytes, because no library knows it. Return the
    error code of the response.
    """
    request = struct.pack(">hhih4sx", 94, 0, 1, 4, b"test") + struct.pack(">ix", controller)
    with socket.create_connection(address, patience.PATIENCE) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = connection.recv(1000)
    # size, correlation id and tagged fields come before the throttle time and the error code
    (code,) = struct.unpack_from(">h", answer, 4 + 4 + 1 + 4)
    return int(code)


def _change_everything(cluster: KafkaCluster, commands: KafkaCommands) -> None:
    def run(main_class: str, *arguments: str) -> str:
        deadline = time.monotonic() + 60
        while (ran := commands.run(main_class, ("--bootstrap-server", cluster.bootstrap, *arguments))).code:
            assert any(each in ran.out + ran.err for each in NOT_HEARD_OF), (arguments, ran)
            assert time.monotonic() < deadline, (arguments, ran)
        return ran.out

    def alter(*entity: str, add: str | None = None, delete: str | None = None) -> None:
        run(CONFIGS, "--alter", *entity, *(("--add-config", add) if add else ("--delete-config", delete or "")))

    orders = ("--topic", "orders")
    run(
        TOPICS, "--create", *orders, "--partitions", "3", "--replication-factor", "2", "--config", "retention.ms=600000"
    )
    run(TOPICS, "--create", "--topic", "scratch", "--partitions", "1", "--replication-factor", "1")
    run(TOPICS, "--alter", *orders, "--partitions", "5")
    run(TOPICS, "--delete", "--topic", "scratch")
    alter("--entity-type", "topics", "--entity-name", "orders", add="max.message.bytes=200000,cleanup.policy=compact")
    alter("--entity-type", "topics", "--entity-name", "orders", delete="max.message.bytes")
    alter("--entity-type", "brokers", "--entity-default", add="log.retention.ms=86400000")
    alter("--entity-type", "brokers", "--entity-name", "1", add=f"{KEYSTORE}={PLANTED},log.cleaner.threads=2")
    alter("--entity-type", "client-metrics", "--entity-name", "watch", add="metrics=org.apache,interval.ms=30000")
    user = ("--entity-type", "users", "--entity-name")
    alter(*user, "grüße=%:", add="producer_byte_rate=1048576,request_percentage=12.5")
    alter(*user, "alice", "--entity-type", "clients", "--entity-default", add="consumer_byte_rate=1e10")
    alter(*user, "alice", "--entity-type", "clients", "--entity-default", delete="consumer_byte_rate")
    alter("--entity-type", "ips", "--entity-name", "127.0.0.9", add="connection_creation_rate=7")
    alter(*user, "carol", add=f"SCRAM-SHA-256=[iterations=8192,password={PLANTED}]")
    alter(*user, "carol", add=f"SCRAM-SHA-512=[iterations=4096,password={PLANTED}]")
    alter(*user, "carol", delete="SCRAM-SHA-512")
    acl = ("--allow-principal", "User:carol", "--operation", "Read", "--resource-pattern-type", "prefixed", *orders)
    denied = ("--deny-principal", "User:mallory", "--operation", "All", "--cluster")
    acls = ACLS if kafka_jars.major(cluster.version) >= 4 else "kafka.admin.AclCommand"
    for change in (("--add",), ("--remove", "--force")):
        run(acls, *change, *acl)
        run(acls, *change, *denied)
    if kafka_jars.major(cluster.version) >= 4:
        alter("--entity-type", "groups", "--entity-name", "readers", add="consumer.session.timeout.ms=50000")
        run(FEATURES, "downgrade", "--feature", "group.version=0")
        run(FEATURES, "upgrade", "--feature", "group.version=1")
    _reassign(cluster, run)
    _tokens(cluster, commands)
    _produce(cluster)
    cluster.restart(2)


def _reassign(cluster: KafkaCluster, run: Any) -> None:
    plan = cluster.directory / "reassign.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2]}]}))
    run(REASSIGN, "--execute", "--reassignment-json-file", str(plan))


def _tokens(cluster: KafkaCluster, commands: KafkaCommands) -> None:
    host, port = cluster.login_addresses[0]
    settings = cluster.directory / "admin.properties"
    settings.touch(mode=0o600)
    module, password = "org.apache.kafka.common.security.plain.PlainLoginModule", cluster.users["admin"]
    login = f'{module} required username="admin" password="{password}";'
    settings.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    connect = ("--bootstrap-server", f"{host}:{port}", "--command-config", str(settings))
    made = commands.run(
        TOKENS, (*connect, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice")
    )
    assert made.code == 0, made
    secret = re.search(r"\s([\w+/]{40,}={0,2})\s", made.out)
    assert secret, made
    # A broker learns of a token a little later than the controller.
    expire = (*connect, "--expire", "--expiry-time-period", "-1", "--hmac", secret[1])
    deadline = time.monotonic() + 60
    while (gone := commands.run(TOKENS, expire)).code:
        assert "Delegation Token is not found" in gone.err + gone.out, gone
        assert time.monotonic() < deadline, gone


def _produce(cluster: KafkaCluster) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    producer.produce("orders", b"x", partition=1)
    assert producer.flush(60) == 0


def _wait_for_a_snapshot(folder: Path) -> None:
    """Wait until the folder has a snapshot besides the first one of a new cluster. Fails after 60 seconds."""
    deadline = time.monotonic() + 60
    while not any(not path.name.startswith("0" * 20) for path in folder.glob("*.checkpoint")):
        assert time.monotonic() < deadline, sorted(folder.iterdir())
        time.sleep(0.1)


def _log_folder(cluster: KafkaCluster, broker: int) -> Path:
    (folder,) = cluster.directory.glob(f"broker-{broker}/data-*/__cluster_metadata-0")
    return folder


def _read(*folders: Path) -> list[dict[str, Any]]:
    plan, batches = metadata_log.read_log(
        [str(folder) for folder in folders], KEY, lambda trouble: pytest.fail(str(trouble))
    )
    assert plan.open_at is None
    rows = pa.Table.from_batches(list(batches), ROW_SCHEMA)
    return rows.sort_by([("file", "ascending"), ("record_index", "ascending"), ("log_offset", "ascending")]).to_pylist()


def _dumped(cluster_id: str, folder: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the output of DumpLogSegments as rows. For values that are hidden in `rows`, they have the HMAC in place
    of the value.
    """
    made = list(_records((folder.parent / "dump.txt").read_text(), cluster_id))
    hidden = {(row["file"], row["record_index"], row["log_offset"]): row for row in rows if row["value_hmac"]}
    for each in made:
        row = hidden.get((each["file"], each["record_index"], each["log_offset"]))
        data = json.loads(each["payload"])
        if row is not None:
            names = [name for name, shown in json.loads(row["payload"]).items() if shown == HIDDEN]
            assert names == (["value"] if data.get("value") else ["salt", "storedKey", "serverKey"])
            each["value_hmac"] = hmac_hex(KEY, ":".join(data[name] for name in names))
            data |= dict.fromkeys(names, HIDDEN)
        each["payload"] = data
    for row in rows:
        row["payload"] = json.loads(row["payload"])
    return made


def _records(told: str, cluster_id: str) -> Iterator[dict[str, Any]]:
    file, epoch, is_control = "", 0, False
    for line in told.splitlines():
        if line.startswith("Dumping "):
            file = Path(line.removeprefix("Dumping ")).name
        elif found := _BATCH.match(line):
            epoch, is_control = int(found[1]), found[2] == "true"
        elif not is_control and (found := _DUMPED.match(line)):
            offset, stamp, payload = int(found[1]), int(found[2]), json.loads(found[3])
            in_snapshot = file.endswith(".checkpoint")
            name = "".join(part.capitalize() for part in payload["type"].split("_"))
            yield {
                "cluster_id": cluster_id,
                "log_offset": int(file.partition("-")[0]) if in_snapshot else offset,
                "record_index": offset if in_snapshot else 0,
                "in_snapshot": in_snapshot,
                "leader_epoch": epoch,
                "record_ts": _as_time(stamp),
                "record_type": name,
                "api_key": NUMBERS[name],
                "version": payload["version"],
                "payload": json.dumps(payload["data"]),
                "value_hmac": None,
                "file": file,
            }


def _as_time(milliseconds: int) -> Any:
    return pa.scalar(milliseconds, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")).as_py()
