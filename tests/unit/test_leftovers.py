"""Tests of the throttles that kac reports as left over, because no reassignment uses them any more."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pytest

from console.cli.scheduled import removal_command, stale_throttles_table
from console.language.grammar import parse
from console.model import cluster, config
from console.model.codes import DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG, DYNAMIC_TOPIC_CONFIG
from console.model.snapshot import Snapshot
from console.plan.edits import ConfigEdit, SetConfig, SubtractConfig, UnsetConfig
from console.plan.risk_rules import MOVE_UNTHROTTLED
from console.plan.risks import risk_needs, risks
from console.plan.staged import Staged
from console.plan.stale_throttles import LISTS, LOG_DIRS_RATE, RATES, stale_throttles
from tests.support import samples

AT = datetime(2026, 3, 4, tzinfo=UTC)
LEADER, FOLLOWER = LISTS


def snapshot(
    own: Mapping[config.ConfigResource, Mapping[str, str]], *moves: cluster.Reassignment, copying: int | None = None
) -> Snapshot:
    def entries(resource: config.ConfigResource) -> Iterator[config.ConfigEntry]:
        for key, value in own[resource].items():
            yield samples.own_entry(key, value, config.own_source(resource), 7 if key in LISTS else 5)

    sizes = {
        id_: cluster.ReplicaSizes((cluster.ReplicaSize("t", 0, 1, 0, is_future=id_ == copying),)) for id_ in (1, 2)
    }
    return Snapshot(
        cluster=cluster.ClusterInfo("c", 1, (cluster.Broker(1, "h", 1), cluster.Broker(2, "h", 2))),
        configs={each: config.ConfigSet(tuple(entries(each))) for each in own},
        reassignments=moves,
        log_dirs={id_: (cluster.LogDir("/d", each),) for id_, each in sizes.items()},
        read_at=dict.fromkeys(("reassignments", "log_dirs"), AT),
    )


EVERYTHING = {
    config.CLUSTER_DEFAULT: {RATES[0]: "10"},
    config.broker_resource(1): {RATES[1]: "10", LOG_DIRS_RATE: "5"},
    config.broker_resource(2): {RATES[1]: "10"},
    config.topic_resource("moving"): {LEADER: "0:1,1:2", FOLLOWER: "*"},
    config.topic_resource("still"): {LEADER: "*"},
}
MOVE = cluster.Reassignment("moving", 1, (1,), (1,), ())


def test_what_can_go_where_nothing_moves_and_what_was_not_read() -> None:
    found = stale_throttles(snapshot(EVERYTHING))
    assert {each.edit.slot for each in found} == {
        UnsetConfig(resource, key).slot for resource, values in EVERYTHING.items() for key in values
    }
    assert all(isinstance(each.edit, UnsetConfig) for each in found)
    from msgspec.structs import replace

    assert stale_throttles(replace(snapshot(EVERYTHING), read_at={})) == ()
    blind = replace(snapshot(EVERYTHING), log_dirs={})
    assert LOG_DIRS_RATE not in {each.edit.key for each in stale_throttles(blind)}


def test_what_a_move_uses_stays() -> None:
    found = {each.edit.slot: each.edit for each in stale_throttles(snapshot(EVERYTHING, MOVE))}
    assert set(found.values()) == {
        UnsetConfig(config.broker_resource(1), LOG_DIRS_RATE),
        UnsetConfig(config.broker_resource(2), RATES[1]),
        SubtractConfig(config.topic_resource("moving"), LEADER, "0:1"),
        UnsetConfig(config.topic_resource("still"), LEADER),
    }
    keys = {each.edit.key for each in stale_throttles(snapshot(EVERYTHING, copying=1))}
    assert LOG_DIRS_RATE not in keys
    assert set(RATES) <= keys


def test_the_commands_are_of_the_language() -> None:
    found = stale_throttles(snapshot(EVERYTHING, MOVE))
    statements = parse("\n".join(map(removal_command, found)))
    assert len(statements) == len(found)
    table = stale_throttles_table(found, snapshot(EVERYTHING, MOVE))
    assert len(table.rows) == len(found)
    sources = {DYNAMIC_TOPIC_CONFIG, DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG}
    assert {config.own_source(resource) for resource in EVERYTHING} == sources


def unthrottled(edit: ConfigEdit, *, moves: tuple[cluster.Reassignment, ...] = (MOVE,)) -> list[str]:
    known = snapshot(EVERYTHING, *moves)
    entry = known.configs[edit.resource].get(edit.key)
    assert risk_needs([Staged(edit, entry)]).moves
    return [risk.text for risk in risks([Staged(edit, entry)], known) if risk.name == MOVE_UNTHROTTLED]


@pytest.mark.parametrize(
    "edit",
    [
        UnsetConfig(config.topic_resource("moving"), LEADER),
        SetConfig(config.topic_resource("moving"), LEADER, ""),
        SetConfig(config.topic_resource("moving"), LEADER, "0:1,1:3"),
        SubtractConfig(config.topic_resource("moving"), LEADER, "1:2"),
        UnsetConfig(config.topic_resource("moving"), FOLLOWER),
        UnsetConfig(config.broker_resource(1), RATES[1]),
        UnsetConfig(config.CLUSTER_DEFAULT, RATES[0]),
    ],
)
def test_a_running_move_does_not_lose_its_limit_unasked(edit: ConfigEdit) -> None:
    (text,) = unthrottled(edit)
    assert text.startswith("it belongs to the running move of moving/1")


@pytest.mark.parametrize(
    "edit",
    [
        SetConfig(config.topic_resource("moving"), LEADER, "*"),
        SubtractConfig(config.topic_resource("moving"), LEADER, "0:1"),
        SetConfig(config.broker_resource(1), RATES[1], "1000"),
        UnsetConfig(config.broker_resource(2), RATES[1]),
        UnsetConfig(config.topic_resource("still"), LEADER),
    ],
)
def test_a_limit_that_no_move_needs_goes_without_a_warning(edit: ConfigEdit) -> None:
    assert not unthrottled(edit)


def test_without_a_move_a_limit_goes_without_a_warning() -> None:
    assert not unthrottled(UnsetConfig(config.topic_resource("moving"), LEADER), moves=())
