"""Tests of a group's members as kac reads them from coordinators: protocol, subscription and epoch."""

from dataclasses import replace
from typing import Any

import pytest

from console.admin.groups import consumer_group, share_group, streams_group
from console.model.cluster import Group, GroupMember
from console.present.groups import group_line, member_columns, subscribed
from console.wire.schemas import response_type
from tests.wire.samples import sample


def described(api: str, version: int, **member: Any) -> Any:
    """Return the group of a describe response of an API in a version. Its only member has these values; those that the
    version lacks are left out.
    """
    response = sample(response_type(api, version), 0)
    (group,) = response.groups
    (one,) = group.members
    known = {name: value for name, value in member.items() if name in type(one).__dataclass_fields__}
    return replace(group, group_epoch=9, members=(replace(one, **known),))


def only(group: Group) -> GroupMember:
    assert group.members is not None
    (member,) = group.members
    return member


@pytest.mark.parametrize(
    ("version", "type_", "said"), [(1, 0, "classic"), (1, 1, "consumer"), (1, -1, ""), (1, 7, ""), (0, 0, "")]
)
def test_members_of_consumer_groups(version: int, type_: int, said: str) -> None:
    told = described(
        "consumer_group_describe",
        version,
        member_type=type_,
        member_epoch=4,
        subscribed_topic_names=("b", "a"),
        subscribed_topic_regex="orders-.*",
    )
    group = consumer_group(told, 1)
    member = only(group)
    assert (member.protocol, member.topics, member.regex) == (said, ("a", "b"), "orders-.*")
    assert group.behind == (member,)
    assert subscribed(member) == "/orders-.*/, a, b"


def test_members_of_the_other_kinds() -> None:
    share = only(share_group(described("share_group_describe", 1, subscribed_topic_names=("b", "a")), 1))
    assert (share.protocol, share.topics) == ("", ("a", "b"))
    for is_classic, said in ((True, "classic"), (False, "streams")):
        told = described("streams_group_describe", 0, is_classic=is_classic)
        assert only(streams_group(told, 1)).protocol == said


def group_of(*members: GroupMember) -> Group:
    return Group("g", "Reconciling", "consumer", "consumer", 1, members, epoch=9, assignment_epoch=9)


NEW = GroupMember("m-1", "app-1", "/h", epoch=9, protocol="consumer", regex="o.*")
OLD = GroupMember("m-2", "app-2", "/h", epoch=4, protocol="classic", topics=("orders",))


def test_a_list_has_what_differs_and_json_has_all() -> None:
    def titles(group: Group) -> set[str]:
        return {column.name for column in member_columns(group).all}

    always = {"protocol", "epoch", "topics", "regex"}
    assert titles(group_of(NEW, OLD)) >= always | {"by", "reached", "subscribed"}
    assert titles(group_of(NEW)) >= always | {"subscribed"}
    assert not titles(group_of(NEW)) & {"by", "reached"}, "the group says the same"
    assert not titles(group_of(GroupMember("m", "c", "/h"))) & {"by", "reached", "subscribed"}


def test_the_groups_line_says_who_is_behind_and_who_is_classic() -> None:
    line = "".join(text for text, _ in group_line(group_of(NEW, OLD), None))
    assert "1 behind the epoch" in line
    assert "1 classic" in line
    assert "epoch 9" in line
    quiet = "".join(text for text, _ in group_line(group_of(NEW), None))
    assert "behind" not in quiet
    assert "classic" not in quiet
