"""Cases of groups' offsets that hold on every cluster: embedded and real, 4.3 and 3.9."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.language.errors import CommandError
from console.model.changes import Status
from console.model.cluster import CommittedOffset
from console.plan.reconcile import ApplyOptions
from tests.support.applied import apply_plan
from tests.support.group_flows import (
    change,
    member,
    offsets,
    position,
    read_up_to,
    revert,
    session_of,
    stage,
    write,
)
from tests.support.lags import group_lag

Case = Callable[[AdminClient, str, str, Path], Awaitable[None]]
"""On a client, its bootstrap servers, and a topic of three partitions; a folder for files."""
FIRST_MS = 1_700_000_000_000


async def _group(bootstrap: str, topic: str) -> str:
    """10, 20 and 0 records; a group at 4 of the first, with a text, and at 20 of the second."""
    await write(bootstrap, topic, {0: 10, 1: 20}, first_ms=FIRST_MS)
    group = f"group-of-{topic}"
    await read_up_to(bootstrap, topic, group, {0: CommittedOffset(4, -1, "a text"), 1: CommittedOffset(20)})
    return group


async def resets_and_their_ways_back(client: AdminClient, bootstrap: str, topic: str, folder: Path) -> None:
    """Each form commits what it says; each revert restores offsets with their texts."""
    group = await _group(bootstrap, topic)
    was = await position(client, group)
    assert {number: each[::2] for (_, number), each in was.committed.items()} == {0: (4, "a text"), 1: (20, "")}
    file = folder / "offsets.csv"
    file.write_text(f"{group},{topic},0,3\n{group},{topic},2,0\nother,{topic},1,1\n")
    forms = {
        f"reset group {group} to earliest": {0: 0, 1: 0},
        f"reset group {group} to latest": {0: 10, 1: 20},
        f"reset group {group} topic {topic} to earliest": {0: 0, 1: 0, 2: 0},
        f"reset group {group} topic {topic} partition 1 to offset 7": {0: 4, 1: 7},
        f"reset group {group} to time 2023-11-14T22:13:25Z": {0: 5, 1: 5},
        f"reset group {group} topic {topic} partition 0 to by -3": {0: 1, 1: 20},
        f"reset group {group} topic {topic} partition 0 to by +2": {0: 6, 1: 20},
        f"reset group {group} topic {topic} partition 0 to by -30": {0: 0, 1: 20},
        f"reset group {group} topic {topic} to current": {0: 4, 1: 20, 2: 0},
        f"reset group {group} to file {file}": {0: 3, 1: 20, 2: 0},
        f"skip group {group} topic {topic} partition 0": {0: 5, 1: 20},
        f"skip group {group} topic {topic} partition 0 6": {0: 10, 1: 20},
    }
    for command, wanted in forms.items():
        report = await change(client, command)
        assert report.ok, (command, report)
        assert await offsets(client, group) == wanted, command
        staged, back = await revert(client, report)
        assert not staged.moved, command
        assert back.ok, (command, back)
        now = await position(client, group)
        assert now.committed == was.committed, command


async def a_member_stops_it(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """A member that joins after the look stops the reset, even where the plan's owner overwrites: brokers refuse it."""
    group = await _group(bootstrap, topic)
    session = session_of(client)
    report = await stage(session, f"reset group {group} to earliest")
    assert len(report.added) == 2
    consumer = await member(bootstrap, topic, group)
    try:
        stopped = await apply_plan(session)
        assert not stopped.sent
        assert {each.why for each in stopped.conflicts} == {f"group {group} has a member: reader at 127.0.0.1"}
        forced = await apply_plan(session, ApplyOptions(force=True))
        outcomes = [outcome for result in forced.results for outcome in result.outcomes]
        assert {outcome.status for outcome in outcomes} == {Status.FAILED}
        assert {outcome.failure.name for outcome in outcomes if outcome.failure} == {"NON_EMPTY_GROUP"}
        assert await offsets(client, group) == {0: 4, 1: 20}
        again = await stage(session_of(client), f"reset group {group} to latest", f"delete group {group}")
        (refused,) = again.refused
        assert "reader at 127.0.0.1" in refused.reason
    finally:
        await consumer.stop()


async def what_is_not_there(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """Groups, topics, partitions and offsets that do not exist, and offsets outside of the log."""
    group = await _group(bootstrap, topic)

    async def said(command: str) -> str:
        try:
            report = await stage(session_of(client), command)
        except CommandError as error:
            return error.message
        return "; ".join([each.reason for each in report.refused] + [each.reason for each in report.dropped])

    assert await said("reset group no-such to earliest") == "there is no group 'no-such'"
    assert await said("delete group no-such") == "there is no group 'no-such'"
    assert await said(f"reset group {group} topic no-such to earliest") == "there is no topic 'no-such'"
    assert "has no partition 9" in await said(f"reset group {group} topic {topic} partition 9 to earliest")
    assert "no offset of" in await said(f"skip group {group} topic {topic} partition 2")
    outside = await said(f"reset group {group} topic {topic} partition 0 to offset 11")
    assert outside == f"offset 11 is outside of the log of {topic}/0, 0 to 10"
    assert "at offset 4 already" in await said(
        f"reset group {group} topic {topic} partition 0 to offset 4 metadata 'a text'"
    )


async def a_new_group(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """A clone has offsets and texts; what made it is taken back, and only that."""
    group = await _group(bootstrap, topic)
    twin = f"{group}-twin"
    report = await change(client, f"clone group {group} to {twin}")
    assert report.ok, report
    made = await position(client, twin)
    assert made.committed == (await position(client, group)).committed
    staged, back = await revert(client, report)
    assert back.ok, back
    assert not (await position(client, twin)).committed
    assert all("the group stays" in note for note in staged.notes)


async def deletions_and_their_ways_back(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """A group, and its offsets of a topic, go and come back with their texts."""
    group = await _group(bootstrap, topic)
    was = (await position(client, group)).committed
    for command in (f"delete group {group} topic {topic}", f"delete group {group}"):
        report = await change(client, command)
        assert report.ok, (command, report)
        assert not (await position(client, group)).committed
        _, back = await revert(client, report)
        assert back.ok, (command, back)
        assert (await position(client, group)).committed == was, command


async def a_share_group(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """One that does not exist is made of its start offsets, and comes back after it was deleted; from 4.1 on."""
    await write(bootstrap, topic, {0: 10, 1: 20}, first_ms=FIRST_MS)
    group = f"share-of-{topic}"
    report = await change(client, f"reset share group {group} topic {topic} to latest")
    if not report.ok:
        outcomes = [outcome for result in report.results for outcome in result.outcomes]
        told = {outcome.failure.message for outcome in outcomes if outcome.failure}
        assert [each.partition(", and")[0] for each in told] == ["alter_share_group_offsets needs Kafka ≥ 4.1"]
        return
    assert await offsets(client, group) == {0: 10, 1: 20, 2: 0}
    described = (await position(client, group)).group
    assert described is not None
    assert described.type == "share"
    deleted = await change(client, f"delete group {group}")
    assert deleted.ok, deleted
    _, back = await revert(client, deleted)
    assert back.ok, back
    assert await offsets(client, group) == {0: 10, 1: 20, 2: 0}
    with_text = await stage(session_of(client), f"reset group {group} topic {topic} to offset 0 metadata text")
    assert {each.reason for each in with_text.refused} == {"a share group keeps no metadata of an offset"}


async def the_group_with_the_empty_name(client: AdminClient, bootstrap: str, topic: str, _folder: Path) -> None:
    """Brokers commit, describe, list and delete it for clients of old; they join no member to it, and delete no single
    offset of it."""
    await write(bootstrap, topic, {0: 10}, first_ms=FIRST_MS)
    made = await change(client, f"reset group '' topic {topic} partition 0 to offset 3")
    assert made.ok, made
    described = (await position(client, "")).group
    assert described is not None
    assert (described.state, described.type) == ("Empty", "classic")
    assert (await client.run(group_lag, "")).total == 7
    meant = ApplyOptions(risks=frozenset({"assigned-consumers"}))
    for command in ("reset group '' to latest", f"clone group '' to {topic}-twin"):
        report = await change(client, command, options=meant)
        assert report.ok, (command, report)
    assert await offsets(client, f"{topic}-twin") == {0: 10}
    single = await stage(session_of(client), f"delete group '' topic {topic} partition 0")
    assert [each.remedy for each in single.refused] == ["Delete the group."]
    gone = await change(client, "delete group ''")
    assert gone.ok, gone
    assert not (await position(client, "")).committed


CASES: tuple[Case, ...] = (
    resets_and_their_ways_back,
    a_member_stops_it,
    what_is_not_there,
    a_new_group,
    deletions_and_their_ways_back,
    a_share_group,
    the_group_with_the_empty_name,
)


def named(case: Case) -> str:
    """A case's name for pytest."""
    return case.__name__


parameters = pytest.mark.parametrize("case", CASES, ids=named)
