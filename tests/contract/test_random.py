"""Test that a real cluster and an embedded one give the same answers to random requests, valid and invalid ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.contract import acls, recorded
from tests.contract.target import Target
from tests.contract.verbs import (
    ANY,
    APPEND,
    BROKER,
    BROKER_LOGGER,
    DEFAULT,
    DELETE,
    EXACT,
    SET,
    SUBTRACT,
    TOPIC,
    Op,
    alter,
    alter_each,
    alter_quotas,
    create_topics,
    delete_topics,
    describe,
    grow,
    partitions,
    quotas,
    replace,
    values,
)

REQUESTS = 250
Step = Callable[[], Any]

TOPIC_VALUES = {
    "cleanup.policy": ("compact", "delete", "compact,delete", "delete,compact", "", "none", " compact "),
    "compression.type": ("lz4", "producer", "LZ4", "rar"),
    "leader.replication.throttled.replicas": ("0:1", "0:1,1:1", "*", "0", ""),
    "max.compaction.lag.ms": ("5", "9223372036854775807", "0", "9223372036854775808"),
    "max.message.bytes": ("0", "2000000", "-1", "2147483648", "1e6"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "createtime"),
    "min.cleanable.dirty.ratio": ("0", "0.5", "1", "1.01", "-0.1", "half", "NaN"),
    "min.compaction.lag.ms": ("0", "10", "-1"),
    "min.insync.replicas": ("1", "2", "0", "x"),
    "no.such.key": ("1",),
    "preallocate": ("true", "FALSE", "yes", ""),
    "retention.ms": ("-1", "1000", "-2", "1.0", "0x10", " 5 ", "+7"),
    "segment.bytes": ("1073741824", "13", "1048576"),
    "unclean.leader.election.enable": ("true", "True", "1"),
}
BROKER_VALUES = {
    "background.threads": ("11", "0", "x"),
    "broker.rack": ("x",),
    "compression.type": ("gzip", "producer", "rar"),
    "listener.name.sasl_plaintext.max.connections": ("100", "x"),
    "log.cleaner.backoff.ms": ("20000", "-1"),
    "log.cleanup.policy": ("compact", "delete", "delete,compact", "x"),
    "log.retention.ms": ("5000", "-1", "x"),
    "max.connections": ("1000", "-1"),
    "message.max.bytes": ("2000000", "-1"),
    "no.such.key": ("1",),
    "ssl.keystore.location": ("x",),
}
USERS: tuple[str | None, ...] = ("u1", "u2", "<default>", "a b/c", "", None)
QUOTA_VALUES = (1.0, 5.0, 1e6, 0.5, 0.0, -1.0, 1e19, 2147483648.0, 1000.0000001)
QUOTA_KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
    "no.such.key",
)


@dataclass
class World:
    """A source of random requests. topics: the names of the topics that it has created and not deleted. made: the
    number of names that it has used.
    """

    target: Target
    chance: Random
    prefix: str
    topics: list[str] = field(default_factory=list)
    made: int = 0

    def step(self) -> tuple[str, Step]:
        """Choose a random request. Return the name of its kind, and a function that sends it."""
        kinds = (
            *[self.alter_configs] * 5,
            self.replace_configs,
            *[self.describe_configs] * 2,
            *[self.alter_quotas] * 3,
            *[self.describe_quotas] * 2,
            *[self.create_acls] * 2,
            self.describe_acls,
            self.delete_acls,
            self.create_topic,
            self.delete_topic,
            self.grow_topic,
        )
        kind = self.chance.choice(kinds)
        return kind.__name__, kind()

    def some_topic(self) -> str:
        return self.chance.choice([*self.topics, *self.topics, *self.topics, f"{self.prefix}-no", "a b"])

    def some_resource(self) -> tuple[int, str]:
        topic = (TOPIC, self.some_topic())
        return self.chance.choice([topic, topic, topic, topic, (BROKER, "1"), (BROKER, ""), (BROKER, "7"), (99, "x")])

    def some_op(self, kind: int) -> Op:
        values_of = TOPIC_VALUES if kind == TOPIC else BROKER_VALUES
        key = self.chance.choice(list(values_of))
        op = self.chance.choice([SET, SET, SET, SET, DELETE, APPEND, SUBTRACT])
        value = None if op == DELETE or self.chance.random() < 0.02 else self.chance.choice(values_of[key])
        return key, op, value

    def some_ops(self, kind: int) -> Sequence[Op]:
        return [self.some_op(kind) for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]

    def alter_configs(self) -> Step:
        resources = [self.some_resource() for _ in range(self.chance.choice([1, 1, 1, 2, 3]))]
        wanted = [(resource, self.some_ops(resource[0])) for resource in resources]
        dry = self.chance.random() < 0.3
        return lambda: alter_each(self.target, wanted, dry=dry, broker=1)

    def replace_configs(self) -> Step:
        wanted = {self.some_resource(): None for _ in range(self.chance.choice([1, 2]))}
        configs = [
            (resource, {key: value for key, _, value in self.some_ops(resource[0]) if value is not None})
            for resource in wanted
        ]
        dry = self.chance.random() < 0.5
        return lambda: replace(self.target, configs, dry=dry, broker=1)

    def describe_configs(self) -> Step:
        resources = [self.some_resource() for _ in range(self.chance.choice([1, 2]))]
        if self.chance.random() < 0.3:
            resources.append((BROKER_LOGGER, self.chance.choice(["", "7"])))
        keys = self.chance.choice([None, [*TOPIC_VALUES, *BROKER_VALUES], ["retention.ms", "log.retention.ms"]])
        return lambda: describe(self.target, resources, keys)

    def some_entity(self) -> list[tuple[str, str | None]]:
        kinds = self.chance.choice(
            [["user"], ["user"], ["client-id"], ["user", "client-id"], ["ip"], ["ip", "user"], ["group"], []]
        )
        ips: tuple[str | None, ...] = ("192.0.2.1", "192.0.2.2", None, "no ip")
        return [(kind, self.chance.choice(ips if kind == "ip" else USERS)) for kind in kinds]

    def alter_quotas(self) -> Step:
        wanted = []
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            keys = self.chance.sample(QUOTA_KEYS, self.chance.choice([1, 1, 2]))
            entity = self.some_entity()
            # A small default quota would throttle the test's own client.
            amounts = QUOTA_VALUES if all(name is not None for _, name in entity) else (1e6, 2e6)
            ops = {key: self.chance.choice([None, *amounts]) for key in keys}
            if all(set(entity) != set(other) for other, _ in wanted):
                wanted.append((entity, ops))
        dry = self.chance.random() < 0.3
        return lambda: alter_quotas(self.target, wanted, dry=dry)

    def describe_quotas(self) -> Step:
        components = []
        for kind, name in self.some_entity():
            match = self.chance.choice([EXACT, EXACT, DEFAULT, ANY])
            components.append((kind, match, (name or "u1") if match == EXACT else None))
        strict = self.chance.random() < 0.5
        return lambda: quotas(self.target, components, strict=strict)

    def some_binding(self) -> acls.Binding:
        chance = self.chance
        return acls.Binding(
            chance.choice([self.prefix, f"{self.prefix}-1", self.prefix[:-1], "*"]),
            chance.choice(["User:a", "User:b", "User:*"]),
            chance.choice([acls.TOPIC, acls.TOPIC, acls.GROUP, acls.TRANSACTIONAL_ID]),
            chance.choice([acls.LITERAL, acls.LITERAL, acls.PREFIXED]),
            chance.choice(["*", "192.0.2.1"]),
            chance.choice([acls.ALL, acls.READ, acls.WRITE]),
            chance.choice([acls.ALLOW, acls.DENY]),
        )

    def some_filter(self) -> acls.Filter:
        wanted, chance = self.some_binding(), self.chance
        return acls.Filter(
            chance.choice([None, wanted.name]),
            chance.choice([None, wanted.principal]),
            chance.choice([acls.ANY_TYPE, wanted.kind]),
            chance.choice([acls.ANY_, acls.MATCH, wanted.pattern]),
            chance.choice([None, wanted.host]),
            chance.choice([acls.ANY_OPERATION, wanted.operation]),
            chance.choice([acls.ANY_PERMISSION, wanted.permission]),
        )

    def create_acls(self) -> Step:
        bindings = [self.some_binding() for _ in range(self.chance.choice([1, 2, 4]))]
        return lambda: acls.create(self.target, *bindings)

    def describe_acls(self) -> Step:
        wanted = self.some_filter()
        return lambda: acls.found(self.target, wanted)

    def delete_acls(self) -> Step:
        wanted = self.some_filter()
        return lambda: acls.delete(self.target, wanted)

    def create_topic(self) -> Step:
        self.made += 1
        name = self.chance.choice([f"{self.prefix}-{self.made}", *self.topics[:1]])
        configs = {key: value for key, op, value in self.some_ops(TOPIC) if op == SET}
        shapes: list[dict[int, list[int]]] = [{0: [1]}, {0: [1], 1: [1]}, {0: [77]}, {1: [1]}, {0: []}]
        shape, dry = self.chance.choice(shapes), self.chance.random() < 0.3

        def create() -> None:
            told = create_topics(self.target, {name: shape}, configs, dry=dry)
            if told[name][0] == "NONE" and not dry:
                self.topics.append(name)
                partitions(self.target, name)  # wait until broker 1 knows the topic

        return create

    def delete_topic(self) -> Step:
        name = f"{self.prefix}-no"
        if len(self.topics) > 2 and self.chance.random() < 0.5:
            name = self.topics.pop()
        return lambda: delete_topics(self.target, name)

    def grow_topic(self) -> Step:
        name, count = self.some_topic(), self.chance.randrange(5)
        assignments = self.chance.choice([[[1]], [[1], [1]], [[77]], [[1, 1]]])
        return lambda: (grow(self.target, name, count, assignments), partitions(self.target, name))


@pytest.fixture
def world(target: Target, name: str) -> Iterator[World]:
    """Provide a source of random requests that has created two topics. Delete all that it created after the test."""
    made = World(target, Random(f"requests of {recorded.NAMED.get(target.release, target.release)}"), name)
    for topic in (f"{name}-a", f"{name}-b"):
        assert create_topics(target, {topic: {0: [1]}}) == {topic: ("NONE", None)}
        assert partitions(target, topic) == {0: [1]}
        made.topics.append(topic)
    yield made
    for side in target.sides():
        _tidy(side, made.topics)


def _tidy(side: Target, topics: Sequence[str]) -> None:
    for broker in ("1", ""):
        ours = [(key, DELETE, None) for key in values(side, BROKER, broker) if key in BROKER_VALUES]
        alter(side, BROKER, broker, *ours)
    for entity, limits in quotas(side, [])[1]:
        alter_quotas(side, [(entity, dict.fromkeys(limits))])
    acls.delete(side, acls.EVERYTHING)
    delete_topics(side, *topics)


@pytest.mark.compares
def test_answers_to_random_requests(world: World) -> None:
    for number in range(REQUESTS):
        name, step = world.step()
        try:
            step()
        except AssertionError as different:
            different.add_note(f"request {number}: {name} {_shown(step)}")
            raise


def _shown(step: Step) -> str:
    """Return the variables from which a random request is built as text, for the message of a failure."""
    names = step.__code__.co_freevars
    cells = step.__closure__ or ()
    return str({name: cell.cell_contents for name, cell in zip(names, cells, strict=True) if name != "self"})
