"""``kac doctor`` on real brokers: logins, certificates, rights and clocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.embedded.test_doctor import doctor, health
from tests.support.kafka_cluster import KafkaCluster


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
