"""Causes in disks, remote storage, and the quorum of the metadata log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import chain

from console.model import disk_trend
from console.model.cluster import LogDir, Quorum, QuorumReplica, Reassignment, partition_in
from console.model.config import number_in, text_in, topic_resource
from console.model.inheritance import values_of_brokers
from console.model.nodes import controller_at
from console.model.numbers import first_few, long_number, plural, time_of_day
from console.model.parts import Part
from console.model.quorum import controllers_addresses, known_voters, leaders_clock, majority, voters_text
from console.model.severity import Certainty, Severity
from console.model.snapshot import Snapshot, held_sizes
from console.model.system_topics import system_topic
from console.plan.amounts import size
from console.plan.edits import CancelMove
from console.plan.topic_risks import POLICY, kept
from console.triage import cause
from console.triage import symptoms as triage_symptoms
from console.triage.filled import CERTAIN_BYTES, Dirs, Filled, filled, limits_of
from console.triage.observations import Observations, earliest, elections
from console.triage.odd_configs import odd_keys
from console.triage.remembered import RememberedEach
from console.triage.uncleaned import uncleaned


def _failed(observations: Observations) -> Iterator[cause.Claim]:
    for symptom in observations.of(triage_symptoms.DIR_ERROR):
        broker, path = symptom.subject.broker, symptom.subject.dir
        if broker is None:
            continue
        dirs = observations.last.snapshot.log_dirs.get(broker, ())
        failure = next((each.failure for each in dirs if each.path == path), None)
        yield cause.Claim(
            cause="log-dir-failed",
            subject=symptom.subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker}: log directory {path} failed",
            since=observations.since(symptom),
            evidence=(cause.Evidence(f"{path}: {failure}", "DescribeLogDirs"),),
            predicted=(
                *cause.predict(triage_symptoms.DIR_ERROR, subject=symptom.subject),
                *cause.predict(*triage_symptoms.OF_REPLICAS, brokers=frozenset({broker})),
            ),
            next=(
                cause.Next(
                    f"look at the disk of {path} on broker {broker}; a broker takes it back only when it restarts"
                ),
            ),
        )


TAKEN_IN = timedelta(seconds=10)
"""Maximum time between the reads of brokers and of topics, which may therefore show different moments."""


def _offline(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for replicas that are offline on running brokers: their log directory failed, which DescribeLogDirs
    may report only later.
    """
    known = {each.subject.broker for each in observations.of(triage_symptoms.DIR_ERROR)}
    away = triage_symptoms.gone(observations.last.snapshot) | observations.last.silent
    offline: dict[int, list[str]] = {}
    for topic, partition in triage_symptoms.out_of_sync(observations.last.snapshot.topics):
        for broker in partition.offline:
            if broker in known or broker in away or observations.came_back(broker, TAKEN_IN):
                continue
            subject = triage_symptoms.Subject(topic=topic, partition=partition.number)
            # Count a partition only once it lasts longer than kac needs to notice an absent broker.
            if observations.lasts(triage_symptoms.UNDER_REPLICATED, subject, TAKEN_IN):
                offline.setdefault(broker, []).append(f"{topic}/{partition.number}")
    for broker, places in sorted(offline.items()):
        yield cause.Claim(
            cause="log-dir-failed",
            subject=triage_symptoms.Subject(broker=broker),
            severity=Severity.CRITICAL,
            certainty=Certainty.LIKELY,
            title=f"broker {broker}: a log directory failed",
            evidence=(
                cause.Evidence(f"replicas of {first_few(places)} are offline on a broker that is up", "Metadata"),
            ),
            predicted=cause.predict(*triage_symptoms.OF_REPLICAS, brokers=frozenset({broker})),
            next=(
                cause.Next(f"look at the disks of broker {broker}; it takes a directory back only when it restarts"),
            ),
        )


Place = tuple[int, str]
"""A broker's id and the path of one of its log directories."""
SAME_FILES = 0.001
"""Share of a file system's size, 0 to 1, by which two readings of its free bytes may differ because it fills meanwhile.
Directories of one host whose free bytes are equal up to this share count as one file system.
"""
FEW = 0.1
"""Share of the used bytes, 0 to 1: if Kafka's logs make up less of a growth, they are not its reason."""


def _filling(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each file system that fills up; all log directories on it share the claim."""
    found = [place for place, samples in observations.dirs.items() if _fills(observations, place, samples)]
    systems = _file_systems(observations, found)
    for places, fills in zip(systems, _what_fill(observations, systems), strict=True):
        yield _fills_up(observations, places, fills)


def _fills(observations: Observations, place: Place, samples: tuple[disk_trend.DirSample, ...]) -> bool:
    believed = disk_trend.foreseen(samples)
    nearly = (
        triage_symptoms.DIR_NEARLY_FULL,
        triage_symptoms.Subject(broker=place[0], dir=place[1]),
    ) in observations.seen
    return nearly or (believed is not None and believed <= disk_trend.SOON)


def _file_systems(observations: Observations, places: Iterable[Place]) -> list[list[Place]]:
    """Return lists of the directories that are on the same file system, as far as sizes and free bytes show it."""
    groups: list[list[Place]] = []
    for place in sorted(places):
        mine = next((each for each in groups if _is_one(observations, each[0], place)), None)
        if mine is None:
            groups.append([place])
        else:
            mine.append(place)
    return groups


def _is_one(observations: Observations, one: Place, other: Place) -> bool:
    a, b = _dir(observations, one), _dir(observations, other)
    if a is None or b is None or a.total_bytes <= 0 or a.total_bytes != b.total_bytes:
        return False
    hosts = {each.id: each.host for each in observations.last.snapshot.cluster.brokers}
    # Two hosts may share a network volume, but then both report exactly the same bytes. The directories of one host are
    # read at slightly different times.
    is_near = one[0] == other[0] or (one[0] in hosts and hosts.get(one[0]) == hosts.get(other[0]))
    return abs(a.usable_bytes - b.usable_bytes) <= (SAME_FILES * a.total_bytes if is_near else 0)


def _dir(observations: Observations, place: Place) -> LogDir | None:
    return _dir_of(observations.last.snapshot.log_dirs, place)


def _dir_of(dirs: Dirs, place: Place) -> LogDir | None:
    return next((each for each in dirs.get(place[0], ()) if each.path == place[1]), None)


def _fills_up(observations: Observations, places: list[Place], fills: Filled | None) -> cause.Claim:
    path = places[0][1]
    samples = observations.dirs[places[0]]
    left = disk_trend.foreseen(samples) or disk_trend.seconds_left(samples)
    subjects = [triage_symptoms.Subject(broker=each[0], dir=each[1]) for each in places]
    symptoms = [
        observations.seen[triage_symptoms.DIR_NEARLY_FULL, each]
        for each in subjects
        if (triage_symptoms.DIR_NEARLY_FULL, each) in observations.seen
    ]
    known = _dir(observations, places[0])
    share = f" of {known.total_bytes:,}" if known is not None and known.total_bytes > 0 else ""
    brokers = sorted({each[0] for each in places})
    paths = sorted({each[1] for each in places})
    what = f"{path} fills up"
    if len(paths) > 1:
        what = f"{path} and {len(paths) - 1} more, one file system, fill up"
    elif len(brokers) > 1:
        what = f"{path}, one file system, fills up"
    rests = bool(symptoms) and _rests(samples)
    if rests:
        left = None
        what = f"{what.removesuffix(' fills up').removesuffix(' fill up')} {'are' if paths[1:] else 'is'} nearly full"
    others = _what_else(observations, places)
    fills = fills if not others else None
    moves = _moves_to(observations.last.snapshot.reassignments, places)
    if fills is not None:
        what += f": mostly {_named(fills)}"
    return cause.Claim(
        cause="disk-filling",
        subject=subjects[0],
        severity=Severity.WARNING
        if rests
        else Severity.CRITICAL
        if left is not None and left < disk_trend.SOON / 24
        else Severity.HIGH,
        certainty=Certainty.CERTAIN if symptoms else Certainty.LIKELY,
        title=f"broker{'s' if brokers[1:] else ''} {', '.join(map(str, brokers))}: {what}",
        since=earliest(map(observations.since, symptoms)),
        evidence=cause.given(
            cause.Evidence(f"{samples[-1].usable:,}{share} bytes are usable", "DescribeLogDirs"),
            cause.Evidence(f"of {len(places)} directories: their sizes are the same", "DescribeLogDirs")
            if places[1:]
            else None,
            cause.Evidence(f"at this rate it is full in {left / 60:,.0f} min", "two looks") if left else None,
            cause.Evidence(others, "DescribeLogDirs, two looks") if others else None,
            *(_share_of(observations.last.snapshot, fills) if fills is not None else ()),
            cause.Evidence(_other_moves(moves, brokers), "ListPartitionReassignments")
            if moves and not (fills and fills.places)
            else None,
            *_cordoned(known),
        ),
        predicted=cause.predict_each(subjects, triage_symptoms.DIR_NEARLY_FULL),
        next=cause.given(
            cause.Next("find what else writes there: other programs, their logs, dumps") if others else None,
            *(_steps(observations.last.snapshot, places, moves, fills) if not others else ()),
            # Another move takes no bytes from what other programs write.
            None if others or (fills and fills.comes) else _relief(observations.last.snapshot, places),
        ),
    )


def _moves_to(moves: Iterable[Reassignment], places: Sequence[Place]) -> frozenset[Reassignment]:
    """Return the reassignments that add a replica to a broker with one of these directories."""
    brokers = {broker for broker, _ in places}
    return frozenset(each for each in moves if not brokers.isdisjoint(each.adding))


def _other_moves(moves: Collection[Reassignment], brokers: Sequence[int]) -> str:
    """Return a text about running moves that are not the main reason for a growth; ``""`` if there are none."""
    ids = ", ".join(map(str, brokers))
    return f"{plural(len(moves), 'running move')} to broker {ids} {'is' if len(moves) == 1 else 'are'} not most of it"


def _what_fill(observations: Observations, systems: Sequence[Sequence[Place]]) -> Sequence[Filled | None]:
    """Return, for each file system, the topic or the moves that fill it; None if that is unknown, or if no topic has
    most of it.
    """
    looks, snapshot = observations.looks, observations.last.snapshot
    parts = []
    for places in systems:
        before = [each for place in places if looks and (each := _dir_of(looks.first, place)) is not None]
        now = [each for place in places if (each := _dir_of(snapshot.log_dirs, place)) is not None]
        are_known = len(before) == len(now) == len(places)
        dirs = (tuple(before), tuple(now)) if are_known else ((), ())
        ended = _moves_to(chain.from_iterable(looks.moves if looks else ()), places)
        running = _moves_to(snapshot.reassignments, places)
        parts.append((tuple(places), (*dirs, running, ended, _is_soon_full(observations.dirs[places[0]]))))
    return _each_filled.of(parts)


def _is_soon_full(samples: tuple[disk_trend.DirSample, ...]) -> bool | None:
    """Return whether a disk will soon be full at its present rate of growth; None while the rate is unknown."""
    believed, left = disk_trend.foreseen(samples), disk_trend.seconds_left(samples)
    if samples[-1].at - samples[0].at < timedelta(seconds=disk_trend.LEAST):
        return None
    return (believed is not None and believed <= disk_trend.SOON) or (left is not None and left <= disk_trend.SOON / 24)


_each_filled: RememberedEach[tuple[Place, ...], Filled | None] = RememberedEach(filled)


def _named(fills: Filled) -> str:
    """Return the topic or the moves that fill a disk as text for a title."""
    if fills.places:
        return f"replicas of {first_few(fills.topics)} that a reassignment brings"
    return f"new replicas of {fills.topics[0]}" if fills.copies else f"topic {fills.topics[0]}"


def _share_of(snapshot: Snapshot, fills: Filled) -> Iterator[cause.Evidence]:
    share = f"{100 * fills.size / fills.whole:.0f} %"
    if fills.places:
        text = f"{share} of the bytes that were used up are replicas that reassignments add"
        yield cause.Evidence(text, "DescribeLogDirs, two looks; ListPartitionReassignments")
        return
    (topic,) = fills.topics
    if fills.grows:
        yield cause.Evidence(f"{topic} grew by {share} of the bytes that were used up", "DescribeLogDirs, two looks")
    else:
        yield cause.Evidence(f"{topic} has {share} of the bytes of Kafka's logs there", "DescribeLogDirs")
    if not fills.copies and (limits := limits_of(snapshot, topic)):
        yield cause.Evidence(f"{topic}: {limits}", "DescribeConfigs")


MOST_CANCELLED = 5
"""Maximum number of moves that one step cancels."""


def _steps(
    snapshot: Snapshot, places: Sequence[Place], moves: frozenset[Reassignment], fills: Filled | None
) -> Iterator[cause.Next]:
    """Yield the steps against the topic or the moves that fill a disk; if they are unknown, the steps that find them.
    fills: None if unknown.
    """
    if fills is None:
        yield cause.Next("find what grows: topics by size, retention")
    elif fills.places:
        yield from _ended(snapshot, places, [each for each in moves if (each.topic, each.partition) in fills.places])
    elif fills.copies:
        yield cause.Next(
            f"look what brings replicas of {fills.topics[0]} there: a move, also between directories of the broker, or "
            "a new topic; a copy ends by itself"
        )
    else:
        yield _limited(snapshot, fills.topics[0])


def _ended(snapshot: Snapshot, places: Sequence[Place], moves: Sequence[Reassignment]) -> Iterator[cause.Next]:
    """Yield the steps that stop moves which fill a disk."""
    from console.plan.kinds.moves import is_unclean_to_cancel  # imported late, with the texts about such changes

    brokers = ", ".join(map(str, sorted({broker for broker, _ in places})))
    names = sorted(f"{each.topic}/{each.partition}" for each in moves)
    text = f"cancel the moves to broker {brokers} ({first_few(names)}), or slow them down with a throttle"
    if any(is_unclean_to_cancel(each, snapshot) for each in moves):
        yield cause.Next(f"slow the moves to broker {brokers} down with a throttle: {first_few(names)}")
    elif len(moves) <= MOST_CANCELLED:
        by_name = sorted(moves, key=lambda each: (each.topic, each.partition))
        yield cause.Next(text, edits=tuple(CancelMove(each.topic, each.partition) for each in by_name))
    else:
        yield cause.Next(text)


def _limited(snapshot: Snapshot, topic: str) -> cause.Next:
    """Return the step for a topic that fills a disk. It proposes a shorter retention only if retention deletes the
    topic's records and they are not the state of a system.
    """
    configs = snapshot.configs.get(topic_resource(topic))
    known = snapshot.topics.get(topic)
    policy = text_in(configs, POLICY) if configs is not None else ""
    if (known is not None and known.internal) or system_topic(topic, policy=policy or None) is not None:
        return cause.Next(
            f"look why {topic} grows, and whether its brokers' log cleaner works: a system keeps its state there, so "
            "add no retention"
        )
    limits = "retention.ms and retention.bytes (for each partition) delete its oldest records"
    if configs is None:
        return cause.Next(f"limit topic {topic}, or stop who writes to it: if its {POLICY} has delete, {limits}")
    if kept(configs).deletes:
        return cause.Next(f"limit topic {topic}, or stop who writes to it: {limits}")
    compacts = "why compaction does not shrink it (the log cleaner, min.cleanable.dirty.ratio, keys without end)"
    return cause.Next(
        f"look who writes to topic {topic}{f', and {compacts}' if policy else ''}: a retention has no effect without "
        f"delete in its {POLICY}, and with it records are lost"
    )


PLENTY = 50_000_000_000
"""Minimum number of free bytes with which a disk that is nearly full by its share has space for a while, unless it
fills up.
"""


def _rests(samples: tuple[disk_trend.DirSample, ...]) -> bool:
    """Return whether a disk that is nearly full has at least `PLENTY` (50 GB) of free bytes and will not be full within
    a day.
    """
    left = disk_trend.foreseen(samples)
    return samples[-1].usable >= PLENTY and (left is None or left > disk_trend.SOON)


def _relief(snapshot: Snapshot, places: Sequence[Place]) -> cause.Next:
    """Return the step that takes replicas off full directories: to another directory of the broker, else to other
    brokers, if these have enough space.
    """
    broker, full = places[0][0], set(places)
    dirs = [each for each in snapshot.log_dirs.get(broker, ()) if each.failure is None]
    spare = [(room, each.path) for each in dirs if (broker, each.path) not in full and (room := _room(each))]
    if spare:
        to = max(spare)[1]
        return cause.Next(f"move replicas into {to} on the same broker: move topic TOPIC broker {broker} to dir {to}")
    held = sum(each.size for each in dirs)
    crowded = {each[0] for each in places}
    others = [each.id for each in snapshot.cluster.brokers if not each.fenced and each.id not in crowded]
    rooms = [[_room(each) for each in snapshot.log_dirs.get(other, ())] for other in others]
    if not all(rooms) or None in chain.from_iterable(rooms):
        return cause.Next(
            "shorten a retention, delete a topic, or add a disk; before a move to other brokers, look at the room of "
            "their disks, which could not be read"
        )
    room = sum(max(each or 0 for each in mine) for mine in rooms)
    if room < held:
        return cause.Next(
            f"shorten a retention, delete a topic, or add a disk or a broker: the other brokers have no room for the "
            f"{held:,} bytes of broker {broker}"
        )
    return cause.Next(
        f"move replicas to other brokers (outside the console: kac moves drain {broker})", f"drain broker {broker}"
    )


def _room(log_dir: LogDir) -> int | None:
    """Return the bytes that can be added to a directory until only a fifth of its disk is free; None if unknown."""
    if log_dir.failure is not None or log_dir.cordoned:
        return 0
    if log_dir.usable_bytes < 0:
        return None
    return max(0, log_dir.usable_bytes - log_dir.total_bytes // 5)


def _what_else(observations: Observations, places: list[Place]) -> str:
    """Return a text which says that other files than Kafka's logs fill a file system; ``""`` if the logs do, or if it
    is unknown.
    """
    grown = [disk_trend.growth(observations.dirs[place]) for place in places]
    known = [each for each in grown if each is not None]
    if len(known) < len(places):
        return ""
    # Directories of one file system all report its free bytes, but each reports only its own logs.
    used, held = max(each.used for each in known), sum(each.held for each in known)
    if used < CERTAIN_BYTES or held > FEW * used:
        return ""
    return (
        f"Kafka's logs there grew by {max(0, held):,} of the {used:,} bytes that were used up: something else fills it"
    )


def _cordoned(known: LogDir | None) -> Iterator[cause.Evidence]:
    if known is not None and known.cordoned:
        yield cause.Evidence("it is cordoned: no new replica is put there", "DescribeLogDirs")


def _cleaner(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for a broker whose replicas of compacted partitions are far larger than the other replicas."""
    for each in uncleaned(observations.last.snapshot):
        subject = triage_symptoms.Subject(broker=each.broker)
        odd = {
            key: values for key, values in odd_keys(observations.last.snapshot, each.broker).items() if "cleaner" in key
        }
        yield cause.Claim(
            cause="cleaner-stopped",
            subject=subject,
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"broker {each.broker} does not compact its logs",
            since=observations.since(triage_symptoms.Symptom(triage_symptoms.COMPACTED_GROWS, subject)),
            evidence=(
                cause.Evidence(
                    f"{each.topic}/{each.partition} has {each.size:,} bytes there, {each.other:,} on the next largest "
                    f"replica; {each.replicas} partitions in all",
                    "DescribeLogDirs",
                ),
                *(
                    cause.Evidence(f"{key} is {mine}, {others} on the others", "DescribeConfigs")
                    for key, (mine, others) in odd.items()
                ),
            ),
            predicted=cause.predict(triage_symptoms.COMPACTED_GROWS, subject=subject),
            next=(
                cause.Next(
                    "look at its log-cleaner.log and uncleanable-partitions-count: a dead cleaner needs a restart"
                ),
            ),
        )


STANDS, SEGMENTS, SLOWEST = 60.0, 3, 2_000_000
"""Limits for copies to remote storage that stand still. Minimum seconds without a copied record: brokers copy only
closed segments, at an interval of remote.log.manager.task.interval.ms (30 s); the minimum number of segments that wait;
and the bytes per second of a slow copy, whose segments may take so long."""


def _not_copied(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for tiered topics whose closed segments are not copied to remote storage."""
    waiting = _waiting(observations)
    if not waiting:
        return
    topics = sorted({topic for topic, _ in waiting})
    (topic, number), much = max(waiting.items(), key=lambda each: each[1])
    tier, log = observations.tiers[topic, number], observations.last.facts.logs.logs[topic, number]
    snapshot = observations.last.snapshot
    leaders = sorted({snapshot.topics[name].partitions[part].leader for name, part in waiting})
    what = topics[0] if len(topics) == 1 else f"{len(topics):,} topics"
    yield cause.Claim(
        cause="remote-copy-stands",
        subject=triage_symptoms.Subject(topic=topic) if len(topics) == 1 else triage_symptoms.CLUSTER,
        severity=Severity.HIGH,
        certainty=Certainty.LIKELY,
        title=f"the copies of {what} to remote storage stand still, and brokers keep what is not copied",
        since=min(observations.tiers[place].since for place in waiting),
        evidence=(
            cause.Evidence(
                f"the last record of {topic}/{number} there is {tier.to:,}, its log ends at {log.last.end:,}",
                "ListOffsets -5 over time",
            ),
            cause.Evidence(
                f"about {size(round(much))} of it wait, {size(round(sum(waiting.values())))} of "
                f"{plural(len(waiting), 'partition')}",
                "DescribeLogDirs",
            ),
        ),
        next=(
            cause.Next(
                "look at the remote storage: its rights, its space, the way to it; the logs of "
                f"{'broker' if len(leaders) == 1 else 'brokers'} {first_few([*map(str, leaders)])} have the errors of "
                "RemoteLogManager"
            ),
        ),
    )


def _waiting(observations: Observations) -> Mapping[tuple[str, int], float]:
    """Return partition -> the bytes of closed segments that have waited for longer than a copy takes. Partitions whose
    leaders copied other segments meanwhile are left out.
    """
    snapshot, logs, at = observations.last.snapshot, observations.last.facts.logs.logs, observations.last.at
    places = {
        place: partition.leader
        for place, tier in observations.tiers.items()
        if (at - tier.since).total_seconds() >= max(STANDS, 3 * tier.pause)
        and not _is_copy_off(snapshot, place[0])
        # Brokers copy records only up to the last stable offset.
        and place in logs
        and logs[place].last.stable > tier.to + 1
        and (partition := partition_in(snapshot.topics.get(place[0]), place[1])) is not None
    }
    sizes = held_sizes(snapshot, places.keys()) if places else {}
    found = {}
    for place, leader in places.items():
        held, segment = sizes.get(place, {}).get(leader), _segment(snapshot, place[0])
        first, end = snapshot.tiered[place].local_from, logs[place].last.end
        if held is None or segment is None or first >= end:
            continue
        much = held * (end - max(first, observations.tiers[place].to + 1)) / (end - first)
        stands = (at - observations.tiers[place].since).total_seconds()
        if much >= SEGMENTS * segment and stands >= segment / SLOWEST:
            found[place] = much
    copied_lately = {
        partition.leader
        for (topic, number), tier in observations.tiers.items()
        if tier.moved
        and (at - tier.since).total_seconds() < STANDS
        and (partition := partition_in(snapshot.topics.get(topic), number)) is not None
    }
    return {place: much for place, much in found.items() if places[place] not in copied_lately}


def _segment(snapshot: Snapshot, topic: str) -> int | None:
    """Return the maximum size of a topic's segment in bytes; None if unknown."""
    configs = snapshot.configs.get(topic_resource(topic))
    return number_in(configs, "segment.bytes") if configs is not None else None


def _is_copy_off(snapshot: Snapshot, topic: str) -> bool:
    configs = snapshot.configs.get(topic_resource(topic))
    return configs is None or text_in(configs, COPY_OFF) == "true"


COPY_OFF = "remote.log.copy.disable"


# -- the quorum --------------------------------------------------------------------------------------------------------


def _lost(observations: Observations) -> Iterator[cause.Claim]:
    failure = next((each for each in observations.last.snapshot.failures if each.part == Part.QUORUM), None)
    symptom = observations.seen.get((triage_symptoms.NO_QUORUM_LEADER, triage_symptoms.CLUSTER))
    if symptom is None:
        return
    yield cause.Claim(
        cause="quorum-lost",
        subject=triage_symptoms.CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN if observations.last.snapshot.quorum is not None else Certainty.LIKELY,
        title="the metadata quorum has no leader",
        since=observations.since(symptom),
        evidence=cause.given(
            cause.Evidence(_without_leader(observations.last), "DescribeQuorum"),
            cause.Evidence(str(failure.failure), "DescribeQuorum") if failure is not None else None,
            *_who_votes(observations.last, str(failure.failure) if failure is not None else ""),
        ),
        predicted=cause.predict(
            triage_symptoms.NO_QUORUM_LEADER, triage_symptoms.VOTER_BEHIND, triage_symptoms.EPOCH_JUMPS
        ),
        next=(cause.Next(_majority_back(observations.last)), *_ask_controllers(observations.last.snapshot)),
    )


def _ask_controllers(snapshot: Snapshot) -> Iterator[cause.Next]:
    """Yield the step to connect to the controllers, if kac is connected to brokers: these do not report which
    controllers are down.
    """
    addresses = () if snapshot.cluster.controllers else controllers_addresses(snapshot)
    if addresses:
        yield cause.Next(f"look which of them are down: kac triage --bootstrap-controller {','.join(addresses[:3])}")


def _who_votes(poll: triage_symptoms.Poll, told: str) -> Iterator[cause.Evidence]:
    """Yield, as evidence, the voters as they were last reported or are configured; on a connection to controllers also
    if they are unknown. Nothing if the text `told`, which is shown next to it, names them already.
    """
    known = known_voters(poll.snapshot)
    if (text := voters_text(known)) in told or (known is None and not poll.snapshot.cluster.controllers):
        return
    yield cause.Evidence(text, "DescribeConfigs" if known is not None and known.at is None else "DescribeQuorum")


def _majority_back(poll: triage_symptoms.Poll) -> str:
    """Return, as text, which controllers have to be started so that there is a leader again; by name on a connection to
    controllers.
    """
    text = "bring back a majority of the controllers: nothing can be changed until then"
    controllers = {each.id for each in poll.snapshot.cluster.controllers}
    known = known_voters(poll.snapshot)
    voters = set(known.ids) if known is not None else controllers
    away = sorted(voters & poll.silent)
    missing = majority(len(voters)) - len(voters - poll.silent)
    if not controllers or missing < 1 or len(away) < missing:
        return text
    named = ", ".join(controller_at(poll.snapshot, each) for each in away)
    which = f"controller {named}" if len(away) == 1 else f"{missing} of controllers {named}"
    needed = f"{majority(len(voters))} of {len(voters)}"
    if known is None:  # without a leader, the voters are unknown
        return f"start {which} before any broker: {needed} controllers are needed, if all of them vote"
    return f"start {which} before any broker: {needed} voters are needed"


def _without_leader(poll: triage_symptoms.Poll) -> str:
    quorum, away = poll.snapshot.quorum, triage_symptoms.voters_away(poll)
    others = "other controllers" if poll.snapshot.cluster.controllers else "brokers"
    if quorum is not None and len(away) > len(quorum.voters) // 2:
        return f"voters {', '.join(map(str, sorted(away)))} are away, {len(away)} of {len(quorum.voters)}"
    silence = f"{triage_symptoms.quorum_silence(poll):.0f} s"
    if quorum is not None and quorum.leader_id >= 0:
        return f"not described for {silence}, while {others} answer"
    if quorum is None:
        return f"not described since it was first asked about, {silence} ago, while {others} answer"
    return "no leader of the metadata log"


FETCH_TIMEOUT, USUAL_TIMEOUT = "controller.quorum.fetch.timeout.ms", 2_000
"""The config for the time after which a follower that fetches nothing elects another leader, and its default."""


def _unstable(observations: Observations) -> Iterator[cause.Claim]:
    symptom = observations.seen.get((triage_symptoms.EPOCH_JUMPS, triage_symptoms.CLUSTER))
    if symptom is None:
        return
    some, last = elections(observations), observations.epochs[-1]
    before = observations.epochs[observations.epochs.index(some[0]) - 1]
    short = _short_timeouts(observations.last.snapshot)
    yield cause.Claim(
        cause="quorum-unstable",
        subject=triage_symptoms.CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title="the controller changes again and again",
        since=some[0].at,
        times=len(some),
        evidence=(
            cause.Evidence(
                f"leader epoch {before.number} at {time_of_day(before.at)}, {last.number} now", "DescribeQuorum"
            ),
            cause.Evidence(
                f"{plural(len(some), 'election')} of a leader, the last at {time_of_day(some[-1].at)}",
                "DescribeQuorum, many looks",
            ),
            *(
                cause.Evidence(
                    f"{FETCH_TIMEOUT} is {each:,} ms: a follower that hears nothing for so long elects another leader",
                    "DescribeConfigs",
                )
                for each in short
            ),
        ),
        predicted=cause.predict(triage_symptoms.EPOCH_JUMPS, triage_symptoms.VOTER_BEHIND),
        next=(
            cause.Next(
                f"give the controllers Kafka's default of {FETCH_TIMEOUT}, {USUAL_TIMEOUT:,} ms, and restart them"
            )
            if short
            else cause.Next("look at the controllers: garbage collection, disk, the network between them"),
        ),
    )


def _short_timeouts(snapshot: Snapshot) -> list[int]:
    """Return the timeouts, in milliseconds, of controllers that are shorter than Kafka's default. Only those of
    controllers that are also brokers are known: kac reads the configs of no other node.
    """
    found = {long_number(each) for each in values_of_brokers(snapshot, FETCH_TIMEOUT).values()}
    return sorted(each for each in found if each is not None and each < USUAL_TIMEOUT)


def _voter(observations: Observations) -> Iterator[cause.Claim]:
    quorum = observations.last.snapshot.quorum
    for symptom in observations.of(triage_symptoms.VOTER_BEHIND):
        broker = symptom.subject.broker
        if quorum is None:
            continue
        voter = next(each for each in quorum.voters if each.id == broker)
        lag = voter.lag
        leader = "the end of the log" if quorum.leader_id < 0 else f"leader {quorum.leader_id}"
        yield cause.Claim(
            cause="voter-lagging",
            subject=symptom.subject,
            severity=Severity.INFO if _may_restart(observations, quorum, voter) else Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"controller {broker} is behind the metadata log",
            since=observations.since(symptom),
            evidence=(cause.Evidence(f"{lag:,} records behind {leader}", "DescribeQuorum"),),
            predicted=cause.predict(triage_symptoms.VOTER_BEHIND, subject=symptom.subject),
            next=(cause.Next(f"look at controller {broker}: whether it runs, its disk, its network"),),
        )


RESTARTS = 60_000
"""Milliseconds for which a controller may be behind the metadata log because it restarts."""


def _may_restart(observations: Observations, quorum: Quorum, voter: QuorumReplica) -> bool:
    """Return whether a voter that is behind may just be restarting: for less than a minute, as the only one, and not as
    a running broker. No API reports whether a controller that is no broker answers.
    """
    poll = observations.last
    away = triage_symptoms.gone(poll.snapshot) | poll.silent
    runs = {each.id for each in poll.snapshot.cluster.brokers} - away
    now = leaders_clock(quorum) or int(poll.at.timestamp() * 1000)
    is_alone = len(observations.of(triage_symptoms.VOTER_BEHIND)) == 1
    return is_alone and voter.id not in runs and now - voter.last_caught_up_ms < RESTARTS


def _quorum_stands(observations: Observations) -> str:
    poll = observations.last
    quorum = poll.snapshot.quorum
    if quorum is None or quorum.leader_id < 0 or quorum.leader_id in poll.silent | triage_symptoms.gone(poll.snapshot):
        return ""
    began = observations.epochs[-1].at if observations.epochs else observations.began
    return f"controller {quorum.leader_id} leads since {time_of_day(began)} or before, epoch {quorum.leader_epoch}"


def _dirs_stand(observations: Observations) -> str:
    dirs = [each for some in observations.last.snapshot.log_dirs.values() for each in some]
    return "no log directory reports an error" if dirs and all(each.failure is None for each in dirs) else ""


QUORUM = (
    cause.CauseRule(
        "quorum-lost",
        _lost,
        _quorum_stands,
        reads="DescribeQuorum; whether controllers answer",
        takes="certain: the quorum has no leader; likely if kac never read the quorum",
        since="3.3",
    ),
    cause.CauseRule(
        "quorum-unstable",
        _unstable,
        reads="DescribeQuorum over time",
        takes="certain: 3 elections or more, each found by its own look, 2 or more without a restart",
        since="3.3",
    ),
    cause.CauseRule(
        "voter-lagging",
        _voter,
        reads="DescribeQuorum; times by the active controller's clock",
        takes=(
            "certain: a voter has been behind the end of the metadata log for 10 s. Information for a minute if it is "
            "the only one and no running broker: it may restart"
        ),
        since="3.3",
    ),
)
CAUSES = (
    cause.CauseRule(
        "log-dir-failed",
        lambda observations: (*_failed(observations), *_offline(observations)),
        _dirs_stand,
        reads="DescribeLogDirs, Metadata",
        takes="certain: the directory reports an error, or a broker that is up has offline replicas",
    ),
    cause.CauseRule(
        "disk-filling",
        _filling,
        reads="DescribeLogDirs: usable bytes and their trend",
        takes=(
            "certain if less than a tenth is free, likely by the trend. Directories of one file system count once. A "
            "warning while 50 GB are free and no trend fills them within a day. The row names the topic, or the "
            "moves, that make up half of the growth"
        ),
        since="3.3",
    ),
    cause.CauseRule(
        "cleaner-stopped",
        _cleaner,
        reads="DescribeLogDirs",
        takes=(
            "likely: the compacted replicas of only one broker are 3 times as large as the others, and larger by two "
            "segments"
        ),
    ),
    cause.CauseRule(
        "remote-copy-stands",
        _not_copied,
        reads="ListOffsets -5 and -4, DescribeLogDirs, DescribeConfigs",
        takes=(
            "likely: for 60 s no record of a tiered partition was copied, although about 3 segments of stable records "
            "wait"
        ),
        since="3.9",
    ),
    *QUORUM,
)
