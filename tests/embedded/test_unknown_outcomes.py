"""Tests of changes whose outcome is unknown: it stays unknown until the cluster shows it or an operator decides."""

import json
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded import faults
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.spec import ClusterSpec
from console.journal import file, history
from console.journal.entries import Answered, Ended, Entry, Intent, this_process
from console.model import changes, config, journal_lines
from console.plan.edits import SetConfig, UnsetConfig
from console.plan.staged import Staged
from console.session import former_changes as past
from console.session.former_changes import former_changes
from console.session.journal_changes import decide, stage_revert
from console.session.read_again import read_again
from console.session.session import Session
from console.session.snapshot_reader import Progress, Refused
from console.wire.schemas import api_key
from tests.support import worlds
from tests.support.changing import apply_plan, read_history
from tests.support.cutting_proxy import Cut, CuttingProxy

ORDERS = config.topic_resource("orders")
RETENTION = "retention.ms"
ALTER = "incremental_alter_configs"


@pytest.fixture(autouse=True)
def _short_checks(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setattr(past, "IN_FLIGHT", 0.0)


cluster = worlds.embedded(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1, brokers=[1]))


@pytest.fixture
async def proxy(cluster: EmbeddedCluster) -> AsyncIterator[CuttingProxy]:
    """Provide a proxy through which all requests to the broker pass."""
    async with CuttingProxy(cluster.addresses[1]) as made:
        yield made


@pytest.fixture
async def client(proxy: CuttingProxy) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings((proxy.address,), lost_answer_timeout=0.1))
    made.start()
    yield made
    made.close()


def session_of(client: AdminClient) -> Session:
    return Session(client, Context("test", "tests", client.settings), "shell")


async def held(client: AdminClient, proxy: CuttingProxy, value: str) -> int:
    """Apply a change whose second request, the change itself, is held by the proxy; return the change's number."""
    session = session_of(client)
    edit = SetConfig(ORDERS, RETENTION, value)
    await read_again(session, [edit])
    session.stage([edit])
    proxy.seen.clear()
    proxy.arm(api_key(ALTER), Cut.HELD, skip=1)
    report = await apply_plan(session)
    assert proxy.holds
    assert report.change is not None
    assert [outcome.status for result in report.results for outcome in result.outcomes] == [changes.Status.UNKNOWN]
    return report.change


async def state_of(client: AdminClient, number: int) -> history.State:
    return (await read_history(session_of(client))).changes[number].state(0)


async def test_an_applied_change_that_can_not_be_read_again_was_not_set_back(
    cluster: EmbeddedCluster, client: AdminClient
) -> None:
    """If the connection is lost after the last request, the last value that kac has read is that from before the
    change. kac does not take it for a sign that another client reverted the applied change.
    """
    session = session_of(client)
    edit = SetConfig(ORDERS, RETENTION, "5000")
    await read_again(session, [edit])
    session.stage([edit])

    def told(event: object) -> None:
        if isinstance(event, Progress) and (event.what, event.done) == ("apply", event.total):
            cluster.faults.add(faults.Fault(faults.Cut(faults.Moment.BEFORE), api="describe_configs"))

    session.subscribe(told)
    report = await apply_plan(session)
    assert cluster.state.configs[ORDERS] == {RETENTION: "5000"}
    assert (report.ok, report.set_back) == (True, ())


async def test_a_held_request_is_unknown_at_every_start_until_it_shows(
    cluster: EmbeddedCluster, proxy: CuttingProxy, client: AdminClient
) -> None:
    number = await held(client, proxy, "5000")
    for _ in range(3):
        said = "\n".join((await former_changes(session_of(client))).lines)
        assert f"outcome unknown: change {number}" in said
        assert f"kac history --settle {number} applied|not-applied" in said
        assert "not applied:" not in said
        assert await state_of(client, number) is history.State.UNKNOWN
    stopped = await stage_revert(session_of(client), number)
    assert not stopped.staging.added
    assert f"--settle {number}" in stopped.notes[0]
    await proxy.let_go()
    assert cluster.state.configs[ORDERS] == {RETENTION: "5000"}
    said = "\n".join((await former_changes(session_of(client))).lines)
    assert f"unfinished: change {number}" in said
    assert await state_of(client, number) is history.State.APPLIED
    assert (await former_changes(session_of(client))).lines == (), "what is settled is not told again"
    session = session_of(client)
    back = await stage_revert(session, number)
    assert [staged.edit for staged in back.staging.added] == [UnsetConfig(ORDERS, RETENTION)]
    assert (await apply_plan(session)).ok
    assert not cluster.state.configs.get(ORDERS)


async def test_a_later_change_of_the_same_place_hides_what_became_of_it(
    cluster: EmbeddedCluster, proxy: CuttingProxy, client: AdminClient
) -> None:
    """If a later change set the same value, the outcome of the first change stays unknown, because the value may
    come from the later one.
    """
    first = await held(client, proxy, "5000")
    session = session_of(client)
    edit = SetConfig(ORDERS, RETENTION, "5000")
    await read_again(session, [edit])
    session.stage([edit])
    again = await apply_plan(session)
    assert again.ok
    assert "outcome unknown: change 1" in "\n".join((await former_changes(session_of(client))).lines)
    assert await state_of(client, first) is history.State.UNKNOWN
    assert await decide(session_of(client), first, changes.Status.NOT_APPLIED, "the proxy was restarted") == 1
    assert await state_of(client, first) is history.State.NOT_APPLIED
    assert (await former_changes(session_of(client))).lines == ()
    change = (await read_history(session_of(client))).changes[first]
    assert change.decided[0].why == "the proxy was restarted"
    assert change.decided[0].who.principal == "ANONYMOUS"
    with pytest.raises(Refused, match="is known: applied"):
        await decide(session_of(client), again.change or 0, changes.Status.NOT_APPLIED, "no")


async def test_a_check_comes_before_a_decision(
    cluster: EmbeddedCluster, proxy: CuttingProxy, client: AdminClient
) -> None:
    number = await held(client, proxy, "5000")
    await proxy.let_go()
    with pytest.raises(Refused, match="is known: applied"):
        await decide(session_of(client), number, changes.Status.NOT_APPLIED, "I did not see it")


threaded = worlds.cluster(ClusterSpec(brokers=1), worlds.topic("orders", 1, 1, brokers=[1]), scope="module")

kac = worlds.commands("threaded")

GONE = journal_lines.Origin(this_process("run").host, "run", 4_194_305, "x")
"""The origin of a change whose process has ended."""


def left_behind(threaded: ThreadedCluster, at: datetime, edits: int = 31, sent: int = 2) -> file.JournalFile:
    """Write a journal with a change of `edits` edits whose process was killed while the answer to its last sent
    request was outstanding; return the journal. at: the time when the last request was sent. sent: number of sent
    requests.
    """
    cluster_id = threaded.call(lambda c: c.state.cluster_id)
    journal = file.JournalFile(Path(os.environ["HOME"], ".local", "state", "kac", "journal", f"{cluster_id}.jsonl"))
    keys = [f"key.{place}" for place in range(edits)]
    entries = tuple(Entry(Staged(SetConfig(ORDERS, key, "1"), None)) for key in keys)
    requests = tuple(journal_lines.Request("IncrementalAlterConfigs", None, (place,)) for place in range(edits))
    number = journal.begin(Intent(at, "test", journal_lines.Who("alice", "root"), GONE, entries, requests))
    for place in range(sent):
        journal.note(journal_lines.Sending(number, place, at))
        if place < sent - 1:
            journal.note(Answered(number, place, at, {place: Ended(changes.Status.APPLIED)}))
    return journal


def test_a_killed_change_is_told_whole(
    threaded: ThreadedCluster, kac: worlds.Kac, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a killed change of 31 edits, kac names each edit: as applied, with an unknown outcome, or not sent."""
    left_behind(threaded, datetime.now(UTC))
    told = kac("history").complaints
    assert "1 applied, 1 outcome unknown, 29 never sent" in told
    lines = {line.partition(": topic")[0]: line for line in told.splitlines()}
    assert "key.0" in lines["kac:   change 1, applied"]
    assert "key.1" in lines["kac:   change 1, outcome unknown"]
    assert [f"key.{n}" in lines["kac:   change 1, never sent"] for n in range(2, 31)] == [True] * 29
    assert kac("history", "--settle", "1", "not-applied").code == 2, "nobody is there to be asked why"
    assert kac("history", "--settle", "1", "maybe").code == 2
    settled = kac("history", "--settle", "1", "not-applied", "--why", "I looked")
    assert (settled.code, settled.complaints) == (0, "kac: change 1: 1 edit settled as not applied\n")
    (row,) = [row for row in json.loads(kac("history", "--output", "json").out)["history"] if row["settled_by"]]
    assert (row["state"], row["settled_why"], row["key"]) == ("not applied", "I looked", "key.1")
    assert "I looked" in kac("history").out


def test_a_change_that_was_killed_between_two_requests_is_told_until_somebody_is_there(
    threaded: ThreadedCluster, kac: worlds.Kac, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = left_behind(threaded, datetime.now(UTC), edits=3, sent=0)
    journal.note(journal_lines.Sending(1, 0, datetime.now(UTC)))
    journal.note(Answered(1, 0, datetime.now(UTC), {0: Ended(changes.Status.APPLIED)}))
    for _ in range(2):
        assert "unfinished: change 1" in (told := kac("run", "-e", "show topic orders").complaints)
        assert "1 applied, 2 never sent" in told
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert "2 never sent" in kac("run", "-e", "show topic orders").complaints
    assert kac("run", "-e", "show topic orders").complaints == ""


@pytest.mark.parametrize("ahead", [timedelta(hours=1), timedelta(days=400)])
def test_a_clock_that_was_set_back_is_named_and_nothing_waits_for_it(
    threaded: ThreadedCluster, kac: worlds.Kac, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start of kac waits for requests that were sent a moment ago, but not for requests with a time in the future,
    which it reports.
    """
    monkeypatch.setattr(past, "IN_FLIGHT", 3_600.0)
    left_behind(threaded, datetime.now(UTC) + ahead)
    told = kac("history").complaints
    assert "outcome unknown: change 1" in told
    assert "ahead of this host's clock" in told
