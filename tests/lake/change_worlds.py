"""Random histories of small clusters: changes by principals, and the records of the metadata log, the polls, the
requests and the journals in which they appear.
"""

import base64
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

BEGIN = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
POLL_AFTER = timedelta(seconds=5)
DEFAULT_LIST = "delete"


class Key(NamedTuple):
    type: str
    entity: str
    attr: str


RETENTION = Key("topic", "orders", "retention.ms")
POLICY = Key("topic", "orders", "cleanup.policy")
PARTITIONS = Key("topic", "orders", ":partitions")
REPLICATION = Key("topic", "orders", ":replication")
TOPIC_ID = Key("topic", "orders", ":topic_id")
DEFAULT_RETENTION = Key("broker", "<default>", "log.retention.ms")
KEYSTORE = Key("broker", "1", "listener.name.x.ssl.keystore.password")
ENDPOINTS = Key("broker", "1", ":endpoints")
FENCED = Key("broker", "1", ":fenced")
QUOTA = Key("quota", "user=a%2Cb,client-id=<default>", "producer_byte_rate")
ACL = Key("acl", "TOPIC:LITERAL:orders", "ALLOW READ User:carol from *")
SCRAM = Key("scram", "carol", "SCRAM-SHA-256")
FEATURE = Key("feature", "metadata.version", ":level")
TYPES = ("topic", "broker", "quota", "acl", "scram", "feature")
HIDDEN = "hidden:"
"""The prefix of a value in a history that the sources must not show, because it is a secret."""

State = dict[Key, str]


@dataclass(frozen=True)
class Change:
    """A change of the value of `key`. old, new: the value before and after it; None if the key was not set. who: the
    principals that asked for it.
    """

    at: datetime
    key: Key
    old: str | None
    new: str | None
    who: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """A successful request of a principal. value: the value that the request sets; None if it sets none, as a
    deletion.
    """

    at: datetime
    who: str
    api: str
    key: Key
    op: str
    value: str | None


@dataclass
class World:
    """The history of a cluster. changes, asked: in the order of time. states: key -> value after each step; step 0 is
    the beginning.
    """

    cluster_id: str
    changes: list[Change] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    """The records of the metadata log, each with its `step`. The index of a record is its offset."""


def made(seed: int, steps: int = 14) -> World:
    return _Maker(random.Random(seed), f"w{seed}").run(steps)


class _Maker:
    def __init__(self, dice: random.Random, cluster_id: str) -> None:
        self.dice = dice
        self.world = World(cluster_id)
        self.state: State = {}
        self.topics = 0
        self.now = BEGIN
        self.step = 0

    def run(self, steps: int) -> World:
        self.record("FeatureLevelRecord", name="metadata.version", featureLevel=20)
        self.set(FEATURE, "20", ())
        self.record(
            "RegisterBrokerRecord",
            brokerId=1,
            endPoints=[_endpoint("PLAINTEXT", 9092), _endpoint("SSL", 9093)],
            rack=None,
            fenced=False,
        )
        self.set(ENDPOINTS, "PLAINTEXT://h:9092,SSL://h:9093", ())
        self.set(FENCED, "false", ())
        self.world.states.append(dict(self.state))
        for self.step in range(1, steps + 1):
            self.now = BEGIN + self.step * STEP
            self.dice.choice([self.topic, self.config, self.config, self.broker, self.keystore, self.other])()
            self.world.states.append(dict(self.state))
        return self.world

    def who(self) -> tuple[str, ...]:
        """Return the principal of a change: alice or bob; in about one of seven cases both, who then ask for the same
        change at the same time.
        """
        both = ["User:alice", "User:bob"]
        self.dice.shuffle(both)
        return tuple(both[: 1 if self.dice.random() < 0.85 else 2])

    def ask(self, who: tuple[str, ...], api: str, key: Key, op: str, value: str | None = None) -> None:
        self.world.asked += [Asked(self.now, each, api, key, op, value) for each in who]

    def set(self, key: Key, value: str | None, who: tuple[str, ...]) -> None:
        old = self.state.get(key)
        if value is None:
            self.state.pop(key, None)
        else:
            self.state[key] = value
        if old != value:
            self.world.changes.append(Change(self.now, key, old, value, who))

    def record(self, type_: str, hmac: str | None = None, **fields: Any) -> None:
        self.world.log.append({"step": self.step, "ts": self.now, "type": type_, "fields": fields, "hmac": hmac})

    def config_record(self, number: int, name: str, key: Key, value: str | None) -> None:
        hmac = hashlib.sha256(value.encode()).hexdigest() if value is not None and value.startswith(HIDDEN) else None
        shown = "[hidden]" if hmac else value
        self.record("ConfigRecord", hmac, resourceType=number, resourceName=name, name=key.attr, value=shown)

    def topic(self) -> None:
        if TOPIC_ID not in self.state:
            who = self.who()[:1]
            self.topics += 1
            topic_id = base64.urlsafe_b64encode(bytes([self.topics] * 16)).decode()[:-2]
            count = self.dice.randint(1, 3)
            self.ask(who, "CREATE_TOPICS", PARTITIONS, "set", str(count))
            self.ask(who, "CREATE_TOPICS", REPLICATION, "set", self.dice.choice(["-1", "2"]))
            self.record("TopicRecord", name="orders", topicId=topic_id)
            self.set(TOPIC_ID, topic_id, who)
            if self.dice.random() < 0.5:
                self.ask(who, "CREATE_TOPICS", RETENTION, "set", "2")
                self.config_record(2, "orders", RETENTION, "2")
                self.set(RETENTION, "2", who)
            self.partitions(topic_id, range(count))
            self.set(PARTITIONS, str(count), who)
            self.set(REPLICATION, "2", who)
        elif self.dice.random() < 0.5:
            who = self.who()[:1]
            self.ask(who, "DELETE_TOPICS", TOPIC_ID, "delete")
            self.record("RemoveTopicRecord", topicId=self.state[TOPIC_ID])
            for key in [each for each in self.state if each.type == "topic"]:
                self.set(key, None, who)
        else:
            who = self.who()[:1]
            count = int(self.state[PARTITIONS])
            more = count + self.dice.randint(1, 2)
            self.ask(who, "CREATE_PARTITIONS", PARTITIONS, "set", str(more))
            self.partitions(self.state[TOPIC_ID], range(count, more))
            self.set(PARTITIONS, str(more), who)

    def partitions(self, topic_id: str, numbers: range) -> None:
        for number in numbers:
            self.record(
                "PartitionRecord",
                partitionId=number,
                topicId=topic_id,
                replicas=[1, 2],
                removingReplicas=[],
                isr=[1, 2],
            )

    def config(self) -> None:
        """Change a config of the topic. If the value stays the same, the log gets no record."""
        if TOPIC_ID not in self.state:
            return self.topic()
        who = self.who()
        if self.dice.random() < 0.5:
            value = self.dice.choice(["1", "2", "3", None])
            self.ask(who, "INCREMENTAL_ALTER_CONFIGS", RETENTION, "delete" if value is None else "set", value)
            return self.write_config(2, "orders", RETENTION, value, who)
        op, item = self.dice.choice(["append", "subtract"]), self.dice.choice(["compact", "delete"])
        had = [each for each in self.state.get(POLICY, DEFAULT_LIST).split(",") if each]
        now = [*had, item] if op == "append" and item not in had else had
        now = [each for each in now if each != item] if op == "subtract" else now
        if now == had:
            return None  # the operation would leave the list as it is
        self.ask(who, "INCREMENTAL_ALTER_CONFIGS", POLICY, op, item)
        return self.write_config(2, "orders", POLICY, ",".join(now), who)

    def write_config(
        self, number: int, name: str, key: Key, value: str | None, who: tuple[str, ...], always: bool = False
    ) -> None:
        if always or self.state.get(key) != value:
            self.config_record(number, name, key, value)
        self.set(key, value, who)

    def broker(self) -> None:
        """Set a config in the brokers' cluster-wide default. The log gets a record even if the value stays the same."""
        who, value = self.who(), self.dice.choice(["1", "2", None])
        api = "INCREMENTAL_ALTER_CONFIGS"
        self.ask(who, api, DEFAULT_RETENTION, "delete" if value is None else "set", value)
        self.write_config(4, "", DEFAULT_RETENTION, value, who, always=True)

    def keystore(self) -> None:
        who, value = self.who()[:1], self.dice.choice([HIDDEN + "1", HIDDEN + "2", None])
        self.ask(who, "INCREMENTAL_ALTER_CONFIGS", KEYSTORE, "delete" if value is None else "set", value)
        self.write_config(4, "1", KEYSTORE, value, who, always=True)

    def other(self) -> None:
        key = self.dice.choice([QUOTA, ACL, SCRAM])
        who = self.who()
        if key == QUOTA:
            value = self.dice.choice(["1048576", "12.5", None])
            self.ask(who, "ALTER_CLIENT_QUOTAS", key, "delete" if value is None else "set", value)
            if self.state.get(key) != value:
                entity = [
                    {"entityType": "client-id", "entityName": None},
                    {"entityType": "user", "entityName": "a,b"},
                ]
                number = float(value or 0)
                self.record("ClientQuotaRecord", entity=entity, key=key.attr, value=number, remove=value is None)
            return self.set(key, value, who)
        if key == ACL:
            there = key in self.state
            self.ask(
                who,
                "DELETE_ACLS" if there else "CREATE_ACLS",
                key,
                "delete" if there else "set",
                None if there else "set",
            )
            self.acl(there)
            return self.set(key, None if there else "set", who)
        value = self.dice.choice(["iterations=4096", "iterations=8192", None])
        if value == self.state.get(key):
            return None  # a new password with the same iterations would show only in the HMAC
        self.ask(who, "ALTER_USER_SCRAM_CREDENTIALS", key, "delete" if value is None else "set", value)
        if value is None:
            self.record("RemoveUserScramCredentialRecord", name="carol", mechanism=1)
        else:
            self.scram(value)
        return self.set(key, value, who)

    def acl(self, remove: bool) -> None:
        if remove:
            return self.record("RemoveAccessControlEntryRecord", id=f"acl{self.acls}")
        self.acls = getattr(self, "acls", 0) + 1
        return self.record("AccessControlEntryRecord", **_acl_fields(self.acls))

    def scram(self, value: str) -> None:
        hmac = hashlib.sha256(value.encode()).hexdigest()
        iterations = int(value.partition("=")[2])
        fields = {"name": "carol", "mechanism": 1, "salt": "[hidden]", "iterations": iterations}
        self.record("UserScramCredentialRecord", hmac, **fields)


def _acl_fields(number: int) -> dict[str, Any]:
    return {
        "id": f"acl{number}",
        "resourceType": 2,
        "resourceName": "orders",
        "patternType": 3,
        "principal": "User:carol",
        "host": "*",
        "operation": 3,
        "permissionType": 3,
    }


def _endpoint(name: str, port: int) -> dict[str, Any]:
    return {"name": name, "host": "h", "port": port, "securityProtocol": 0}


# -- the rows of each source ---------------------------------------------------------------------------------------


def log_rows(world: World, first: int = 0, last: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of the metadata log as bronze rows, from step `first` to step `last`, both included. last: None
    for all steps.
    """
    for offset, each in enumerate(world.log, 1):
        if each["step"] >= first and (last is None or each["step"] <= last):
            yield _record(world, each["type"], each["fields"], each["hmac"], offset, each["ts"])


def checkpoint_rows(world: World, step: int) -> Iterator[dict[str, Any]]:
    """Yield the records of a snapshot of the metadata log after a step, as bronze rows."""
    before = [each for each in world.log if each["step"] <= step]
    maker = _Maker(random.Random(0), world.cluster_id)
    state = world.states[step]
    maker.record("FeatureLevelRecord", name="metadata.version", featureLevel=20)
    maker.world.log += [each for each in before if each["type"] == "RegisterBrokerRecord"]
    if TOPIC_ID in state:
        maker.record("TopicRecord", name="orders", topicId=state[TOPIC_ID])
        maker.partitions(state[TOPIC_ID], range(int(state[PARTITIONS])))
    for key, name, number in (
        (RETENTION, "orders", 2),
        (POLICY, "orders", 2),
        (DEFAULT_RETENTION, "", 4),
        (KEYSTORE, "1", 4),
    ):
        if key in state:
            maker.config_record(number, name, key, state[key])
    if QUOTA in state:
        maker.world.log += [each for each in before if each["type"] == "ClientQuotaRecord"][-1:]
    if ACL in state:
        maker.world.log += [each for each in before if each["type"] == "AccessControlEntryRecord"][-1:]
    if SCRAM in state:
        maker.scram(state[SCRAM])
    at = BEGIN + step * STEP
    for index, each in enumerate(maker.world.log):
        row = _record(world, each["type"], each["fields"], each["hmac"], len(before) + 1, at)
        yield {**row, "in_snapshot": True, "record_index": index}


def _record(
    world: World, type_: str, fields: dict[str, Any], hmac: str | None, offset: int, at: datetime
) -> dict[str, Any]:
    return {
        "cluster_id": world.cluster_id,
        "log_offset": offset,
        "record_index": 0,
        "in_snapshot": False,
        "leader_epoch": 1,
        "record_ts": at,
        "record_type": type_,
        "api_key": 0,
        "version": 0,
        "payload": json.dumps(fields, separators=(",", ":")),
        "value_hmac": hmac,
        "file": "log",
        "run_id": "r1",
    }


def poll_rows(world: World, steps: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of polls after these steps: all values of each entity that has changed since the previous poll, an
    `absent` row for each entity that no longer exists, and a heartbeat for each entity type.
    """
    last: dict[tuple[str, str], State] = {}
    for step in steps:
        at = BEGIN + step * STEP + POLL_AFTER
        now: dict[tuple[str, str], State] = {}
        for key, value in world.states[step].items():
            shown = "h:9092" if key == ENDPOINTS else value
            now.setdefault(key[:2], {})[key] = shown
        for resource, values in now.items():
            if last.get(resource) != values:
                for key, value in values.items():
                    hidden = value.startswith(HIDDEN)
                    yield _poll(world, at, "state", key, None if hidden else value, hidden)
        for resource in last.keys() - now.keys():
            yield _poll(world, at, "absent", Key(*resource, ""))
        for type_ in TYPES:
            yield _poll(world, at, "heartbeat", Key(type_, "", ""))
        last = now


def _poll(
    world: World, at: datetime, kind: str, key: Key, value: str | None = None, hidden: bool = False
) -> dict[str, Any]:
    return {
        "cluster_id": world.cluster_id,
        "observed_ts": at,
        "kind": kind,
        "entity_type": key.type,
        "entity_key": key.entity or None,
        "attr": key.attr or None,
        "value": value,
        "source": None,
        "is_sensitive": hidden,
        "run_id": "r2",
    }


def request_rows(world: World, asked: list[Asked], forwarded: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the rows of the brokers' request logs. Broker 1, whose clock is half a second late for every other change,
    logs each request, and after it a dry run and a refused request of another user. If `forwarded` is true, the
    controller, broker 2, also logs the request as forwarded to it.
    """
    for number, each in enumerate(asked):
        hidden = (each.value is not None and each.value.startswith(HIDDEN)) or each.key == SCRAM
        late = timedelta(milliseconds=500 * ((each.at - BEGIN) // STEP % 2))
        row = {
            "cluster_id": world.cluster_id,
            "broker_id": 1,
            "end_ts": each.at + late + timedelta(milliseconds=60),
            "start_ts": each.at + late - timedelta(milliseconds=60),
            "api": each.api,
            "correlation_id": number,
            "client_id": f"ops-{each.who}",
            "client_host": "10.0.0.7",
            "principal": each.who,
            "is_forwarded": False,
            "validate_only": False,
            "entity_type": each.key.type,
            "entity_key": each.key.entity,
            "attr": each.key.attr,
            "op": each.op,
            "value": None if hidden else each.value,
            "is_sensitive": hidden,
            "error_code": 0,
            "file": "kafka-request.log",
            "byte_pos": number,
            "run_id": "r3",
        }
        yield row
        yield {**row, "validate_only": True, "correlation_id": number + 5000, "principal": "User:mallory"}
        yield {**row, "error_code": 29, "correlation_id": number + 7000, "principal": "User:mallory"}
        if forwarded:
            copy = {"broker_id": 2, "is_forwarded": True, "correlation_id": number + 9000, "client_host": "10.0.0.1"}
            around = timedelta(milliseconds=20)
            yield {**row, **copy, "start_ts": each.at - around, "end_ts": each.at + around}


def journal_rows(world: World, asked: list[Asked]) -> Iterator[dict[str, Any]]:
    """Yield the rows of kac's journal for requests that kac made."""
    for number, each in enumerate(asked):
        hidden = (each.value is not None and each.value.startswith(HIDDEN)) or each.key == SCRAM
        yield {
            "cluster_id": world.cluster_id,
            "change_id": number,
            "edit": 0,
            "host": "ops1",
            "intent_ts": each.at - timedelta(milliseconds=200),
            "end_ts": each.at + timedelta(milliseconds=200 + number),
            "status": "applied",
            "entity_type": each.key.type,
            "entity_key": each.key.entity,
            "attr": each.key.attr,
            "op": each.op,
            "old_value": None,
            "old_source": None,
            "value": None if hidden or each.value == "-1" else each.value,
            "is_sensitive": hidden,
            "principal": each.who.removeprefix("User:"),
            "os_user": "ops",
            "client_host": "192.0.2.1",
            "door": "console",
            "reverts": None,
            "error": None,
            "run_id": "r4",
        }


def renamed(world: World, cluster_id: str) -> World:
    """Return a copy of the history with another cluster id."""
    return replace(world, cluster_id=cluster_id)
