"""Tests of the start offsets of share groups: the embedded cluster sets and deletes them like a real one."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.answers import differences
from tests.contract.target import Server, Target
from tests.contract.test_newer_groups import ask_settled, committed, listed, share_offsets


def alter(server: Server, group: str, offsets: dict[tuple[str, int], int]) -> Any:
    names = dict.fromkeys(name for name, _ in offsets)
    topics = [(name, [(n, at) for (each, n), at in offsets.items() if each == name]) for name in names]
    return ask_settled(server, "alter_share_group_offsets", 0, group, group_id=group, topics=topics)


def delete(server: Server, group: str, *topics: str) -> Any:
    """Send DeleteShareGroupOffsets for these topics to the group's coordinator, and return its answer."""
    return ask_settled(server, "delete_share_group_offsets", 0, group, group_id=group, topics=topics)


def commit(server: Server, group: str, topic: str, version: int = 8) -> Any:
    """Send OffsetCommit without a member to the group's coordinator, and return its answer."""
    part = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    who = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": ""}
    return ask_settled(server, "offset_commit", version, group, **who, topics=[(topic, [part])])


def delete_group(server: Server, group: str) -> Any:
    return ask_settled(server, "delete_groups", 2, group, groups_names=[group])


def refused(server: Server, group: str, topic: str) -> Iterator[Any]:
    """Send requests about a share group to 4.1, which does not enable share groups; yield (name of the step,
    answer).
    """
    yield "delete nothing", delete(server, group, topic)
    yield "make it", alter(server, group, {(topic, 0): 3})
    yield "offsets", share_offsets(server, 0, group)


def story(server: Server, group: str, topic: str) -> Iterator[Any]:
    """Send the requests of the life of a share group without members, from its creation to its deletion; yield (name of
    the step, answer).
    """
    yield "delete nothing", delete(server, group, topic)
    yield "make it", alter(server, group, {(topic, 0): 3})
    yield "offsets", share_offsets(server, 0, group)
    yield "change it", alter(server, group, {(topic, 0): 1, (topic, 9): 1, ("no-such-topic", 0): 1})
    yield "offsets again", share_offsets(server, 0, group)
    yield (
        "list",
        [{key: each[key] for key in ("group_id", "group_type", "group_state")} for each in listed(server, group)],
    )
    yield "commit to a share group", commit(server, group, topic)
    yield "fetch of a share group", committed(server, group)
    yield "delete topics", delete(server, group, topic, "no-such-topic")
    yield "delete again", delete(server, group, topic)
    yield "nothing left", share_offsets(server, 0, group)
    yield "delete the group", delete_group(server, group)
    other = f"{group}-classic"
    yield "a classic group", commit(server, other, topic)
    yield "alter a classic group", alter(server, other, {(topic, 0): 3})
    yield "delete of a classic group", delete(server, other, topic)
    yield "delete the classic group", delete_group(server, other)


def test_start_offsets_without_members(target: Target, name: str, topic: str) -> None:
    if not target.has("alter_share_group_offsets", 0):
        pytest.skip("an API of Kafka 4.1 and later")
    is_enabled = target.is_since("4.4")
    tale = story if is_enabled else refused
    told = [dict(tale(server, name, topic)) for server in target.servers]
    found = [
        f"{step}: {difference}" for step, real in told[0].items() for difference in differences(real, told[-1][step])
    ]
    assert not found, "Kafka and the embedded cluster differ:\n  " + "\n  ".join(found)
    assert told[0]["make it"]["error_code"] == ("NONE" if is_enabled else "UNSUPPORTED_VERSION")
