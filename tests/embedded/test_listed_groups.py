"""Groups that are listed are there, and what could not be listed is named."""

from __future__ import annotations

import asyncio
import json

import pytest

from console.admin.groups import list_groups
from console.cli import main as cli
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.group_coordinator import GROUP_TOPIC, coordinator_of
from console.embedded.groups import Committed, Group
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import read_batch
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import batch_of
from console.embedded.spec import ClusterSpec
from console.model.coordinators import OFFSETS, partition_of
from tests.support import worlds
from tests.support.triage_watch import watching


def seed(cluster: EmbeddedCluster) -> None:
    """Group `calm` as some servers have those without members: Dead, with offsets."""
    state, now = cluster.state, int(cluster.clock.time() * 1000)
    ids = sorted(state.brokers)
    state.put_topic(new_topic("orders", striped(ids, 1, 1), ids))
    state.put_topic(new_topic(GROUP_TOPIC, [(ids[n % len(ids)],) for n in range(50)], ids))
    state.logs["orders", 0] = log = PartitionLog()
    log.append(read_batch(batch_of([b"one", b"two", b"three"], now, b"k"), 0), 0)
    for name in ("calm", "other"):
        group = Group(name, protocol_type="consumer", written=True)
        group.offsets["orders", 0] = Committed(1, 0)
        state.groups[name] = group
    state.groups["calm"].state = "Dead"  # type: ignore[assignment]


async def run(bootstrap: str, script: str) -> int:
    return await asyncio.to_thread(cli.run, ["run", "-b", bootstrap, "-e", script])


@pytest.mark.parametrize(
    ("script", "offset"),
    [
        ("reset group calm to latest; apply --yes", 3),
        ("skip group calm topic orders partition 0; apply --yes", 2),
        ("delete group calm topic orders partition 0; apply --yes", None),
        ("delete group calm; apply --yes", None),
    ],
)
async def test_a_listed_group_with_offsets_is_one_without_members(
    script: str, offset: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        assert await asyncio.to_thread(cli.run, ["groups", "--list", "-b", running.bootstrap]) == 0
        assert "calm" in capsys.readouterr().out
        code = await run(running.bootstrap, script)
        assert code == 0, capsys.readouterr()
        left = running.call(
            lambda c: c.state.groups["calm"].offsets.get(("orders", 0)) if "calm" in c.state.groups else None
        )
        assert (left.offset if left is not None else None) == offset


async def test_a_group_that_is_dead_and_has_nothing_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        running.call(lambda c: c.state.groups["calm"].offsets.clear())
        assert await run(running.bootstrap, "skip group calm topic orders partition 0; apply --yes") != 0
        assert "there is no group 'calm'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("describe group ''", "orders"),
        ("list groups ''", "Empty"),
        ("records orders from group ''", "two"),
        ("reset group '' to latest; apply --yes", "applied"),
        ("clone group '' to other; apply --yes", "applied"),
        ("delete group ''; apply --yes", "applied"),
    ],
)
async def test_the_group_with_the_empty_name_is_one_as_others(
    script: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers take its commits, and list it: a client that sets no group.id may leave it behind."""
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)

        def rename(cluster: EmbeddedCluster) -> None:
            group = Group("", protocol_type="consumer", written=True)
            group.offsets["orders", 0] = Committed(1, 0)
            cluster.state.groups = {"": group}

        running.call(rename)
        assert await run(running.bootstrap, script) == 0, capsys.readouterr()
        assert said in capsys.readouterr().out


async def test_its_lag_is_known() -> None:
    with run_in_thread(ClusterSpec(brokers=1)) as running:
        running.call(seed)
        async with watching(worlds.settings(running)) as it:
            verdict = await it.until(
                lambda _: it.observations is not None and "calm" in it.observations.last.snapshot.lags, "lag"
            )
            assert verdict.is_healthy
            assert it.observations is not None
            assert it.observations.last.snapshot.lags["calm"].total == 2
            assert not [each for each in it.observations.last.snapshot.failures if "calm" in each.part]


async def test_groups_whose_coordinator_has_no_leader_are_not_counted_as_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The one that can't be listed is named by its partition; the screen keeps what it knew."""
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        away = running.call(lambda c: coordinator_of(c.state.topics, "other"))
        known = await asyncio.to_thread(cli.run, ["groups", "--list", "--output", "json", "-b", running.bootstrap])
        assert known == 0
        capsys.readouterr()
        async with watching(worlds.settings(running)) as it:
            await it.until(
                lambda _: it.observations is not None and "other" in it.observations.last.snapshot.groups, "groups"
            )
            running.run(lambda c: c.broker_down(away))
            unlisted = f"groups {OFFSETS}"
            verdict = await it.until(
                lambda v: any(unlisted in each.what for each in v.unknowable), "what is not listed"
            )
            assert not verdict.is_healthy
            assert it.observations is not None
            assert "other" in it.observations.last.snapshot.groups
        bootstrap = running.call(
            lambda c: ",".join(f"{host}:{port}" for id_, (host, port) in c.addresses.items() if id_ != away)
        )
        code = await asyncio.to_thread(cli.run, ["groups", "--list", "--output", "json", "-b", bootstrap])
        assert code == 1
        data = json.loads(capsys.readouterr().out)
        (error,) = [each for each in data["errors"] if each["entity"] == OFFSETS]
        assert error["error"] == "COORDINATOR_NOT_AVAILABLE"
        down = [number for number in range(50) if number % 3 == away - 1]
        assert partition_of("other", 50) in down
        assert error["message"].startswith(f"{len(down)} of 50 partitions have no leader ({down[0]}, {down[1]},")


async def test_nothing_is_missing_where_the_coordinators_are_there() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=2)) as running:
        async with worlds.linked(worlds.settings(running)) as link:
            assert not (await list_groups(link)).failures, "there is no such topic yet"
            seed(running)
            listing = await list_groups(link)
        assert not listing.failures
        assert set(listing.groups) == {"calm", "other"}


async def test_configs_say_that_groups_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    with run_in_thread(ClusterSpec(brokers=3)) as running:
        running.call(seed)
        running.run(lambda c: c.broker_down(3))
        first = running.bootstrap.partition(",")[0]
        arguments = ["configs", "--bootstrap-server", first, "--describe", "--entity-type", "groups"]
        await asyncio.to_thread(cli.run, arguments)
        assert f"not all groups are listed: {OFFSETS}: " in capsys.readouterr().err
