"""Causes for topics to which producers stopped writing although no change explains it: clients write to a new topic of
a similar name instead, or no API shows the reason, and only a place to look can be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from console.model.cluster import Topic
from console.model.inheritance import AUTO_CREATE, is_made_on_request
from console.model.numbers import first_few, plural, time_of_day
from console.model.severity import Certainty, Severity
from console.triage import cause
from console.triage import silence as triage_silence
from console.triage.causes.upgraded import AT_ONCE, LOOK, upgraded
from console.triage.connectors import quiet_topics
from console.triage.observations import Observations
from console.triage.symptoms import CLUSTER, Subject
from console.triage.writers import Writer, writers

NAME, MISSPELT, UNSOURCED = "writes-stopped", "written-elsewhere", "source-deleted"
UNREACHED, COLLAPSED, HEARTBEATS = "leader-unwritten", "keys-collapsed", "heartbeats-stopped"
AGAIN = timedelta(seconds=30)
"""The time within which a tool that deletes a connector creates it again."""
DELIBERATE = timedelta(minutes=10)
"""The time for which the deletion of a connector is only information, because an operator probably works on it."""
FEW = 3
"""Maximum number of silent topics with rows of their own; if there are more, they share one row."""
_LOOK = (
    "look at the producers' logs: brokers close the connection of a client whose version, user or records they refuse, "
    "and no API names that client; the brokers' request logs do"
)


def _elsewhere(observations: Observations) -> Iterator[cause.Claim]:
    snapshot = observations.last.snapshot
    for silence, other in triage_silence.instead_of(observations):
        topic, since = snapshot.topics[other], datetime.fromtimestamp(silence.grew_at, UTC)
        yield cause.Claim(
            cause=MISSPELT,
            subject=Subject(topic=silence.topic),
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"{silence.topic}: no new record since {time_of_day(since)}; the new topic {other} gets some instead",
            since=since,
            evidence=cause.given(
                cause.Evidence(
                    f"{other} appeared at about that time, and its name is similar", "Metadata, ListOffsets"
                ),
                _made_by_request(observations, topic),
                None
                if any(each.topic == other for lag in snapshot.lags.values() for each in lag.partitions)
                else cause.Evidence(f"no group has read {other}", "OffsetFetch"),
            ),
            next=(
                cause.Next(
                    f"look at the name of the topic in the producers that were released lately; keep {other} until its "
                    f"records are copied to {silence.topic}"
                ),
            ),
        )


def _made_by_request(observations: Observations, topic: Topic) -> cause.Evidence | None:
    if not is_made_on_request(observations.last.snapshot):
        return None
    return cause.Evidence(
        f"{AUTO_CREATE} is true: a client that writes to a name makes a topic of it, here with "
        f"{plural(len(topic.partitions), 'partition')} and {plural(topic.replication, 'replica')}",
        "DescribeConfigs",
    )


def _without_source(observations: Observations) -> Iterator[cause.Claim]:
    """Yield a claim for each source connector that was deleted, and to whose topics no record has been written
    since.
    """
    for each in observations.past.sources:
        if each.created or observations.last.at < each.at + AGAIN:
            continue
        silent = sorted(set(each.topics).intersection(triage_silence.fell_silent(observations, each.after, each.at)))
        if not silent:
            continue
        names = first_few(silent, FEW)
        yield cause.Claim(
            cause=UNSOURCED,
            subject=Subject(connector=each.connector),
            severity=Severity.INFO if observations.last.at < each.at + DELIBERATE else Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"source connector {each.connector} was deleted, and nothing is written to {names} since",
            since=each.at,
            evidence=(
                cause.Evidence(
                    f"Connect had it at {time_of_day(each.after)}, and not at {time_of_day(each.at)}", _LISTED
                ),
                cause.Evidence(f"it wrote to {names}, which got records until then", f"{_LISTED}, ListOffsets"),
            ),
            next=(
                cause.Next(
                    "create it again with the config that it had (create connector; the tool that manages it has the "
                    "secrets): its offsets stay, so that it goes on where it was"
                ),
            ),
        )


_LISTED = "GET /connectors, two looks"


def _unwritten(observations: Observations) -> Iterator[cause.Claim]:
    known = {each.id: each for each in observations.last.snapshot.cluster.brokers}
    for each in triage_silence.unwritten(observations):
        broker = known.get(each.leader)
        if broker is None or each.leader in observations.last.silent:
            continue
        since = datetime.fromtimestamp(each.since, UTC)
        some = first_few([f"{topic}/{number}" for topic, number in each.partitions], FEW)
        yield cause.Claim(
            cause=UNREACHED,
            subject=Subject(broker=each.leader),
            severity=Severity.HIGH,
            certainty=Certainty.LIKELY,
            title=f"nothing is written to {len(each.partitions):,} partitions that broker {each.leader} leads since "
            f"{time_of_day(since)}; others are written to",
            since=since,
            evidence=(
                cause.Evidence(f"{some} had new records every few seconds until then", "ListOffsets, many looks"),
                cause.Evidence(
                    f"{plural(each.others, 'partition')} of other leaders still {'get' if each.others > 1 else 'gets'} "
                    "records",
                    "ListOffsets, Metadata",
                ),
                cause.Evidence("the broker answers kac", "ApiVersions"),
            ),
            next=(
                cause.Next(
                    f"look at the way from the producers' hosts to broker {each.leader}: its listeners for clients, as "
                    "it advertises them (advertised.listeners), firewalls and network policies; and at its request "
                    "log, whether Produce requests arrive"
                ),
            ),
            yields=True,
        )


def _collapsed(observations: Observations) -> Iterator[cause.Claim]:
    for each in observations.past.collapsed:
        place = f"{each.topic}/{each.number}"
        yield cause.Claim(
            cause=COLLAPSED,
            subject=Subject(topic=each.topic, partition=each.number),
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            title=f"{place} gets {each.share:.0%} of the topic's new records, and got {each.was:.0%} before",
            since=each.at,
            evidence=(
                cause.Evidence(
                    f"{each.topic} has {each.of} partitions; the others get less than half of before", _OVER
                ),
            ),
            next=(
                cause.Next(
                    "look at the producers that were released lately: a key that is the same for all records, or a "
                    "partitioner that chooses one partition"
                ),
            ),
        )


_OVER = "ListOffsets over time"


def _unexplained(observations: Observations) -> Sequence[triage_silence.Silence]:
    """Return the silent topics, without those for which another row or the state of a connector has a reason."""
    silent = triage_silence.silences(observations)
    if not silent:
        return ()
    elsewhere = {silence.topic for silence, _ in triage_silence.instead_of(observations)}
    snapshot = observations.last.snapshot
    meant = quiet_topics(snapshot.connect, snapshot.configs)
    meant |= {topic for each in observations.past.sources if not each.created for topic in each.topics}
    return [each for each in silent if each.topic not in elsewhere and each.topic not in meant]


def _without_heartbeats(observations: Observations) -> Iterator[cause.Claim]:
    ended = triage_silence.heartbeats_ended(observations, _unexplained(observations))
    # All connectors stop with their Connect cluster, or with what mirrors their topics.
    yield from map(_of_connectors, [[each] for each in ended] if len(ended) <= FEW else [ended])


def _of_connectors(some: Sequence[triage_silence.HeartbeatsEnded]) -> cause.Claim:
    first = some[0]
    since = datetime.fromtimestamp(first.silence.grew_at, UTC)
    names = first_few([each.prefix for each in some], FEW)
    write = "their source connectors write" if some[1:] else "its source connector writes"
    return cause.Claim(
        cause=HEARTBEATS,
        subject=CLUSTER if some[1:] else Subject(topic=first.silence.topic),
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,  # its operator may have stopped the connector
        title=f"{names}: {write} no more since {time_of_day(since)}, and no heartbeats",
        since=since,
        evidence=tuple(cause.Evidence(each, "ListOffsets, many looks") for one in some[:FEW] for each in _ended(one)),
        next=(
            cause.Next(
                f"ask Kafka Connect for the state of the source connector of {first.prefix} and of its task "
                "(GET /connectors/NAME/status): a failed task stays failed until a user restarts it, or its worker "
                "starts again. If it runs, look at its log"
            ),
        ),
        alone=True,
        idle=True,
    )


def _ended(one: triage_silence.HeartbeatsEnded) -> Iterator[str]:
    yield (
        f"{one.silence.topic} had a heartbeat at least every {one.silence.pause:.0f} s until then: its connector "
        "writes them even while nothing changes"
    )
    if one.topics:
        yield f"the last records of {first_few(one.topics, FEW)} came at the same time"


def _stopped(observations: Observations) -> Iterator[cause.Claim]:
    found = _unexplained(observations)
    ended = triage_silence.heartbeats_ended(observations, found)
    named = {name for each in ended for name in (each.silence.topic, *each.topics)}
    found = [each for each in found if each.topic not in named]
    snapshot = observations.last.snapshot
    crossed = {each.topic: _crossed(each, observations) for each in found} if observations.past.upgrades else {}
    away = triage_silence.not_back(observations) if found else ()
    lost = {each.silence.topic: each for each in away if crossed.get(each.silence.topic) is None}
    by_broker: dict[int, list[triage_silence.NotBack]] = {}
    for each in found:
        if (left := lost.get(each.topic)) is not None:
            by_broker.setdefault(left.broker, []).append(left)
    for left_there in by_broker.values():
        yield from map(_left_by_producers, left_there if len(left_there) <= FEW else ())
        if len(left_there) > FEW:
            yield _left_by_producers(left_there[0], left_there)
    found = [each for each in found if each.topic not in lost]
    alike = [[each for each in found if (crossed.get(each.topic) is None) is is_none] for is_none in (False, True)]
    for mine in alike:
        for some in [[each] for each in mine] if len(mine) <= FEW else [mine]:
            allowed = writers(snapshot.acls, some[0].topic) if len(some) == 1 else ()
            yield _claim(some, crossed.get(some[0].topic), allowed)


def _left_by_producers(first: triage_silence.NotBack, some: Sequence[triage_silence.NotBack] = ()) -> cause.Claim:
    """Return the claim about a topic whose producers did not come back after a broker stopped. some: all such topics,
    if they share one row.
    """
    since = datetime.fromtimestamp(first.silence.grew_at, UTC)
    names = first_few([each.silence.topic for each in some or (first,)], FEW)
    whose = "their" if some else "its"
    return cause.Claim(
        cause=NAME,
        subject=CLUSTER if some else Subject(topic=first.silence.topic),
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,  # one job that ended may have written all of them
        title=f"{names}: no new record since {time_of_day(since)}, when broker {first.broker} stopped: {whose} "
        "producers did not come back, others did",
        since=since,
        evidence=(
            cause.Evidence(
                f"{first.silence.topic} had new records at least every {first.silence.pause:.0f} s until "
                f"{_time(first.silence)}; its partitions have leaders",
                "ListOffsets, many looks; Metadata",
            ),
            cause.Evidence(
                f"{plural(first.others, 'other topic')} {'gets' if first.others == 1 else 'get'} records as before",
                "ListOffsets, many looks",
            ),
        ),
        next=(
            cause.Next(
                f"look at the logs of {whose} producers first. Restart them only if they ended with an error, as "
                "OutOfOrderSequence, or keep an old address: a job that was to end then would write all again"
            ),
        ),
        yields=True,
        alone=True,
        idle=True,
    )


def _crossed(silence: triage_silence.Silence, observations: Observations) -> cause.Evidence | None:
    """Return, as evidence, that a leader of a topic was upgraded just before producers stopped writing to the topic;
    None if none was.
    """
    leaders = {each.leader for each in observations.last.snapshot.topics[silence.topic].partitions}
    return upgraded(observations.past.upgrades, datetime.fromtimestamp(silence.grew_at, UTC), AT_ONCE, leaders)


def _claim(
    some: Sequence[triage_silence.Silence], crossed: cause.Evidence | None, allowed: Sequence[Writer]
) -> cause.Claim:
    """Return the claim about topics to which nothing is written.

    Args:
        some: the silent topics.
        crossed: the evidence that their leader was upgraded just before; None if it was not.
        allowed: the principals that ACLs let write to the one topic; empty if that does not help.
    """
    first = some[0]
    since = datetime.fromtimestamp(first.grew_at, UTC)
    names = first_few([each.topic for each in some], FEW)
    return cause.Claim(
        cause=NAME,
        subject=Subject(topic=first.topic) if len(some) == 1 else CLUSTER,
        # Producers may have nothing to write for good reasons: this is no trouble of the cluster.
        severity=Severity.INFO if crossed is None else Severity.WARNING,
        certainty=Certainty.CERTAIN if crossed is None else Certainty.LIKELY,
        title=f"{names}: no new record since {time_of_day(since)}"
        f"{'' if crossed is None else ', after brokers were upgraded'}",
        since=since,
        evidence=cause.given(
            crossed,
            *(
                cause.Evidence(
                    f"{each.topic} had new records at least every {each.pause:.0f} s until {_time(each)}",
                    "ListOffsets, many looks",
                )
                for each in some[:FEW]
            ),
            *_who_may_write(allowed),
        ),
        next=cause.given(LOOK if crossed is not None else None, cause.Next(_LOOK), _look_at_ids(allowed)),
        yields=True,
        idle=True,
    )


def _who_may_write(allowed: Sequence[Writer]) -> Iterator[cause.Evidence]:
    if allowed:
        names = first_few([each.principal for each in allowed], FEW)
        yield cause.Evidence(f"ACLs let {names} write there, and no other user but super users", "DescribeAcls")
    for each in allowed:
        if each.ids:
            yield cause.Evidence(
                f"ACLs let {each.principal} use the transactional id {first_few(each.ids, FEW)} and no other: without "
                "allow.everyone.if.no.acl.found, brokers refuse a producer with another one "
                "(TransactionalIdAuthorizationException)",
                "DescribeAcls",
            )


def _look_at_ids(allowed: Sequence[Writer]) -> cause.Next | None:
    """Return the step for producers whose transactional ids ACLs bind; None if ACLs bind none."""
    bound = next((each for each in allowed if each.ids), None)
    if bound is None:
        return None
    return cause.Next(
        f"look at the transactional.id of {bound.principal}'s producers: a new release may number them, as "
        f"{bound.ids[0]}-0. Then ACLs have to allow the ids that begin with {bound.ids[0]} (pattern type prefixed)"
    )


def _time(silence: triage_silence.Silence) -> str:
    return time_of_day(datetime.fromtimestamp(silence.grew_at, UTC))


CAUSES = (
    cause.CauseRule(
        UNREACHED,
        _unwritten,
        reads="ListOffsets over time, Metadata",
        takes=(
            "likely: 80 % of the steadily written partitions of a leader get no record for 15 s, and 80 % of those of "
            "other leaders do. At least 3 of them, of 2 topics, are of topics whose other partitions get records. Not "
            "with more than 5,000 written partitions"
        ),
    ),
    cause.CauseRule(
        COLLAPSED,
        _collapsed,
        reads="ListOffsets over time",
        takes=(
            "likely: a partition gets 80 % of its topic's new records, had at most twice an even share in the 5 to 10 "
            "minutes before, and the other partitions get less than half of before, when each got a record every 8 s. "
            "It gained 0.5 to 2 times the records that the others lost. Not with more than 5,000 partitions"
        ),
    ),
    cause.CauseRule(
        UNSOURCED,
        _without_source,
        reads="GET /connectors and ListOffsets over time",
        takes=(
            "likely: a source connector was deleted 30 s ago, and topics that it wrote to got records until then, and "
            "none since. Information for 10 minutes, then a warning"
        ),
    ),
    cause.CauseRule(
        MISSPELT,
        _elsewhere,
        reads=f"{_OVER}, Metadata",
        takes=(
            "likely: a topic gets no new records, and a topic with a similar name appeared within a minute and gets "
            "some"
        ),
    ),
    cause.CauseRule(
        HEARTBEATS,
        _without_heartbeats,
        reads="ListOffsets over time",
        takes=(
            "possible: the heartbeats of a connector of Debezium end (`__debezium-heartbeat.PREFIX`), and no topic "
            "`PREFIX.*` gets records any more. Not if kac's Connect part knows that the connector was stopped or "
            "deleted"
        ),
    ),
    cause.CauseRule(
        NAME,
        _stopped,
        bare=True,
        reads="ListOffsets over time",
        takes=(
            "information: the topic got no new record for longer than 3 times the longest pause before. A possible "
            "warning if it got one at least every 8 s for a minute until a broker that is to lead one of its "
            "partitions stopped, none for 45 s since, and at least as many topics are written to again. A likely "
            "warning within 2 minutes after a leader of the topic was upgraded to 4.0 or later, which refuses "
            "clients older than 2.1"
        ),
    ),
)
