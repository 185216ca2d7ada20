"""Tests of another cluster that suddenly answers at the same addresses, and of a second client of the same cluster."""

import os
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import pytest

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.errors import WrongCluster
from console.contexts.context import Context
from console.embedded import faults, replicas, spec, tables
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.state import ClusterState
from console.log_file import state_directory
from console.model import codes, config, identity, quota
from console.model.changes import AlterConfigs, ConfigOp, TopicTarget
from console.operations.goals import Drain
from console.operations.operation import State
from console.plan import edits as plan_edits
from console.plan.reconcile import ApplyOptions, ApplyReport
from console.session import operating, operation_work, snapshot_reader
from console.session.read_again import read_again
from console.session.session import Session
from console.shell.shell import UNAPPLIED
from tests.embedded.apply_fronts import (
    ALTER,
    DAY,
    FRONTS,
    ORDERS,
    PLAIN,
    RETENTION,
    Front,
    at_prompt,
    on_screen,
    put_topic,
    settings_of,
    stage,
)
from tests.scenarios.test_operations import LAYOUT, RATE, World, world_of
from tests.support import worlds
from tests.support.changing import apply_plan
from tests.support.older_brokers import like
from tests.support.recorded_requests import Recording
from tests.support.worlds import Kac

A, B = "QUFBQUFBQUFBQUFBQUFBQQ", "QkJCQkJCQkJCQkJCQkJCQg"


def swap(state: ClusterState) -> None:
    """Make the server answer as another cluster, whose topics have the same names."""
    state.cluster_id = B


running = worlds.cluster(spec.ClusterSpec(brokers=2, cluster_id=A), partial(put_topic, "orders"), scope="module")


@pytest.fixture
def cluster(running: ThreadedCluster) -> Iterator[ThreadedCluster]:
    def clean(one: EmbeddedCluster) -> None:
        one.faults.clear()
        one.state.cluster_id = A
        one.state.replace_config(ORDERS, {})

    running.call(clean)
    yield running
    running.call(clean)


kac = worlds.commands()


def retention(cluster: ThreadedCluster) -> str | None:
    return cluster.call(lambda c: c.state.configs.get(ORDERS, {}).get(RETENTION))


def swapped_at(cluster: ThreadedCluster, api: str, nth: int) -> None:
    cluster.call(lambda c: c.faults.add(faults.Fault(faults.Meanwhile(swap), api=api, nth=nth, times=1)))


@pytest.mark.parametrize(("api", "nth"), [("describe_configs", 1), (ALTER, 1)], ids=["staged upon", "checked"])
@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.name)
def test_no_command_changes_another_cluster_than_it_read(
    cluster: ThreadedCluster, kac: Kac, front: Front, tmp_path: Path, api: str, nth: int
) -> None:
    swapped_at(cluster, api, nth)
    ran = kac(*front.command(tmp_path, PLAIN, *front.unasked))
    assert ran.code == 1
    assert retention(cluster) is None
    said = ran.out + ran.complaints
    assert re.search(rf"{B} answer(?:ed at the addresses|s at .*, an address) of cluster {A}", said), said


def test_what_exists_is_changed_on_the_cluster_that_was_asked(cluster: ThreadedCluster, kac: Kac) -> None:
    """If another cluster answers at the addresses right after kac has checked that a topic exists, kac does not delete
    the topic there.
    """
    swapped_at(cluster, "metadata", 1)
    ran = kac("topics", "--delete", "--topic", "orders", "--if-exists", "--yes")
    assert ran.code == 1
    assert f"{B} answered at the addresses of cluster {A}" in ran.complaints, ran
    assert cluster.call(lambda c: "orders" in c.state.topics)


def test_the_requests_after_the_swap_are_not_sent(cluster: ThreadedCluster, kac: Kac) -> None:
    """If another cluster answers at the addresses after the first request of an apply, kac sends no further request.
    The outcome of the first one is in the journal of its cluster.
    """
    swapped_at(cluster, "create_topics", 2)
    words = f"create topic later partitions=1 replication=1; set topic orders {RETENTION}={DAY}"
    ran = kac("run", "-e", f"{words}; apply --yes")
    assert ran.code == 1
    assert cluster.call(lambda c: "later" in c.state.topics)
    assert retention(cluster) is None
    assert "WRONG_CLUSTER" in ran.out + ran.complaints
    folder = state_directory(os.environ) / "journal"
    assert not list(folder.glob(f"{B}*"))
    assert list(folder.glob(f"{A}*"))


async def test_the_shell_applies_nothing_to_another_cluster(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    async with at_prompt(cluster) as (shell, types, keys):
        swapped_at(cluster, "describe_configs", 2)
        types(PLAIN.statement, "apply", "yes")
        keys.send_text("\x04")
        types("yes")
        assert await shell.run() == UNAPPLIED
    assert retention(cluster) is None
    assert "at the addresses of cluster" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [False, True], ids=["staged", "asked"])
async def test_the_screen_applies_nothing_to_another_cluster(cluster: ThreadedCluster, asked: bool) -> None:
    async with on_screen(cluster) as it:
        await stage(it, RETENTION, DAY)
        await it.press("7")
        if asked:
            await it.press("A", shows="Apply")
        cluster.call(lambda c: swap(c.state))
        if not asked:
            await it.press("A")
        await it.press("y", shows=f"{B} answered")
        assert retention(cluster) is None


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with world_of(spec.ClusterSpec(brokers=4, cluster_id=A)) as made:
        made.holds(LAYOUT)
        yield made


async def test_an_operation_takes_no_step_on_another_cluster(world: World) -> None:
    number = await operating.begin(world.session, Drain((3,)), RATE)
    world.cluster.faults.add(faults.Fault(faults.Meanwhile(swap), api="alter_partition_reassignments", nth=1, times=1))
    with pytest.raises(snapshot_reader.Refused, match=f"{B} answered at the addresses of cluster {A}"):
        await operating.work_on(world.session, number, pace=world.pace)
    moved, throttled = world.replicas(), world.throttles()
    with pytest.raises(snapshot_reader.Refused, match=B):
        await operating.work_on(world.session, number, pace=world.pace)
    assert (world.replicas(), world.throttles()) == (moved, throttled)
    world.cluster.state.cluster_id = A
    assert (await operating.read_operations(world.session)).open[0].number == number
    assert (await operating.work_on(world.session, number, pace=world.pace)).state is State.DONE


async def test_an_operation_begins_on_no_other_cluster(world: World) -> None:
    await world.session.read_cluster()
    before = world.replicas()
    number = await operating.begin(world.session, Drain((3,)), RATE)
    world.cluster.state.cluster_id = B
    with pytest.raises(snapshot_reader.Refused, match="WRONG_CLUSTER"):
        await operating.work_on(world.session, number, pace=operation_work.Pace(sleep=world.wait))
    assert world.replicas() == before
    assert world.throttles() == {}


# -- one broker's address ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["4.4", "3.9", "2.8"])
async def test_a_change_takes_no_connection_that_leads_to_another_cluster(release: str) -> None:
    async with EmbeddedCluster(like(release, brokers=1, cluster_id=A)) as cluster:
        put_topic_on_one(cluster)
        async with worlds.linked(worlds.settings(cluster)) as link:
            assert (await describe_cluster(link)).cluster_id == A
            swap(cluster.state)
            change = AlterConfigs({ORDERS: (ConfigOp(RETENTION, codes.SET, DAY),)}, prior={ORDERS: {}})
            with pytest.raises(WrongCluster, match=rf"cluster {B} answers at .*, an address of cluster {A}"):
                await send(link, change, validate_only=False)
            assert cluster.state.configs.get(ORDERS, {}) == {}
            cluster.state.cluster_id = A
            (outcome,) = await send(link, change, validate_only=False)
            assert outcome.ok


def put_topic_on_one(cluster: EmbeddedCluster) -> None:

    cluster.state.put_topic(replicas.new_topic("orders", ((1,),), [1]))


# -- servers without an id ---------------------------------------------------------------------------------------------


def test_no_id_is_that_of_no_other() -> None:
    ids: list[str | None] = [None, "", A, B]
    same = {(one, other) for one in ids for other in ids if identity.same_cluster(one, other)}
    assert same == {(A, A), (B, B)}


@pytest.mark.parametrize("first", [True, False], ids=["gone", "come"])
async def test_a_server_without_an_id_is_not_the_one_before(cluster: ThreadedCluster, first: bool) -> None:
    client = AdminClient(settings_of(cluster))
    with client:
        session = Session(client, Context("here", "test", client.settings), "run")
        cluster.call(lambda c: setattr(c.state, "cluster_id", A if first else ""))
        await session.read_cluster()
        cluster.call(lambda c: setattr(c.state, "cluster_id", "" if first else A))
        with pytest.raises(snapshot_reader.Refused, match="a server without an id"):
            await session.read_cluster()


def test_a_server_without_an_id_is_changed_and_that_is_said(cluster: ThreadedCluster, kac: Kac) -> None:
    cluster.call(lambda c: setattr(c.state, "cluster_id", ""))
    ran = kac("run", "--no-journal", "-e", f"{PLAIN.statement}; apply --yes")
    assert ran.code == 0, ran
    assert "gives no cluster id" in ran.out + ran.complaints
    assert retention(cluster) == DAY


# -- A second client changes the cluster at random moments between a read and an apply ---------------------------------

TOPICS = ("topic-a", "topic-b", "topic-c")
USERS = tuple(quota.QuotaEntity.of({"user": name}) for name in ("user-alice", "user-bob"))
PLACES: tuple[tuple[config.ConfigResource, str, tuple[str, ...]], ...] = (
    *((config.topic_resource(name), "retention.ms", ("1000", "2000", "3000")) for name in TOPICS),
    *((config.topic_resource(name), "max.message.bytes", ("1000", "2000", "3000")) for name in TOPICS),
    (config.CLUSTER_DEFAULT, "log.cleaner.threads", ("1", "2", "3")),
    (config.broker_resource(1), "log.cleaner.threads", ("1", "2", "3")),
    (config.broker_resource(2), "log.cleaner.threads", ("1", "2", "3")),
)
ACCEPTED = frozenset(f"topic-deleted={name}" for name in TOPICS)
DESCRIBES = {"configs": "describe_configs", "quotas": "describe_client_quotas", "topics": "metadata"}


@dataclass
class Watch:
    """The changes of a cluster, in order: each with the number of requests that were answered before it, and whether
    the second client made it.
    """

    recording_cluster: EmbeddedCluster
    recording: Recording
    events: list[tuple[int, bool, tables.Change]] = field(default_factory=list)
    foreign: bool = False

    def changed(self, change: tables.Change) -> None:
        """Append a change; the cluster's state calls this."""
        self.events.append((len(self.recording), self.foreign, change))

    def described_between(self, first: int, last: int, table: str, slot: plan_edits.Slot) -> bool:
        """Return whether the cluster described the value of a slot (an edit's target and key) to any client between two
        changes, given by index.
        """
        named = _named(slot)
        return any(e.api == DESCRIBES[table] and named in e.request for e in list(self.recording)[first:last])

    def gone_over(self) -> list[tuple[plan_edits.Slot, bool]]:
        """Return, for each value of the second client that the first client replaced, its slot and whether the
        cluster described that slot to any client between the two changes.
        """
        found = []
        for number, (position, foreign, change) in enumerate(self.events):
            if not foreign:
                continue
            for slot in _slots(change):
                theirs = _value(change.after, slot)
                for later, other, after in self.events[number + 1 :]:
                    if (after.table, after.key) != (change.table, change.key):
                        continue
                    if _value(after.after, slot) == theirs:
                        continue
                    if not other:
                        found.append((slot, self.described_between(position, later, change.table, slot)))
                    break
        return found


def _named(slot: plan_edits.Slot) -> bytes:
    """Return the bytes by which a request names a slot's entity: for a broker the resource type, and the id as a
    compact string.
    """
    target = slot.target
    if isinstance(target, config.ConfigResource) and target.type != codes.TOPIC:
        return bytes([target.type, len(target.name) + 1]) + target.name.encode()
    return str(
        target.name_of("user") if isinstance(target, quota.QuotaEntity) else getattr(target, "name", target)
    ).encode()


def _slots(change: tables.Change) -> list[plan_edits.Slot]:
    if change.table == "topics":
        return [plan_edits.Slot(TopicTarget(str(change.key)), "")]
    keys = {*(_keys(change.before)), *(_keys(change.after))}
    return [
        plan_edits.Slot(change.key, key)  # type: ignore[arg-type]
        for key in sorted(keys)
        if _value(change.before, plan_edits.Slot(change.key, key))
        != _value(change.after, plan_edits.Slot(change.key, key))  # type: ignore[arg-type]
    ]


def _keys(value: object) -> list[str]:
    return list(value) if isinstance(value, dict) else []


def _value(value: object, slot: plan_edits.Slot) -> object:
    if not slot.key:
        return None if value is tables.ABSENT else getattr(value, "id", None)
    return value.get(slot.key) if isinstance(value, dict) else None


@pytest.fixture
async def recording_cluster() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(spec.ClusterSpec(brokers=2)) as running:
        Recording().attach(running.pipeline)
        yield running


client = worlds.client("recording_cluster", visible_timeout=0.02)


def edits(rng: Random) -> list[plan_edits.Edit]:
    """Return at most six random edits of different slots."""
    made: dict[plan_edits.Slot, plan_edits.Edit] = {}
    for _ in range(rng.randint(1, 6)):
        edit = one_edit(rng)
        made[edit.slot] = edit
    deleted = {slot.target for slot in made if not slot.key}
    return [edit for slot, edit in made.items() if not slot.key or getattr(slot.target, "name", None) not in deleted]


def one_edit(rng: Random) -> plan_edits.Edit:
    kind = rng.randrange(10)
    if kind == 0:
        return plan_edits.DeleteTopic(rng.choice(TOPICS))
    if kind < 4:
        entity, key = rng.choice(USERS), rng.choice(("producer_byte_rate", "consumer_byte_rate"))
        return (
            plan_edits.UnsetQuota(entity, key)
            if rng.randrange(3) == 0
            else plan_edits.SetQuota(entity, key, rng.choice((1.0, 2.0, 3.0)))
        )
    resource, key, values = rng.choice(PLACES)
    return (
        plan_edits.UnsetConfig(resource, key)
        if rng.randrange(3) == 0
        else plan_edits.SetConfig(resource, key, rng.choice(values))
    )


def lay(state: ClusterState, rng: Random) -> None:
    """Add the topics to a state, and values for some of the slots that edits change."""
    for name in TOPICS:
        if name not in state.topics:
            make(state, name)
    for resource, key, values in PLACES:
        state.alter_config(resource, {key: rng.choice((*values, None))})
    for entity in USERS:
        for key in ("producer_byte_rate", "consumer_byte_rate"):
            state.alter_quota(entity, {key: rng.choice((1.0, 2.0, 3.0, None))})


def make(state: ClusterState, name: str) -> None:
    state.put_topic(replicas.new_topic(name, replicas.striped(state.alive(), 1, 1), state.alive()))


def interfere(state: ClusterState, edit: plan_edits.Edit, rng: Random) -> None:
    """Change the value of an edit's slot as another client would."""
    if isinstance(edit, plan_edits.DeleteTopic):
        if edit.name in state.topics:
            state.remove_topic(edit.name)
            make(state, edit.name)
    elif isinstance(edit, plan_edits.SetQuota | plan_edits.UnsetQuota):
        state.alter_quota(edit.entity, {edit.key: rng.choice((4.0, 5.0, None))})
    elif isinstance(edit, plan_edits.SetConfig | plan_edits.UnsetConfig):
        state.alter_config(edit.resource, {edit.key: rng.choice(("4000", "5000", None)) if "." in edit.key else "4"})


async def one_round(recording_cluster: EmbeddedCluster, client: AdminClient, number: int, seen: Counter[str]) -> None:
    rng, state = Random(number), recording_cluster.state
    lay(state, rng)
    session = Session(client, Context("test", "tests", client.settings))
    await session.read_cluster()
    wanted = edits(rng)
    await read_again(session, wanted)
    staging = session.stage(wanted)
    if not staging.added:
        seen["nothing to do"] += 1
        return
    recording = Recording()
    recording.attach(recording_cluster.pipeline)
    watch = Watch(recording_cluster, recording)
    stop = state.subscribe(watch.changed)
    victims = rng.sample(staging.added, rng.randint(1, min(2, len(staging.added))))

    def somebody(state: ClusterState) -> None:
        watch.foreign = True
        for victim in victims:
            interfere(state, victim.edit, rng)
        watch.foreign = False

    if rng.randrange(4) == 0:
        somebody(state)
    else:
        recording_cluster.faults.add(faults.Fault(faults.Meanwhile(somebody), nth=rng.randint(1, 12), times=1))
    try:
        report = await apply_plan(session, ApplyOptions(risks=ACCEPTED))
    finally:
        recording_cluster.faults.clear()
        stop()
    judge(watch, report, staging.added, seen)


def judge(watch: Watch, report: ApplyReport, added: object, seen: Counter[str]) -> None:
    told = {conflict.staged.edit.slot for conflict in report.conflicts}
    seen["stopped"] += bool(told)
    seen["stopped between its requests"] += bool(told) and report.sent
    seen["applied"] += report.ok and report.sent
    seen["surprises"] += bool(report.surprises)
    mine = [change for _, foreign, change in watch.events if not foreign]
    if told and not report.sent:
        assert mine == [], "an apply that is stopped sends nothing"
    changed = {(change.table, change.key) for change in mine}
    assert not {(None, conflict.staged.edit.target) for conflict in report.conflicts} & changed
    for slot, was_told in watch.gone_over():
        assert not was_told, f"{slot}: gone over though the cluster had told of it: {watch.events}"
        seen["in the window"] += 1


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [60, pytest.param(500, marks=pytest.mark.long)])
async def test_never_is_a_foreign_change_gone_over_unseen(
    rounds: int, recording_cluster: EmbeddedCluster, client: AdminClient
) -> None:
    """An apply never overwrites another client's change unnoticed, unless it was made between the last read and the
    arrival of the request, which Kafka's protocol can't show. The test counts such changes, and they must be
    rare.
    """
    seen: Counter[str] = Counter()
    for number in range(rounds):
        await one_round(recording_cluster, client, number, seen)
    print(dict(seen))
    assert seen["stopped"] > rounds // 4, seen
    assert seen["applied"] > rounds // 10, seen
