"""`kac moves`: what it plans, what it says of that, and that its script brings the cluster there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.admin import changes
from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.changes import AlterReassignments
from console.model.config import broker_resource, topic_resource
from console.operations import goals
from tests.support import worlds
from tests.support.worlds import Kac

PLACES = ((1, 2), (3, 1), (2, 3), (3, 2))


cluster = worlds.cluster(ClusterSpec(brokers=4), worlds.topic("orders", PLACES, brokers=(1, 2, 3, 4)))


kac = worlds.commands()


def settled_replicas(cluster: ThreadedCluster) -> list[tuple[int, ...]]:
    """Where orders is once all moves are done."""

    async def settled(embedded: EmbeddedCluster) -> list[tuple[int, ...]]:
        await embedded.settled()
        return [each.replicas for each in embedded.state.topics["orders"].partitions]

    return cluster.run(settled)


def test_a_script_drains_a_broker(kac: Kac, cluster: ThreadedCluster) -> None:
    """What is printed in text, as JSON and for Kafka's tool is what the script stages; a second plan finds nothing."""
    said = kac("moves", "drain", "3")
    assert said.code == 0
    assert "3 partitions" in said.out
    assert "kac run -f -" in said.out
    data = json.loads(kac("moves", "drain", "3", "--output", "json").out.splitlines()[0])
    file = json.loads(kac("moves", "drain", "3", "--output", "kafka").out)
    wanted = {each["partition"]: tuple(each["replicas"]) for each in file["partitions"]}
    assert sorted(wanted) == [1, 2, 3]
    assert {each["partition"]: tuple(each["to"]) for each in data["moves"]} == wanted
    script = kac("moves", "drain", "3", "--script").out
    assert script.splitlines()[0].startswith("move topic orders partition 1 to ")
    assert kac("run", "-e", f"{script}\napply --yes").code == 0
    now = settled_replicas(cluster)
    assert all(3 not in replicas for replicas in now)
    assert {number: now[number] for number in wanted} == wanted
    assert "no replica has to move" in kac("moves", "drain", "3").out


def test_a_throttle_ends_by_itself_and_is_in_the_journal_before(kac: Kac, cluster: ThreadedCluster) -> None:
    """Rates on the brokers that copy or are read, lists on the topic; all of it is due later."""
    script = kac("moves", "drain", "3", "--throttle", "50MB/s", "--script").out
    assert kac("run", "-e", f"{script}\napply --yes").code == 0
    configs = cluster.call(lambda c: {name: dict(found) for name, found in c.state.configs.items()})
    lists = configs[topic_resource("orders")]
    assert lists["leader.replication.throttled.replicas"] == "1:3,1:1,2:2,2:3,3:3,3:2"
    moved = settled_replicas(cluster)
    copies = [f"{number}:{new}" for number, replicas in enumerate(moved) for new in set(replicas) - set(PLACES[number])]
    assert lists["follower.replication.throttled.replicas"].split(",") == copies
    for broker in (1, 2, 3, 4):
        assert configs[broker_resource(broker)]["follower.replication.throttled.rate"] == "50000000"
    due = json.loads(kac("due", "--output", "json").out.splitlines()[0])
    assert len(due["due"]) == 10
    change = str(due["due"][0]["change"])
    assert kac("run", "-e", f"revert {change}; plan").code in (0, 3)


def test_what_has_to_wait_is_named_and_has_its_exit_code(kac: Kac, cluster: ThreadedCluster) -> None:
    cluster.run(lambda c: c.broker_down(4))
    said = kac("moves", "topic", "orders", "to", "4,3")
    assert said.code == 4
    why = "4 partitions can't move: factor 2 needs 2 other brokers, 1 can take replicas (orders/0, orders/1 and 2 more)"
    assert said.out.splitlines().count(why) == 1, said.out
    script = kac("moves", "topic", "orders", "to", "4,3", "--script")
    assert (script.code, script.out) == (4, "")
    assert why in script.complaints
    held = json.loads(kac("moves", "topic", "orders", "to", "4,3", "--output", "json").out.splitlines()[1])["held"]
    assert [each["partition"] for each in held] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("drain", 2, "expected drain ID"),
        ("drain 3,3", 2, "a broker is named twice"),
        ("drain all", 2, "is not a whole number"),
        ("replace 3 with 4", 2, "expected drain ID"),
        ("replace 3 by 9", 1, "broker 9 is not in the cluster"),
        ("replication none 2", 1, "there is no topic none"),
        ("drain 3 dir", 2, "drain ID dir PATH"),
        ("drain 3 dir /nowhere", 1, "broker 3 has no log directory /nowhere; it has "),
        ("--run", 2, "a goal is missing"),
        ("--throttle 1MB/s", 2, "goes with a goal"),
        ("--operation 3", 2, "add --throttle"),
        ("--give-up", 2, "--give-up needs --operation"),
        ("--operation 9 --give-up", 1, "no operation 9 is open"),
        ("drain 3 --continue", 2, "take no goal"),
        ("--cancel 9", 1, "no operation 9 is open"),
        ("back 9 --run --yes", 1, "has no operation 9"),
    ],
)
def test_what_is_no_goal_or_does_not_go_together_is_refused(kac: Kac, words: str, code: int, why: str) -> None:
    ran = kac("moves", *words.split())
    assert ran.code == code
    assert why in ran.complaints


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        (["drain", "1,2"], goals.Drain((1, 2))),
        (["replace", "1", "by", "2"], goals.Replace(1, 2)),
        (["balance"], goals.Balance()),
        (["topic", "a b", "to", "1,2"], goals.MoveTopic("a b", (1, 2))),
        (["replication", "t", "3"], goals.Replicate("t", 3)),
        (["drain", "1", "dir", "/a b"], goals.DrainDir(1, "/a b")),
        (["topic", "a b", "broker", "1", "to", "dir", "/a b"], goals.MoveIntoDir("a b", 1, "/a b")),
        (["topic", "t", "partition", "0", "broker", "1", "to", "dir", "/a"], goals.MoveIntoDir("t", 1, "/a", 0)),
    ],
)
def test_a_goal_is_read_as_it_is_written(words: list[str], goal: goals.Goal) -> None:
    assert goals.goal_of(words) == goal
    assert str(goal).split() == " ".join(words).split()


def test_a_goal_is_run_and_listed(kac: Kac, cluster: ThreadedCluster) -> None:
    """--run asks, works until it is reached and leaves no throttle; the list has it afterwards."""
    assert kac("moves", "drain", "3", "--run").code == 1
    ran = kac("moves", "drain", "3", "--throttle", "50MB/s", "--run", "--yes")
    assert ran.code == 0, ran
    assert "operation 1 (drain 3) is done" in ran.complaints
    assert all(3 not in replicas for replicas in settled_replicas(cluster))
    assert not any("throttled" in key for found in cluster.call(configs_of).values() for key in found)
    listed = [json.loads(line) for line in kac("moves", "--output", "json").out.splitlines()]
    (operation,) = listed[0]["operations"]
    assert (operation["operation"], operation["goal"], operation["state"]) == (1, "drain 3", "done")
    assert listed[1]["moves"] == []
    back = kac("moves", "back", "1", "--run", "--yes")
    assert back.code == 0, back
    assert settled_replicas(cluster) == list(PLACES)
    assert kac("moves", "--continue").code == 0


def configs_of(cluster: EmbeddedCluster) -> dict[str, dict[str, str]]:
    return {resource.name: dict(found) for resource, found in cluster.state.configs.items()}


class Died(BaseException):
    """As by kill -9."""


def test_leftovers_say_what_an_operation_owns(
    kac: Kac, cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the journal does not know is of unknown owner; the script takes off that alone."""
    send = changes.send

    async def dies(link: Any, request: Any, **rest: Any) -> Any:
        """The throttles are set, and the process ends before anything moves."""
        if isinstance(request, AlterReassignments) and not rest["validate_only"]:
            raise Died
        return await send(link, request, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(changes, "send", dies)
        with pytest.raises(Died):
            kac("moves", "drain", "3", "--throttle", "50MB/s", "--run", "--yes")
    cluster.call(
        lambda c: c.state.alter_config(topic_resource("others"), {"leader.replication.throttled.replicas": "*"})
    )
    cluster.call(lambda c: c.state.put_topic(new_topic("others", ((1, 2),), (1, 2, 3, 4))))
    found = json.loads(kac("leftovers", "--output", "json").out.splitlines()[-1])["leftovers"]
    owners = {each["entity"]: each["operation"] for each in found}
    assert owners.pop("topic others") is None
    assert set(owners.values()) == {1}
    script = kac("leftovers", "--script").out.splitlines()
    assert len(script) == 1
    assert "others" in script[0]
    assert kac("moves", "--continue").code == 0
    (left,) = json.loads(kac("leftovers", "--output", "json").out)["leftovers"]
    assert left["entity"] == "topic others"


@pytest.mark.parametrize("words", [["drain", "3", "--run", "--yes"], ["drain", "3", "--run"], ["--cancel", "1"]])
def test_a_context_wants_its_name_typed_also_with_yes(
    cluster: ThreadedCluster,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contexts = tmp_path / "config.toml"
    servers = f'"bootstrap.servers" = "{cluster.bootstrap}"\n'
    contexts.write_text(f"[contexts.prod]\n{servers}confirm = true\n[contexts.lab]\n{servers}")
    monkeypatch.setenv("KAC_CONFIG", str(contexts))
    assert cli.run(["moves", "-c", "prod", *words]) == 1
    assert "context prod wants its name typed, and there is no terminal" in capsys.readouterr().err
    assert settled_replicas(cluster) == list(PLACES)
    assert not cluster.call(lambda c: [key for configs in c.state.configs.values() for key in configs if "thr" in key])
