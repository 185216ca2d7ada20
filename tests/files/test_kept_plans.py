"""Tests of plans in files, applied to an unchanged cluster: for each kind of edit, kac reads the state again and finds
it unchanged.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.answers.plan_results import NOT_READ_AGAIN
from console.cli.main import run
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.faults import Fail, Fault
from console.embedded.partition_log import PartitionLog
from console.embedded.spec import ClusterSpec
from console.files.plan_file import write_plan
from console.language.grammar import parse
from console.language.interpret import command_of, to_edits
from console.language.needs import needs_of_script
from console.language.statements import EditStatement
from console.model.secret import Secret
from console.plan.conflicts import conflicts
from console.plan.current_state import current_state
from console.plan.edits import Edit, MoveReplicas
from console.plan.kinds.registry import KINDS
from console.plan.staged import UNREAD, Described, Staged
from console.session.read_again import read_again
from console.session.reading import read_everything, read_needs
from console.session.session import Session
from tests.embedded.apply_fronts import settings_of
from tests.unit.test_edit_kinds import EDITS

SCRIPT = """
create topic orders partitions=4 replication=2 retention.ms=1d
create topic others partitions=1 replication=1
set user orders producer_byte_rate=1MB/s
allow User:bob READ on topic orders
scram set orders SCRAM-SHA-256 iterations=4096 password=@{password}
apply --yes --accept first-acl
reset group billing topic orders partition 0 to offset 0
apply --yes
"""
STAGED = {
    "AddAcl", "CommitOffset", "DeleteGroup", "DeleteScram", "DeleteTopic", "GrowTopic", "MoveReplicas",
    "SetConfig", "SetFeature", "SetQuota", "TrimLog", "UnsetConfig",
}  # fmt: skip
"""Kinds of edits whose examples the test's cluster accepts. Others may be refused when they are staged."""
UNREADABLE = {"Renew", "Expire"}
"""Kinds of edits whose state can't be read: those of tokens, because a cluster without logins lists no tokens."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedCluster]:
    password = tmp_path_factory.mktemp("kept") / "password"
    password.write_text("correct-horse")
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        script = SCRIPT.format(password=password)
        assert run(["run", "-b", running.bootstrap, "--no-journal", "-e", script]) == 0
        running.call(_with_records)
        yield running


def _with_records(cluster: EmbeddedCluster) -> None:
    cluster.state.set_feature("group.version", 0)
    cluster.state.logs["orders", 0] = log = PartitionLog()
    log.end = 9


@pytest.mark.parametrize("edit_class", [kind.edit for kind in KINDS], ids=lambda each: each.__name__)
async def test_what_an_edit_touches_is_read_before_it_is_compared(
    edit_class: type[Edit], cluster: ThreadedCluster
) -> None:
    edit = EDITS[edit_class][0]
    settings = settings_of(cluster)
    client = AdminClient(settings)
    client.start()
    try:
        session = Session(client, Context("here", "test", settings, journal=False))
        await read_everything(session)
        await read_again(session, [edit])
        then = current_state(edit, Described(session.snapshot))
        assert (then is UNREAD) is (edit_class.__name__ in UNREADABLE)
        assert not [each for each in conflicts([Staged(edit, then)], session.snapshot) if not each.is_unknown]
    finally:
        client.close()


async def _kept(edit: Edit, cluster: ThreadedCluster) -> str:
    """Return the text of a plan file with this edit, as `kac run` and agents' proposals write it, after the reads that
    its statement needs; ``""`` if the cluster refuses the edit, or if plan files can't contain it.
    """
    settings = settings_of(cluster)
    client = AdminClient(settings)
    client.start()
    try:
        session = Session(client, Context("here", "test", settings, journal=False))
        statements = parse(command_of(edit))
        await read_needs(session, needs_of_script(statements))
        statement = statements[0]
        assert isinstance(statement, EditStatement)
        if statement.writes_records:
            return ""
        edits = to_edits(statement, session.snapshot, plan=session.plan, secrets={"password": Secret("")})
        report = session.stage(edits)
        if not report.added or any(each.holds_secret for each in edits):
            return ""
        return write_plan(session.plan, session.snapshot.cluster.cluster_id or "")
    finally:
        client.close()


@pytest.mark.parametrize("edit_class", [kind.edit for kind in KINDS], ids=lambda each: each.__name__)
def test_a_plan_that_was_kept_is_as_it_was(
    edit_class: type[Edit], cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = asyncio.run(_kept(EDITS[edit_class][0], cluster))
    assert text or edit_class.__name__ not in STAGED
    if not text:
        return
    file = tmp_path / "plan"
    file.write_text(text)
    # Without --yes nothing is sent, and changes are reported before the refusal.
    run(["apply", "-b", cluster.bootstrap, "--no-journal", "-f", str(file)])
    said = capsys.readouterr().err
    assert "changed since the plan was made" not in said
    assert NOT_READ_AGAIN not in said
    assert "and there is no terminal; write --yes" in said, said


def test_what_can_not_be_read_is_said_to_be_unknown(
    cluster: ThreadedCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If kac can't list the reassignments when it applies a plan file, it says that it does not know whether one has
    begun.
    """
    file = tmp_path / "plan"
    file.write_text(asyncio.run(_kept(EDITS[MoveReplicas][0], cluster)))
    refused = Fault(Fail(31, "Cluster authorization failed."), api="list_partition_reassignments")
    cluster.call(lambda one: one.faults.add(refused))
    try:
        code = run(["apply", "-b", cluster.bootstrap, "--no-journal", "-f", str(file), "--yes"])
    finally:
        cluster.call(lambda one: one.faults.clear())
    told = capsys.readouterr()
    assert code == 1
    assert f"left out, {NOT_READ_AGAIN}: move of orders/0: all of it; --force goes over it" in told.err
    assert "changed since" not in told.out + told.err
    assert "nothing was sent" in told.err
