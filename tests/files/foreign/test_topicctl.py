"""Tests of topicctl's topics as files."""

from pathlib import Path

import pytest

from console.files.wanted import Wanted, WantedTopic
from console.model.config import topic_resource
from tests.files.foreign.wishes import notes, problems, wanted

TOPIC = """\
meta:
  name: orders
  cluster: west
  environment: production
  region: eu-1
  description: |
    Orders of the shop.

spec:
  partitions: 9
  replicationFactor: 3
  retentionMinutes: 360
  placement:
    strategy: any
  settings:
    cleanup.policy: delete
    max.message.bytes: 5542880
    preallocate: false
"""


def test_a_topic(tmp_path: Path) -> None:
    read = wanted(tmp_path, TOPIC)
    configs = {
        "retention.ms": "21600000",
        "cleanup.policy": "delete",
        "max.message.bytes": "5542880",
        "preallocate": "false",
    }
    orders = topic_resource("orders")
    assert read.wanted == Wanted({"orders": WantedTopic(9, 3, configs)}, partial=frozenset({orders}))
    assert read.cluster == "west"
    assert [read.place(orders, key)[1] for key in ("", "retention.ms", "preallocate")] == [2, 12, 18]
    assert notes(tmp_path, TOPIC) == []


def test_several_documents_and_keys_that_are_commented_out_or_zero(tmp_path: Path) -> None:
    assert set(wanted(tmp_path, f"{TOPIC}---\n{TOPIC.replace('orders', 'returns')}").topics) == {"orders", "returns"}
    empty = TOPIC.partition("    cleanup.policy")[0].replace("    strategy: any\n", "").replace(" production", "")
    assert wanted(tmp_path, empty).topics == {"orders": WantedTopic(9, 3, {"retention.ms": "21600000"})}
    configs = wanted(tmp_path, TOPIC.replace("360", "0")).topics["orders"].configs
    assert configs is not None
    assert "retention.ms" not in configs


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    cluster = "meta: {name: west}\nspec: {bootstrapAddrs: ['a:9092']}\n---\n"
    assert notes(tmp_path, cluster + TOPIC.replace("strategy: any", "strategy: in-rack")) == [
        "file:2: topicctl's file of a cluster is left out; its topics are read",
        "file:16: placement in-rack of topic orders is not compared; kac moves topic orders to ID[,ID…] moves replicas",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("partitions: 9", "partition: 9", "file:10: unknown key 'partition'; did you mean partitions?"),
        ("  name: orders\n", "", "file:1: name is missing; add it"),
        ("retentionMinutes: 360", "retentionMinutes: 6h", "file:12: '6h' is no whole number of 0 to "),
        (
            "    preallocate: false",
            "    retention.ms: 5",
            "file:18: retentionMinutes says retention.ms too; keep one of them",
        ),
        ("preallocate: false", "preallocate:", "file:18: it has no value"),
        ("region: eu-1", "regions: eu-1", "file:5: unknown key 'regions'; did you mean region?"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TOPIC
    assert problems(tmp_path, TOPIC.replace(old, new))[0].startswith(said)
