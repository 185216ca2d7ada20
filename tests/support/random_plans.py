"""Random edits from a small set of names and values, for tests with a model cluster and with real brokers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from console.model import codes, quota
from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser
from console.model.config import CLUSTER_DEFAULT, ConfigResource
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits

_T = TypeVar("_T")
Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class World:
    """The names and values that random edits use. lists: config key -> items that edits append and subtract.

    secrets: sensitive config keys of single brokers. loggers: names of brokers' loggers. Edits set their levels but
    never unset one, because clients can't read the level that applies to an unset logger.
    """

    topics: Sequence[str]
    brokers: Sequence[int]
    values: Mapping[codes.ResourceType, Values]
    lists: Mapping[codes.ResourceType, Values] = field(default_factory=dict)
    groups: Sequence[str] = ()
    metrics: Sequence[str] = ()
    loggers: Sequence[str] = ()
    secrets: Sequence[str] = ()
    users: Sequence[str] = ("alice", "bob", "<default>")
    quotas: Sequence[int] = (1, 1000, 1048576)
    replication: int = 1
    scram: bool = True


def random_edits(rng: Random, world: World, snapshot: Snapshot, most: int = 12) -> list[edits.Edit]:
    """Return at least one and at most `most` edits, chosen by `rng`; some contradict each other or change nothing."""
    return [_edit(rng, world, snapshot) for _ in range(rng.randint(1, most))]


def _edit(rng: Random, world: World, snapshot: Snapshot) -> edits.Edit:
    kind = rng.randrange(20)
    if kind < 10:
        return _config(rng, world)
    if kind < 13:
        return _quota(rng, world)
    if kind < 16:
        acl = _acl(rng, world)
        if rng.randrange(3) == 0 and snapshot.acls:
            acl = snapshot.acls[rng.randrange(len(snapshot.acls))]
        return edits.AddAcl(acl) if rng.randrange(2) else edits.RemoveAcl(acl)
    if kind < 18 or not world.scram:
        return _topic(rng, world, snapshot)
    user = ScramUser(_one(rng, world.users), codes.ScramMechanism(rng.randint(1, 2)))
    if rng.randrange(3) == 0:
        return edits.DeleteScram(user)
    return edits.UpsertScram(user, _one(rng, (4096, 8192)), Secret(_one(rng, ("one", "two"))))


def _config(rng: Random, world: World) -> edits.Edit:
    resource = _resource(rng, world)
    if resource.type == codes.BROKER_LOGGER:
        return edits.SetConfig(resource, _one(rng, world.loggers), _one(rng, ("DEBUG", "INFO", "warn")))
    if resource.type == codes.BROKER and resource.name and world.secrets and rng.randrange(6) == 0:
        key = _one(rng, world.secrets)
        return edits.SetConfig(resource, key, Secret("hush")) if rng.randrange(2) else edits.UnsetConfig(resource, key)
    lists = world.lists.get(resource.type, {})
    if lists and rng.randrange(3) == 0:
        key = _one(rng, list(lists))
        items = ",".join(_one(rng, lists[key]) for _ in range(rng.randint(1, 2)))
        return (
            edits.AppendConfig(resource, key, items) if rng.randrange(2) else edits.SubtractConfig(resource, key, items)
        )
    values = world.values[resource.type]
    key = _one(rng, list(values))
    return (
        edits.UnsetConfig(resource, key)
        if rng.randrange(3) == 0
        else edits.SetConfig(resource, key, _one(rng, values[key]))
    )


def _resource(rng: Random, world: World) -> ConfigResource:
    places = [ConfigResource(codes.TOPIC, name) for name in world.topics] * 2
    places += [ConfigResource(codes.BROKER, str(broker)) for broker in world.brokers] + [CLUSTER_DEFAULT] * 2
    places += [ConfigResource(codes.GROUP, name) for name in world.groups]
    places += [ConfigResource(codes.CLIENT_METRICS, name) for name in world.metrics]
    if world.loggers:
        places += [ConfigResource(codes.BROKER_LOGGER, str(broker)) for broker in world.brokers]
    return _one(rng, places)


def _quota(rng: Random, world: World) -> edits.Edit:
    name: str | None = _one(rng, (*world.users, None))
    client: str | None = _one(rng, ("app", "<default>", None))
    shapes: Sequence[dict[str, str | None]] = (
        {quota.USER: name},
        {quota.CLIENT_ID: client},
        {quota.CLIENT_ID: client, quota.USER: name},
        {quota.IP: _one(rng, ("127.0.0.9", None))},
    )
    entity = quota.QuotaEntity.of(_one(rng, shapes))
    key = quota.CONNECTION_CREATION_RATE if entity.has(quota.IP) else _one(rng, quota.CLIENT_KEYS)
    if rng.randrange(3) == 0:
        return edits.UnsetQuota(entity, key)
    return edits.SetQuota(entity, key, float(_one(rng, world.quotas)))


def _acl(rng: Random, world: World) -> Acl:
    on = _one(rng, ("TOPIC", "GROUP", "CLUSTER"))
    return Acl(
        codes.AclResourceType.parse(on),
        "kafka-cluster" if on == "CLUSTER" else _one(rng, world.topics),
        codes.PatternType.parse("LITERAL" if on == "CLUSTER" else _one(rng, ("LITERAL", "PREFIXED"))),
        f"User:{_one(rng, world.users)}",
        _one(rng, ("*", "127.0.0.1")),
        codes.AclOperation.parse(_one(rng, ("READ", "DESCRIBE"))),
        codes.Permission.parse(_one(rng, ("ALLOW", "DENY"))),
    )


def _topic(rng: Random, world: World, snapshot: Snapshot) -> edits.Edit:
    name = _one(rng, world.topics)
    kind = rng.randrange(4)
    if kind == 0:
        return edits.DeleteTopic(name)
    if kind == 1:
        now = snapshot.topics.get(name)
        return edits.GrowTopic(name, (len(now.partitions) if now else 1) + rng.randint(0, 2))
    values = world.values[codes.TOPIC]
    keys = rng.sample(list(values), rng.randint(0, 2))
    configs = {key: _one(rng, values[key]) for key in keys}
    if rng.randrange(4) == 0:
        return edits.CreateTopic(NewTopic(name, assignments=((world.brokers[0],),), configs=configs))
    return edits.CreateTopic(NewTopic(name, _one(rng, (-1, 1, 3)), world.replication, configs=configs))


def _one(rng: Random, among: Sequence[_T]) -> _T:
    return among[rng.randrange(len(among))]
