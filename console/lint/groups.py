"""Rules on groups, and on the names of topics."""

from __future__ import annotations

from collections.abc import Iterator

from console.lint.rule import AT_ONCE, NAMED, Found, Seen, rule
from console.model.changes import GroupTarget
from console.model.cluster import Topic
from console.model.codes import GROUP
from console.model.config import ConfigResource, topic_resource
from console.model.grouping import grouped
from console.model.numbers import first_few, plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.kinds.configs import DEAD_LETTERS

SHARE, CONSUMER, CLASSIC = "share", "consumer", "classic"
_WITH_DEAD_LETTERS = 2
"""The lowest level of the feature share.version at which share groups may have a dead-letter topic (KIP-1191)."""


@rule(
    name="group-half-moved",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="a group with members of the classic and of the new protocol",
    why="A migration was not finished, for example because a deployment stopped half way",
    needs=(Part.GROUPS, Part.LAGS),
    since="4.0",
    source="KIP-848",
)
def _half_moved(seen: Seen) -> Iterator[Found]:
    for name, group in sorted(seen.snapshot.groups.items()):
        members = group.members or ()
        old = [member for member in members if member.protocol == CLASSIC]
        if group.type == CONSUMER and old and len(old) < len(members):
            hosts = first_few(sorted({member.host.lstrip("/") for member in old}), NAMED)
            old_ones = plural(len(old), "member uses", "members use")
            what = f"{old_ones} the classic protocol, as on {hosts}, the others the new one"
            advice = "set group.protocol=consumer for these members, or take the others back"
            yield Found(GroupTarget(name), what, advice=advice)


@rule(
    name="share-group-without-dead-letters",
    severity=Severity.INFO,
    certainty=Certainty.POSSIBLE,
    title="a share group without a topic for records that it can't process",
    why="Such a record is lost without a trace after its last delivery",
    needs=(Part.GROUPS, Part.FEATURES, GROUP),
    since="4.4",
    source="KIP-1191",
)
def _no_dead_letters(seen: Seen) -> Iterator[Found]:
    features = seen.snapshot.features
    if features is None or features.finalized.get("share.version", 0) < _WITH_DEAD_LETTERS:
        return
    for name, group in sorted(seen.snapshot.groups.items()):
        configs = seen.snapshot.configs.get(ConfigResource(GROUP, name))
        entry = configs.get(DEAD_LETTERS) if configs is not None else None
        if group.type.lower() == SHARE and configs is not None and (entry is None or not entry.value):
            what = f"records that it can't process are dropped after their deliveries: {DEAD_LETTERS} is empty"
            advice = f"set group {name} {DEAD_LETTERS}=TOPIC"
            yield Found(ConfigResource(GROUP, name), what, DEAD_LETTERS, advice=advice)


@rule(
    name="names-collide",
    severity=Severity.INFO,
    certainty=Certainty.CERTAIN,
    title="topics whose names differ only in . and _",
    why="Their metrics overwrite each other; today brokers refuse to create such a topic",
    needs=(Part.TOPICS,),
    source="Topic.hasCollision",
)
def _colliding(seen: Seen) -> Iterator[Found]:
    dotted = (name for name in seen.topics if "." in name or "_" in name)
    for twins in grouped((name.replace(".", "_"), name) for name in dotted).values():
        if len(twins) > 1:
            first, *others = sorted(twins)
            what = f"its metrics have the same name as those of {first_few(others, NAMED)}: . counts as _ there"
            yield Found(topic_resource(first), what, advice="name one of them otherwise, when it is made again")


def _size(topic: Topic) -> int:
    return len(topic.partitions)


@rule(
    name="mirror-loop",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="topics that a mirror copies into themselves: x, p.x and p.p.x",
    why="If MirrorMaker has two aliases for one cluster, it copies each copy again, until names are too long",
    needs=(Part.TOPICS,),
    source="KIP-382",
    stands_after=AT_ONCE,
)
def _mirrored_into_itself(seen: Seen) -> Iterator[Found]:
    topics = seen.topics
    found: dict[str, list[str]] = {}
    for name, topic in topics.items():
        place = name.find(".")
        while 0 < place <= len(name) // 2:
            alias, copy, place = name[:place], name[place + 1 :], name.find(".", place + 1)
            if not copy.startswith(f"{alias}."):
                continue
            own = copy[len(alias) + 1 :]
            # A mirror gives a copy as many partitions as the topic has; without this check, equal names may be chance.
            if copy in topics and own in topics and len({*map(_size, (topic, topics[copy], topics[own]))}) == 1:
                # Skip a third copy, p.p.p.t, as p.p.t was already found for the same topic. This also excludes p.p as
                # an alias next to p.
                if not own.startswith(f"{alias}."):
                    found.setdefault(alias, []).append(own)
                break
    for alias, names in sorted(found.items()):
        first, *more = sorted(names)
        others = f", and of {plural(len(more), 'topic')} more" if more else ""
        what = f"{alias}.{first} and {alias}.{alias}.{first} are copies of it{others}: a mirror copies its own copies"
        advice = (
            f"stop the mirror whose source {alias} is this cluster itself, or exclude {alias}.* from it; delete its "
            "copies then"
        )
        yield Found(topic_resource(first), what, advice=advice)
