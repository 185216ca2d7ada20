"""Finds the steps that revert a change in the schema registry by which connectors failed. Pure.

If a version is deleted, the records that were written with it stay in the topic and are still decoded by its id. So a
sink that failed at such a record fails there again, unless it skips the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from console.model import connect
from console.model.config import ConfigResource
from console.model.numbers import commas, first_few, plural
from console.model.snapshot import Snapshot
from console.model.topic_use import matches
from console.plan import edits
from console.plan.kinds.schemas import DropSchema, RestoreSchema
from console.triage import cause
from console.triage.connectors import is_tolerable, topics_of, trace_of
from console.triage.dependencies import topics_with
from console.triage.judged_changes import JudgedChange, Versions

_REPLICATION = "errors.deadletterqueue.topic.replication.factor"
_HEADERS = "errors.deadletterqueue.context.headers.enable"
_REPLICAS = 3
"""The replication factor with which a Connect worker creates a topic of dead letters, unless the connector's config has
another number.
"""
_LONGEST_TOPIC = 249
MOST_NAMED = 3
_NONE = Versions((), (), ())


def way_back(
    name: str, changed: Sequence[JudgedChange], failed: Mapping[str, int | None], snapshot: Snapshot
) -> Iterator[cause.Next]:
    """Yield the steps that revert the changes of a subject and restart the connectors that failed because of them.

    Args:
        name: the name of the subject in the schema registry.
        changed: the changes of the subject.
        failed: kac's name of each failed connector -> the number of a failed task; None if the connector itself failed.
    """
    versions = next((each.versions for each in changed if each.versions is not None), _NONE)
    deleted = [each for each in versions.deleted if _is_shown(name, each, snapshot)]
    lost = [each for each in versions.deleted if each not in deleted]
    new = versions.registered
    kept = {each: _leaves_out(each, name, task, snapshot) for each, task in failed.items()} if new else {}
    leaving = [each for each, staged in kept.items() if staged]
    stuck = [each for each, staged in kept.items() if not staged and _is_sink(each, snapshot)]
    starts = [each for each in failed if each not in stuck and not lost]
    back = (
        *(edit for each in changed for edit in each.back),
        *(DropSchema(name, number) for number in new),
        *(RestoreSchema(name, number) for number in deleted),
        *(edit for each in leaving for edit in kept[each]),
        *(edits.RestartConnector(each, only_failed=True, tasks=True) for each in starts),
    )
    if back:
        yield cause.Next(_what(leaving, starts), edits=back)
    if new:
        yield cause.Next(
            "have its writers use the former version: one that knows the id of the new one goes on with it"
        )
    if leaving:
        yield cause.Next(
            f"once the dead letters are understood, unset {connect.TOLERANCE} of {first_few(leaving, MOST_NAMED)}: it "
            "leaves out every record that it can't process"
        )
    if stuck:
        yield cause.Next(
            f"the records of the new version stay in the topic: {first_few(stuck, MOST_NAMED)} fails at them again. "
            "Stop it, reset its offsets behind them, and resume it"
        )
    if lost:
        yield cause.Next(
            f"register version {commas(lost)} again from a file (schema {name} @FILE), then restart what failed: the "
            "registry does not show it any more, and records that name its former id stay unreadable"
        )


def _is_shown(name: str, number: int, snapshot: Snapshot) -> bool:
    """Return whether the registry still returns a deleted version of the subject `name`, so that it can be registered
    again.
    """
    subject = snapshot.schemas.get(name)
    version = subject.version(number) if subject is not None else None
    return version is not None and version.id > 0


def _what(leaving: Sequence[str], starts: Sequence[str]) -> str:
    if leaving:
        leaves = "leave" if len(leaving) > 1 else "leaves"
        return (
            f"take it back; {first_few(leaving, MOST_NAMED)} {leaves} out the records that it can't process, and "
            f"{'keep' if len(leaving) > 1 else 'keeps'} them as dead letters; then restart what failed"
        )
    return f"take it back, and restart {plural(len(starts), 'connector')}" if starts else "take it back"


def _is_sink(name: str, snapshot: Snapshot) -> bool:
    known = connect.connector_in(snapshot.connect, name)
    return known is not None and known.kind == connect.SINK


def _leaves_out(name: str, subject: str, task: int | None, snapshot: Snapshot) -> tuple[edits.Edit, ...]:
    """Return the edits with which a sink skips the record at which it failed and writes it to a topic of dead letters.
    Empty if the sink can't do this.

    Args:
        name: kac's name of the connector.
        subject: the name of the subject in the schema registry.
        task: the number of the failed task; None if the connector itself failed.
    """
    resource = connect.connector_resource(*connect.split_name(name))
    config = snapshot.configs.get(resource)
    if not _is_sink(name, snapshot) or not is_tolerable(trace_of(snapshot.connect, name, task)):
        return ()
    tolerates = edits.SetConfig(resource, connect.TOLERANCE, "all")
    if connect.dead_letters(config):
        return (tolerates,)
    topic = _dead_letters_for(name, subject, resource, snapshot)
    if not topic:
        return ()
    brokers = sum(not each.fenced for each in snapshot.cluster.brokers)
    values = {connect.DEAD_LETTERS: topic, _HEADERS: "true"}
    values |= {_REPLICATION: str(brokers)} if 0 < brokers < _REPLICAS else {}
    return (tolerates, *(edits.SetConfig(resource, key, value) for key, value in values.items()))


def _dead_letters_for(name: str, subject: str, resource: ConfigResource, snapshot: Snapshot) -> str:
    """Return the name for a topic of the sink's dead letters that the sink does not read itself; ``""`` if none is
    free.
    """
    known, config = connect.connector_in(snapshot.connect, name), snapshot.configs.get(resource)
    if known is None or config is None:
        return ""
    read = topics_of(known, config)
    pattern = connect.value_of(config, connect.PATTERN)
    for topic in sorted(read.intersection(topics_with(subject, snapshot)) or read):
        for made in (f"{topic}-dead-letters", f"dead-letters-{topic}"):
            if len(made) <= _LONGEST_TOPIC and (not pattern or matches(pattern, made) is False):
                return made
    return ""
