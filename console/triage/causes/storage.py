"""Causes that are disks and the metadata quorum."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from console.model.cluster import LogDir
from console.model.disk_trend import SOON, foreseen, seconds_left
from console.model.numbers import time_of_day
from console.triage.cause import CauseRule, Certainty, Claim, Evidence, Next, Severity, of
from console.triage.course import Course
from console.triage.odd_configs import odd_keys
from console.triage.symptoms import (
    BROKER_GONE,
    BROKER_SILENT,
    CLUSTER,
    COMPACTED_GROWS,
    DIR_ERROR,
    DIR_NEARLY_FULL,
    EPOCH_JUMPS,
    LEADERLESS,
    NO_QUORUM_LEADER,
    UNDER_MIN_ISR,
    UNDER_REPLICATED,
    VOTER_BEHIND,
    Look,
    Subject,
    Symptom,
    gone,
    out_of_sync,
    quorum_silence,
    voters_away,
)
from console.triage.uncleaned import uncleaned


def _failed(course: Course) -> Iterator[Claim]:
    for symptom in course.of(DIR_ERROR):
        broker, path = symptom.subject.broker, symptom.subject.dir
        if broker is None:
            continue
        dirs = course.last.snapshot.log_dirs.get(broker, ())
        failure = next((each.failure for each in dirs if each.path == path), None)
        yield Claim(
            cause="log-dir-failed",
            subject=symptom.subject,
            severity=Severity.CRITICAL,
            certainty=Certainty.CERTAIN,
            title=f"broker {broker}: log directory {path} failed",
            since=course.since(symptom),
            evidence=(Evidence(f"{path}: {failure}", "DescribeLogDirs"),),
            predicted=(
                *of(DIR_ERROR, subject=symptom.subject),
                *of(UNDER_REPLICATED, UNDER_MIN_ISR, LEADERLESS, brokers=frozenset({broker})),
            ),
            next=(
                Next(f"look at the disk of {path} on broker {broker}; a broker takes it back only when it restarts"),
            ),
        )


TAKEN_IN = timedelta(seconds=10)
"""How long brokers and topics may be shown as they were at different times."""


def _lasts(course: Course, topic: str, number: int) -> bool:
    """Whether a partition has been under-replicated for longer than it takes to see that a broker is down."""
    symptom = course.seen.get((UNDER_REPLICATED, Subject(topic=topic, partition=number)))
    return symptom is not None and (course.since(symptom) or course.began) <= course.last.at - TAKEN_IN


def _came_back(course: Course, broker: int) -> bool:
    """Whether a broker came back a moment ago: topics and brokers are not read at one time."""
    spells = [course.spells.get((name, Subject(broker=broker)), ()) for name in (BROKER_GONE, BROKER_SILENT)]
    ended = [mine[-1].ended for mine in spells if mine]
    return any(each is not None and each > course.last.at - TAKEN_IN for each in ended)


def _offline(course: Course) -> Iterator[Claim]:
    """Replicas that are offline on brokers that are up: their directory failed, also before it is described."""
    known = {subject.broker for name, subject in course.seen if name == DIR_ERROR}
    away = gone(course.last.snapshot) | course.last.silent
    offline: dict[int, list[str]] = {}
    for topic, partition in out_of_sync(course.last.snapshot.topics):
        for broker in partition.offline:
            if broker in known or broker in away or _came_back(course, broker):
                continue
            if _lasts(course, topic, partition.number):
                offline.setdefault(broker, []).append(f"{topic}/{partition.number}")
    for broker, places in sorted(offline.items()):
        more = f" and {len(places) - 3:,} more" if len(places) > 3 else ""
        yield Claim(
            cause="log-dir-failed",
            subject=Subject(broker=broker),
            severity=Severity.CRITICAL,
            certainty=Certainty.LIKELY,
            title=f"broker {broker}: a log directory failed",
            evidence=(
                Evidence(f"replicas of {', '.join(places[:3])}{more} are offline on a broker that is up", "Metadata"),
            ),
            predicted=of(UNDER_REPLICATED, UNDER_MIN_ISR, LEADERLESS, brokers=frozenset({broker})),
            next=(Next(f"look at the disks of broker {broker}; it takes a directory back only when it restarts"),),
        )


def _filling(course: Course) -> Iterator[Claim]:
    for (broker, path), samples in course.dirs.items():
        left = seconds_left(samples)
        subject = Subject(broker=broker, dir=path)
        symptom = course.seen.get((DIR_NEARLY_FULL, subject))
        believed = foreseen(samples)
        if symptom is None and (believed is None or believed > SOON):
            continue
        known = next((each for each in course.last.snapshot.log_dirs.get(broker, ()) if each.path == path), None)
        total = known.total_bytes if known is not None else -1
        usable = samples[-1].usable
        share = f" of {total:,}" if total > 0 else ""
        yield Claim(
            cause="disk-filling",
            subject=subject,
            severity=Severity.CRITICAL if left is not None and left < SOON / 24 else Severity.HIGH,
            certainty=Certainty.CERTAIN if symptom is not None else Certainty.LIKELY,
            title=f"broker {broker}: {path} fills up",
            since=course.since(symptom) if symptom is not None else None,
            evidence=(
                Evidence(f"{usable:,}{share} bytes are usable", "DescribeLogDirs"),
                *((Evidence(f"at this rate it is full in {left / 60:,.0f} min", "two looks"),) if left else ()),
                *_cordoned(known),
            ),
            predicted=of(DIR_NEARLY_FULL, subject=subject),
            next=(
                Next("find what grows: topics by size, retention"),
                Next(
                    f"move replicas to other brokers (outside the console: kac moves drain {broker})",
                    f"drain broker {broker}",
                ),
            ),
        )


def _cordoned(known: LogDir | None) -> Iterator[Evidence]:
    if known is not None and known.cordoned:
        yield Evidence("it is cordoned: no new replica is put there", "DescribeLogDirs")


def _cleaner(course: Course) -> Iterator[Claim]:
    """Compacted logs of one broker that are far larger than their other replicas."""
    for each in uncleaned(course.last.snapshot):
        subject = Subject(broker=each.broker)
        odd = {key: values for key, values in odd_keys(course.last.snapshot, each.broker).items() if "cleaner" in key}
        yield Claim(
            cause="cleaner-stopped",
            subject=subject,
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"broker {each.broker} does not compact its logs",
            since=course.since(Symptom(COMPACTED_GROWS, subject)),
            evidence=(
                Evidence(
                    f"{each.topic}/{each.partition} has {each.size:,} bytes there, {each.other:,} on the next largest "
                    f"replica; {each.replicas} partitions in all",
                    "DescribeLogDirs",
                ),
                *(
                    Evidence(f"{key} is {mine}, {others} on the others", "DescribeConfigs")
                    for key, (mine, others) in odd.items()
                ),
            ),
            predicted=of(COMPACTED_GROWS, subject=subject),
            next=(
                Next("look at its log-cleaner.log and uncleanable-partitions-count: a dead cleaner needs a restart"),
            ),
        )


# -- the quorum --------------------------------------------------------------------------------------------------------


def _lost(course: Course) -> Iterator[Claim]:
    failure = next((each for each in course.last.snapshot.failures if each.part == "quorum"), None)
    symptom = course.seen.get((NO_QUORUM_LEADER, CLUSTER))
    if symptom is None:
        return
    yield Claim(
        cause="quorum-lost",
        subject=CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title="the metadata quorum has no leader",
        since=course.since(symptom),
        evidence=(
            Evidence(_without_leader(course.last), "DescribeQuorum"),
            *((Evidence(str(failure.failure), "DescribeQuorum"),) if failure is not None else ()),
        ),
        predicted=of(NO_QUORUM_LEADER, VOTER_BEHIND, EPOCH_JUMPS),
        next=(Next("bring back a majority of the controllers: nothing can be changed until then"),),
    )


def _without_leader(look: Look) -> str:
    quorum, away = look.snapshot.quorum, voters_away(look)
    if quorum is not None and len(away) > len(quorum.voters) // 2:
        return f"voters {', '.join(map(str, sorted(away)))} are away, {len(away)} of {len(quorum.voters)}"
    if quorum is not None and quorum.leader_id >= 0:
        return f"not described for {quorum_silence(look):.0f} s, while brokers answer"
    return "no leader of the metadata log"


def _unstable(course: Course) -> Iterator[Claim]:
    symptom = course.seen.get((EPOCH_JUMPS, CLUSTER))
    if symptom is None:
        return
    first, last = course.epochs[0], course.epochs[-1]
    yield Claim(
        cause="quorum-unstable",
        subject=CLUSTER,
        severity=Severity.CRITICAL,
        certainty=Certainty.CERTAIN,
        title="the controller changes again and again",
        since=course.epochs[1][1],
        times=len(course.epochs) - 1,
        evidence=(Evidence(f"leader epoch {first[0]} at {time_of_day(first[1])}, {last[0]} now", "DescribeQuorum"),),
        predicted=of(EPOCH_JUMPS, VOTER_BEHIND),
        next=(Next("look at the controllers: garbage collection, disk, the network between them"),),
    )


def _voter(course: Course) -> Iterator[Claim]:
    quorum = course.last.snapshot.quorum
    for symptom in course.of(VOTER_BEHIND):
        broker = symptom.subject.broker
        if quorum is None:
            continue
        lag = next(voter.lag for voter in quorum.voters if voter.id == broker)
        yield Claim(
            cause="voter-lagging",
            subject=symptom.subject,
            severity=Severity.HIGH,
            certainty=Certainty.CERTAIN,
            title=f"controller {broker} is behind the metadata log",
            since=course.since(symptom),
            evidence=(Evidence(f"{lag:,} records behind leader {quorum.leader_id}", "DescribeQuorum"),),
            predicted=of(VOTER_BEHIND, subject=symptom.subject),
            next=(Next(f"look at controller {broker}: whether it runs, its disk, its network"),),
        )


def _quorum_stands(course: Course) -> str:
    quorum = course.last.snapshot.quorum
    if quorum is None or quorum.leader_id < 0:
        return ""
    began = course.epochs[-1][1] if course.epochs else course.began
    return f"controller {quorum.leader_id} leads since {time_of_day(began)} or before, epoch {quorum.leader_epoch}"


def _dirs_stand(course: Course) -> str:
    dirs = [each for some in course.last.snapshot.log_dirs.values() for each in some]
    return "no log directory reports an error" if dirs and all(each.failure is None for each in dirs) else ""


CAUSES = (
    CauseRule("log-dir-failed", lambda course: (*_failed(course), *_offline(course)), _dirs_stand),
    CauseRule("disk-filling", _filling),
    CauseRule("cleaner-stopped", _cleaner),
    CauseRule("quorum-lost", _lost, _quorum_stands),
    CauseRule("quorum-unstable", _unstable),
    CauseRule("voter-lagging", _voter),
)
