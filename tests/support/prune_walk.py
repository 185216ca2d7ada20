"""Tests `--prune` from end to end: it removes everything that the file lacks, and nothing else. The same steps run on
an embedded cluster and on real brokers.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Kac = Callable[..., tuple[int, str, str]]
"""Runs a command line on the cluster; returns exit code, standard output, standard error."""
KINDS = ("topics", "configs", "quotas", "acls")
ACCEPT = "throttles-everyone,needs-restart,first-acl"

KEPT = """
create topic kept partitions=2 replication=1 retention.ms=1d
create topic bare partitions=1 replication=1
set broker <default> log.cleaner.threads=2
set group kept-group consumer.session.timeout.ms=50s
set client-metrics kept-metrics interval.ms=30s
set user alice producer_byte_rate=1MB/s
set user alice client c consumer_byte_rate=2MB/s
set user <default> client <default> request_percentage=50
set client c producer_byte_rate=3MB/s
set ip 127.0.0.9 connection_creation_rate=7
allow User:alice READ,WRITE on topic kept
deny User:bob READ on topic kept from 10.0.0.1
"""
EXTRA = """
create topic tmp-1 partitions=1 replication=1 retention.ms=1h
create topic tmp-2 partitions=1 replication=1
create topic other partitions=1 replication=1
set broker 1 log.cleaner.io.buffer.load.factor=0.8
set group gone-group consumer.session.timeout.ms=55s
set client-metrics gone-metrics interval.ms=40s
set user mallory producer_byte_rate=1MB/s request_percentage=5
set user mallory client c producer_byte_rate=1MB/s
set user <default> producer_byte_rate=9MB/s
set ip 127.0.0.8 connection_creation_rate=8
allow User:mallory READ on topic tmp- prefixed
allow User:mallory READ on group g
allow User:alice DESCRIBE on topic other
"""
EXPECTED = {
    "topics": {"topic tmp-1", "topic tmp-2", "topic other"},
    "configs": {"broker 1", "group gone-group", "client-metrics gone-metrics"},
    "quotas": {"user mallory", "user mallory client c", "user <default>", "ip 127.0.0.8"},
}
"""Kind of entity -> the entities of this kind that `--prune` removes, as the plan names them."""


def walk(kac: Kac, folder: Path) -> None:
    """Make entities, export them to a file, add further ones, and prune. Raises AssertionError if a step prints
    something else or leaves another state than expected.

    kac: runs commands on a new, empty cluster. folder: for the file.
    """
    password = folder / "password"
    password.write_text("correct-horse")
    _staged(kac, f"{KEPT}\nscram set alice SCRAM-SHA-256 iterations=4096 password=@{password}")
    file = folder / "wanted.yaml"
    assert kac("export", "--output", str(file))[0] == 0
    everything = tuple(word for kind in KINDS for word in ("--prune", kind))
    assert kac("diff", "-f", str(file), *everything, "--exit-code")[:2] == (0, "no changes\n")
    state = _state(kac)

    _staged(kac, EXTRA)
    extra = _state(kac)
    assert extra != state
    assert kac("diff", "-f", str(file), "--exit-code")[:2] == (0, "no changes\n")
    for kind, entities in EXPECTED.items():
        lines = _planned(kac, file, "--prune", kind)
        assert {line["entity"] for line in lines} == entities, (kind, lines)
    acls = _planned(kac, file, "--prune", "acls")
    assert len(acls) == 3
    assert sum("mallory" in json.dumps(line) for line in acls) == 2

    # A glob removes only what it matches, and nothing if it matches nothing.
    assert {line["entity"] for line in _planned(kac, file, "--prune", "topics=tmp-*")} == {"topic tmp-1", "topic tmp-2"}
    assert len(_planned(kac, file, "--prune", "acls=User:mal*")) == 2
    assert {line["entity"] for line in _planned(kac, file, "--prune", "configs=gone-*")} == {
        "group gone-group", "client-metrics gone-metrics",
    }  # fmt: skip
    assert _planned(kac, file, "--prune", "topics=nothing-*") == []
    assert _state(kac) == extra, "a look changes nothing"

    # Without --yes, kac can't ask anyone for confirmation.
    code, _, err = kac("apply", "-f", str(file), "--prune", "topics=tmp-1")
    assert (code, _state(kac)) == (1, extra), err
    assert kac("apply", "-f", str(file), "--prune", "topics=tmp-*", "--yes")[0] == 0
    topics = {topic["name"] for topic in _state(kac)["topics"]}
    assert {"kept", "bare", "other"} <= topics
    assert not {"tmp-1", "tmp-2"} & topics
    # `prunes-many` has to be accepted with a number, even if all other risks are accepted.
    extra = _state(kac)
    code, _, err = kac("apply", "-f", str(file), *everything, "--yes", "--accept", f"{ACCEPT},prunes-many")
    assert (code, _state(kac)) == (3, extra), err
    assert "3 of 6 in acls" in err
    assert "--accept first-acl,needs-restart,prunes-many,throttles-everyone,prunes-many=11" in err
    code, out, err = kac("apply", "-f", str(file), *everything, "--yes", "--accept", f"{ACCEPT},prunes-many=11")
    assert code == 0, (out, err)
    assert _state(kac) == state
    assert kac("diff", "-f", str(file), *everything, "--exit-code")[:2] == (0, "no changes\n")

    # Pruning only concerns the kinds of entities that the file lists: it removes the default of all brokers if the file
    # has another broker, and only by its name; if the file has no brokers, it leaves brokers alone.
    text = file.read_text()
    file.write_text(re.sub(r"brokers:\n(?:  .*\n)+", "", text))
    assert _planned(kac, file) == []
    code, out, err = kac("diff", "-f", str(file), "--prune", "configs=<default>")
    assert (code, out) == (1, "no other changes\n")
    assert "1 entity of brokers not pruned: the files list nothing of it" in err
    file.write_text(re.sub(r"brokers:\n(?:  .*\n)+", 'brokers:\n  "1": {}\n', text))
    assert {line["entity"] for line in _planned(kac, file, "--prune", "configs=<default>")} == {"broker <default>"}
    assert _planned(kac, file, "--prune", "configs=1") == []
    file.write_text(text.replace('    log.cleaner.threads: "2"\n', ""))
    assert [(line["entity"], line["key"]) for line in _planned(kac, file)] == [
        ("broker <default>", "log.cleaner.threads")
    ]
    assert kac("apply", "-f", str(file), "--yes")[0] == 0
    assert _planned(kac, file) == []
    # Files don't contain credentials, so prune never removes any.
    assert "alice" in kac("scram", "--list")[1]


def _staged(kac: Kac, script: str) -> None:
    code, out, err = kac("run", "-e", f"{script}\napply --yes --accept {ACCEPT}")
    assert code == 0, (out, err)


def _planned(kac: Kac, file: Path, *prune: str) -> list[Any]:
    code, out, err = kac("diff", "-f", str(file), *prune, "--output", "json")
    assert code == 0, err
    return list(json.loads(out)["plan"])


def _state(kac: Kac) -> Any:
    code, out, err = kac("snapshot", "--overrides")
    assert code == 0, err
    state = json.loads(out)
    topics = [{**each, "partitions": len(each["partitions"])} for each in state["topics"] if not each["internal"]]
    kept = ("configs", "quotas", "acls")
    return {"topics": topics, **{part: sorted(state[part], key=json.dumps) for part in kept}}
