"""Tests of text and bytes that are hostile to a terminal or a file, which a real broker stores and returns."""

import json
from pathlib import Path

import pytest
import yaml

from console.admin.groups import describe_groups
from console.admin.settings import ConnectionSettings
from console.embedded.group_coordinator import subscription
from console.language.quoting import quote
from tests.hostile.consumer import HostileConsumer
from tests.support import worlds
from tests.support.hostile_text import FORMULAS, INVISIBLE, MARKUP, SEQUENCES, acted_upon
from tests.support.kafka_cluster import KafkaCluster

CLAIMS = {
    "two billion topics": bytes.fromhex("0000 7fffffff"),
    "a topic with two billion partitions": bytes.fromhex("0000 00000001 0001 61 7fffffff"),
    "a name longer than all": bytes.fromhex("0000 00000001 7fff"),
    "null": bytes.fromhex("0000 ffffffff"),
    "a version of its own": bytes.fromhex("7fff 7fffffff"),
    "padding": bytes.fromhex("0000 7fffffff") + bytes(100_000),
}


@pytest.mark.parametrize("claim", CLAIMS)
async def test_an_assignment_of_any_bytes_is_read_from_a_real_broker(kafka39: KafkaCluster, claim: str) -> None:
    host, _, port = kafka39.bootstrap.split(",")[0].rpartition(":")
    address = host, int(port)
    data = CLAIMS[claim]
    topics = subscription(("orders",))  # a real broker never completes a join with a subscription that it can't read
    async with (
        HostileConsumer(address, f"hostile {claim}", subscription=topics, assignment=data) as mine,
        worlds.linked(ConnectionSettings((address,))) as link,
    ):
        listing = await describe_groups(link, [mine.group])
    members = listing.groups[mine.group].members
    assert members is not None
    (member,) = members
    assert member.client_id == "hostile"
    assert member.assignment == ()


# -- hostile text in a real broker: a command writes it, and an export has exactly the same text -----------------------

TEXT = "".join((*SEQUENCES, *INVISIBLE, *MARKUP))
LISTED = "x\x1b[2J\u202ey"
"""Hostile text for the middle of a config's value, because Kafka trims both ends of a value."""

KEPT = """\
version: 1
quotas:
  - {user: kept, limits: {producer_byte_rate: "1000"}}
  - {user: kept, client-id: kept, limits: {consumer_byte_rate: "1000"}}
acls:
  - {allow: "User:kept", operations: [READ], group: kept}
"""


def test_hostile_text_goes_to_a_broker_and_comes_back(
    empty_cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def harmless(text: str) -> None:
        assert acted_upon(text) == ""

    kac = worlds.commands_on(empty_cluster, capsys, harmless)
    script = ["create topic hostile partitions=1 replication=1"]
    for text in (TEXT, *FORMULAS):
        script += [
            f"set user {quote(text)} producer_byte_rate=1000",
            f"set user {quote(text)} client {quote(text)} consumer_byte_rate=1000",
            f"allow {quote('User:' + text)} READ on group {quote(text)} from {quote(text)}",
        ]
    code, _, err = kac("run", "-e", "\n".join([*script, "apply --yes --accept first-acl,acl-matches-nothing"]))
    assert code == 0, err
    _, out, _ = kac("quotas", "--list", "--output", "json")
    assert {TEXT, *FORMULAS} <= {row["entity"].get("user") for row in json.loads(out)["quotas"]}
    _, out, _ = kac("acls", "--list", "--output", "yaml")
    assert {f"User:{text}" for text in (TEXT, *FORMULAS)} <= {row["principal"] for row in yaml.safe_load(out)["acls"]}
    for form in ("table", "csv"):
        for noun in ("quotas", "acls", "brokers", "groups", "topics"):
            assert kac(noun, "--list", "--output", form)[0] == 0
    # A refusal quotes the value.
    code, _, err = kac("run", "-e", f"set topic hostile cleanup.policy={quote(LISTED)}; apply --yes")
    assert code == 1
    file = tmp_path / "wanted.yaml"
    assert kac("export", "--output", str(file))[0] == 0
    assert kac("diff", "-f", str(file), "--exit-code")[:2] == (0, "no changes\n")
    file.write_text(KEPT)
    gone = f"prunes-many={3 * (1 + len(FORMULAS))}"
    prune = ("--prune", "quotas", "--prune", "acls", "--yes", "--accept", f"{gone},acl-matches-nothing,first-acl")
    code, out, err = kac("apply", "-f", str(file), *prune)
    assert code == 0, err
    _, out, _ = kac("snapshot", "--overrides")
    assert (len(json.loads(out)["quotas"]), len(json.loads(out)["acls"])) == (2, 1)
    for form in ("text", "json", "csv"):
        assert kac("history", "--journal", "--output", form)[0] == 0
