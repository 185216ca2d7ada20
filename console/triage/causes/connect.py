"""Causes in Kafka Connect: failed connectors and tasks, workers that are gone, tasks without a worker, dead letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from console.model import connect
from console.model.cluster import Group
from console.model.connect import ConnectCluster, Worker
from console.model.numbers import first_few, plural, time_of_day
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.amounts import measured_time
from console.plan.edits import RestartConnector, ResumeConnector
from console.triage import cause, connectors, symptoms
from console.triage.causes import changed
from console.triage.events import STATE
from console.triage.observations import Observations, earliest
from console.triage.symptoms import Subject, Symptom

RESTARTED = timedelta(minutes=10)
"""The time after a restart of a connector within which a new failure shows that another restart would not help."""
RESTARTS = timedelta(seconds=90)
"""Maximum time for which a worker that restarts does not answer: it loads its plugins and joins its cluster."""
BALANCES = timedelta(seconds=60)
"""Maximum time for which a rebalance leaves tasks without a worker."""
DELAYED = timedelta(minutes=6)
"""Maximum time for which tasks are without a worker after a worker left: they wait for its return for
scheduled.rebalance.max.delay.ms, 5 minutes by default.
"""
PAUSED_LONG, WAITED = timedelta(minutes=10), 30.0
"""The time after which a paused connector is no work of a moment, and may be forgotten; and the seconds for which
records have to wait for it."""
MOST_NAMED = 3
"""Maximum number of connectors, and of instances, that a text names."""
_STATES = "GET /connectors?expand=status"
_LONGEST_REASON = 120

_ADVICE: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"Authoriz|[Nn]ot authorized|AccessDenied|[Pp]ermission denied"),
        "give its principal the right that the reason names, on the brokers or in the system behind it",
    ),
    (
        re.compile(r"Authenticat|[Ll]ogin|[Cc]redential|[Pp]assword|401|403"),
        "look at its login: the system that the reason names refuses it",
    ),
    (
        re.compile(r"UnknownTopicOrPartition|not present in metadata"),
        "make the topic that the reason names, or take it out of the connector's config",
    ),
    (
        re.compile(r"RecordTooLarge|too large"),
        "allow larger records: max.message.bytes of the topic, and producer.override.max.request.size of the connector",
    ),
    (
        connectors.OF_RECORDS,
        "look at the record that the reason names, and at who writes such records; with errors.tolerance=all and "
        "errors.deadletterqueue.topic.name a sink leaves them out and keeps them",
    ),
    (
        re.compile(r"ClassNotFound|NoClassDefFound|NoSuchMethod|UnsupportedClassVersion|plugin"),
        "look at plugin.path of its worker: the plugin is missing there, or has another version than the others",
    ),
    (
        re.compile(r"ConfigException|[Ii]nvalid value|[Mm]issing required"),
        "correct its config",
    ),
    (
        re.compile(r"UnknownHost|[Cc]onnection|[Tt]imed? ?out|Timeout|[Uu]nreachable|[Uu]navailable|refused|SQL"),
        "see that the system behind it answers",
    ),
    (
        re.compile(r"NoSuchFile|FileNotFound|No space|IOException|[Rr]ead-only file"),
        "look at the file or the disk that the reason names, on its worker",
    ),
)
"""Pattern of a failure's reason -> the advice; the first pattern that matches counts."""
_ELSE = "look at the reason, and at the log of its worker"


# -- failed instances --------------------------------------------------------------------------------------------------


def _failed_connectors(observations: Observations) -> Iterator[cause.Claim]:
    for mine in _by_reason(observations):
        if any(each.task is None for each in mine):
            yield _failure(observations, mine, "connector-failed")


def _failed_tasks(observations: Observations) -> Iterator[cause.Claim]:
    for mine in _by_reason(observations):
        if all(each.task is not None for each in mine):
            yield _failure(observations, mine, "task-failed")


def _by_reason(observations: Observations) -> Iterable[list[connectors.Failed]]:
    """Return lists of the connectors and tasks that have failed. A list has those of one Connect cluster with the same
    reason; failures that a change explains are in lists of their own.
    """
    blamed = changed.blamed(observations)
    found: dict[tuple[str, str, object], list[connectors.Failed]] = {}
    for each in connectors.failed(observations.last.snapshot.connect):
        symptom = _symptom(each)
        if (symptom.name, symptom.subject) in observations.seen:
            # Without a reason, failures of two connectors can't be known to have the same cause.
            alike = connectors.likeness(each.reason) or each.connector
            of_change = blamed.get((symptom.name, symptom.subject))
            found.setdefault((each.cluster, alike, of_change), []).append(each)
    return found.values()


def _symptom(failed: connectors.Failed) -> Symptom:
    name = symptoms.CONNECTOR_FAILED if failed.task is None else symptoms.TASK_FAILED
    return Symptom(name, Subject(connector=failed.connector, task=failed.task))


def _failure(observations: Observations, mine: Sequence[connectors.Failed], name: str) -> cause.Claim:
    first = mine[0]
    names = list(dict.fromkeys(each.connector for each in mine))
    seen = [_symptom(each) for each in mine]
    key = connectors.likeness(first.reason)[:_LONGEST_REASON] or None
    is_one = len(names) == 1
    return cause.Claim(
        cause=name,
        subject=Subject(connector=first.connector, key=key)
        if is_one
        else Subject(entity=f"Connect {first.cluster}", key=key),
        severity=Severity.HIGH,
        certainty=Certainty.CERTAIN,
        title=_failure_title(observations, mine, names),
        since=earliest(map(observations.since, seen)),
        times=max(observations.times((each.name, each.subject)) for each in seen),
        evidence=tuple(_failure_evidence(mine)),
        predicted=(
            *cause.predict_each((each.subject for each in seen), symptoms.CONNECTOR_FAILED, symptoms.TASK_FAILED),
            *cause.predict_groups(connectors.groups_of(observations.last.snapshot, names)),
            *_of_mirrors(observations, names),
        ),
        next=tuple(_failure_steps(observations, mine, names)),
    )


def _failure_title(observations: Observations, mine: Sequence[connectors.Failed], names: Sequence[str]) -> str:
    reason = mine[0].reason
    why = f": {reason[:_LONGEST_REASON]}{'…' if len(reason) > _LONGEST_REASON else ''}" if reason else ""
    tasks = [each for each in mine if each.task is not None]
    if len(names) > 1:
        what = plural(len(mine), "instance") if len(tasks) < len(mine) else plural(len(tasks), "task")
        return f"{what} of {len(names):,} connectors of Connect {mine[0].cluster} failed{why}"
    if len(tasks) < len(mine):
        also = f", with {plural(len(tasks), 'task')}" if tasks else ""
        return f"connector {names[0]} failed{also}{why}"
    known = connect.connector_in(observations.last.snapshot.connect, names[0])
    count = len(known.tasks) if known is not None else len(tasks)
    which = f"task {tasks[0].task}" if len(tasks) == 1 else f"{len(tasks):,} of {count:,} tasks"
    return f"connector {names[0]}: {which} failed{why}"


def _failure_evidence(mine: Sequence[connectors.Failed]) -> Iterator[cause.Evidence]:
    for each in mine[:MOST_NAMED]:
        what = "the connector itself" if each.task is None else f"task {each.task}"
        where = f" on {each.worker}" if each.worker else ""
        reason = each.reason or "its worker gives no reason"
        yield cause.Evidence(f"{each.connector}: {what} is FAILED{where}: {reason}", _STATES)
    if mine[MOST_NAMED:]:
        yield cause.Evidence(f"and {plural(len(mine) - MOST_NAMED, 'more instance')} with the same reason", _STATES)


def _failure_steps(
    observations: Observations, mine: Sequence[connectors.Failed], names: Sequence[str]
) -> Iterator[cause.Next]:
    reason = mine[0].reason
    yield cause.Next(next((advice for fits, advice in _ADVICE if fits.search(reason)), _ELSE))
    again = _restarted(observations, mine)
    fresh = [name for name in names if name not in again]
    for name in [each for each in names if each in again][:MOST_NAMED]:
        at, who = again[name]
        yield cause.Next(
            f"{name} failed again within {measured_time(RESTARTED.total_seconds())} of the restart by {who} at "
            f"{time_of_day(at)}: another restart does not mend it"
        )
    if fresh:
        yield cause.Next(
            "restart what failed, once, when the reason is gone: Connect does not do it by itself",
            edits=tuple(RestartConnector(name, only_failed=True, tasks=True) for name in fresh),
        )


def _restarted(observations: Observations, mine: Sequence[connectors.Failed]) -> Mapping[str, tuple[datetime, str]]:
    """Return connector -> the time (UTC) and the author of a restart in this host's journal after which it failed
    again.
    """
    found = {}
    for each in mine:
        known = observations.last.facts.restarts.get(each.connector)
        # An instance that had failed at the first poll may have failed at any time before.
        since = observations.since(_symptom(each)) or observations.began
        if known is not None and since <= known.at + RESTARTED:
            found[each.connector] = known.at, known.who
    return found


def _of_mirrors(observations: Observations, names: Iterable[str]) -> tuple[cause.Prediction, ...]:
    """Return predictions of the symptoms of the flows that these connectors copy, if they are connectors of
    MirrorMaker.
    """
    wanted = frozenset(names)
    flows = (each for each in observations.last.snapshot.mirrors.values() if not wanted.isdisjoint(each.connectors))
    subjects = (symptoms.mirror_subject(each.name) for each in flows)
    return cause.predict_each(subjects, symptoms.MIRROR_SILENT, symptoms.MIRROR_HALTED)


# -- workers and rebalances --------------------------------------------------------------------------------------------


def _gone(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for cluster in snapshot.connect.values():
        for worker in connectors.gone_workers(cluster):
            subject = symptoms.worker_subject(cluster.name, worker.address)
            symptom = observations.seen.get((symptoms.WORKER_GONE, subject))
            if symptom is not None:
                yield _worker_gone(observations, cluster, worker, symptom)
        yield from _left(observations, cluster)


def _worker_gone(observations: Observations, cluster: ConnectCluster, worker: Worker, symptom: Symptom) -> cause.Claim:
    known = connectors.worker_id(worker)
    held, tasks = connectors.runs_on(cluster, known)
    since = observations.since(symptom)
    # A worker that left a moment ago may be restarting. A worker that was away at the first poll may have been away for
    # long.
    restarts = since is not None and observations.last.at - since < RESTARTS
    stand = f", and {plural(tasks, 'task')} {'is' if tasks == 1 else 'are'} given to it" if tasks else ""
    severity = Severity.INFO if restarts else Severity.HIGH if tasks or held else Severity.WARNING
    return cause.Claim(
        cause="worker-gone",
        subject=symptom.subject,
        severity=severity,
        certainty=Certainty.CERTAIN,
        title=f"worker {worker.address} of Connect {cluster.name} does not answer{stand}",
        since=since,
        evidence=cause.given(
            cause.Evidence(worker.failure.message if worker.failure is not None else "it does not answer", "GET /"),
            cause.Evidence(f"{_answering(cluster)} of its cluster answers", "GET /"),
            cause.Evidence(
                f"the states of {plural(held, 'connector')} and {plural(tasks, 'task')} name it: they stay RUNNING "
                "until its cluster notices, and wait for it up to scheduled.rebalance.max.delay.ms, 5 min by default",
                _STATES,
            )
            if tasks or held
            else None,
        ),
        predicted=(
            *cause.predict(symptoms.WORKER_GONE, subject=symptom.subject),
            *_of_tasks(observations, cluster, {known}),
        ),
        next=(
            cause.Next(
                "start it again, or look at its host and its log; if it is gone for good, take it out of the context: "
                "the others take its tasks over"
            ),
        ),
    )


def _answering(cluster: ConnectCluster) -> str:
    return next((each.address for each in cluster.workers if each.failure is None), "another worker")


def _of_tasks(
    observations: Observations, cluster: ConnectCluster, workers: Iterable[str]
) -> Iterator[cause.Prediction]:
    """Yield predictions for the connectors and tasks of workers that are gone: tasks are unassigned, and groups of
    sinks fall behind.
    """
    gone = frozenset(workers)
    names = [
        connect.full_name(cluster.name, each.name)
        for each in cluster.connectors.values()
        if each.worker in gone or any(task.worker in gone for task in each.tasks) or connectors.unassigned(each)
    ]
    yield from cause.predict_each((Subject(connector=name) for name in names), symptoms.TASKS_UNASSIGNED)
    yield from cause.predict_groups(connectors.groups_of(observations.last.snapshot, names))


def _waiting(observations: Observations, cluster: ConnectCluster) -> list[Symptom]:
    """Return the symptoms of a cluster's connectors that have instances which no worker has run for longer than a
    rebalance takes.
    """
    return [
        each
        for each in observations.of(symptoms.TASKS_UNASSIGNED)
        if connect.split_name(each.subject.connector or "")[0] == cluster.name
        and observations.lasts(each.name, each.subject, BALANCES)
    ]


def _left(observations: Observations, cluster: ConnectCluster) -> Iterator[cause.Claim]:
    """Yield one claim for all workers that left the cluster and are not in the context's settings, if instances wait
    for a worker.
    """
    configured = {connectors.worker_id(each) for each in cluster.workers}
    left = sorted(connectors.left_workers(cluster) - configured)
    waiting = _waiting(observations, cluster) if left else []
    if not waiting:
        return
    count = sum(each.count for each in waiting)
    since = earliest(map(observations.since, waiting))
    yield cause.Claim(
        cause="worker-gone",
        subject=symptoms.worker_subject(cluster.name, left[0]),
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"worker {first_few(left, MOST_NAMED)} of Connect {cluster.name} is gone, and "
        f"{plural(count, 'instance')} {'waits' if count == 1 else 'wait'} for it",
        since=since,
        evidence=(
            cause.Evidence(
                f"{_names(waiting)}: UNASSIGNED, on {first_few(left, MOST_NAMED)} before; nothing runs there", _STATES
            ),
            cause.Evidence(
                "its cluster gives them to others after scheduled.rebalance.max.delay.ms, 5 min by default",
                "Kafka's documentation",
            ),
        ),
        predicted=tuple(_of_tasks(observations, cluster, left)),
        next=(cause.Next("start it again, or look at its host and its log"),),
    )


def _names(some: Sequence[Symptom]) -> str:
    return first_few([each.subject.connector or "" for each in some], MOST_NAMED)


def _unassigned(observations: Observations) -> Iterator[cause.Claim]:
    for cluster in observations.last.snapshot.connect.values():
        waiting = _waiting(observations, cluster)
        if not waiting or connectors.gone_workers(cluster):
            continue
        if connectors.left_workers(cluster) - {connectors.worker_id(each) for each in cluster.workers}:
            continue  # the absence of a worker is the cause
        count = sum(each.count for each in waiting)
        is_long = any(observations.lasts(each.name, each.subject, DELAYED) for each in waiting)
        yield cause.Claim(
            cause="connect-rebalancing",
            subject=symptoms.connect_subject(cluster.name),
            severity=Severity.HIGH if is_long else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"Connect {cluster.name} gives {plural(count, 'instance')} to no worker",
            since=earliest(map(observations.since, waiting)),
            evidence=(
                cause.Evidence(f"{_names(waiting)}: UNASSIGNED", _STATES),
                cause.Evidence(f"all {plural(len(cluster.workers), 'worker')} of the context answer", "GET /"),
            ),
            predicted=tuple(_of_tasks(observations, cluster, ())),
            next=(
                cause.Next(
                    "look at the workers' logs for rebalances that do not end: a worker that joins and leaves, or that "
                    "can't read the config topic; a worker that left keeps its tasks for "
                    "scheduled.rebalance.max.delay.ms"
                ),
            ),
        )


def _unreachable(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for each in snapshot.failures:
        if each.part != Part.CONNECT or not each.entity:
            continue
        subject = symptoms.connect_subject(each.entity)
        symptom = observations.seen.get((symptoms.CONNECT_UNREACHABLE, subject))
        if symptom is None:
            continue
        was_read = each.entity in snapshot.connect
        since = observations.since(symptom)
        restarts = since is not None and observations.last.at - since < RESTARTS
        is_gone = each.failure.name == connectors.UNREACHABLE
        what = "no worker answers" if is_gone else "it can't be read"
        yield cause.Claim(
            cause="connect-unreachable",
            subject=subject,
            severity=Severity.INFO if restarts else Severity.HIGH if was_read else Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"Connect {each.entity}: {what}, so nothing is known of its connectors",
            since=since,
            evidence=(cause.Evidence(each.failure.message, "GET /connectors"),),
            predicted=cause.predict(symptoms.CONNECT_UNREACHABLE, subject=subject),
            next=(cause.Next(each.failure.remedy or "see that its workers run, and that url leads to them"),),
        )


# -- paused connectors and dead letters --------------------------------------------------------------------------------


def _paused(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for symptom in observations.of(symptoms.CONNECTOR_PAUSED):
        name = symptom.subject.connector or ""
        known = connect.connector_in(snapshot.connect, name)
        if known is None:
            continue
        groups = list(connectors.groups_of(observations.last.snapshot, (name,)))
        lagging = {each.subject.group for one in _WAITS for each in observations.of(one)}
        waits = [each for each in groups if each in lagging]
        since = observations.since(symptom)
        if not waits and not observations.lasts(symptom.name, symptom.subject, PAUSED_LONG) and since is not None:
            continue  # paused a short while ago: an operator probably works on it
        lag = snapshot.lags.get(waits[0]) if waits else None
        behind = f", and {plural(lag.total, 'record')} {'waits' if lag.total == 1 else 'wait'}" if lag else ""
        yield cause.Claim(
            cause="connector-paused",
            subject=symptom.subject,
            severity=Severity.WARNING if _is_forgotten(observations, symptom, name, waits) else Severity.INFO,
            certainty=Certainty.CERTAIN,
            title=f"connector {name} is {known.state.lower()}{behind}",
            since=since,
            evidence=(cause.Evidence(f"{name} is {known.state}: a client requested that", _STATES),),
            predicted=(
                *cause.predict(symptoms.CONNECTOR_PAUSED, subject=symptom.subject),
                *cause.predict_groups(groups),
                *_of_mirrors(observations, (name,)),
            ),
            next=(cause.Next("let it go on when the work is done", edits=(ResumeConnector(name),)),),
            idle=True,
        )


_WAITS = (symptoms.LAG_GROWS, symptoms.COMMITS_LATER, symptoms.COMMIT_STANDS_STILL)


def _is_forgotten(observations: Observations, symptom: Symptom, name: str, waits: Sequence[str]) -> bool:
    """Return whether another client than kac on this host paused a connector a while ago, while kac watched, and its
    records have waited since.

    Args:
        waits: the groups of the connector for which records wait.
    """
    known = connect.connector_in(observations.last.snapshot.connect, name)
    if known is None or observations.since(symptom) is None:
        return False
    key = connect.ConnectorTarget(name), STATE, known.state
    long = observations.lasts(symptom.name, symptom.subject, PAUSED_LONG)
    trends = [trend for each in waits if (trend := observations.last.snapshot.lag_trends.get(each)) is not None]
    waited = any(each.still >= WAITED for trend in trends for each in trend.partitions.values())
    return long and waited and key not in observations.last.facts.authors


def _dead_letters(observations: Observations) -> Iterator[cause.Claim]:
    poll = observations.last
    by_topic: dict[str, list[Symptom]] = {}
    for symptom in observations.of(symptoms.DEAD_LETTERS_GROW):
        cluster, name = connect.split_name(symptom.subject.connector or "")
        config = poll.snapshot.configs.get(connect.connector_resource(cluster, name))
        by_topic.setdefault(connect.dead_letters(config), []).append(symptom)
    for topic, mine in by_topic.items():
        count = symptoms.dead_letters_since(poll, topic)
        names = [each.subject.connector or "" for each in mine]
        who = (
            f"sink {names[0]} writes" if len(names) == 1 else f"one of the sinks {first_few(names, MOST_NAMED)} writes"
        )
        yield cause.Claim(
            cause="dead-letters-growing",
            subject=Subject(topic=topic),
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN if len(names) == 1 else Certainty.LIKELY,
            title=f"{who} records that it can't process to {topic}: {count:,} since the first look",
            since=earliest(map(observations.since, mine)),
            evidence=(
                cause.Evidence(
                    f"{topic} is {connect.DEAD_LETTERS} of {first_few(names, MOST_NAMED)}",
                    "GET /connectors?expand=info",
                ),
                cause.Evidence(f"{plural(count, 'record')} came to it meanwhile", "ListOffsets"),
            ),
            predicted=cause.predict_each((each.subject for each in mine), symptoms.DEAD_LETTERS_GROW),
            next=(
                cause.Next(
                    "look at them: with errors.deadletterqueue.context.headers.enable=true their headers say why",
                    f"records {topic}",
                ),
            ),
        )


# -- groups of sinks ---------------------------------------------------------------------------------------------------


def of_sinks(claims: Sequence[cause.Claim], observations: Observations) -> list[cause.Claim]:
    """Return the claims; to each that is about the group of a sink connector, the connector is added."""
    snapshot = observations.last.snapshot
    known = connectors.sinks(snapshot.connect, snapshot.configs) if snapshot.connect else {}
    if not known:
        return [*claims]
    return [
        _named(each, connectors.sharing(group, snapshot.connect, snapshot.configs), snapshot.groups.get(group))
        if (group := each.subject.group) is not None and group in known
        else each
        for each in claims
    ]


def _named(claim: cause.Claim, sinks: Sequence[connectors.Placed], group: Group | None) -> cause.Claim:
    """Return a claim about a group, extended by the sink connectors that read with the group.

    Args:
        group: the group; None if it does not exist any more.
    """
    name, sink = f"group {claim.subject.group}", sinks[0]
    running, tasks = len(sink.connector.tasks_in(connect.RUNNING)), len(sink.connector.tasks)
    fact = f"it is the group of sink {sink.name}, {sink.connector.state}: {running} of {plural(tasks, 'task')} run"
    evidence, steps = [cause.Evidence(fact, _STATES)], list[cause.Next]()
    title = claim.title.replace(name, f"{name} of sink {sink.name}", 1)
    if sinks[1:]:
        names = " and ".join(each.name for each in sinks)
        title = claim.title.replace(name, f"{name} of sinks {names}", 1)
        evidence.append(cause.Evidence(f"sinks {names} read with one group: each gets a part of the records", _STATES))
        steps.append(_OWN_GROUP)
    elif group is not None and not group.is_vacant and group.members is not None and len(group.members) < running:
        members = plural(len(group.members), "member")
        fact = f"{running} of its tasks run, and the group has {members}: not all of them are in it"
        evidence.append(cause.Evidence(fact, f"{_STATES}; DescribeGroups"))
        prefix = f"{connectors.TASK_OF}{sink.connector.name}-"
        inside = {each.client_id.removeprefix(prefix) for each in group.members}
        outside = [each.number for each in sink.connector.tasks_in(connect.RUNNING) if str(each.number) not in inside]
        if len(outside) == running - len(group.members):
            which = f"task{'s' if outside[1:] else ''} {first_few(list(map(str, outside)), MOST_NAMED)}"
            steps.append(cause.Next(f"restart {which} of it: their clients ({prefix}N) are no members of the group"))
    return replace(claim, title=title, evidence=(*claim.evidence, *evidence), next=(*steps, *claim.next))


_OWN_GROUP = cause.Next(
    "give one of these sinks another name, or a group of its own: consumer.override.group.id in its config, which its "
    "workers have to allow (connector.client.config.override.policy). A new group has no offsets: stop the sink, and "
    "set those of this group for the new one first, or it reads all again or misses records (auto.offset.reset)"
)

CAUSES = (
    cause.CauseRule(
        "connector-failed",
        _failed_connectors,
        reads="GET /connectors of Connect's workers; this host's journal",
        takes=(
            "certain: the state is FAILED; the title has the last line of the trace that gives the reason. Failures "
            "with the same reason are one row"
        ),
    ),
    cause.CauseRule(
        "task-failed",
        _failed_tasks,
        reads="GET /connectors of Connect's workers; this host's journal",
        takes="certain: as connector-failed, but the connector itself runs",
    ),
    cause.CauseRule(
        "worker-gone",
        _gone,
        reads="GET / of each worker of the context, GET /connectors",
        takes=(
            "certain: the worker does not answer while another one does; information for the first 90 s. Likely for a "
            "worker that is not in the context: its instances are UNASSIGNED for a minute, and it runs nothing else"
        ),
    ),
    cause.CauseRule(
        "connect-unreachable",
        _unreachable,
        reads="GET /connectors of each worker of the context",
        takes="certain: no worker answers, so the states of its connectors are unknown. Information for the first 90 s",
    ),
    cause.CauseRule(
        "connect-rebalancing",
        _unassigned,
        reads="GET /connectors over time",
        takes="likely: instances are UNASSIGNED for a minute while all workers answer",
    ),
    cause.CauseRule(
        "connector-paused",
        _paused,
        reads="GET /connectors over time, the lag of its group",
        takes=(
            "information: the connector was PAUSED or STOPPED at the first poll, or is so for 10 minutes, or its "
            "group falls behind. A warning 10 minutes after another client paused it, if records wait for 30 s"
        ),
    ),
    cause.CauseRule(
        "dead-letters-growing",
        _dead_letters,
        reads="GET /connectors, ListOffsets over time",
        takes="certain: records came to a sink's topic of dead letters; likely if several sinks share the topic",
    ),
)
