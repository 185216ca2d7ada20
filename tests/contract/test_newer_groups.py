"""Tests of consumer, share and streams groups. A real coordinator creates such a group by a member's heartbeats. The
embedded cluster does not take these heartbeats: it gets the same group as data, and must describe it in the same
way.
"""

import time
from typing import Any

import pytest

from console.embedded import brokers, groups, newer_groups
from tests.contract.answers import differences
from tests.contract.target import ADMIN, SETTLED, Server, Target
from tests.support.kafka_messages import with_fields

HOST, CLIENT = "/127.0.0.1", "contract"
OTHERS = {"consumer": "share", "share": "streams", "streams": "consumer"}
VERSIONS = {"consumer": 1, "share": 1, "streams": 0}
FIRST = {"consumer": "4.0", "share": "4.4", "streams": "4.4"}
"""Type of group -> the first imitated release that enables it."""
STREAMS_ASSIGNOR = "sticky"
"""The default assignor, which StreamsGroupDescribe names since version 1."""
MOVES = ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE")


def coordinator(server: Server, group: str) -> int:
    """Wait until the group's coordinator is available, and return its broker id."""
    while True:
        told = server.ask("find_coordinator", 3, with_fields(key=group, key_type=0), 1, ADMIN)
        if told["error_code"] != "COORDINATOR_NOT_AVAILABLE":
            return int(told["node_id"])


def ask(server: Server, api: str, version: int, group: str, **fields: Any) -> Any:
    """Send a request to the group's coordinator, and return its answer as plain values."""
    return server.ask(api, version, with_fields(**fields), coordinator(server, group), ADMIN)


def ask_settled(server: Server, api: str, version: int, group: str, **fields: Any) -> Any:
    """Send a request to the group's coordinator until it has loaded the group, and return the answer as plain
    values.
    """
    answer = ask(server, api, version, group, **fields)
    while any(move in str(answer) for move in MOVES):
        answer = ask(server, api, version, group, **fields)
    return answer


def describe(server: Server, api: str, version: int, group: str) -> Any:
    """Return the coordinator's description of a group."""
    return ask_settled(server, api, version, group, group_ids=[group], include_authorized_operations=True)


def describe_classic(server: Server, version: int, group: str) -> Any:
    """Return the answer of DescribeGroups, the API of classic groups, for a group of another type."""
    return ask(server, "describe_groups", version, group, groups=[group], include_authorized_operations=True)


def listed(server: Server, group: str, **filters: tuple[str, ...]) -> list[Any]:
    """Return the entries of the group in ListGroups v5."""
    return [each for each in ask(server, "list_groups", 5, group, **filters)["groups"] if each["group_id"] == group]


def share_offsets(server: Server, version: int, group: str) -> Any:
    """Return the answer of DescribeShareGroupOffsets for all topics."""
    return ask(server, "describe_share_group_offsets", version, group, groups=[(group, None)])


def committed(server: Server, group: str) -> Any:
    """Return the answer of OffsetFetch v9 for all topics."""
    return ask(server, "offset_fetch", 9, group, groups=[{"group_id": group, "topics": None}])


def heartbeat(kind: str, topic: str, epoch: int) -> dict[str, Any]:
    """Return the fields of a member's heartbeat: of its first one if epoch is 0, of a later one otherwise."""
    begins = epoch == 0
    topics = [topic] if begins else None
    if kind == "share":
        return {"subscribed_topic_names": topics}
    if kind == "consumer":
        pattern = {"subscribed_topic_regex": None, "server_assignor": None}
        return {"subscribed_topic_names": topics, **pattern, "topic_partitions": [] if begins else None}
    nothing = [] if begins else None
    return {
        "endpoint_information_epoch": 0,
        "topology": (1, [("0", [topic], [], [], [], [], [])]) if begins else None,
        **dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks", "client_tags"), nothing),
        "process_id": CLIENT if begins else None,
        **dict.fromkeys(("user_endpoint", "task_offsets", "task_end_offsets")),
        "shutdown_application": False,
    }


def join(server: Server, kind: str, group: str, topic: str, member: str) -> None:
    """Send heartbeats of the group's only member until the group is stable and the topic's partition is assigned to the
    member. Fails after `SETTLED` seconds.
    """
    who = {"group_id": group, "member_id": member, "rack_id": None, "instance_id": None, "rebalance_timeout": 60}

    api, version = f"{kind}_group_heartbeat", VERSIONS[kind]
    epoch, last = 0, time.monotonic() + SETTLED
    while time.monotonic() < last:
        answer = ask(server, api, version, group, **who, member_epoch=epoch, **heartbeat(kind, topic, epoch))
        if answer["error_code"] in MOVES:
            continue
        assert answer["error_code"] == "NONE", answer
        epoch = answer["member_epoch"]
        told = describe(server, f"{kind}_group_describe", VERSIONS[kind], group)["groups"][0]
        if told["group_state"] == "Stable" and _has_something(told["members"][0]["assignment"]):
            return
        time.sleep(0.02)
    pytest.fail(f"the group {group} is not stable")


def _has_something(assignment: Any) -> bool:
    return bool(assignment.get("topic_partitions") or assignment.get("active_tasks"))


def as_data(cluster: brokers.EmbeddedCluster, kind: str, group: str, topic: str, member: str, real: Any) -> None:
    """Put a group like the real one into the embedded cluster. It has the epochs in the real group's description."""
    everything = {topic: (0, 1)}
    epoch = real["members"][0]["member_epoch"]
    tasks = newer_groups.Tasks({"0": (0, 1)}) if kind == "streams" else newer_groups.Tasks()
    newer = newer_groups.NewerGroup(
        kind,  # type: ignore[arg-type]
        "Stable",
        real["group_epoch"],
        real["assignment_epoch"],
        (
            newer_groups.NewerMember(
                member,
                real["members"][0]["client_id"],
                HOST,
                epoch,
                (topic,),
                {} if kind == "streams" else everything,
                everything if kind == "consumer" else {},
                tasks,
                tasks,
            ),
        ),
        real.get("assignor_name", STREAMS_ASSIGNOR if kind == "streams" else ""),
        topology_epoch=1,
        subtopologies={"0": newer_groups.Subtopology((topic,))} if kind == "streams" else {},
    )
    cluster.state.groups[group] = groups.Group(group, protocol_type=kind, written=True, newer=newer)


@pytest.mark.compares
@pytest.mark.parametrize("kind", ["consumer", "share", "streams"])
def test_a_group_is_described_as_a_real_one(target: Target, name: str, kind: str) -> None:
    if not target.is_since(FIRST[kind]) or target.real is None:
        return
    topic = f"{name}-{kind}"
    created = [(topic, 2, 1, [], [])]
    target.ask("create_topics", 7, with_fields(topics=created, timeout=30, validate_only=False))
    group, member = topic, "AAAAAAAAAAAAAAAAAAAAAA"
    join(target.real, kind, group, topic, member)
    real = describe(target.real, f"{kind}_group_describe", VERSIONS[kind], group)
    target.thread.call(lambda cluster: as_data(cluster, kind, group, topic, member, real["groups"][0]))
    other = OTHERS[kind]
    another = f"{other}_group_describe"
    has_newer = kind == "streams" and target.has("streams_group_describe", 1)
    has_another, has_share = target.has(another, VERSIONS[other]), target.has("describe_share_group_offsets", 1)
    told, found = (
        {
            "described": describe(server, f"{kind}_group_describe", VERSIONS[kind], group),
            "described newer": describe(server, f"{kind}_group_describe", 1, group) if has_newer else None,
            "as another": describe(server, another, VERSIONS[other], group) if has_another else None,
            "as classic": describe_classic(server, 6, group),
            "as classic before": describe_classic(server, 5, group),
            "listed": listed(server, group),
            "listed by type": listed(server, group, types_filter=(kind,)),
            "listed by another": listed(server, group, types_filter=(other,)),
            "listed by state": listed(server, group, states_filter=("Stable",)),
            "offsets": committed(server, group),
            "share offsets": share_offsets(server, 1, group) if has_share and kind != "share" else None,
        }
        for server in (target.real, target.embedded)
    )
    seen = [f"{what}{each}" for what, answer in told.items() for each in differences(answer, found[what])]
    assert not seen, f"Kafka {target.release} and the embedded cluster differ:\n  " + "\n  ".join(seen)
    assert told["described"]["groups"][0]["members"][0]["member_id"] == member


def test_groups_that_are_not_there(target: Target, name: str) -> None:
    if not target.is_since("4.0"):
        return
    missing = f"{name}-missing"
    for server in target.servers:
        coordinator(server, missing)
    for kind, version in VERSIONS.items():
        api = f"{kind}_group_describe"
        if not target.has(api, version):
            continue
        told = [describe(server, api, version, missing) for server in target.servers]
        assert all(not list(differences(told[0], each)) for each in told), told
        expected = "GROUP_ID_NOT_FOUND" if target.is_since(FIRST[kind]) else "UNSUPPORTED_VERSION"
        assert told[0]["groups"][0]["error_code"] == expected
    for version in (each for each in (0, 1) if target.has("describe_share_group_offsets", each)):
        told = [share_offsets(server, version, missing) for server in target.servers]
        assert all(not list(differences(told[0], each)) for each in told), told
