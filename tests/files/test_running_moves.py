"""Tests that all commands of kac ignore the throttles and the added replicas of a running reassignment: they are
neither exported as wanted nor reported as a difference.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.client import AdminClient
from console.collecting import collect
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import new_topic, start_move
from console.embedded.spec import ClusterSpec
from console.files.compare import compare
from console.files.staging import Prune, file_edits
from console.files.wanted import KINDS, wanted_of
from console.model import cluster as model
from console.model import config
from console.model.broker_matrix import broker_matrix
from console.model.snapshot import Snapshot
from console.plan import stale_throttles as throttles
from console.plan.edits import Edit, SetConfig, UnsetConfig
from console.session.lake_staging import Wish, Wished, stage_wishes
from console.session.session import Session
from tests.embedded.apply_fronts import settings_of
from tests.support import worlds
from tests.support.worlds import Kac

AT = datetime(2026, 3, 4, tzinfo=UTC)
BROKERS = (1, 2, 3)


def _set(resource: config.ConfigResource, values: dict[str, str]) -> config.ConfigSet:
    return config.ConfigSet(
        tuple(config.ConfigEntry(key, value, config.own_source(resource)) for key, value in values.items())
    )


def _cluster(
    topics: dict[str, tuple[tuple[int, ...], ...]], moves: tuple[model.Reassignment, ...], rate: str
) -> Snapshot:
    """Return the snapshot of a cluster whose topics have these replicas, while these reassignments run with the
    throttles that kafka-reassign-partitions sets at this rate.
    """
    now = {(move.topic, move.partition): move.replicas for move in moves}
    listed = {
        name: {throttles.LISTS[0]: "", throttles.LISTS[1]: ""}
        | {key: ",".join(f"{m.partition}:1" for m in mine) for key in throttles.LISTS}
        for name in topics
        if (mine := [move for move in moves if move.topic == name])
    }
    rates = dict.fromkeys(throttles.RATES, rate) if moves else {}
    return Snapshot(
        cluster=model.ClusterInfo("c", 1, tuple(model.Broker(each, "h", 1) for each in BROKERS)),
        topics={
            name: model.Topic(
                name, tuple(model.Partition(n, 1, now.get((name, n), of), of) for n, of in enumerate(partitions))
            )
            for name, partitions in topics.items()
        },
        configs={
            each: _set(each, values)
            for each, values in (
                *((config.topic_resource(name), {"retention.ms": "5"} | listed.get(name, {})) for name in topics),
                *((config.broker_resource(number), {"k": "1"} | (rates if number < 3 else {})) for number in BROKERS),
            )
        },
        reassignments=moves,
        read_at=dict.fromkeys(("reassignments", "log_dirs"), AT),
    )  # fmt: skip


TOPICS = {"orders": ((1, 2), (2, 1)), "calm": ((1,), (2,)), "other": ((2, 1),)}
MOVES = st.sets(st.sampled_from([("orders", 0), ("orders", 1), ("other", 0)])).map(
    lambda places: tuple(
        model.Reassignment(topic, number, (*TOPICS[topic][number], 3), (3,), TOPICS[topic][number][:1])
        for topic, number in sorted(places)
    )
)


@given(MOVES, st.integers(1, 10**9).map(str))
def test_a_state_is_the_same_before_and_during_moves(moves: tuple[model.Reassignment, ...], rate: str) -> None:
    """While reassignments run, an export, a comparison, an apply and a prune find no difference to the state before,
    and name the throttles and replicas that they ignore.
    """
    before, during = _cluster(TOPICS, (), rate), _cluster(TOPICS, moves, rate)
    owned = throttles.owned_by_moves(during)
    wanted = wanted_of(before)
    assert replace(wanted_of(during, owned), owned={}) == wanted
    found = file_edits(wanted, during, tuple(map(Prune, KINDS)), owned)
    assert (found.edits, found.obstacles, found.spared) == ((), (), ())
    assert compare(wanted, wanted_of(during, owned)) == ()
    assert {resource.name for resource, key in owned if key == throttles.ADDED} == {move.topic for move in moves}
    assert set(found.left) == {
        place for place in owned if place[0] in {config.topic_resource(move.topic) for move in moves}
    } | {place for place in owned if place[0].name in ("1", "2")}
    assert throttles.stale_throttles(during) == ()
    # The lake's polls, on which policies are judged, do not see the moves.
    _, polled = collect.changed_rows({}, collect.observation(before, AT, {}))
    assert collect.changed_rows(polled, collect.observation(during, AT, {})) == ([], polled)


@given(MOVES.filter(bool), st.booleans())
def test_polls_keep_a_throttle_as_it_was_before_a_move(moves: tuple[model.Reassignment, ...], read: bool) -> None:
    """A throttle that was set before a reassignment has the same value in the polls during it, also if the
    reassignments can't be read. After it, the polls have the new value.
    """

    def with_rate(rate: str) -> Snapshot:
        made = _cluster(TOPICS, (), "")
        return replace(
            made,
            configs=made.configs
            | {config.broker_resource(1): _set(config.broker_resource(1), {throttles.RATES[0]: rate})},
        )

    during = _cluster(TOPICS, moves, "1000")
    known: collect.State = {}
    seen = []
    for each in (with_rate("7"), during if read else replace(during, read_at={}), with_rate("8")):
        _, known = collect.changed_rows(known, collect.observation(each, AT, {}))
        values = known[collect.Resource("broker", "1")]
        seen.append({value.attr: value.value for value in values if "throttled" in value.attr})
    assert seen == [{throttles.RATES[0]: "7"}, {throttles.RATES[0]: "7"}, {throttles.RATES[0]: "8"}]


def test_each_is_named_with_its_move() -> None:
    moves = (model.Reassignment("orders", 0, (1, 2, 3), (3,), (1,)),)
    owned = throttles.owned_by_moves(_cluster(TOPICS, moves, "10"))
    assert set(owned.values()) == {"belongs to the running move of orders/0"}
    unread = replace(_cluster(TOPICS, moves, "10"), read_at={}, reassignments=())
    assert {key for _, key in throttles.owned_by_moves(unread)} == {*throttles.LISTS, *throttles.RATES}
    assert set(throttles.owned_by_moves(unread).values()) == {
        "may belong to a running move: the reassignments could not be read"
    }


def test_a_topic_is_settled_by_what_its_moves_leave() -> None:
    topic = model.Topic("t", (model.Partition(0, 1, (1, 2, 3), ()), model.Partition(1, 1, (1, 2), ())))
    grown = model.settled(topic, [model.Reassignment("t", 0, (3, 1, 2), (3,), (1, 2))])
    assert [each.replicas for each in grown.partitions] == [(3,), (1, 2)]
    assert model.settled(topic, []) is topic


def test_rates_on_the_brokers_of_a_move_are_no_drift() -> None:
    sets = {
        each: _set(config.broker_resource(each), {key: "10"} if each == 1 else {})
        for each in BROKERS
        for key in throttles.RATES
    }
    assert broker_matrix(sets) == ()
    assert len(broker_matrix(sets, every=True)) == 1


MINUTES = 10**9
"""The size of a log in bytes. Its copy takes minutes at the tests' throttle rate."""


def _with_topics(one: EmbeddedCluster) -> None:
    for name in ("orders", "calm"):
        one.state.put_topic(new_topic(name, [(1, 2)], BROKERS))
    one.state.logs["orders", 0] = PartitionLog(older_bytes=MINUTES)


cluster = worlds.cluster(ClusterSpec(brokers=3), _with_topics)


def _move(one: EmbeddedCluster) -> None:
    """Set throttles and then begin a reassignment, as another client does."""
    for broker in BROKERS:
        one.state.alter_config(config.broker_resource(broker), dict.fromkeys(throttles.RATES, "1000"))
    one.state.alter_config(config.topic_resource("orders"), {throttles.LISTS[0]: "0:1,0:2", throttles.LISTS[1]: "0:3"})
    assert start_move(one, "orders", 0, (3, 2)).code == 0


def _held(cluster: ThreadedCluster) -> object:
    def held(one: EmbeddedCluster) -> object:
        partition = one.state.topics["orders"].partitions[0]
        assert partition.adding == (3,), "it has to run as long as the test"
        return dict(one.state.configs), partition.replicas

    return cluster.call(held)


def test_a_file_of_before_changes_nothing_of_a_move(kac: Kac, cluster: ThreadedCluster, tmp_path: Path) -> None:
    file = tmp_path / "wanted.yaml"
    # With one more override of a broker, the files list brokers, and rates could be pruned.
    cluster.call(lambda one: one.state.alter_config(config.broker_resource(1), {"log.cleaner.threads": "2"}))
    assert kac("export", "--output", str(file)).code == 0
    cluster.call(_move)
    held = _held(cluster)
    prune = tuple(word for kind in KINDS for word in ("--prune", kind))
    told = kac("diff", "-f", str(file), *prune, "--exit-code")
    assert (told.code, told.out) == (0, "no changes\n"), told
    assert "note: left as it is: topic orders: " in told.complaints
    assert told.complaints.count("belongs to the running move of orders/0") == 2, told.complaints
    done = kac("apply", "-f", str(file), *prune, "--yes")
    assert (done.code, done.out) == (0, "no changes\n"), done
    assert _held(cluster) == held
    again = kac("export")
    assert [line for line in again.out.splitlines() if not line.startswith("#")] == [
        line for line in file.read_text().splitlines() if not line.startswith("#")
    ]
    assert "# left out: topic orders: " in again.out
    told = kac("compare", "--brokers")
    assert told.out.count("throttled") == 0, told.out
    told = kac("compare", "topic:orders", "topic:calm")
    assert told.out.count("throttled") == 2, told.out
    assert "note: topic orders: " in told.complaints
    assert told.complaints.count("belongs to the running move of orders/0") == 1, told.complaints
    told = kac("run", "-e", f"unset topic orders {throttles.LISTS[0]}; apply --yes --force --valid-only")
    assert told.code == 3, told
    assert "apply --accept move-unthrottled" in told.complaints
    assert _held(cluster) == held


def test_a_move_keeps_what_the_context_means(
    kac: Callable[..., object], cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A throttle rate that the context declares as wanted is exported, also while a reassignment runs."""
    from console.cli import main as cli

    own = tmp_path / "config.toml"
    own.write_text(
        f'[contexts.here]\n"bootstrap.servers" = "{cluster.bootstrap}"\nthrottles = ["broker 1 {throttles.RATES[0]}"]\n'
    )
    own.chmod(0o600)
    monkeypatch.setenv("KAC_CONFIG", str(own))
    cluster.call(_move)
    assert cli.run(["export", "-c", "here"]) == 0
    said = capsys.readouterr().out
    text = "\n".join(line for line in said.splitlines() if not line.startswith("#"))
    assert text.count(throttles.RATES[0]) == 1
    assert throttles.RATES[1] not in text
    assert throttles.LOG_DIRS_RATE not in text


def test_a_poll_of_the_lake_sees_no_throttle_of_a_move(cluster: ThreadedCluster) -> None:
    """A poll for the lake stores the throttle of copies between log directories if no such copy runs. It does not store
    the throttles of a running reassignment.
    """
    context = Context("here", "test", settings_of(cluster), journal=False)

    def poll() -> collect.Observation:
        seen = asyncio.run(collect.poll_context(context)).seen
        assert isinstance(seen, collect.Observation), seen
        return seen

    known: collect.State = {}
    _, known = collect.changed_rows(known, poll())
    cluster.call(_move)
    cluster.call(lambda one: one.state.alter_config(config.broker_resource(2), {throttles.LOG_DIRS_RATE: "5"}))
    rows, known = collect.changed_rows(known, poll())
    assert {row.entity_key for row in rows if row.kind == "state"} == {"2"}
    assert [row.attr for row in rows if row.attr is not None and "thrott" in row.attr] == []
    assert throttles.LOG_DIRS_RATE in {row.attr for row in rows}


def test_no_alignment_goes_over_a_move(cluster: ThreadedCluster) -> None:
    """While a reassignment runs, kac does not replace the reassignment's throttle rate by that of a lake or of
    another cluster. Otherwise its copies could take the whole network.
    """
    cluster.call(_move)
    wished = _staged(cluster, UnsetConfig(config.broker_resource(1), throttles.RATES[0]))
    assert wished.report is None
    assert wished.notes == (f"{throttles.RATES[0]} of broker 1 belongs to the running move of orders/0",)


def test_no_wish_is_staged_that_a_broker_calls_read_only(cluster: ThreadedCluster) -> None:
    """kac does not stage a wanted config that the broker describes as read-only. It reads the description for this:
    `advertised.listeners` is dynamic on 3.9 and read-only on 4.x.
    """
    fixed = "is in the broker's server.properties: change it there, and restart it"
    for edit in (
        SetConfig(config.broker_resource(1), "advertised.listeners", "PLAINTEXT://a:1"),
        UnsetConfig(config.CLUSTER_DEFAULT, "advertised.listeners"),
    ):
        wished = _staged(cluster, edit)
        assert (wished.report, wished.notes) == (None, (f"advertised.listeners {fixed}",))


def _staged(cluster: ThreadedCluster, edit: Edit) -> Wished:
    settings = settings_of(cluster)

    async def staged() -> Wished:
        client = AdminClient(settings)
        client.start()
        try:
            session = Session(client, Context("here", "test", settings, journal=False))
            return await stage_wishes(session, [Wish(edit)])
        finally:
            client.close()

    return asyncio.run(staged())
