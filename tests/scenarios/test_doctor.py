"""Tests of ``kac doctor``: its findings on this host, on the way to an embedded cluster, and about the logins,
certificates, rights and clocks of real brokers."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.answers.checks import Check, Health
from console.cli.doctor import host_checks
from console.cli.doctor_cluster import advertised_checks
from console.embedded.brokers import EmbeddedCluster
from console.model.cluster import Broker, ClusterInfo
from tests.support.children import async_child
from tests.support.free_ports import free_ports
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.registry_server import registry

ROOT = Path(__file__).resolve().parents[2]


async def doctor(home: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, Mapping[str, Any]], str]:
    """Run ``kac doctor`` with these arguments and environment variables; return its exit code, name of a check -> its
    JSON, and the text on standard error.
    """
    process = await async_child(
        *(sys.executable, "-m", "console", "doctor", "--output", "json", *arguments),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode is not None
    assert "Traceback" not in err.decode()
    return process.returncode, {each["name"]: each for each in json.loads(out)["checks"]}, err.decode()


def health(seen: dict[str, Mapping[str, Any]]) -> dict[str, str]:
    return {name: each["health"] for name, each in seen.items()}


async def test_without_a_cluster_it_looks_at_this_host(tmp_path: Path) -> None:
    code, seen, _ = await doctor(tmp_path)
    assert code == 0
    assert health(seen) == {"terminal": "note", "locale": "ok", "contexts": "ok", "state": "ok", "kac": "ok"}
    assert "ssh -t" in seen["terminal"]["remedy"]
    assert seen["state"]["found"] == str(tmp_path / ".local/state/kac")


async def test_a_config_file_that_cannot_be_read_is_bad(tmp_path: Path) -> None:
    file = tmp_path / ".config" / "kac" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[contexts.prod\n")
    code, seen, _ = await doctor(tmp_path)
    assert code == 1
    assert [name for name, each in seen.items() if each["health"] == "bad"] != []


async def test_a_locale_without_lines_and_one_file(tmp_path: Path) -> None:
    _, seen, _ = await doctor(
        tmp_path, LANG="C", LC_ALL="POSIX", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0", KAC_BUNDLE="/opt/kac"
    )
    assert seen["locale"]["health"] == "note"
    assert "/opt/kac" in seen["kac"]["found"]


def test_a_state_folder_that_others_may_write(tmp_path: Path) -> None:
    (tmp_path / "kac").mkdir()
    (tmp_path / "kac").chmod(0o777)
    found = {each.name: each for each in host_checks({"XDG_STATE_HOME": str(tmp_path)}, tmp_path)}
    assert found["state"].health is Health.NOTE
    assert found["state"].remedy == f"chmod go-w {tmp_path / 'kac'}"


async def test_an_embedded_cluster_is_well(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    host, port = next(iter(cluster.addresses.values()))
    code, seen, _ = await doctor(tmp_path, "-b", f"{host}:{port}")
    assert code == 0, seen
    assert {name for name, each in seen.items() if each["health"] == "note"} <= {"terminal", "topics"}
    assert seen[f"Kafka {host}:{port}"]["found"].startswith("ApiVersions: ")
    assert seen["advertised listeners"]["found"] == "3 of 3 brokers reached"
    assert seen["cluster"]["remedy"].startswith('cluster_id = "')
    assert seen["clock"]["health"] == "ok"
    assert {"right DESCRIBE", "right ALTER_CONFIGS", "round trips", "quotas"} <= seen.keys()


async def test_another_cluster_than_the_contexts(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    host, port = next(iter(cluster.addresses.values()))
    file = tmp_path / ".config" / "kac" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[contexts.prod]\n"bootstrap.servers" = "{host}:{port}"\ncluster_id = "another"\n')
    file.chmod(0o600)
    code, seen, _ = await doctor(tmp_path, "-c", "prod")
    assert code == 1
    assert seen["cluster"]["health"] == "bad"
    assert seen["cluster"]["found"].endswith("but the context says another")


async def test_the_schema_registry_of_a_context(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    host, port = next(iter(cluster.addresses.values()))
    file = tmp_path / ".config" / "kac" / "config.toml"
    file.parent.mkdir(parents=True)
    (closed,) = free_ports(1)
    with registry() as running:
        file.write_text(
            f'[contexts.prod]\n"bootstrap.servers" = "{host}:{port}"\n[contexts.prod.schemas]\nurl = "{running.url}"\n'
            f'[contexts.test]\n"bootstrap.servers" = "{host}:{port}"\n'
            f'[contexts.test.schemas]\nurl = "http://127.0.0.1:{closed}"\n'
        )
        file.chmod(0o600)
        code, seen, _ = await doctor(tmp_path, "-c", "prod")
        assert (code, seen["schema registry"]["health"]) == (0, "ok")
        assert seen["schema registry"]["found"].startswith(f"{running.url}: AVRO, JSON, PROTOBUF, in ")
    code, seen, _ = await doctor(tmp_path, "-c", "test", http_proxy="http://proxy:3128")
    assert (code, seen["schema registry"]["health"]) == (1, "bad")
    assert "http_proxy is not used: kac goes to no proxy but that of via" in seen["schema registry"]["found"]


async def test_nothing_there_and_no_such_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    code, seen, _ = await doctor(tmp_path, "-b", f"127.0.0.1:{port},no-such-host.invalid:9092")
    assert code == 1
    assert seen[f"TCP 127.0.0.1:{port}"]["health"] == "bad"
    assert "firewall" in seen[f"TCP 127.0.0.1:{port}"]["remedy"]
    assert seen["name no-such-host.invalid"]["health"] == "bad"
    assert not any(name.startswith("Kafka") for name in seen)


async def test_what_listens_and_speaks_no_kafka(tmp_path: Path) -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n")

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        code, seen, _ = await doctor(tmp_path, "-b", f"127.0.0.1:{port}")
    assert code == 1
    assert (seen[f"TCP 127.0.0.1:{port}"]["health"], seen[f"Kafka 127.0.0.1:{port}"]["health"]) == ("ok", "bad")


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
async def test_an_advertised_listener_that_is_not_reached_is_named(cluster: EmbeddedCluster, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    real = [Broker(number, *address) for number, address in cluster.addresses.items()]
    told = ClusterInfo("id", 1, (*real, Broker(9, host, port), Broker(10, host, port, fenced=True)))
    with AdminClient(ConnectionSettings(tuple(cluster.addresses.values()))) as client:
        found: list[Check] = await client.run(advertised_checks, told)
    bad, *more = [each for each in found if each.health is Health.BAD]
    assert bad.name == f"broker 9 advertises {host}:{port}"
    assert "advertised.listeners of broker 9" in bad.remedy
    # A mapping can help with a name that this host can't resolve, not with a broker that is down.
    assert [each.found for each in more] == (
        ["the bootstrap answers, and 1 of 4 advertised addresses do not"] if "invalid" in host else []
    )
    assert all(f'"{host}:{port}" = "{host}:{port}"' in each.remedy for each in more)
    assert "3 of 4 brokers reached of 5" in next(each.found for each in found if each.name == "advertised listeners")


# -- on real brokers --------------------------------------------------------------------------------------------------


async def test_the_secure_cluster_is_well_for_its_admin(secure_cluster: KafkaCluster, tmp_path: Path) -> None:
    properties = str(secure_cluster.client_properties("admin"))
    code, seen, err = await doctor(tmp_path, "-b", secure_cluster.bootstrap, "--command-config", properties)
    assert code == 0, (seen, err)
    host, port = secure_cluster.addresses[0]
    assert "TLSv1.3" in seen[f"TLS {host}:{port}"]["found"]
    assert " day" in seen[f"certificate {host}:{port}"]["found"]
    assert seen[f"SASL {host}:{port}"]["found"] == "SCRAM-SHA-256 as admin"
    assert seen["advertised listeners"]["found"] == "3 of 3 brokers reached"
    assert "from this host's" in seen["clock"]["found"]
    assert seen["clock"]["health"] == "ok"
    assert {each["health"] for name, each in seen.items() if name.startswith("right ")} == {"ok"}


async def test_a_user_without_rights_is_told_which(secure_cluster: KafkaCluster, tmp_path: Path) -> None:
    properties = str(secure_cluster.client_properties("alice"))
    code, seen, _ = await doctor(tmp_path, "-b", secure_cluster.bootstrap, "--command-config", properties)
    assert code == 0, seen
    rights = {name: each for name, each in seen.items() if name.startswith("right ")}
    assert {each["health"] for each in rights.values()} == {"note"}
    assert "--operation DescribeConfigs" in rights["right DESCRIBE_CONFIGS"]["remedy"]
    assert seen["quotas"]["health"] == "note"


async def test_a_wrong_password_is_sent_once(secure_cluster: KafkaCluster, tmp_path: Path) -> None:
    text = secure_cluster.client_properties("admin").read_text()
    wrong = tmp_path / "wrong.properties"
    wrong.write_text(text.replace(secure_cluster.users["admin"], "not-the-password"))
    wrong.chmod(0o600)
    code, seen, err = await doctor(tmp_path, "-b", secure_cluster.bootstrap, "--command-config", str(wrong))
    assert code == 1
    asked = [each for name, each in seen.items() if name.startswith("SASL ")]
    assert [each["health"] for each in asked] == ["bad", "note", "note"]
    assert "lock the account" in asked[1]["found"]
    assert "not-the-password" not in str(seen) + err


async def test_an_unknown_authority_is_named_with_what_was_shown(secure_cluster: KafkaCluster, tmp_path: Path) -> None:
    lines = secure_cluster.client_properties("admin").read_text().splitlines()
    trusting = tmp_path / "system.properties"
    trusting.write_text("\n".join(line for line in lines if not line.startswith("ssl.truststore")) + "\n")
    trusting.chmod(0o600)
    host, port = secure_cluster.addresses[0]
    code, seen, _ = await doctor(tmp_path, "-b", f"{host}:{port}", "--command-config", str(trusting))
    assert code == 1
    assert seen[f"TLS {host}:{port}"]["health"] == "bad"
    assert "ssl.truststore.location" in seen[f"TLS {host}:{port}"]["remedy"]
    assert "until" in seen[f"certificate {host}:{port}"]["found"]
    assert not any(name.startswith("SASL") for name in seen)


async def test_tls_against_a_listener_without_it(kafka39: KafkaCluster, tmp_path: Path) -> None:
    file = tmp_path / "tls.properties"
    file.write_text("security.protocol=SSL\n")
    code, seen, _ = await doctor(tmp_path, "-b", kafka39.bootstrap, "--command-config", str(file))
    assert code == 1
    assert [each["health"] for name, each in seen.items() if name.startswith("TLS ")] == ["bad"]


@pytest.mark.parametrize("release", ["plain_cluster", "kafka39", "kafka28"])
async def test_each_release_is_well(release: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    cluster: KafkaCluster = request.getfixturevalue(release)
    code, seen, _ = await doctor(tmp_path, "-b", cluster.bootstrap)
    assert code == 0, seen
    assert {"note", "ok"} >= set(health(seen).values())
    compared = "from this host's" in seen["clock"]["found"]
    assert compared == (release != "kafka28"), seen["clock"]
