"""Causes in brokers: a broker or a whole rack is down, goes up and down, does not answer, or leads too few
partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from console.model.changes import BrokerTarget
from console.model.cluster import Topic, partition_in
from console.model.config import ConfigResource, broker_resource
from console.model.elections import may_have_more
from console.model.feature_levels import METADATA_VERSION, newest_levels
from console.model.inheritance import values_of_brokers
from console.model.numbers import first_few, long_number, plural, time_of_day
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot
from console.triage import cause, symptoms
from console.triage.answer_times import middle
from console.triage.connection_limits import limits_set
from console.triage.events import ADDRESS
from console.triage.observations import FLAPS, UNHEARD, Interval, Observations
from console.triage.remembered import remembered
from console.triage.restarts import Restart, hurt, restarting, undecided

AWAY = timedelta(minutes=10)
"""The duration of a long but usual restart of a broker: the stop closes the logs, an upgrade of the host's packages or
a new pod takes some minutes, and the start reads the logs.
"""
LASTS = timedelta(seconds=3)
"""The time for which a follower on a running broker has to be out of an ISR before this counts as a problem."""
ELECTED = timedelta(minutes=10)
"""The time after a broker's return within which the controller elects preferred leaders by itself: twice
leader.imbalance.check.interval.seconds.
"""
OFTEN, PERIOD = 4, timedelta(minutes=5)
"""Minimum number of times that a broker did not answer within a period for a broker that stops again and again."""
FENCED_AFTER = 30.0
"""Seconds without a heartbeat after which a broker certainly is fenced: three times broker.session.timeout.ms."""

_OF_BROKERS = frozenset(
    {
        symptoms.BROKER_GONE,
        symptoms.BROKER_SILENT,
        symptoms.NOT_PREFERRED,
        symptoms.REBALANCING,
        symptoms.VIEWS_DISAGREE,
        symptoms.VOTER_BEHIND,
    }
)


def follows(*brokers: int, alone: bool = False) -> tuple[cause.Prediction, ...]:
    """Return predictions of the symptoms that the absence of brokers has: those of the brokers, of their replicas, and
    of the groups that they coordinate. alone: whether to leave out partitions that also lack another broker.
    """
    these = frozenset(brokers)
    return cause.Prediction(frozenset(symptoms.OF_REPLICAS), brokers=these, only=alone), cause.Prediction(
        _OF_BROKERS, brokers=these
    )


def added_replicas(observations: Observations) -> frozenset[tuple[str, int, int]]:
    """Return (topic, partition, broker) of the replicas that running reassignments add: these are in no ISR yet."""
    moves = observations.last.snapshot.reassignments
    return frozenset((each.topic, each.partition, broker) for each in moves for broker in each.adding)


def _led(observations: Observations, broker: int) -> str:
    leads, holds = _shares(observations.last.snapshot.topics)
    return f"leads {leads[broker]:,} of the {holds[broker]:,} partitions that it has a replica of"


@remembered
def _shares(topics: Mapping[str, Topic]) -> tuple[Counter[int], Counter[int]]:
    """Return broker -> the number of partitions that it leads, and broker -> the number of partitions of which it has a
    replica.
    """
    partitions = [each for topic in topics.values() for each in topic.partitions]
    return Counter(each.leader for each in partitions), Counter(b for each in partitions for b in each.replicas)


def _away(observations: Observations) -> frozenset[int]:
    return symptoms.gone(observations.last.snapshot)


def _is_spare(observations: Observations, broker: int) -> bool:
    """Return whether nothing needs a broker: it has no replica of any topic, and no vote in the quorum. A broker that
    is being removed from the cluster is like that: it is shut down, and fenced until it is unregistered. False if it
    is unknown, as in a partly visible cluster: brokers omit topics that the principal may not describe, but log
    directories list them.
    """
    snapshot = observations.last.snapshot
    unread = any(each.part in (Part.TOPICS, Part.QUORUM) for each in snapshot.failures)
    if unread or not snapshot.topics or snapshot.quorum is None:
        return False
    held = {topic for dirs in snapshot.log_dirs.values() for each in dirs for topic in each.sizes}
    has_some = any(each.sizes for each in snapshot.log_dirs.get(broker, ()))
    if has_some or not snapshot.log_dirs or not held <= snapshot.topics.keys():
        return False
    return broker not in symptoms.with_replicas(snapshot.topics) and broker not in {
        each.id for each in snapshot.quorum.voters
    }


def _severity(observations: Observations, *brokers: int) -> Severity:
    """Return the severity of the failure of these brokers: INFO if the cluster needs none of them, else CRITICAL."""
    return Severity.INFO if all(_is_spare(observations, broker) for broker in brokers) else Severity.CRITICAL


def _racks(observations: Observations) -> dict[str, frozenset[int]]:
    """Return rack -> its brokers, at least two, for the racks whose brokers are all away while other racks have running
    brokers.
    """
    away = _away(observations)
    known = away.union(broker.id for broker in observations.last.snapshot.cluster.brokers)
    members: dict[str, set[int]] = {}
    for broker, rack in observations.racks.items():
        if broker in known:
            members.setdefault(rack, set()).add(broker)
    down = {rack: frozenset(ids) for rack, ids in members.items() if len(ids) > 1 and ids <= away}
    # If all racks are away, the cause is more likely the cluster, or the route to it, than each rack.
    return down if len(down) < len(members) else {}


def _rack_down(observations: Observations) -> Iterator[cause.Claim]:
    lost = _lost_controllers(observations)
    for rack, brokers in _racks(observations).items():
        ids = ", ".join(map(str, sorted(brokers)))
        is_cut_off = brokers <= lost
        yield cause.Claim(
            cause="rack-down",
            subject=symptoms.Subject(rack=rack),
            severity=_severity(observations, *brokers),
            certainty=Certainty.LIKELY if is_cut_off else Certainty.CERTAIN,
            title=f"all brokers of rack {rack} were fenced while they answered: the controllers do not hear them"
            if is_cut_off
            else f"all brokers of rack {rack} are down",
            since=observations.since(symptoms.Symptom(symptoms.BROKER_GONE, symptoms.Subject(broker=min(brokers)))),
            evidence=(
                cause.Evidence(f"brokers {ids} are fenced, all of rack {rack}; other racks answer", "DescribeCluster"),
            ),
            predicted=follows(*brokers),
            next=(
                cause.Next(
                    f"look at the network between rack {rack} and the controllers"
                    if is_cut_off
                    else f"look at rack {rack}: power, network, its zone"
                ),
            ),
        )


def _restarts(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that was stopped in order, until it is back and in sync, and for each that catches
    up.
    """
    for broker, restart in restarting(observations).items():
        handed_over, back = restart.handed_over, restart.back
        fewer = sum(broker in each.brokers for each in observations.of(symptoms.UNDER_REPLICATED))
        at = f"at {time_of_day(handed_over)}" if handed_over is not None else ""
        severity = _of_restart(observations, broker, restart)
        longer = _longer_than(observations, broker, restart) if severity is Severity.INFO else ""
        emptied = _emptied(observations, broker, back) if back is not None else ""
        files = _other_files(observations, broker) if longer else ""
        yield cause.Claim(
            cause="broker-restarting",
            subject=symptoms.Subject(broker=broker),
            severity=Severity.WARNING if longer else severity,
            certainty=Certainty.POSSIBLE if longer else Certainty.LIKELY,
            title=_restarted(broker, restart, late=_is_late(observations, restart))
            + (", with empty disks" if emptied else longer)
            + _fewer(fewer, back),
            since=handed_over or back,
            evidence=cause.given(
                cause.Evidence(
                    f"it was fenced, or led nothing and was in no ISR, {at} although it was up until then: one that "
                    "fails keeps its leaders until its session times out",
                    "DescribeCluster, Metadata",
                )
                if handed_over is not None
                else None,
                cause.Evidence(f"it answers again since {time_of_day(back)}", "ApiVersions") if back else None,
                cause.Evidence(emptied, "DescribeLogDirs, two looks") if emptied else None,
                cause.Evidence(files, "DescribeConfigs") if files else None,
            ),
            predicted=follows(broker),
            next=cause.given(
                cause.Next(
                    "if no disk was replaced, look whether its volume is mounted, and whether another host runs with "
                    f"its id: {address(observations, broker)}"
                )
                if emptied
                else None,
                cause.Next(
                    "look at its log for why it ended, as an invalid line of its file, and whether it still "
                    f"reads its logs: {address(observations, broker)}"
                )
                if longer
                else None,
                None if back else _start_again(observations, broker, is_late=bool(longer)),
                cause.Next(f"if it does not come back (outside the console: kac moves drain {broker})")
                if _is_late(observations, restart) and broker not in _copies(observations)
                else None,
            ),
        )


def _start_again(observations: Observations, broker: int, *, is_late: bool) -> cause.Next:
    """Return the step for a broker that was stopped in order. is_late: whether another step already names its log."""
    text = f"start it again if no one else does: {address(observations, broker)}"
    return cause.Next(text if is_late else f"{text}. If it does not start, only its own log has the reason")


def _restarted(broker: int, restart: Restart, *, late: bool) -> str:
    if restart.back is not None:
        return f"broker {broker} is back since {time_of_day(restart.back)}, and catches up"
    assert restart.handed_over is not None
    text = f"broker {broker} was stopped in order, its leaders were handed over at {time_of_day(restart.handed_over)}"
    return f"{text}, and it did not come back" if late else text


def _fewer(partitions: int, back: datetime | None) -> str:
    if not partitions:
        return ""
    until = "it has" if back else "it is back"
    return f"; {plural(partitions, 'partition')} {'has' if partitions == 1 else 'have'} one replica fewer until {until}"


HELD, LEFT = 100_000_000, 0.1
"""The bytes that a broker held at least before it went, and the share of them below which its disks are empty."""


def _emptied(observations: Observations, broker: int, back: datetime) -> str:
    """Return a text which says that a broker came back without its logs, on another volume or host; ``""`` if it has
    its logs, or if that is unknown.
    """
    mine = [samples for (id_, _), samples in observations.dirs.items() if id_ == broker]
    before = sum(max((each.held for each in samples if each.at <= back), default=0) for samples in mine)
    now = sum(min((each.held for each in samples if each.at > back), default=before) for samples in mine)
    if before < HELD or now > LEFT * before:
        return ""
    return f"its logs had {before:,} bytes before it went, and {now:,} when it was back: it copies all of its replicas"


LONGER, LONG = 4, timedelta(seconds=60)
"""A broker restarts for too long if it is away for this time at least, and for this many times the longest restart of
others that were seen lately."""
LONG_ALONE = timedelta(minutes=5)
"""The minimum duration of a restart that counts as unusually long if kac saw no other restart: many logs to load, or a
new pod, take minutes.
"""
_STEPS = tuple(timedelta(minutes=each) for each in (1, 2, 5))


def _longer_than(observations: Observations, broker: int, restart: Restart) -> str:
    """Return a text which says that a broker's restart takes longer than most restarts, and much longer than those of
    other brokers lately; ``""`` if it does not.
    """
    if restart.handed_over is None or restart.back is not None or _is_spare(observations, broker):
        return ""
    others = {id_: each.over - each.at for id_, each in observations.handed_over.items() if each.over and id_ != broker}
    away = observations.last.at - restart.handed_over
    if away <= (max(LONG, LONGER * max(others.values())) if others else LONG_ALONE):
        return ""
    # The text stays for minutes, so that the row does not change with each poll.
    minutes = max(each for each in _STEPS if each <= away) // timedelta(minutes=1)
    text = f", and is not back after more than {minutes} min"
    if not others:
        return text
    ids = first_few([str(each) for each in sorted(others)])
    most = max(others.values()).total_seconds()
    return f"{text}; broker{'s' if len(others) > 1 else ''} {ids} took {most:.0f} s{' at most' * (len(others) > 1)}"


def _other_files(observations: Observations, broker: int) -> str:
    """Return the lines that changed lately in the files of other brokers, which those read when they were restarted, as
    text; ``""`` if no line changed.
    """
    changed: dict[str, set[int]] = {}
    for each in observations.past.judged:
        about = each.place.about
        if each.from_file and isinstance(about, ConfigResource) and about != broker_resource(broker):
            changed.setdefault(each.place.key, set()).add(int(about.name))
    if not changed:
        return ""
    ids = sorted(set().union(*changed.values()))
    which = f"broker{'s' if len(ids) > 1 else ''} {first_few([str(each) for each in ids])}"
    return f"{which} came back with another {first_few(sorted(changed))}"


def _is_late(observations: Observations, restart: Restart) -> bool:
    """Return whether a broker that was stopped in order has been away for more than 10 minutes (`AWAY`)."""
    return (
        restart.back is None and restart.handed_over is not None and (observations.last.at - restart.handed_over > AWAY)
    )


def _of_restart(observations: Observations, broker: int, restart: Restart) -> Severity:
    """Return the severity of a broker's restart: by the symptoms that its partitions have meanwhile. Without symptoms,
    WARNING if the restart takes too long, else INFO; always INFO if nothing needs the broker.
    """
    if _is_spare(observations, broker):
        return Severity.INFO
    harm = hurt(observations, broker)
    if harm:
        return Severity.HIGH if harm == {symptoms.UNDER_MIN_ISR} else Severity.CRITICAL
    return Severity.WARNING if _is_late(observations, restart) else Severity.INFO


def _cut_off(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that was fenced although it answered until then: the controllers did not hear from
    it.
    """
    for broker in sorted(_lost_controllers(observations)):
        subject = symptoms.Subject(broker=broker)
        stop = observations.handed_over[broker]
        yield cause.Claim(
            cause="broker-cut-off",
            subject=subject,
            severity=_severity(observations, broker),
            certainty=Certainty.LIKELY,
            title=f"broker {broker} was fenced while it answered: the controllers hear nothing of it",
            since=stop.at,
            evidence=(
                cause.Evidence(_absence(observations, broker), "DescribeCluster"),
                cause.Evidence(
                    f"it answered until {time_of_day(stop.at)}, and had fetched nothing of the metadata log for "
                    f"{UNHEARD.total_seconds():.0f} s or more: a broker that stops in order fetches to its end",
                    "ApiVersions, DescribeQuorum",
                ),
                *_controller_too(observations, broker),
            ),
            predicted=follows(broker),
            next=(
                cause.Next(
                    f"look at {address(observations, broker)}: whether it runs, its way to the controllers, and its "
                    "log for heartbeats that time out. Clients with old metadata may still write to it"
                ),
            ),
        )


def _lost_controllers(observations: Observations) -> frozenset[int]:
    """Return the brokers that are fenced because the controllers did not hear from them while they answered clients."""
    lost = {broker for broker, each in observations.handed_over.items() if each.unheard and each.over is None}
    return frozenset(lost & _away(observations))


def _without_registration(observations: Observations) -> frozenset[int]:
    """Return the brokers that have replicas but are not registered; empty if the cluster does not list all
    registrations.
    """
    cluster = observations.last.snapshot.cluster
    return _away(observations).difference(each.id for each in cluster.brokers) if cluster.shows_fenced else frozenset()


def _unregistered(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker with replicas that is not registered: no API shows whether it runs."""
    snapshot = observations.last.snapshot
    copies = _copies(observations)
    for broker in sorted(_without_registration(observations)):
        end = observations.unregistered.get(broker)
        subject = symptoms.Subject(broker=broker)
        since = observations.since(symptoms.Symptom(symptoms.BROKER_GONE, subject))
        # A new broker may have got replicas after the listing.
        if end is None and since is not None and snapshot.read_at[Part.CLUSTER] < since:
            continue
        node = observations.past.nodes.get(broker)
        where = f" ({node.broker.host}:{node.broker.port})" if node is not None else ""
        held = _shares(snapshot.topics)[1][broker]
        its = f"has {'a replica' if held == 1 else 'replicas'} of {plural(held, 'partition')}"
        at = f"was unregistered at {time_of_day(end.at)}" if end is not None else "is not registered"
        ran = end is not None and end.ran
        yield cause.Claim(
            cause="broker-unregistered",
            subject=subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker} {at}" + (" while it ran" if ran else "") + f", and {its}",
            since=end.at if end is not None else None,
            evidence=cause.given(
                cause.Evidence(f"the cluster lists no broker {broker}, fenced ones included", "DescribeCluster"),
                cause.Evidence("it was listed as running, and answered, right before", "DescribeCluster, ApiVersions")
                if ran
                else None,
            ),
            predicted=follows(broker),
            next=cause.given(
                cause.Next(
                    f"restart broker {broker}{where}: it registers only when it starts, and does not learn that it "
                    "is out of the cluster"
                )
                if ran
                else cause.Next(f"start broker {broker}{where} again, with its disk, if it was not meant to go"),
                cause.Next(
                    f"if it was taken out for good: stop it, and move its replicas (outside the console: kac moves "
                    f"drain {broker})",
                    f"drain broker {broker}",
                )
                if broker not in copies
                else None,
            ),
        )


def _down(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that is fenced, or whose host refuses connections: a broker whose process ended is
    fenced only after its session times out.
    """
    away = _away(observations)
    absent = away | _refusing(observations)
    copies = _copies(observations)
    others = _leaving(observations) | _lost_controllers(observations) | _without_registration(observations)
    for broker in sorted(absent - others):
        subject = symptoms.Subject(broker=broker)
        # `_flapping` reports flapping brokers: name one cause for each broker.
        if observations.times((symptoms.BROKER_GONE, subject)) >= FLAPS:
            continue
        refuses = broker in observations.last.refusing
        is_spare = _is_spare(observations, broker)
        holds_up = _holds_up_level(observations, subject) if is_spare else ""
        only = _only_copies(copies.get(broker, ()), absent)
        lacks = f", and no broker that is up has all records of {first_few([each.name for each in only], 1)}"
        yield cause.Claim(
            cause="broker-down",
            subject=subject,
            severity=_severity(observations, broker),
            certainty=Certainty.CERTAIN if broker in away else Certainty.LIKELY,
            title=f"broker {broker} is down" + (", and has no replicas" if is_spare else lacks if only else ""),
            since=_since_away(observations, subject),
            times=max(1, observations.times((symptoms.BROKER_GONE, subject))),
            evidence=cause.given(
                cause.Evidence(_absence(observations, broker), "DescribeCluster") if broker in away else None,
                cause.Evidence(f"{_host(observations, broker)} refuses connections", "a new connection")
                if refuses
                else None,
                *_controller_too(observations, broker),
                *_why_only(only),
                cause.Evidence(holds_up, "ApiVersions") if holds_up else None,
            ),
            predicted=follows(broker),
            next=tuple(_steps(observations, broker, is_spare=is_spare, is_needed=broker in copies)),
        )


def _holds_up_level(observations: Observations, subject: symptoms.Subject) -> str:
    """Return a text which says that a broker that is away may prevent a higher metadata version: the controllers check
    the registrations of all brokers before they raise it. Only if the broker is away for longer than a restart
    takes, and the version is lower than the running brokers support; else ``""``, also if that is unknown.
    """
    since, versions = _since_away(observations, subject) or observations.began, observations.last.snapshot.versions
    if not versions or observations.last.at - since < AWAY:
        return ""
    level = newest_levels(versions.values()).get(METADATA_VERSION, 0)
    most = min(each.supported_features.get(METADATA_VERSION, (0, 0))[1] for each in versions.values())
    if not 0 < level < most:
        return ""
    return (
        f"{METADATA_VERSION} is {level}, and all running brokers support {most}; no API shows what a fenced one does: "
        "while it is registered, it may not be raised"
    )


def _steps(observations: Observations, broker: int, *, is_spare: bool, is_needed: bool) -> Iterator[cause.Next]:
    """Yield the steps for a broker that is down.

    Args:
        is_spare: whether nothing needs the broker (`_is_spare`).
        is_needed: whether a partition without a leader may need the broker's records: then other brokers can't copy its
            replicas.
    """
    where = f"{address(observations, broker)}: its process, host, disk, network"
    if is_needed:
        yield cause.Next(f"start broker {broker} again, with its disk: look at {where}")
        return
    yield cause.Next(f"look at {where}")
    if is_spare:
        yield cause.Next("if it was taken out, for good: unregister it", f"unregister broker {broker}")
        return
    # A crashed broker reads its logs again, with closed ports, and a drain copies all of its replicas to the others.
    since = _since_away(observations, symptoms.Subject(broker=broker)) or observations.began
    if observations.last.at - since > AWAY:
        yield cause.Next(
            f"if it does not come back (outside the console: kac moves drain {broker})", f"drain broker {broker}"
        )
    else:
        yield cause.Next(
            "if its log shows that it reads its segments again, wait: another restart begins it again. If it does not "
            f"come back within minutes, drain it (outside the console: kac moves drain {broker})"
        )


class _Copies(NamedTuple):
    """A partition without a leader: its replicas, and those of them that may have all records."""

    name: str
    replicas: tuple[int, ...]
    complete: tuple[int, ...]


def _copies(observations: Observations) -> Mapping[int, Sequence[_Copies]]:
    """Return broker -> the partitions without a leader of which it may have a complete copy."""
    snapshot = observations.last.snapshot
    found: dict[int, list[_Copies]] = {}
    for name in (symptoms.LEADERLESS, symptoms.COORDINATOR_LEADERLESS):
        for topic, number in ((each.subject.topic or "", each.subject.partition) for each in observations.of(name)):
            partition = partition_in(snapshot.topics.get(topic), number) if number is not None else None
            if partition is None:
                continue
            complete = may_have_more(partition, snapshot.replica_logs.get((topic, partition.number)))
            one = _Copies(f"{topic}/{number}", partition.replicas, complete)
            for broker in complete:
                found.setdefault(broker, []).append(one)
    return found


def _only_copies(some: Iterable[_Copies], absent: Collection[int]) -> list[_Copies]:
    """Return the partitions whose complete copies are all on brokers in `absent`."""
    return [each for each in some if all(broker in absent for broker in each.complete)]


def _why_only(some: Sequence[_Copies]) -> Iterator[cause.Evidence]:
    for each in some[:1]:
        complete = ", ".join(map(str, each.complete))
        text = f"{each.name} has replicas {', '.join(map(str, each.replicas))}, of which {complete} "
        text += f"{'is' if len(each.complete) == 1 else 'are'} in sync or eligible"
        if len(each.replicas) > len(each.complete):
            text += ": with another leader, an unclean one, it loses records"
        yield cause.Evidence(text, "Metadata, DescribeTopicPartitions")


def _leaving(observations: Observations) -> frozenset[int]:
    """Return the brokers that restart, and those of which the next poll shows whether they do (`undecided`)."""
    return undecided(observations).union(restarting(observations))


def _refusing(observations: Observations) -> frozenset[int]:
    """Return the brokers whose hosts refuse connections, as long as they may not be fenced yet. A broker that is still
    in the cluster after that time runs, and is only unreachable from this host.
    """
    return frozenset(
        broker
        for broker in observations.last.refusing - _elsewhere(observations)
        if (symptom := observations.seen.get((symptoms.BROKER_SILENT, symptoms.Subject(broker=broker)))) is not None
        and (
            (symptoms.NO_QUORUM_LEADER, symptoms.CLUSTER) in observations.seen  # no controller can fence it
            or (observations.last.at - (observations.since(symptom) or observations.began)).total_seconds()
            < FENCED_AFTER
        )
    )


def _elsewhere(observations: Observations) -> frozenset[int]:
    """Return the brokers that came back lately with another address: maybe no process listens there."""
    changed = (each.place for each in observations.past.judged)
    return frozenset(each.about.id for each in changed if each.key == ADDRESS and isinstance(each.about, BrokerTarget))


def _since_away(observations: Observations, subject: symptoms.Subject) -> datetime | None:
    """Return the time at which a broker went away, UTC: it stops answering before it is fenced. None if it was away at
    the first poll.
    """
    fenced, silent = (
        observations.intervals.get((name, subject), ())[-1:] for name in (symptoms.BROKER_GONE, symptoms.BROKER_SILENT)
    )
    fenced = tuple(each for each in fenced if each.ended is None)
    until = {None, *(each.began for each in fenced)}
    began = min(each.began for each in (*fenced, *(each for each in silent if each.ended in until)))
    return began if began > observations.began else None


def _absence(observations: Observations, broker: int) -> str:
    known = any(each.id == broker for each in observations.last.snapshot.cluster.brokers)
    return f"broker {broker} is fenced" if known else f"broker {broker} has replicas and is not in the cluster's list"


def _host(observations: Observations, broker: int) -> str:
    found = next((each for each in observations.last.snapshot.cluster.brokers if each.id == broker), None)
    return f"{found.host}:{found.port}" if found is not None else f"broker {broker}"


def address(observations: Observations, broker: int) -> str:
    """Return the host, the port and the rack of a broker as text; ``broker N`` if the cluster does not list it."""
    found = next((each for each in observations.last.snapshot.cluster.brokers if each.id == broker), None)
    if found is None:
        return f"broker {broker}"
    return f"{found.host}:{found.port}" + (f" in rack {found.rack}" if found.rack else "")


def _controller_too(observations: Observations, broker: int) -> Iterator[cause.Evidence]:
    """Yield the evidence that a broker is also a controller, with the controller that leads the quorum; nothing if it
    is not a controller.
    """
    quorum = observations.last.snapshot.quorum
    if quorum is None or broker not in {voter.id for voter in quorum.voters}:
        return
    leads = f"controller {quorum.leader_id} leads" if quorum.leader_id >= 0 else "none leads"
    text = f"it led when last described, {len(quorum.voters)} vote" if quorum.leader_id == broker else leads
    yield cause.Evidence(f"node {broker} is a controller, too: {text}", "DescribeQuorum")


SESSION, HEARTBEAT = "broker.session.timeout.ms", "broker.heartbeat.interval.ms"
LEAST_SESSION, BEATS = 6_000, 3
"""Milliseconds of a session, and heartbeats in it, below which controllers may fence brokers that run well."""


def _flapping(observations: Observations) -> Iterator[cause.Claim]:
    for subject, intervals in observations.intervals_of(symptoms.BROKER_GONE).items():
        broker = subject.broker
        if broker is None or len(intervals) < FLAPS:
            continue
        # Elect leaders only once it stays: each election moves clients, and the next absence moves them back.
        still = (symptoms.BROKER_GONE, subject) in observations.seen
        session = _short_session(observations, broker)
        yield cause.Claim(
            cause="broker-flapping",
            subject=subject,
            severity=_severity(observations, broker),
            certainty=Certainty.CERTAIN,
            title=f"broker {broker} goes down and up",
            since=intervals[0].began,
            times=len(intervals),
            evidence=cause.given(
                cause.Evidence(_rhythm(intervals), "DescribeCluster"),
                cause.Evidence(f"{session}: late heartbeats may fence it while it runs", "DescribeConfigs")
                if session
                else None,
                cause.Evidence(_led(observations, broker), "Metadata"),
            ),
            predicted=follows(broker),
            next=cause.given(
                cause.Next(
                    f"look at {address(observations, broker)}: if its process ends, at its log and at what kills it, "
                    "as a limit of memory or a probe; if not, at garbage collection, disk and network"
                ),
                cause.Next(
                    f"if its process does not end, look at {SESSION} in the controllers' files, which counts; if it is "
                    f"as short there, give them Kafka's default, {SESSION}=9000 with {HEARTBEAT}=2000, and restart "
                    "them one by one"
                )
                if session
                else None,
                None
                if still
                else cause.Next("once it has been up for 5 minutes, elect leaders", f"elect preferred broker {broker}"),
            ),
        )


def _short_session(observations: Observations, broker: int) -> str:
    """Return a text which says that a broker's session timeout is short. Return ``""`` if it is not short or unknown,
    or if kac saw that the broker did not answer: then its process may have ended.
    """
    snapshot, last = observations.last.snapshot, observations.last
    values = (values_of_brokers(snapshot, key).get(broker) or "" for key in (SESSION, HEARTBEAT))
    session, beat = map(long_number, values)
    if session is None or beat is None or session >= max(LEAST_SESSION, BEATS * beat):
        return ""
    was_silent = observations.intervals.get((symptoms.BROKER_SILENT, symptoms.Subject(broker=broker)))
    if was_silent or broker in last.silent or broker in last.refusing:
        return ""
    return f"{SESSION} of broker {broker} is {session:,}, and a heartbeat comes every {beat:,} ms"


def _rhythm(intervals: tuple[Interval, ...]) -> str:
    ended = [(each.ended - each.began).total_seconds() for each in intervals if each.ended is not None]
    gaps = [(b.began - a.began).total_seconds() for a, b in pairwise(intervals)]
    last = intervals[-1]
    text = f"went away {len(intervals)} times"
    if ended and gaps:
        text += f", {middle(ended):.0f} s of every {middle(gaps):.0f} s"
    up = f", up again {time_of_day(last.ended)}" if last.ended is not None else ""
    return f"{text}; last {time_of_day(last.began)}{up}"


def _ms(seconds: float) -> str:
    """Return seconds as text in milliseconds with two significant digits, so that small changes do not change the row's
    text.
    """
    return f"{float(f'{seconds * 1000:.2g}'):,.0f} ms"


FELT = 2.0
"""Median of the pauses without an answer, in seconds, from which on clients notice them even if replicas stay
in sync.
"""


def _stutters(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that answers now but stopped answering again and again, each time for less than a
    session timeout, so that it is not fenced.
    """
    by_broker = observations.intervals_of(symptoms.BROKER_SILENT)
    recent = {
        subject.broker: mine
        for subject, intervals in by_broker.items()
        for mine in (tuple(each for each in intervals if each.began >= observations.last.at - PERIOD),)
        if len(mine) >= OFTEN and subject.broker is not None
    }
    for broker, mine in recent.items():
        subject = symptoms.Subject(broker=broker)
        gap = middle((after.began - before.began).total_seconds() for before, after in pairwise(mine))
        is_over = observations.last.at - (mine[-1].ended or observations.last.at) > timedelta(seconds=2 * gap)
        others = [each for other, some in by_broker.items() if other != subject for each in some]
        # A host that is busy makes kac late for several brokers at once.
        alone = [each for each in mine if not any(_meet(each, other) for other in others)]
        was_gone = any(
            each.ended is None or each.ended >= observations.last.at - PERIOD
            for each in observations.intervals.get((symptoms.BROKER_GONE, subject), ())
        )
        fits = any(each.brokers == (broker,) for each in observations.of(symptoms.UNDER_REPLICATED))
        lasted = [(each.ended - each.began).total_seconds() for each in mine if each.ended is not None]
        is_short = not fits and bool(lasted) and middle(lasted) < FELT
        if (symptoms.BROKER_SILENT, subject) in observations.seen or is_over or was_gone or len(alone) < OFTEN:
            continue
        yield cause.Claim(
            cause="broker-unresponsive",
            subject=subject,
            severity=Severity.HIGH if fits else Severity.INFO if is_short else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"broker {broker} stops answering again and again",
            since=mine[0].began,
            times=len(mine),
            evidence=(
                cause.Evidence(_rhythm(mine), "ApiVersions over time"),
                cause.Evidence(_led(observations, broker), "Metadata"),
            ),
            predicted=follows(broker),
            next=(
                cause.Next(
                    f"look at {address(observations, broker)}: garbage collection, a disk that hangs, a limit of "
                    "processor time, the network to it"
                ),
            ),
        )


def _meet(one: Interval, other: Interval) -> bool:
    """Return whether two intervals overlap, or the time between them is shorter than a round of probes."""
    ends = (
        other.ended is None or one.began <= other.ended + LASTS,
        one.ended is None or other.began <= one.ended + LASTS,
    )
    return all(ends)


def _unresponsive(observations: Observations) -> Iterator[cause.Claim]:
    for symptom in observations.of(symptoms.BROKER_SILENT):
        broker = symptom.subject.broker
        last = observations.last
        away = _refusing(observations) | last.closing | last.denying | _leaving(observations)
        if broker is None or broker in away or (broker in last.refusing and broker in _elsewhere(observations)):
            continue
        how = "refuses connections" if broker in observations.last.refusing else "did not answer ApiVersions in time"
        # Silence alone may be caused by the network between here and the broker; if followers also fall behind, the
        # cluster itself is affected.
        fits = any(each.brokers == (broker,) for each in observations.of(symptoms.UNDER_REPLICATED))
        # A busy host, or a pause of garbage collection, holds up one response.
        is_brief = not fits and not observations.lasts(symptom.name, symptom.subject, LASTS)
        yield cause.Claim(
            cause="broker-unresponsive",
            subject=symptom.subject,
            severity=Severity.INFO if is_brief else _severity(observations, broker),
            certainty=Certainty.LIKELY if fits else Certainty.POSSIBLE,
            title=f"broker {broker} does not answer",
            since=observations.since(symptom),
            times=observations.times((symptom.name, symptom.subject)),
            evidence=(
                cause.Evidence(f"broker {broker} is registered, and {how}", "ApiVersions"),
                *_controller_too(observations, broker),
            ),
            predicted=follows(broker),
            next=(
                cause.Next(
                    f"look at {address(observations, broker)}: a stopped process, garbage collection, a hanging "
                    "disk, its limit of open files or threads, a full queue of new connections"
                ),
            ),
        )


def _slow(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that answers far later than the other brokers, and than itself at first."""
    away = _away(observations) | observations.last.silent | restarting(observations).keys()
    for broker, (seconds, first, others) in observations.late.items():
        if broker in away:
            continue
        fits = any(each.brokers == (broker,) for each in observations.of(symptoms.UNDER_REPLICATED))
        yield cause.Claim(
            cause="broker-slow",
            subject=symptoms.Subject(broker=broker),
            severity=Severity.HIGH if fits else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"broker {broker} takes {_ms(seconds)} to answer, the others {_ms(others)}",
            evidence=(
                cause.Evidence(
                    f"the median of its last new connections; of its first ones {_ms(first)}", "ApiVersions"
                ),
                cause.Evidence(_led(observations, broker), "Metadata"),
            ),
            predicted=cause.predict(*symptoms.OF_REPLICAS, brokers=frozenset({broker}), only=True),
            next=(
                cause.Next(
                    f"look at {address(observations, broker)}: its disk, its processors, garbage collection, and the "
                    "network to it: no API reports which of them is slow"
                ),
            ),
        )


def _closing(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that accepts connections and closes them before the first response."""
    for symptom in observations.of(symptoms.BROKER_SILENT):
        broker = symptom.subject.broker
        if broker is None or broker not in observations.last.closing - _leaving(observations):
            continue
        configs = observations.last.snapshot.configs.get(broker_resource(broker))
        limits = [*limits_set(configs)] if configs is not None else []
        set_ = ", ".join(f"{each.name}={each.value}" for each in limits)
        yield cause.Claim(
            cause="broker-turns-away",
            subject=symptom.subject,
            severity=_severity(observations, broker),
            certainty=Certainty.LIKELY if limits else Certainty.POSSIBLE,
            title=f"broker {broker} closes each new connection at once{f': {set_}' if limits else ''}",
            since=observations.since(symptom),
            times=observations.times((symptom.name, symptom.subject)),
            evidence=cause.given(
                cause.Evidence(
                    f"{_host(observations, broker)} accepts connections and closes them", "a new connection"
                ),
                cause.Evidence(f"a limit of connections is set there: {set_}", "DescribeConfigs") if limits else None,
            ),
            predicted=follows(broker),
            next=tuple(_limit_raised(observations, broker, [each.name for each in limits])),
        )


def _limit_raised(observations: Observations, broker: int, limits: list[str]) -> Iterator[cause.Next]:
    """Yield the steps against a limit of connections that is reached. A change of a broker's own config is sent to this
    broker, which accepts no further connection; a controller accepts the change, too (KIP-919).
    """
    tool = f"kac configs --bootstrap-controller HOST:PORT --broker {broker}"
    if limits:
        yield cause.Next(f"raise or unset the limit by a controller ({tool} --alter --delete-config {limits[0]})")
        return
    yield cause.Next(
        "look for a limit of connections: max.connections.per.ip, max.connections, max.connection.creation.rate. "
        f"A controller shows and takes the configs of broker {broker} ({tool} --describe)"
    )
    yield cause.Next(f"else look at a proxy before {address(observations, broker)}, and at the broker's log")


def not_there(observations: Observations) -> frozenset[int]:
    """Return the brokers whose replicas can't be in sync: they are away, do not answer, or restart."""
    silent = observations.last.silent - undecided(observations)
    return (_away(observations) | silent).union(restarting(observations))


def _skew(observations: Observations) -> Iterator[cause.Claim]:
    away = not_there(observations)
    for symptom in observations.of(symptoms.NOT_PREFERRED):
        broker = symptom.subject.broker
        # An election can't bring leaders back to a broker that is away; its absence is a cause of its own.
        if broker is None or broker in away:
            continue
        back, since = observations.came_back(broker, ELECTED), observations.since(symptom)
        elects = _elects(observations.last.snapshot)
        soon = elects and (back is not None or (since is not None and observations.last.at - since <= ELECTED))
        ails = _ails(observations, broker)
        yield cause.Claim(
            cause="leader-skew",
            subject=symptom.subject,
            severity=Severity.INFO if soon else Severity.WARNING,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker} does not lead {symptom.count:,} partitions of which it is the preferred leader",
            since=since,
            evidence=cause.given(
                cause.Evidence(_led(observations, broker), "Metadata"),
                cause.Evidence(f"it came back at {time_of_day(back)}", "Metadata") if back else None,
            ),
            predicted=cause.predict(symptoms.NOT_PREFERRED, subject=symptom.subject),
            next=(
                cause.Next(f"elect preferred leaders only once broker {broker} is well: {ails}")
                if ails
                else cause.Next("wait: the controller elects preferred leaders every 5 minutes")
                if soon
                else cause.Next("elect preferred leaders", f"elect preferred broker {broker}"),
            ),
        )


def _ails(observations: Observations, broker: int) -> str:
    """Return the reason, as text, why a running broker should not get more leaders now; ``""`` if there is none."""
    subject = symptoms.Subject(broker=broker)
    times = max(observations.times((name, subject)) for name in (symptoms.BROKER_GONE, symptoms.BROKER_SILENT))
    if times >= FLAPS:
        return f"it went away, or did not answer, {times} times in 30 minutes"
    if any(each.subject.broker == broker for each in observations.of(symptoms.DIR_ERROR)):
        return "a log directory of it failed"
    if any(each.subject.broker == broker for each in observations.of(symptoms.VIEWS_DISAGREE)):
        return "it does not know what the cluster decided"
    return "it answers slowly" if broker in observations.late else ""


def _elects(snapshot: Snapshot) -> bool:
    """Return whether the controller elects preferred leaders by itself (auto.leader.rebalance.enable); Kafka's default
    if the configs are unknown.
    """
    return "false" not in values_of_brokers(snapshot, "auto.leader.rebalance.enable").values()


def _metadata_behind(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each broker that still answers with former leaders, long after another broker answered with
    newer ones.
    """
    poll = observations.last
    for broker, late in poll.facts.views.behind(symptoms.LATE_SECONDS).items():
        subject = symptoms.Subject(broker=broker)
        symptom = observations.seen.get((symptoms.VIEWS_DISAGREE, subject))
        if symptom is None:
            continue
        worst = min(late, key=lambda each: each.since)
        lasts = poll.facts.views.at[broker] - worst.since
        shown = f"leader epoch {worst.shown}" if worst.shown >= 0 else "an unknown partition"
        place = f"{worst.topic}/{worst.partition}"
        replicas = (*poll.snapshot.quorum.voters, *poll.snapshot.quorum.observers) if poll.snapshot.quorum else ()
        lag = next((each.lag for each in replicas if each.id == broker and each.lag > 0), 0)
        yield cause.Claim(
            cause="metadata-behind",
            subject=subject,
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker} does not know what the cluster decided",
            since=observations.since(symptom),
            evidence=cause.given(
                cause.Evidence(
                    f"it has answered for {lasts:.0f} s: {place} is {shown}, while others know epoch {worst.known}"
                    + (f"; {plural(len(late) - 1, 'more partition')}" if len(late) > 1 else ""),
                    "Metadata",
                ),
                cause.Evidence(f"its metadata log is {lag:,} records behind", "DescribeQuorum") if lag else None,
            ),
            predicted=cause.predict(symptoms.VIEWS_DISAGREE, subject=subject),
            next=(
                cause.Next(
                    f"look at {address(observations, broker)}: its way to the active controller, its log for errors"
                ),
            ),
        )


def _answer(observations: Observations) -> str:
    """Return a text which says that all brokers that are not fenced answer in time; ``""`` if one does not."""
    which = "every other broker" if _away(observations) else "every broker"
    return "" if observations.last.silent else f"{which} answers in time"


def _rack_is_up(observations: Observations) -> str:
    return "" if _racks(observations) or not _away(observations) else "brokers of every rack answer"


CAUSES = (
    cause.CauseRule(
        "rack-down",
        _rack_down,
        _rack_is_up,
        reads="DescribeCluster, Metadata, refused connections; the brokers' racks",
        takes=(
            "certain: all brokers of a rack of two or more are down, and another rack answers. Before Kafka 4.0 only "
            "brokers count that kac has seen running. Likely: they answered until they were fenced"
        ),
    ),
    cause.CauseRule(
        "broker-flapping",
        _flapping,
        reads="DescribeCluster and Metadata over time",
        takes="certain: the broker was away at least 3 times in 30 minutes",
    ),
    cause.CauseRule(
        "broker-restarting",
        _restarts,
        reads="Metadata and DescribeCluster over time, ApiVersions",
        takes=(
            "information: the broker handed its leaders over before it went, or it is back and catches up. A warning "
            "after 10 minutes or, as possible, after one minute if that is 4 times as long as others took; high below "
            "min ISR, critical without a leader"
        ),
    ),
    cause.CauseRule(
        "broker-down",
        _down,
        lambda c: "" if _away(c) | c.last.refusing else "no broker is fenced or missing",
        reads=("DescribeCluster with fenced brokers, before Kafka 4.0 replica lists and Metadata; refused connections"),
        takes=(
            "certain after the cluster has fenced the broker, likely before. A broker without replicas and without a "
            "vote is only information"
        ),
    ),
    cause.CauseRule(
        "broker-unregistered",
        _unregistered,
        reads="DescribeCluster with fenced brokers, over time; Metadata",
        takes="certain: a broker has replicas, and is not among the registered ones",
        since="4.0",
    ),
    cause.CauseRule(
        "broker-cut-off",
        _cut_off,
        reads="DescribeCluster, ApiVersions and DescribeQuorum over time",
        takes=(
            "likely: the broker answered until it was fenced, and had fetched nothing of the metadata log for 7 s then"
        ),
        since="3.3",
    ),
    cause.CauseRule(
        "broker-turns-away",
        _closing,
        reads=("new connections that the broker closes before its first response; its limits of connections"),
        takes="likely if the broker has such a limit, else possible",
    ),
    cause.CauseRule(
        "broker-unresponsive",
        lambda observations: (*_unresponsive(observations), *_stutters(observations)),
        _answer,
        reads="ApiVersions on a new connection, 1.5 s",
        takes=(
            "likely if the broker's replicas leave ISRs, or if it alone did not answer at least 4 times in 5 minutes; "
            "else possible"
        ),
    ),
    cause.CauseRule(
        "broker-slow",
        _slow,
        reads="ApiVersions on new connections, 8 of each of three or more brokers",
        takes=(
            "likely: the median is 100 ms or more, 5 times that of the others, and 4 times the broker's own at first; "
            "until it is below half of that"
        ),
    ),
    cause.CauseRule(
        "leader-skew",
        _skew,
        reads="Metadata, DescribeConfigs",
        takes=(
            "certain: other brokers lead more than a tenth of the partitions whose preferred leader this broker is. "
            "Information for 10 minutes, while the controller elects by itself"
        ),
    ),
    cause.CauseRule(
        "metadata-behind",
        _metadata_behind,
        reads="Metadata of each broker in turn",
        takes="certain: for 8 s a broker shows a leader epoch below one that kac knew before the request",
    ),
)
