"""Tests of conflicts, of the journal, and of reverted and expiring changes, on real brokers of each version."""

import asyncio
import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from console.admin import configs, quotas
from console.admin.client import AdminClient
from console.admin.link import Link
from console.answers.results import Result, to_data
from console.cli.scheduled import read_leftovers
from console.contexts.context import Context
from console.journal.history import State
from console.model import codes, config, quota
from console.model.changes import AlterConfigs, AlterQuotas, ConfigOp, CreateTopics, NewTopic
from console.plan.edits import CreateTopic, DeleteTopic, SetConfig, SetQuota, UnsetConfig
from console.plan.reconcile import ApplyOptions
from console.plan.risk_rules import NAMES
from console.plan.stale_throttles import LISTS
from console.session import due, former_changes, journal_changes, terminal_front
from console.session import former_changes as past
from console.session.read_again import read_again
from console.session.session import Session
from tests.support import worlds
from tests.support.changing import applied, apply_plan, overrides, read_history
from tests.support.forked_runs import ForkedRuns
from tests.support.kafka_cluster import KafkaCluster

ROUNDS = [8, pytest.param(40, marks=pytest.mark.long)]
KILLS = [8, pytest.param(40, marks=pytest.mark.long)]

client = worlds.client("kafka", visible_timeout=0.05)


def session_of(client: AdminClient) -> Session:
    return Session(client, Context("test", "tests", client.settings), "test")


def written() -> int:
    """Return the size of the journal file in bytes."""
    (path,) = Path(os.environ["HOME"], ".local", "state", "kac", "journal").iterdir()
    return path.stat().st_size


def journal() -> list[dict[str, Any]]:
    (path,) = Path(os.environ["HOME"], ".local", "state", "kac", "journal").iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("rounds", ROUNDS)
async def test_a_second_client_is_never_gone_over_unseen(
    rounds: int, client: AdminClient, link: Link, name: str
) -> None:
    """If another client changes the same keys at a random moment between kac's read and its apply, kac overwrites the
    values of that client only if the user forces it.
    """
    topic, user = config.topic_resource(name), quota.QuotaEntity.of({"user": name})
    assert await applied(link, CreateTopics((NewTopic(name, 1, 1),)))
    seen: Counter[str] = Counter()
    for number in range(rounds):
        rng = Random(number)
        session = session_of(client)
        edits = [
            SetConfig(topic, "retention.ms", str(1000 + number)),
            SetQuota(user, "producer_byte_rate", 1.0 + number),
        ]
        await read_again(session, edits)
        session.stage(edits)
        theirs = str(900_000 + number)
        change = (
            AlterConfigs({topic: (ConfigOp("retention.ms", codes.SET, theirs),)})
            if rng.randrange(2)
            else AlterQuotas({user: {"producer_byte_rate": float(theirs)}})
        )
        # In one round of three both changes are sent at once: the network decides which one arrives first.
        if rng.randrange(3) == 0:
            report, _ = await asyncio.gather(apply_plan(session, ApplyOptions(risks=NAMES)), applied(link, change))
            seen["at once"] += 1
        else:
            assert await applied(link, change)
            report = await apply_plan(session, ApplyOptions(risks=NAMES))
            assert len(report.conflicts) == 1, report
            assert not report.sent
        now = (await overrides(link, topic))["retention.ms"] if isinstance(change, AlterConfigs) else None
        if now is None:
            found = await quotas.describe_quotas(link, quota.filter_for_entity(user))
            now = f"{found[user]['producer_byte_rate']:.0f}"
        if report.conflicts:
            assert now == theirs
            seen["stopped"] += 1
            forced = await apply_plan(session, ApplyOptions(force=True, risks=frozenset(NAMES)))
            assert forced.ok
            assert forced.overridden
    assert seen["stopped"] >= rounds // 2, seen


async def test_a_change_and_its_way_back(client: AdminClient, link: Link, name: str) -> None:
    """A revert restores values and their sources, so a value that was inherited is inherited again. A deleted topic is
    created again without records, with its configs.
    """
    topic = config.topic_resource(name)
    assert await applied(link, CreateTopics((NewTopic(name, 3, 1, configs={"retention.ms": "5000"}),)))
    session = session_of(client)
    edits = [SetConfig(topic, "retention.ms", "6000"), SetConfig(topic, "cleanup.policy", "compact")]
    await read_again(session, edits)
    session.stage(edits)
    first = await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))
    assert first.ok
    assert first.change is not None
    report = await journal_changes.stage_revert(session, first.change)
    assert {staged.edit for staged in report.staging.added} == {
        SetConfig(topic, "retention.ms", "5000"),
        UnsetConfig(topic, "cleanup.policy"),
    }
    assert (await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))).ok
    assert dict(await overrides(link, topic)) == {"retention.ms": "5000"}
    await read_again(session, [DeleteTopic(name)])
    session.stage([DeleteTopic(name)])
    deleted = await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))
    assert deleted.ok
    assert deleted.change is not None
    back = await journal_changes.stage_revert(session, deleted.change)
    assert "the records are gone" in back.notes[0]
    (staged,) = back.staging.added
    assert staged.edit == CreateTopic(NewTopic(name, 3, 1, configs={"retention.ms": "5000"}))
    assert (await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))).ok
    assert dict(await overrides(link, topic)) == {"retention.ms": "5000"}
    assert (await read_history(session)).changes[deleted.change].undone


async def test_what_was_set_for_a_time_is_taken_back_unless_somebody_was_there(
    client: AdminClient, link: Link, name: str
) -> None:
    topic, user = config.topic_resource(name), quota.QuotaEntity.of({"user": name})
    assert await applied(link, CreateTopics((NewTopic(name, 1, 1),)))
    session = session_of(client)
    edits = [SetConfig(topic, "retention.ms", "6000"), SetQuota(user, "producer_byte_rate", 1000.0)]
    await read_again(session, edits)
    session.stage(edits, lasts_ms=1)
    assert (await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))).ok
    assert len((await read_history(session)).expiring()) == 2
    assert await applied(link, AlterConfigs({topic: (ConfigOp("retention.ms", codes.SET, "7000"),)}))
    told: list[Result] = []
    assert any(await due.take_back(session_of(client), told.append, terminal_front.Terminal(), frozenset(NAMES)))
    assert dict(await overrides(link, topic)) == {"retention.ms": "7000"}
    assert await quotas.describe_quotas(link, quota.filter_for_entity(user)) == {}
    conflicts = [data for result in told if "conflicts" in (data := to_data(result))]
    assert "7000" in json.dumps(conflicts)
    (left,) = (await read_history(session)).expiring()
    assert left.entry.staged.edit == edits[0]
    # If an operator has set the old value, there is nothing left to revert, and the next run says so.
    assert await applied(link, AlterConfigs({topic: (ConfigOp("retention.ms", codes.SET, "6000"),)}))
    assert not any(await due.take_back(session_of(client), told.append, terminal_front.Terminal(), frozenset(NAMES)))
    assert dict(await overrides(link, topic)) == {}
    assert (await read_history(session)).expiring() == ()


async def test_a_throttle_that_nothing_uses(client: AdminClient, link: Link, name: str) -> None:
    own = {LISTS[0]: "0:1"}
    assert await applied(link, CreateTopics((NewTopic(name, 1, 1, configs=own),)))
    found = (await read_leftovers(session_of(client))).throttles
    assert UnsetConfig(config.topic_resource(name), LISTS[0]) in [each.edit for each in found]


async def test_secrets_are_in_no_journal(client: AdminClient, kafka: KafkaCluster, name: str) -> None:
    from console.model.changes import ScramUser
    from console.model.codes import ScramMechanism
    from console.model.secret import Secret
    from console.plan.edits import UpsertScram

    session = session_of(client)
    edit = UpsertScram(ScramUser(name, ScramMechanism(1)), 4096, Secret("h1dden-pass"))
    await read_again(session, [edit])
    session.stage([edit])
    report = await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))
    assert report.ok
    written = json.dumps(journal())
    assert "h1dden-pass" not in written
    assert journal()[0]["edits"][0]["edit"]["password"] is None
    assert report.change is not None
    back = await journal_changes.stage_revert(session, report.change)
    assert len(back.staging.added) == 1
    stopped = await apply_plan(session, ApplyOptions(risks=frozenset(NAMES)))
    assert not stopped.sent, "that the password is still the same can't be seen"
    assert (await apply_plan(session, ApplyOptions(accepted=stopped.conflicts, risks=frozenset(NAMES)))).ok


@pytest.mark.slow
@pytest.mark.parametrize("kills", KILLS)
async def test_kills_in_the_middle_of_applies(
    kills: int, plain_cluster: KafkaCluster, tmp_path: Path, own_home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If kac is killed during an apply, its next start reports for each change the state that brokers describe, as on
    the embedded cluster.
    """
    monkeypatch.setattr(past, "IN_FLIGHT", 0.5)
    client = AdminClient(worlds.settings(plain_cluster))
    client.start()
    link = Link(worlds.settings(plain_cluster))
    topic = config.topic_resource(name)
    clock = asyncio.get_running_loop().time
    seen: Counter[str] = Counter()
    try:
        assert await applied(link, CreateTopics((NewTopic(name, 1, 1),)))
        async with ForkedRuns({"HOME": str(own_home)}, tmp_path / "output") as runs:

            def script(number: int) -> tuple[str, ...]:
                value = number + 4096
                text = (
                    f"set topic {name} retention.ms={value} max.message.bytes={value}; "
                    f"set user {name}-{number} producer_byte_rate={value}; apply --yes"
                )
                return "run", "-b", plain_cluster.bootstrap, "-e", text

            await runs.warm(*script(0))
            began = clock()
            await runs.start(*script(1))
            assert await runs.ended() == 0, runs.output
            longest = clock() - began
            number = 1
            while seen["killed"] < kills:
                number += 1
                rng = Random(number)
                size = written()
                await runs.start(*script(number))
                ended = asyncio.ensure_future(runs.ended())
                if rng.randrange(4):
                    # Wait until the journal has the change, and then for a random time.
                    while not ended.done() and written() == size:
                        await asyncio.wait([ended], timeout=0.001)
                    await asyncio.wait([ended], timeout=rng.uniform(0.0, longest * 0.4))
                else:
                    await asyncio.wait([ended], timeout=rng.uniform(0.0, longest))
                if not ended.done():
                    runs.kill()
                code = await ended
                seen["killed" if code == -9 else "ended"] += 1
                session = session_of(client)
                before = await read_history(session)
                seen["left unfinished"] += bool(before.unfinished())
                journal = await session.journal()
                await former_changes.reconcile_open(client, session.context, session.snapshot, journal)
                after = await read_history(session)
                assert after.problems == ()
                listing = await configs.describe_configs(link, [topic])
                own = {entry.name: entry.value for entry in listing.sets[topic].overrides(topic)}
                user = quota.QuotaEntity.of({"user": f"{name}-{number}"})
                there = {
                    "retention.ms": own.get("retention.ms") == str(number + 4096),
                    "max.message.bytes": own.get("max.message.bytes") == str(number + 4096),
                    "producer_byte_rate": user in await quotas.describe_quotas(link, quota.filter_for_entity(user)),
                }
                mine = [c for c in after.changes.values() if any(e.staged.edit.target == user for e in c.entries)]
                if not mine:
                    assert not any(there.values())
                    continue
                (change,) = mine
                for place, entry in enumerate(change.entries):
                    state = change.state(place)
                    assert state in (State.APPLIED, State.UNKNOWN, State.NOT_SENT), (state, runs.output)
                    # A change that did not show yet at the next start is unknown until a poll shows it.
                    if state is State.UNKNOWN and there[entry.staged.edit.key]:
                        await former_changes.reconcile_open(client, session.context, session.snapshot, journal)
                        state = (await read_history(session)).changes[change.number].state(place)
                    assert (state is State.APPLIED) == there[entry.staged.edit.key], (state, there, runs.output)
                    seen[state.value] += 1
        print(dict(seen))
        assert seen["left unfinished"] >= max(1, kills // 20), seen
    finally:
        await link.close()
        client.close()
