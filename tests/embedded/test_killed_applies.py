"""Tests of SIGKILL at random moments of an apply: the journal loses no line, and the next start reports each edit's
true outcome.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded import brokers, faults, replicas, spec
from console.embedded.state import ClusterState
from console.journal.history import Change, State
from console.model.changes import Status
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.session import former_changes as past
from console.session.former_changes import reconcile_open
from console.session.session import Session
from tests.support.changing import read_history
from tests.support.forked_runs import ForkedRuns
from tests.support.recorded_requests import Recording

RUNS = [(0, 12), *(pytest.param(seed, 50, marks=pytest.mark.long) for seed in range(4))]
"""(seed, number of kills): first at each request of an apply in turn, then at random moments. Each seed has its own
cluster, because each round takes longer as the journal grows.
"""
TOPIC = "orders"
FIRST = "incremental_alter_configs"
"""The first request of an apply, which checks the configs."""


def script(number: int) -> str:
    """Return a script whose apply sends four requests; its values contain the round's number."""
    return (
        f"set topic {TOPIC} retention.ms={number + 1000} max.message.bytes={number + 1000}; "
        f"set user user-{number} producer_byte_rate={number + 2048}; "
        f"allow User:user-{number} READ on topic {TOPIC}; "
        f"create topic new-{number} partitions=1 replication=1; apply --yes"
    )


def is_there(state: ClusterState, number: int) -> dict[str, bool]:
    """Return name of an edit in a round's script -> whether the cluster's state has it."""
    own = state.configs.get(topic_resource(TOPIC), {})
    value = str(number + 1000)
    return {
        "retention.ms": own.get("retention.ms") == value,
        "max.message.bytes": own.get("max.message.bytes") == value,
        "producer_byte_rate": QuotaEntity.of({"user": f"user-{number}"}) in state.quotas,
        "acl": any(acl.principal == f"User:user-{number}" for acl in state.acls),
        "topic": f"new-{number}" in state.topics,
    }


def names(change: Change) -> list[str]:
    """Return the name of each edit of a change, in order: its key, or ``acl`` or ``topic`` for an edit without a
    key.
    """
    found = []
    for entry in change.entries:
        edit = entry.staged.edit
        found.append(edit.key or ("acl" if hasattr(edit, "acl") else "topic"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kills"), RUNS)
@pytest.mark.takes(30)
async def test_a_kill_loses_nothing_and_nothing_is_misreported(
    seed: int, kills: int, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "IN_FLIGHT", 0.2)
    seen: Counter[str] = Counter()
    async with (
        brokers.EmbeddedCluster(spec.ClusterSpec(brokers=2)) as cluster,
        ForkedRuns({"HOME": str(own_home)}, tmp_path / "output") as runs,
    ):
        cluster.state.put_topic(
            replicas.new_topic(TOPIC, replicas.striped(cluster.state.alive(), 1, 1), cluster.state.alive())
        )
        with AdminClient(ConnectionSettings(tuple(cluster.addresses.values()))) as client:
            await runs.warm("run", "-b", cluster.bootstrap, "-e", script(0))
            moments = await measured(cluster, runs)
            number = 1 + 1000 * seed
            while seen["killed"] < kills:
                number += 1
                at = place if (place := number - 1 - 1000 * seed) <= moments.requests else None
                await one_round(cluster, client, runs, number, moments, seen, at)
    print(dict(seen))
    assert seen["left unfinished"] > kills // 20, seen
    assert seen["unknown"] + seen["not sent"] > kills // 20, seen


@dataclass(frozen=True)
class Moments:
    """The requests of an apply that was not killed, and its duration in seconds from the first request on."""

    requests: int
    seconds: float


async def measured(cluster: brokers.EmbeddedCluster, runs: ForkedRuns) -> Moments:
    """Run one apply to its end; return its requests, and its duration in seconds from the first request on."""
    began: list[float] = []
    clock = asyncio.get_running_loop().time
    recording = Recording()
    detach = recording.attach(cluster.pipeline)
    cluster.faults.add(faults.Fault(faults.Meanwhile(lambda _state: began.append(clock())), api=FIRST, nth=1))
    await runs.start("run", "-b", cluster.bootstrap, "-e", script(1))
    assert await runs.ended() == 0, runs.output
    taken = clock() - began[0]
    cluster.faults.clear()
    apis = [entry.api for entry in recording]
    detach()
    return Moments(len(apis) - apis.index(FIRST), taken)


async def one_round(
    cluster: brokers.EmbeddedCluster,
    client: AdminClient,
    runs: ForkedRuns,
    number: int,
    moments: Moments,
    seen: Counter[str],
    at: int | None,
) -> None:
    """Start an apply, kill it, start kac again, and compare what it reports with the cluster's state.

    at: the number of the request at which the process is killed; None for a random request or moment.
    """
    rng = Random(number)
    applying = asyncio.Event()
    # Kill at one of the apply's requests, or at any moment after the first one, for example between two bytes of the
    # journal.
    if at is None and rng.randrange(2):
        at = rng.randint(1, moments.requests)
    left = at or 0

    def count(_state: ClusterState) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            runs.kill()

    def first(state: ClusterState) -> None:
        applying.set()
        cluster.faults.add(faults.Fault(faults.Meanwhile(count)))
        count(state)

    cluster.faults.add(faults.Fault(faults.Meanwhile(first), api=FIRST, nth=1, times=1))
    await runs.start("run", "-b", cluster.bootstrap, "-e", script(number))
    ended = asyncio.ensure_future(runs.ended())
    if at is None:
        await applying.wait()
        await asyncio.wait([ended], timeout=rng.uniform(0.0, moments.seconds))
        if not ended.done():
            runs.kill()
    code = await ended
    cluster.faults.clear()
    seen["killed" if code == -9 else "ended"] += 1
    session = Session(client, Context("test", "tests", client.settings))
    before = await read_history(session)
    seen["left unfinished"] += bool(before.unfinished())
    journal = await session.journal()
    found = await reconcile_open(session.client, session.context, session.snapshot, journal)
    seen["settled as applied"] += any(Status.APPLIED in each.edits.values() for each in found)
    after = await read_history(session)
    assert after.problems == ()
    mine = [change for change in after.changes.values() if f"user-{number}" in str(change.entries)]
    there = is_there(cluster.state, number)
    if not mine:
        assert not any(there.values()), "something was sent that the journal does not know of"
        assert "takes it back" not in runs.output
        return
    (change,) = mine
    assert sorted(names(change)) == sorted(there)
    for place, name in enumerate(names(change)):
        state = change.state(place)
        assert state in (State.APPLIED, State.UNKNOWN, State.NOT_SENT), (name, state, runs.output)
        assert (state is State.APPLIED) == there[name], (name, state, there, runs.output)
        seen[state.value] += 1
    if code == 0:
        assert all(there.values())
