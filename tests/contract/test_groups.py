"""Tests of classic groups: members join and leave, offsets are committed, groups are described and deleted.

Member ids differ between clusters. So the tests send the same requests to one cluster after the other, and then compare
the answers.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.contract.answers import differences
from tests.contract.target import ADMIN, Server, Target
from tests.support.kafka_messages import with_fields

Story = Callable[["Teller"], None]
PROTOCOLS = (("range", b"\x00\x01" + b"\x00\x00\x00\x00" + b"\xff\xff\xff\xff"),)


class Teller:
    """Sends a sequence of requests to one cluster. heard: each request as text, with its answer, in which a client id
    and a number replace each member id.
    """

    def __init__(self, server: Server, release: str, group: str, topic: str) -> None:
        self.server, self.release, self.group, self.topic = server, release, group, topic
        self.heard: list[Any] = []
        self._ids: dict[str, str] = {}
        self.broker = self._coordinator()

    def _coordinator(self) -> int:
        asked = with_fields(key=self.group, key_type=0)
        told = self.server.ask("find_coordinator", 3, asked, 1, ADMIN)
        while told["error_code"] == "COORDINATOR_NOT_AVAILABLE":  # __consumer_offsets is being created
            told = self.server.ask("find_coordinator", 3, asked, 1, ADMIN)
        return int(told["node_id"])

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Send a request to the group's coordinator, again while the coordinator loads the group or moves. Add the
        answer to `heard`, and return it.
        """
        asked = with_fields(**fields)
        answer = self.server.ask(api, version, asked, self.broker, ADMIN)
        while _says(answer, "COORDINATOR_LOAD_IN_PROGRESS") or _says(answer, "NOT_COORDINATOR"):
            answer = self.server.ask(api, version, asked, self.broker, ADMIN)
        self.heard.append({"asked": f"{len(self.heard)}: {api} v{version}", "answer": self._numbered(answer)})
        return answer

    def _numbered(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._numbered(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._numbered(each) for each in value]
        if isinstance(value, str) and value.count("-") >= 5:
            return self._ids.setdefault(value, f"{value.partition('-')[0]} {len(self._ids) + 1}")
        return value

    def join(self, member: str = "", *, instance: str | None = None, version: int = 7, **other: Any) -> Any:
        """Send JoinGroup, and return the answer. member: the member id; "" for a new member. instance: the static
        instance id; None for a dynamic member.
        """
        wish = {
            "group_id": self.group,
            "session_timeout": 10,
            "rebalance_timeout": 10,
            "member_id": member,
            "group_instance_id": instance,
            "protocol_type": "consumer",
            "protocols": PROTOCOLS,
        }
        return self.ask("join_group", version, **{**wish, **other})

    def sync(self, member: str, generation: int = 1, *, assign: bool = True, instance: str | None = None) -> Any:
        """Send SyncGroup, and return the answer. If `assign` is true, the request assigns all partitions to the member
        itself; otherwise it has no assignment.
        """
        return self.ask(
            "sync_group",
            5,
            **self._member(member, generation, instance),
            protocol_type="consumer",
            protocol_name="range",
            assignments=[(member, b"all")] if assign else [],
        )

    def heartbeat(self, member: str, generation: int = 1, *, instance: str | None = None) -> None:
        self.ask("heartbeat", 4, **self._member(member, generation, instance))

    def _member(self, member: str, generation: int, instance: str | None) -> dict[str, Any]:
        group = {"group_id": self.group, "generation_id": generation}
        return group | {"member_id": member, "group_instance_id": instance}

    def leave(self, member: str, *, instance: str | None = None) -> None:
        """Send LeaveGroup for one member. instance: its static instance id; None for a dynamic member."""
        self.ask("leave_group", 4, group_id=self.group, members=[(member, instance)])

    def commit(
        self,
        offset: int,
        member: str = "",
        generation: int = -1,
        *,
        topic: str | None = None,
        version: int = 8,
        **m_: Any,
    ) -> None:
        """Send OffsetCommit for a partition, 0 by default."""
        part = {
            "partition_index": m_.get("partition", 0),
            "committed_offset": offset,
            "committed_metadata": m_.get("metadata", "why"),
        }
        who = {"generation_id_or_member_epoch": generation, "member_id": member}
        self.ask("offset_commit", version, group_id=self.group, **who, topics=[(topic or self.topic, [part])])

    def committed(self, *topics: str, version: int = 7, everything: bool = False) -> None:
        """Send OffsetFetch for partitions 0 and 5 of these topics; if `everything` is true, for all topics of the
        group.
        """
        asked = None if everything else [(name, (0, 5)) for name in topics]
        of_group = {"groups": [{"group_id": self.group, "topics": asked}]}
        self.ask("offset_fetch", version, **(of_group if version >= 8 else {"group_id": self.group, "topics": asked}))

    def describe(self, version: int = 5) -> None:
        """Send DescribeGroups."""
        self.ask("describe_groups", version, groups=[self.group], include_authorized_operations=True)

    def describe_newer(self) -> None:
        """Send ConsumerGroupDescribe."""
        self.ask("consumer_group_describe", 0, group_ids=[self.group], include_authorized_operations=False)

    def listed(self, version: int = 4, **filters: tuple[str, ...]) -> None:
        """Send ListGroups, and add only this group's entry to `heard`."""
        answer = self.server.ask("list_groups", version, with_fields(**filters), self.broker, ADMIN)
        own = [group for group in answer["groups"] if group["group_id"] == self.group]
        self.heard.append({"asked": f"{len(self.heard)}: list_groups v{version} {filters}", "answer": own})

    def delete(self) -> None:
        """Send DeleteGroups."""
        self.ask("delete_groups", 2, groups_names=[self.group])

    def delete_offset(self, topic: str) -> None:
        """Send OffsetDelete for partition 0."""
        self.ask("offset_delete", 0, group_id=self.group, topics=[(topic, [0])])


def _says(answer: Any, error: str) -> bool:
    return f"'{error}'" in str(answer)


def same(target: Target, group: str, topic: str, story: Story) -> list[Any]:
    """Send the requests of a story to each cluster, and return the answers. Raises AssertionError if an answer of the
    embedded cluster differs from the real one's.
    """
    told = []
    for server in target.servers:
        teller = Teller(server, target.release, group, topic)
        story(teller)
        told.append(teller.heard)
    for real, embedded in zip(told[0], told[-1], strict=True):
        found = "\n  ".join(differences(real["answer"], embedded["answer"]))
        assert not found, f"Kafka {target.release} and the embedded cluster differ in {real['asked']}:\n  {found}"
    return [each["answer"] for each in told[0]]


def test_the_life_of_a_member(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        member = tell.join()["member_id"]
        tell.join(member)
        # No DescribeGroups here: 4.3 describes a new group only after a later record in the group's partition of the
        # internal topic is committed, and that record may be another group's.
        tell.heartbeat(member)
        tell.commit(1, member, 1)
        tell.sync(member)
        tell.sync(member, assign=False)
        tell.heartbeat(member)
        tell.commit(1, member, 1)
        tell.describe()
        tell.listed()
        tell.listed(states_filter=("Stable",))
        tell.listed(states_filter=("Empty",))
        tell.join(member)  # the leader joins again, so the group rebalances
        tell.sync(member, 2)
        tell.leave(member)
        tell.listed(3)
        tell.describe()
        tell.leave(member)
        tell.heartbeat(member)

    heard = same(target, name, topic, story)
    assert heard[0]["error_code"] == "MEMBER_ID_REQUIRED"
    assert heard[4]["assignment"] == b"all".hex()


def test_joining_without_an_id_before_version_4(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        member = tell.join(version=3)["member_id"]
        tell.sync(member)
        tell.leave(member)

    same(target, name, topic, story)


def test_requests_that_are_not_of_the_group(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        tell.heartbeat("nobody-1-2-3-4-5")
        tell.sync("nobody-1-2-3-4-5")
        tell.leave("nobody-1-2-3-4-5")
        tell.join("nobody-1-2-3-4-5")
        member = tell.join()["member_id"]
        tell.join(member)
        tell.sync(member, 7)
        tell.sync(member)
        tell.heartbeat(member, 7)
        tell.heartbeat("nobody-1-2-3-4-5")
        tell.commit(1, member, 7)
        tell.commit(1, "nobody-1-2-3-4-5", 1)
        tell.commit(1)
        tell.join(protocol_type="connect")
        tell.join(protocol_type="")
        tell.join(protocols=())
        tell.join(member, session_timeout=timedelta(seconds=1))
        tell.join(member, group_id="")
        tell.leave(member)

    same(target, name, topic, story)


def test_static_members(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        member = tell.join(instance="one")["member_id"]
        tell.sync(member, instance="one")
        tell.heartbeat(member, instance="one")
        again = tell.join(instance="one")["member_id"]
        tell.heartbeat(member, instance="one")
        tell.heartbeat(again, instance="one")
        tell.sync(again, instance="one", assign=False)
        tell.heartbeat(again, instance="two")
        tell.describe()
        tell.leave(member, instance="one")
        tell.leave("", instance="one")
        tell.leave("", instance="one")
        tell.describe()

    same(target, name, topic, story)


def test_offsets_without_members(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        tell.committed(topic, everything=False)
        tell.committed(everything=True)
        tell.commit(5, "", 3)
        tell.commit(5, "somebody", -1)
        tell.commit(5)
        tell.commit(6, metadata=None)
        tell.commit(6, metadata="x" * 4097)
        tell.commit(7, topic="no-such-topic")
        tell.commit(7, partition=9)
        for version in (1, 5, 7, 8, 9):
            tell.committed(topic, "no-such-topic", version=version)
        tell.committed(everything=True)
        tell.describe()
        tell.listed()
        tell.delete_offset(topic)
        tell.delete_offset("no-such-topic")
        tell.committed(topic)
        tell.delete()
        tell.delete()
        tell.delete_offset(topic)
        tell.describe()
        tell.committed(topic)

    same(target, name, topic, story)


def test_groups_that_are_not_there_or_of_another_kind(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        tell.describe()
        if tell.release != "3.9":
            tell.describe(6)
        tell.describe_newer()
        tell.commit(5, "", 3, version=9)
        tell.commit(5)
        tell.describe_newer()
        tell.listed(5)
        tell.listed(5, types_filter=("classic",))
        tell.listed(5, types_filter=("consumer",))
        tell.delete()

    same(target, name, topic, story)


def test_a_group_with_members_stays(target: Target, name: str, topic: str) -> None:
    def story(tell: Teller) -> None:
        member = tell.join()["member_id"]
        tell.join(member)
        tell.sync(member)
        tell.commit(5, member, 1)
        tell.delete()
        tell.delete_offset(topic)  # no member has subscribed to the topic
        tell.leave(member)
        tell.delete()

    same(target, name, topic, story)
