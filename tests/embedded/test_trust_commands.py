"""The command line around the journal: history, revert, due, leftovers, and changes that are refused before they go."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.cli import main as cli
from console.contexts import load
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.faults import Delay, Fail, Fault, Meanwhile
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec, SaslSpec
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import topic_resource
from console.model.secret import Secret
from console.plan.edits import SetConfig
from console.plan.reversal import losses
from console.session.journal_changes import stage_revert
from console.session.read_again import read_again
from console.session.session import Session
from console.session.triage_polls import Poller
from console.triage.diagnosis import diagnose
from console.triage.observations import begin
from tests.support import worlds
from tests.support.applied import apply_plan
from tests.support.children import Child
from tests.support.patience import PATIENCE
from tests.support.worlds import Kac, commands_on

ROOT = Path(__file__).parents[2]
ORDERS = topic_resource("orders")


cluster = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1, brokers=[1]), scope="module")


@pytest.fixture
def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Kac:
    cluster.call(lambda c: c.state.replace_config(ORDERS, {}))
    return commands_on(cluster, capsys)


def own(cluster: ThreadedCluster) -> dict[str, str]:
    return cluster.call(lambda c: dict(c.state.configs.get(ORDERS, {})))


def journal() -> Path:
    (path,) = Path(os.environ["HOME"], ".local", "state", "kac", "journal").iterdir()
    return path


def test_a_change_its_history_and_its_revert(kac: Kac, cluster: ThreadedCluster) -> None:
    done = kac("run", "-e", "set topic orders retention.ms=1d; apply --yes")
    assert done.code == 0
    assert "change 1: revert 1 takes it back" in done.out
    (row,) = json.loads(kac("run", "-e", "history topic orders", "--output", "json").out)["history"]
    assert (row["change"], row["state"], row["door"]) == (1, "applied", "run")
    assert row["was"]["source"] == "DEFAULT_CONFIG"
    assert "orders" in kac("history", "orders").out
    assert "no changes" in kac("history", "payments").out
    assert kac("run", "-e", "revert 1; apply --yes").code == 0
    assert own(cluster) == {}
    assert "taken back by 2" in kac("history").out
    refused = kac("run", "-e", "revert 9")
    assert refused.code == 1
    assert "its changes are 1 to 2" in refused.complaints
    assert kac("run", "-e", "revert x").code == 1


def test_a_revert_that_does_nothing_is_no_success(kac: Kac, cluster: ThreadedCluster) -> None:
    """And a change of which nothing was applied has no way back to offer."""
    gone = Fault(Fail(7), api="incremental_alter_configs", nth=2, times=1)
    cluster.call(lambda c: c.faults.add(gone))
    failed = kac("run", "-e", "set topic orders retention.ms=1d; apply --yes")
    cluster.call(lambda c: c.faults.clear())
    assert failed.code == 1
    assert "takes it back" not in failed.out
    assert "change 1: outcome unknown" in failed.out
    assert "kac history --settle 1" in failed.out
    refused = kac("run", "-e", "revert 1")
    assert refused.code == 1
    assert "its outcome is unknown" in refused.out
    assert kac("history", "--settle", "1", "not-applied", "--why", "the broker said so").code == 0
    refused = kac("run", "-e", "revert 1; apply --yes")
    assert refused.code == 1
    assert "nothing to take back, it is not applied" in refused.out
    assert kac("run", "-e", "set topic orders retention.ms=1d; apply --yes").code == 0
    cluster.call(lambda c: c.state.replace_config(ORDERS, {}))
    nothing = kac("run", "-e", "revert 2; apply --yes")
    assert nothing.code == 1
    assert "not needed: topic orders retention.ms" in nothing.out


def test_what_was_set_for_a_time(kac: Kac, cluster: ThreadedCluster) -> None:
    assert "nothing was set for a time" in kac("due").out
    assert kac("run", "-e", "set topic orders retention.ms=1d for 1ms; apply --yes").code == 0
    told = kac("run", "-e", "show topic orders")
    assert told.code == 0
    assert "topic orders retention.ms of change 1 is to be taken back" in told.complaints
    (row,) = json.loads(kac("due", "--output", "json").out)["due"]
    assert row["state"] == "due"
    assert kac("due", "--apply").code == 0
    assert own(cluster) == {}
    assert kac("run", "-e", "show topic orders").complaints == ""
    assert kac("run", "-e", "set topic orders retention.ms=1d for 1ms; apply --yes").code == 0
    cluster.call(lambda c: c.state.alter_config(ORDERS, {"retention.ms": "7"}))
    stopped = kac("due", "--apply")
    assert stopped.code == 1
    assert "7 (topic)" in stopped.out
    assert own(cluster) == {"retention.ms": "7"}
    assert kac("due", "--forget", "3").code == 0
    assert "nothing was set for a time" in kac("due").out


def test_somebody_else(kac: Kac, cluster: ThreadedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the read of a script and its apply somebody changes the same key: three ways, and not gone over."""
    stage, values = Session.stage, iter(("4711", "4712"))

    def staged_and_changed(self: Session, *arguments: object) -> object:
        report = stage(self, *arguments)  # type: ignore[arg-type]
        cluster.call(lambda c: c.state.alter_config(ORDERS, {"retention.ms": next(values)}))
        return report

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Session, "stage", staged_and_changed)
        stopped = kac("run", "-e", "set topic orders retention.ms=1d; apply --yes")
        assert stopped.code == 1
        assert "4711 (≈ 4.71 s, topic)" in stopped.out
        assert "nothing was sent" in stopped.out
        assert own(cluster) == {"retention.ms": "4711"}
        forced = kac("run", "-e", "set topic orders retention.ms=2d; apply --yes --force")
    assert forced.code == 0
    assert "overwritten by this apply:" in forced.out
    assert "4712 (≈ 4.71 s, topic)" in forced.out
    assert own(cluster) == {"retention.ms": "172800000"}


def test_a_journal_that_can_not_be_written_keeps_a_change_back(kac: Kac, cluster: ThreadedCluster) -> None:
    assert kac("run", "-e", "set topic orders retention.ms=1d; apply --yes").code == 0
    # Its process has ended since, and its last line was cut.
    whole = journal().read_bytes().replace(f'"pid":{os.getpid()},'.encode(), b'"pid":4194305,')
    journal().write_bytes(whole[:-9])
    change = ("run", "-e", "set topic orders retention.ms=2d; apply --yes")
    refused = kac(*change)
    assert refused.code == 1
    assert "JOURNAL_CUT" in refused.complaints
    assert "kac history --mend" in refused.complaints
    assert own(cluster) == {"retention.ms": "86400000"}
    loud = kac("run", "--no-journal", *change[1:])
    assert loud.code == 0
    assert "not written into the journal" in loud.complaints
    assert own(cluster) == {"retention.ms": "172800000"}
    assert "the truncated record is closed" in kac("history", "--mend").complaints
    settled = kac("run", "-e", "set topic orders retention.ms=3d; apply --yes")
    assert settled.code == 0
    assert "outcome unknown: change 1" in settled.complaints, "another value is there: nobody can tell"
    assert own(cluster) == {"retention.ms": "259200000"}


def test_leftovers_as_a_script(kac: Kac, cluster: ThreadedCluster) -> None:
    key = "leader.replication.throttled.replicas"
    cluster.call(lambda c: c.state.alter_config(ORDERS, {key: "0:1"}))
    script = kac("leftovers", "--script").out
    assert f"unset topic orders {key}" in script.splitlines()
    assert kac("run", "-e", f"{script}\napply --yes").code == 0
    assert own(cluster) == {}
    assert "no throttle is left over" in kac("leftovers").out


def test_leftovers_of_this_journal_and_those_that_are_meant(
    kac: Kac, cluster: ThreadedCluster, own_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, other = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
    assert kac("run", "-e", f"set topic orders {key}=0:1; apply --yes").code == 0
    cluster.call(lambda c: c.state.alter_config(ORDERS, {other: "0:2"}))
    found = json.loads(kac("leftovers", "--output", "json").out.splitlines()[-1])["leftovers"]
    number = {each["key"]: each["change"] for each in found}
    assert number[other] is None
    assert isinstance(number[key], int)
    assert f"change {number[key]} of this journal" in kac("leftovers").out
    cluster.call(lambda c: c.state.alter_config(ORDERS, {key: "1:1"}))
    (again,) = [
        each for each in json.loads(kac("leftovers", "--output", "json").out)["leftovers"] if each["key"] == key
    ]
    assert again["change"] is None, "another client set it to something else since"

    config = own_home / ".config" / "kac" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[contexts.c]\n"bootstrap.servers" = "{cluster.bootstrap}"\nthrottles = ["topic orders {key}"]\n'
    )
    capsys.readouterr()
    assert cli.run(["leftovers", "-c", "c", "--script"]) == 0
    assert capsys.readouterr().out == f"unset topic orders {other}\n", "what is meant is not told"


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ('["broker <default> leader.replication.throttled.rate"]', True),
        ('["broker 3 follower.replication.throttled.rate", "topic a leader.replication.throttled.replicas"]', True),
        ('"broker 1 leader.replication.throttled.rate"', False),
        ('["broker one leader.replication.throttled.rate"]', False),
        ('["topic orders retention.ms"]', False),
        ("[1]", False),
    ],
)
def test_throttles_that_are_meant_are_declared(tmp_path: Path, text: str, fine: bool) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[contexts.c]\n"bootstrap.servers" = "b"\nthrottles = {text}\n')
    found = load({"KAC_CONFIG": str(file)}, tmp_path)
    assert bool(found.contexts) is fine
    assert fine or f"{file}:3: throttles is as" in found.broken[0].problem


def test_ctrl_c_waits_for_a_change_in_flight(cluster: ThreadedCluster, tmp_path: Path, own_home: Path) -> None:
    """It comes while a broker works on the change; what was on its way is done, and the journal knows how it went."""
    running = threading.Event()
    cluster.call(lambda c: c.state.replace_config(ORDERS, {}))
    fault = Fault(Delay(2.0), api="incremental_alter_configs", nth=2, times=1)
    notice = Fault(Meanwhile(lambda _state: running.set()), api="incremental_alter_configs", nth=2, times=1)
    cluster.call(lambda c: (c.faults.add(notice), c.faults.add(fault)))
    script = "set topic orders retention.ms=1d; apply --yes; set topic orders retention.ms=2d; apply --yes"
    command = [sys.executable, "-m", "console", "run", "-b", cluster.bootstrap, "-e", script]
    with (tmp_path / "out").open("w") as out:
        process = Child(command, stdout=out, stderr=out, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert running.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == cli.INTERRUPTED
    cluster.call(lambda c: c.faults.clear())
    assert own(cluster) == {"retention.ms": "86400000"}
    kinds = [json.loads(line)["kind"] for line in journal().read_text().splitlines()]
    assert kinds == ["intent", "sending", "outcome"]


async def test_who_may_change_and_not_look_changes_and_is_told(own_home: Path) -> None:
    """Nothing was read, so nothing can have moved; and there is no way back to what nobody knows."""
    users = {"alice": Secret("alice-secret")}
    async with EmbeddedCluster(ClusterSpec(brokers=1, sasl=SaslSpec(plain=users))) as running:
        state = running.state
        state.put_topic(new_topic("orders", striped([1], 1, 1), [1]))
        state.alter_config(ORDERS, {"retention.ms": "1000"})
        rights = (("DESCRIBE", "ALLOW"), ("ALTER_CONFIGS", "ALLOW"), ("DESCRIBE_CONFIGS", "DENY"))
        for operation, permission in rights:
            what = (AclResourceType(2), "orders", PatternType(3), "User:alice", "*", AclOperation.parse(operation))
            state.add_acl(Acl(*what, Permission.parse(permission)))
        sasl = SaslSettings(mechanism="PLAIN", username="alice", password=users["alice"])
        settings = ConnectionSettings(tuple(running.addresses.values()), "SASL_PLAINTEXT", sasl)
        with AdminClient(settings) as client:
            session = Session(client, Context("test", "tests", client.settings))
            edit = SetConfig(ORDERS, "retention.ms", "3600000")
            await read_again(session, [edit])
            (staged,) = session.stage([edit]).added
            assert losses([staged]) == ((staged, "what was there before was not read"),)
            report = await apply_plan(session)
            assert report.ok, report
            assert state.configs[ORDERS] == {"retention.ms": "3600000"}
            assert report.change is not None
            back = await stage_revert(session, report.change)
            assert not session.plan
            assert "was not read" in back.notes[0]


async def test_triage_holds_what_is_meant(cluster: ThreadedCluster) -> None:
    place = (ORDERS, "leader.replication.throttled.replicas")
    settings = worlds.settings(cluster)
    cluster.call(lambda c: c.state.replace_config(ORDERS, {place[1]: "0:1"}))

    async def told(context: Context) -> bool:
        with AdminClient(settings) as client:
            async with Poller(Session(client, context, "test")) as poller:
                verdict = diagnose(begin(await poller.poll(whole=True)))
                return any(each.claim.cause == "replication-throttled" for each in verdict.causes)

    assert await told(Context("test", "tests", settings))
    assert not await told(Context("test", "tests", settings, throttles=frozenset({place})))
