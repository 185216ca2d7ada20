"""Tests of the embedded broker as a server: requests, logins, long answers, and clusters in threads and processes."""

import argparse
import asyncio
import gc
import logging
import math
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.cluster_command import ClusterProcessFailed, add_options, argv_of, kept, run_in_process
from console.embedded.handlers.client_quotas import encoded_entries
from console.embedded.replicas import new_topic, striped
from console.embedded.sasl import ScramHash, credential_of
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec, SaslSpec
from console.embedded.tables import ScramKey
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from console.model.secret import Secret
from console.wire.frames import decode_body, encode_body
from console.wire.schemas import response_type
from tests.embedded.raw_client import RawClient, framed, header
from tests.support.acl_filters import EVERY_ACL
from tests.support.children import Child
from tests.support.kafka_messages import with_fields
from tests.support.older_brokers import like
from tests.support.patience import PATIENCE

METADATA_OF_NONE = header(3, 1) + struct.pack(">i", 0)


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for version in (99, -1):
            client.send(framed(header(18, version) + b"\x00"))
            assert await client.frame() == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 5)
        client.send(framed(header(18, 0)))
        assert (await client.frame())[:6] == struct.pack(">ih", 7, 0)


async def test_a_version_of_api_versions_that_an_older_release_lacks_is_answered_in_version_0() -> None:
    async with EmbeddedCluster(like("2.8")) as old, RawClient(old) as client:
        client.send(framed(header(18, 4) + b"\x00\x02a\x02b\x00"))
        assert await client.frame() == struct.pack(">ihihhh", 7, 35, 1, 18, 0, 3)


async def test_produce_is_told_from_version_0_but_ends_the_connection_there(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        versions = await client.ask(
            "api_versions", 4, with_fields(client_software_name="a", client_software_version="b")
        )
        assert [(each.min_version, each.max_version) for each in versions.api_keys if each.api_key == 0] == [(0, 13)]
        client.send(framed(header(0, 2) + struct.pack(">hii", 1, 1000, 0)))
        assert await client.rest() == b""


async def test_api_versions_of_a_client_with_an_odd_name(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 3) + b"\x00\x03a!\x02b\x00"))
        assert await client.frame() == bytes.fromhex("00000007002a010000000000")


UNREADABLE = {
    "an unknown key": framed(header(999, 0)),
    "an API that is not served": framed(header(4, 0)),
    "a version that is too high": framed(header(3, 99) + b"\x00"),
    "a version below all": framed(header(19, 0) + struct.pack(">iii", 0, 0, 0)),
    "no header": framed(b"\x00\x03\x00\x01"),
    "no bytes": framed(b""),
    "a client id behind the end": framed(header(3, 1, client=b"\x7f\xff")),
    "a body that ends too early": framed(header(3, 1) + b"\x00"),
    "an array of two billion": framed(header(3, 1) + struct.pack(">i", 2**31 - 1)),
    "a length below zero": struct.pack(">i", -5) + b"xxx",
    "a length of two billion": struct.pack(">i", 2**31 - 1),
    "one byte more than is allowed": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "a tag behind the end": framed(header(18, 3) + b"\x01\x00\x7f"),
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_can_not_be_read_ends_its_connection_and_no_other(
    cluster: EmbeddedCluster, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "console.embedded")
    async with RawClient(cluster) as other, RawClient(cluster) as client:
        client.send(data)
        assert await client.rest() == b""
        other.send(framed(METADATA_OF_NONE))
        assert await other.frame()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "\n" not in caplog.messages[0]


async def test_names_of_unknown_bytes_are_names_with_replacement_characters(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(header(3, 1) + struct.pack(">ih", 1, 3) + b"a\xff\xfe"))
        answer = await client.frame()
        assert b"\x00\x11\x00\x07a\xef\xbf\xbd\xef\xbf\xbd\x00" in answer  # INVALID_TOPIC_EXCEPTION


async def test_unknown_tags_are_passed_over(cluster: EmbeddedCluster) -> None:
    tags = b"\x01\x63\x02\xff\xff"
    async with RawClient(cluster) as client:
        client.send(framed(header(18, 3) + tags + b"\x02a\x02b" + tags))
        assert (await client.frame())[:6] == struct.pack(">ih", 7, 0)


async def test_bytes_behind_a_request_and_a_missing_client_id_are_taken(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        client.send(framed(METADATA_OF_NONE + b"zz"))
        client.send(framed(header(3, 1, client=b"\xff\xff") + struct.pack(">i", 0)))
        assert len(await client.frame()) == len(await client.frame()) > 30


async def test_answers_come_in_order_while_later_requests_wait(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for correlation_id in range(50):
            client.send(framed(header(3, 1, correlation_id) + struct.pack(">i", 0)))
        assert [struct.unpack(">i", (await client.frame())[:4])[0] for _ in range(50)] == list(range(50))


async def test_a_request_in_pieces(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        for byte in framed(METADATA_OF_NONE):
            client.send(bytes([byte]))
            await client.writer.drain()
        assert await client.frame()


async def test_requests_are_counted_by_api_broker_and_client(cluster: EmbeddedCluster) -> None:
    request = framed(METADATA_OF_NONE)
    async with RawClient(cluster, broker=2) as client:
        client.send(request * 3)
        sizes = [len(await client.frame()) + 4 for _ in range(3)]
    assert cluster.counters.total("metadata", 2, "x") == (3, 3 * len(request), sum(sizes))
    assert cluster.counters.total("metadata", 1).requests == 0
    assert cluster.counters.by_api() == {"metadata": 3}


async def test_a_broker_that_is_down_refuses_and_comes_back_at_its_port(cluster: EmbeddedCluster) -> None:
    alive = cluster.state.alive()
    cluster.state.put_topic(new_topic("t", striped(alive, 1, 3), alive))
    async with RawClient(cluster, broker=1) as lost, RawClient(cluster, broker=2) as client:
        await cluster.broker_down(1)
        assert await lost.rest() == b""
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection(*cluster.addresses[1])
        answer = await client.ask("metadata", 12, with_fields(topics=None, include_topic_authorized_operations=False))
        assert [broker.node_id for broker in answer.brokers] == [2, 3]
        (partition,) = answer.topics[0].partitions
        assert (partition.leader_id, partition.replica_nodes) == (2, (1, 2, 3))
        assert (partition.isr_nodes, partition.offline_replicas) == ((2, 3), (1,))
        await cluster.broker_up(1)
        async with RawClient(cluster, broker=1) as back:
            back.send(framed(METADATA_OF_NONE))
            assert await back.frame()
    assert cluster.state.topics["t"].partitions[0].isr == (1, 2, 3)


async def test_a_change_reaches_other_brokers_after_the_propagation_delay() -> None:
    spec = ClusterSpec(propagation_delay=0.2)
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster, 1) as first, RawClient(cluster, 2) as second:
        await cluster.visible(cluster.state.log.end)
        alive = cluster.state.alive()
        cluster.state.put_topic(new_topic("t", striped(alive, 1, 2), alive))

        async def names(client: RawClient) -> list[str]:
            answer = await client.ask("metadata", 1, with_fields(topics=None))
            return [topic.name for topic in answer.topics]

        assert (await names(first), await names(second)) == (["t"], [])
        assert not await cluster.visible(cluster.state.log.end, 0.001)
        assert await cluster.visible(cluster.state.log.end)
        assert await names(second) == ["t"]


async def test_without_forwarding_only_the_controller_changes_topics() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster, RawClient(cluster, 2) as client:
        told = await client.ask("metadata", 1, with_fields(topics=[]))
        assert told.controller_id == 1
        answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
        assert answer.error_code == 41
        cluster.state.move_controller(2)
        answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
        assert answer.error_code == 0


# -- Logins with kac's client and with hand-made tokens without headers, and failed logins -----------------------------

SASL = SaslSpec(plain={"alice": Secret("alice-secret")}, scram={"bob": Secret("bob,s=secret")})


@pytest.mark.parametrize(
    ("mechanism", "user", "password"),
    [
        ("PLAIN", "alice", "alice-secret"),
        ("SCRAM-SHA-256", "bob", "bob,s=secret"),
        ("SCRAM-SHA-512", "bob", "bob,s=secret"),
        ("SCRAM-SHA-512", "car=ol,", "later"),
    ],
)
async def test_a_client_logs_in(mechanism: str, user: str, password: str) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster:
        cluster.state.put("scram", ScramKey("car=ol,", 2), credential_of("later", ScramHash.SHA_512, 8192))
        admin = AIOKafkaAdminClient(
            bootstrap_servers=cluster.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism=mechanism,
            sasl_plain_username=user,
            sasl_plain_password=password,
        )
        await admin.start()
        try:
            assert await admin.list_topics() == []
        finally:
            await admin.close()


async def handshake(client: RawClient, mechanism: str) -> tuple[int, tuple[str, ...]]:
    answer = await client.ask("sasl_handshake", 1, with_fields(mechanism=mechanism))
    return answer.error_code, answer.mechanisms


async def authenticate(client: RawClient, token: bytes) -> tuple[int, str | None]:
    answer = await client.ask("sasl_authenticate", 2, with_fields(auth_bytes=token))
    return answer.error_code, answer.error_message


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (b"\x00alice\x00wrong", "Authentication failed: Invalid username or password"),
        (b"\x00nobody\x00x", "Authentication failed: Invalid username or password"),
        (
            b"bob\x00alice\x00alice-secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\xff\x00\x00", "Authentication failed: the token is not UTF-8"),
    ],
)
async def test_a_failure_is_told_and_ends_the_connection(token: bytes, message: str) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (0, ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
        assert await authenticate(client, token) == (58, message)
        assert await client.rest() == b""


@pytest.mark.parametrize(
    "token", [b"", b"n,,n=nobody,r=abc", b"p=x,,n=bob,r=abc", b"n,,", b"n,a=eve,n=bob,r=abc", b"\xff,,"]
)
async def test_scram_tells_nothing_of_why(token: bytes) -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        await handshake(client, "SCRAM-SHA-256")
        code, message = await authenticate(client, token)
        assert code == 58
        assert message is not None
        assert message.endswith("due to invalid credentials with SASL mechanism SCRAM-SHA-256")


async def test_a_wrong_scram_proof() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        await handshake(client, "SCRAM-SHA-256")
        answer = await client.ask("sasl_authenticate", 2, with_fields(auth_bytes=b"n,,n=bob,r=abc"))
        nonce = answer.auth_bytes.split(b",")[0]
        assert nonce.startswith(b"r=abc")
        proof = b"c=biws," + nonce + b",p=" + b"A" * 43 + b"="
        assert (await authenticate(client, proof))[0] == 58
        assert await client.rest() == b""


async def test_a_mechanism_that_is_not_enabled() -> None:
    spec = ClusterSpec(sasl=SaslSpec(scram=SASL.scram))
    async with EmbeddedCluster(spec) as cluster, RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (33, ("SCRAM-SHA-256", "SCRAM-SHA-512"))
        assert await client.rest() == b""


async def test_before_authentication_nothing_else_is_answered() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster:
        async with RawClient(cluster) as client:
            client.send(framed(header(18, 0)))
            assert await client.frame()
            client.request("metadata", 1, with_fields(topics=None))
            assert await client.rest() == b""
        async with RawClient(cluster) as client:
            await handshake(client, "PLAIN")
            answer = await client.ask("update_features", 1, with_fields(feature_updates=[]))
            assert answer.error_code == 34
            assert await client.rest() == b""


async def test_tokens_without_headers_after_version_0_of_the_handshake() -> None:
    async with EmbeddedCluster(ClusterSpec(sasl=SASL)) as cluster, RawClient(cluster) as client:
        answer = await client.ask("sasl_handshake", 0, with_fields(mechanism="PLAIN"))
        assert answer.error_code == 0
        client.send(framed(b"\x00alice\x00alice-secret"))
        assert await client.frame() == b""
        client.send(framed(header(3, 1) + struct.pack(">i", 0)))
        assert await client.frame()


async def test_where_nobody_logs_in_a_handshake_is_out_of_place(cluster: EmbeddedCluster) -> None:
    async with RawClient(cluster) as client:
        assert await handshake(client, "PLAIN") == (34, ())
        assert await authenticate(client, b"") == (
            34,
            "SaslAuthenticate request received after successful authentication",
        )
        client.send(framed(header(18, 0)))
        assert await client.frame()


# -- Long answers: each byte is right, and other clients are answered at the same time ---------------------------------

names = st.none() | st.text(st.characters(codec="utf-8"), max_size=8) | st.just("x" * 200)
entities = st.one_of(
    st.fixed_dictionaries({USER: names}),
    st.fixed_dictionaries({CLIENT_ID: names}),
    st.fixed_dictionaries({USER: names, CLIENT_ID: names}),
    st.fixed_dictionaries({IP: names}),
).map(QuotaEntity.of)
limits = st.dictionaries(st.sampled_from(("producer_byte_rate", "request_percentage", "k")), st.floats(), max_size=3)


@given(entries=st.lists(st.tuples(entities, limits), max_size=6), version=st.sampled_from((0, 1)))
def test_entries_are_encoded_as_kio_does(entries: list[tuple[QuotaEntity, dict[str, float]]], version: int) -> None:
    response: Any = response_type("describe_client_quotas", version)
    module = __import__(response.__module__, fromlist=["EntryData"])
    for client_first in (False, True):
        expected = [
            encode_body(
                module.EntryData,
                module.EntryData(
                    entity=tuple(
                        module.EntityData(entity_type=part.type, entity_name=part.name)
                        for part in (reversed(entity.parts) if client_first else entity.parts)
                    ),
                    values=tuple(module.ValueData(key=key, value=value) for key, value in values.items()),
                ),
            )
            for entity, values in entries
        ]
        assert list(encoded_entries(version, entries, client_first=client_first)) == expected


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make the scenario `large` smaller; return the number of its quota entities."""
    monkeypatch.setattr(large, "QUOTA_ENTITIES", 40_000)
    monkeypatch.setattr(large, "ACLS", 20_000)
    return large.QUOTA_ENTITIES


ALL_QUOTAS = with_fields(components=[], strict=False)
ALL_ACLS = with_fields(**EVERY_ACL)


@pytest.mark.parametrize(
    ("api", "version", "build"), [("describe_client_quotas", 1, ALL_QUOTAS), ("describe_acls", 3, ALL_ACLS)]
)
async def test_others_are_answered_meanwhile(many: int, api: str, version: int, build: Any) -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster, client_id="long") as client,
        RawClient(cluster, 2, "short") as other,
    ):
        client.request(api, version, build)
        answer = asyncio.ensure_future(client.frame())
        answered = 0
        while not answer.done():
            await other.ask("list_groups", 4, with_fields(states_filter=[]))
            answered += 1
        assert answered > 3
        told = decode_body(response_type(api, version), (await answer)[5:])
    if api == "describe_acls":
        assert sum(len(on.acls) for on in told.resources) == large.ACLS
        return
    own = {(("user", None),): 2, (("client-id", None),): 1}
    found = {
        tuple((part.entity_type, part.entity_name) for part in entry.entity): {
            limit.key: limit.value for limit in entry.values
        }
        for entry in told.entries
    }
    assert len(told.entries) == len(found) == many + len(own)
    assert {entity: len(found[entity]) for entity in own} == own
    quotas = cluster.state.view.quotas
    for entity, values in list(found.items())[:: many // 50]:
        assert quotas[QuotaEntity.of(dict(entity))] == values
    assert not any(math.isnan(value) for values in found.values() for value in values.values())


async def test_what_changes_meanwhile_harms_nobody(many: int) -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster, client_id="long") as client,
    ):
        client.request("describe_client_quotas", 1, ALL_QUOTAS)
        answer = asyncio.ensure_future(client.frame())
        number = 0
        while not answer.done():
            cluster.state.alter_quota(QuotaEntity.of({USER: f"new {number}"}), {"producer_byte_rate": 1.0})
            number += 1
            await asyncio.sleep(0)
        told = decode_body(response_type("describe_client_quotas", 1), (await answer)[5:])
        assert (told.error_code, number > 3) == (0, True)
        assert len(told.entries) >= many


# -- Clusters in a thread, and in a process that ends with its starter -------------------------------------------------


def listens(address: str) -> bool:
    host, _, port = address.partition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except OSError:
        return False
    return True


def test_a_process_serves_until_the_end_of_the_block() -> None:
    with run_in_process(["--scenario", "large", "--brokers", "2", "--connect"]) as reached:
        addresses = [*reached.bootstrap.split(","), *(url.removeprefix("http://") for url in reached.connect_urls)]
        assert [listens(address) for address in addresses] == [True] * 4
    assert [listens(address) for address in addresses] == [False] * 4


def test_what_the_process_says_is_told() -> None:
    with pytest.raises(ClusterProcessFailed, match="1 to 100 brokers"), run_in_process(["--brokers", "0"]):
        pass


def test_a_thread_serves_until_the_end_of_the_block() -> None:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        addresses = cluster.bootstrap.split(",")
        assert all(map(listens, addresses))
        assert cluster.call(lambda running: len(running.state.brokers)) == 3
    assert not any(map(listens, addresses))


def test_what_prevents_the_start_is_raised() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as cluster:
        port = int(cluster.bootstrap.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"), run_in_thread(ClusterSpec(brokers=1, port=port)):
            pass


STARTER = """
from console.embedded.cluster_command import run_in_process
with run_in_process(["--brokers", "1"]) as reached:
    print(reached.bootstrap, flush=True)
    input()
"""


def test_it_ends_when_its_starter_is_killed() -> None:
    starter = Child([sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    address = starter.stdout.readline().strip()
    assert listens(address)
    os.kill(starter.pid, signal.SIGKILL)
    starter.communicate()
    until = time.monotonic() + PATIENCE
    while listens(address):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_garbage_is_looked_for_again_once_a_cluster_is_made() -> None:
    def fail() -> None:
        with kept():
            assert not gc.isenabled()
            raise OSError("in use")

    with pytest.raises(OSError, match="in use"):
        fail()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_a_relative_file_of_the_state_is_that_of_the_folder_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    add_options(parser)
    with run_in_process(argv_of(parser.parse_args(["--brokers", "1", "--state", "kept.json"]))):
        pass
    assert (tmp_path / "kept.json").is_file()


def test_a_cluster_that_may_open_too_few_files_says_what_it_needs() -> None:
    code = (
        "import asyncio, resource\n"
        "from console.embedded.brokers import EmbeddedCluster\n"
        "from console.embedded.spec import ClusterSpec\n"
        "async def main():\n"
        "    cluster = EmbeddedCluster(ClusterSpec(brokers=60))\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (40, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))\n"
        "    await cluster.start()\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert "60 brokers need a file each, and one for each connection: ulimit -n is 40" in done.stderr
