"""Rules on Connect: its workers, and the configs of its connectors.

Connect's own topics are checked by the rules on compaction and on replicas.
"""

from __future__ import annotations

from collections.abc import Iterator

from console.lint import rule as lint_rule
from console.lint.replicas import may_be_held
from console.lint.rule import NAMED, Found, Seen, rule
from console.model import connect
from console.model.config import ConfigResource, ConfigSet, is_override
from console.model.connect import ConnectCluster, Connector, ConnectTarget, connector_resource
from console.model.grouping import grouped
from console.model.mirror import MIRROR_CLASSES
from console.model.numbers import first_few, long_number, plural
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.edits import SetConfig

TASKS, LOGGED = "tasks.max", "errors.log.enable"


def _connectors(seen: Seen) -> Iterator[tuple[ConfigResource, Connector, ConfigSet]]:
    """Yield the connectors whose config was read, each with its config resource and config."""
    for name, cluster in sorted(seen.snapshot.connect.items()):
        for each in cluster.connectors.values():
            resource = connector_resource(name, each.name)
            config = seen.snapshot.configs.get(resource)
            if config is not None:
                yield resource, each, config


def _sinks(seen: Seen) -> Iterator[tuple[ConfigResource, Connector, ConfigSet]]:
    return (each for each in _connectors(seen) if each[1].kind == connect.SINK)


@rule(
    name="sink-drops-records",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a sink that tolerates all errors and has no topic for dead letters",
    why="A record that the sink can't convert or deliver is lost, and the connector is still RUNNING",
    needs=(Part.CONNECT,),
    also=(Part.CONFIGS,),
    since="2.0",
    source="KIP-298",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _tolerates_all(seen: Seen) -> Iterator[Found]:
    for resource, _, config in _sinks(seen):
        if connect.value_of(config, connect.TOLERANCE) != "all" or connect.value_of(config, connect.DEAD_LETTERS):
            continue
        is_logged = connect.value_of(config, LOGGED) == "true"
        what = "records that it can't process are left out" + (
            ": only the worker's log has them" if is_logged else ", and nothing keeps them"
        )
        advice = f"set {connect.DEAD_LETTERS} to a topic for them, or {connect.TOLERANCE}=none to stop at the first one"
        yield Found(resource, what, connect.TOLERANCE, advice=advice, hurts=not is_logged)


@rule(
    name="connector-without-tasks",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a connector that runs without a task",
    why="Tasks copy the records: the connector is RUNNING, and copies nothing",
    needs=(Part.CONNECT,),
    also=(Part.CONFIGS,),
    source="connect_running",
    stands_after=lint_rule.SETTLED,
    is_lasting=True,
)
def _without_tasks(seen: Seen) -> Iterator[Found]:
    for resource, each, config in _connectors(seen):
        if each.state != connect.RUNNING or each.tasks:
            continue
        # MirrorMaker's connectors have no task as long as no topic and no group is to be copied.
        named = connect.value_of(config, connect.CLASS)
        if not any(connect.is_class(mirror, named) for mirror in MIRROR_CLASSES):
            what = "it is RUNNING, and has no task: it copies nothing"
            advice = "look at its worker's log: for a source, whether it finds what it is to read; then restart it"
            yield Found(resource, what, command=("restart", "connector", resource.name), advice=advice)


@rule(
    name="sink-tasks-idle",
    severity=Severity.INFO,
    certainty=Certainty.CERTAIN,
    title="a sink with more tasks than partitions in its topics",
    why="Only one task reads a partition, so the other tasks wait, and each holds its connections",
    needs=(Part.CONNECT, Part.TOPICS),
    source="sinkconnectorconfigs_tasks.max",
)
def _idle_tasks(seen: Seen) -> Iterator[Found]:
    for resource, _, config in _sinks(seen):
        names = connect.listed_topics(config)
        topics = [topic for each in names if (topic := seen.topics.get(each)) is not None]
        wanted = long_number(connect.value_of(config, TASKS))
        partitions = sum(len(each.partitions) for each in topics)
        # Skip connectors that read a topic that does not exist yet, or topics by a pattern: they may get more
        # partitions.
        if wanted is not None and names and len(topics) == len(names) and 0 < partitions < wanted:
            what = (
                f"{TASKS} is {wanted:,}, and its topics have {plural(partitions, 'partition')}: the others read nothing"
            )
            yield Found(resource, what, TASKS, (SetConfig(resource, TASKS, str(partitions)),))


@rule(
    name="dead-letter-topic-missing",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a sink whose topic for dead letters does not exist",
    why="Workers create it when a task starts, so it was deleted later, or they may not create it",
    needs=(Part.CONNECT, Part.TOPICS),
    also=(Part.CONFIGS, Part.LOG_DIRS),
    since="2.0",
    source="KIP-298",
)
def _no_dead_letter_topic(seen: Seen) -> Iterator[Found]:
    for resource, each, config in _sinks(seen):
        topic = connect.value_of(config, connect.DEAD_LETTERS)
        if not each.tasks or not topic or connect.value_of(config, "admin.override.bootstrap.servers"):
            continue  # no task has made it yet, or it is in another cluster
        if connect.value_of(config, connect.TOLERANCE) == "all" and not (
            topic in seen.topics or may_be_held(seen.snapshot, topic)
        ):
            what = f"its dead letters go to {topic}, which is not there: its next one fails, or makes it by default"
            advice = f"create topic {topic}; a restart of the connector also does, if it may"
            yield Found(resource, what, connect.DEAD_LETTERS, advice=advice)


@rule(
    name="connector-secret-in-clear",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="a secret in the config of a connector, instead of a reference to a config provider",
    why="Connect's REST API shows configs to every client that it answers, and its config topic keeps them",
    needs=(Part.CONNECT,),
    source="KIP-297",
)
def _secrets(seen: Seen) -> Iterator[Found]:
    for resource, _, config in _connectors(seen):
        for entry in config:
            if entry.hidden and is_override(entry, resource):
                what = f"{entry.name} is set in clear: every client of the REST API, or of the config topic, sees it"
                advice = "let a config provider of the workers hold it, and set a reference: ${PROVIDER:PATH:KEY}"
                yield Found(resource, what, entry.name, advice=advice)


@rule(
    name="connect-one-worker",
    severity=Severity.INFO,
    certainty=Certainty.POSSIBLE,
    title="a Connect cluster with one worker",
    why="No other worker takes its tasks over when it stops or is upgraded",
    needs=(Part.CONNECT,),
    source="connect_running",
)
def _one_worker(seen: Seen) -> Iterator[Found]:
    for name, cluster in sorted(seen.snapshot.connect.items()):
        known = {each.worker for each in cluster.connectors.values()}
        known |= {task.worker for each in cluster.connectors.values() for task in each.tasks}
        if len(cluster.workers) == 1 and len(known - {""}) == 1 and cluster.connectors:
            what = f"all of its {plural(len(cluster.connectors), 'connector')} run on one worker, {min(known - {''})}"
            advice = "start another worker with its group.id, and name it in url of the context"
            yield Found(ConnectTarget(name), what, advice=advice)


@rule(
    name="connect-versions-differ",
    severity=Severity.INFO,
    certainty=Certainty.LIKELY,
    title="workers of different releases, or a plugin in two versions",
    why="A task behaves as the worker that runs it, and another worker may run it after the next rebalance",
    needs=(Part.CONNECT,),
    source="connect_plugindiscovery",
)
def _versions(seen: Seen) -> Iterator[Found]:
    for name, cluster in sorted(seen.snapshot.connect.items()):
        of_workers = grouped((each.version, each.address) for each in cluster.workers if each.failure is None)
        if len(of_workers) > 1:
            said = "; ".join(f"{version} on {first_few(some, NAMED)}" for version, some in sorted(of_workers.items()))
            yield Found(ConnectTarget(name), f"its workers differ: {said}", advice="finish the upgrade")
        yield from _plugins(name, cluster)


def _plugins(name: str, cluster: ConnectCluster) -> Iterator[Found]:
    found = grouped(sorted({((each.class_name, each.kind), each.version) for each in cluster.plugins}))
    twice = {class_name: some for (class_name, _), some in found.items() if len(some) > 1}
    if twice:
        class_name, some = next(iter(twice.items()))
        more = f", and {plural(len(twice) - 1, 'plugin')} more" if twice.keys() - {class_name} else ""
        what = f"{class_name} is there as {' and '.join(some)}{more}: which one runs depends on plugin.path"
        yield Found(
            ConnectTarget(name), what, advice="remove the one that is not meant from plugin.path of all workers"
        )
