"""Carries out what `kac topics` does as kafka-leader-election and as kafka-delete-records."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from console.cli.kafka_tools.aligned import safe
from console.cli.kafka_tools.java_errors import exception
from console.cli.kafka_tools.partition_files import deletion_offsets, election_places
from console.cli.kafka_tools.reset_offsets import Place
from console.cli.noun import Change, Changed, OptionsError, Running, Statements
from console.language.quoting import quote
from console.model.changes import LogTarget, Outcome, PartitionTarget
from console.model.cluster import Partition
from console.model.elections import needs_preferred, why_not_preferred
from console.model.failure import Failure
from console.present.failures import failure_text

if TYPE_CHECKING:
    from console.contexts import Context
    from console.model.cluster import LogRange
    from console.model.snapshot import Snapshot
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1
PREFERRED, UNCLEAN = "preferred", "unclean"
_NOT_NEEDED = "ELECTION_NOT_NEEDED"
_NOT_PREFERRED = Failure("PREFERRED_LEADER_NOT_AVAILABLE", "", "")
END = -1
"""In a file of offsets: the end of the log (DeleteRecordsRequest.HIGH_WATERMARK)."""


# -- elections ---------------------------------------------------------------------------------------------------------


def check_election(given: argparse.Namespace) -> None:
    """Raise OptionsError for what kafka-leader-election refuses, in its words
    (LeaderElectionCommandOptions.validate).
    """
    if given.election_type is None:
        raise OptionsError("Missing required option(s): election-type")
    if given.election_type.lower() not in (PREFERRED, UNCLEAN):
        raise OptionsError(f"Cannot parse argument '{given.election_type[:80]}' of option election-type")
    if len(given.topic) > 1:
        raise OptionsError("Found multiple arguments for option topic, but you asked for only one")
    if sum((bool(given.topic), given.all_topic_partitions, given.path_to_json_file is not None)) != 1:
        raise OptionsError(
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"
        )
    if given.topic and given.partition is None:
        raise OptionsError("Missing required option(s): partition")
    if not given.topic and given.partition is not None:
        raise OptionsError("Option partition is only allowed if topic is used")


async def elect(command: Running, client: Client, context: Context) -> int | Change:
    """Elect leaders."""
    from console.session.snapshot_reader import SnapshotReader

    given = command.given
    unclean = given.election_type.lower() == UNCLEAN
    places = _asked(given)
    if not command.is_kafka and places is not None:
        return Change(_elections(places, unclean))
    if not command.is_kafka and not unclean:
        return Change(("elect preferred all",))
    reader = SnapshotReader(client, context)
    await reader.read_topics(None if places is None else sorted({topic for topic, _ in places}))
    known = {(name, each.number): each for name, topic in reader.snapshot.topics.items() for each in topic.partitions}
    if command.is_kafka:
        asked = sorted(known) if places is None else places
        elections = _judged(known, asked, unclean=unclean, tells_needless=places is not None)
        if wanted := [place for place, problem in elections.problems.items() if problem is None]:
            return Change(_elections(wanted, unclean), then=partial(_elected, command, elections))
        return _show_elections(command, elections)
    if leaderless := [place for place, each in sorted(known.items()) if each.leader < 0]:
        return Change(_elections(leaderless, unclean=True))
    if not all_read(command, reader.snapshot):
        return FAILED
    command.complain("every partition has a leader: no unclean election is needed")
    return DONE


def all_read(command: Running, snapshot: Snapshot) -> bool:
    """Return whether all topics were read; print those that were not."""
    unread = [each for each in snapshot.failures if each.part == "topics"]
    for each in unread:
        command.complain(f"topics {each.entity}".rstrip() + f": {failure_text(each.failure)}")
    return not unread


def _asked(given: argparse.Namespace) -> list[Place] | None:
    """Return the partitions that the options name, None for all."""
    if given.all_topic_partitions:
        return None
    if given.path_to_json_file is not None:
        return election_places(given.path_to_json_file)
    return [(given.topic[0], given.partition)]


def _elections(places: Iterable[Place], unclean: bool) -> Statements:
    kind = UNCLEAN if unclean else PREFERRED
    return tuple(f"elect {kind} topic {quote(topic)} partition {number}" for topic, number in places)


class Elections(NamedTuple):
    """What becomes of elections. problems: partition -> why there is none, None where a leader is elected. needless:
    partitions that have the wanted leader already; of all partitions these are not told."""

    problems: Mapping[Place, Failure | None]
    needless: Sequence[Place]
    unclean: bool
    tells_needless: bool


def _judged(
    known: Mapping[Place, Partition], asked: Iterable[Place], *, unclean: bool, tells_needless: bool
) -> Elections:
    """Return which elections are needed, and which can't be."""
    problems: dict[Place, Failure | None] = {}
    needless: list[Place] = []
    for place in asked:
        found = known.get(place)
        if found is None:
            problems[place] = Failure("UNKNOWN_TOPIC_OR_PARTITION", _unknown(place, known), "")
        elif (found.leader >= 0) if unclean else not needs_preferred(found):
            needless.append(place)
        elif not unclean and why_not_preferred(found):
            problems[place] = _NOT_PREFERRED
        else:
            problems[place] = None
    return Elections(problems, needless, unclean, tells_needless)


async def _elected(command: Running, elections: Elections, changed: Changed) -> int:
    if command.given.validate_only or not changed.outcomes:
        return changed.code
    problems, needless = {**elections.problems}, [*elections.needless]
    for outcome in changed.outcomes:
        if not isinstance(outcome.target, PartitionTarget):
            continue
        place = outcome.target.topic, outcome.target.number
        if outcome.ok and outcome.failure is not None and outcome.failure.name == _NOT_NEEDED:
            needless.append(place)
            del problems[place]
        elif not outcome.ok:
            problems[place] = _problem(outcome)
    return _show_elections(command, elections._replace(problems=problems, needless=needless))


def _problem(outcome: Outcome) -> Failure:
    return outcome.failure or Failure(outcome.status.value.upper(), "", "")


def _show_elections(command: Running, elections: Elections) -> int:
    """Print elections as Kafka does, and return the exit code."""
    needless = elections.needless if elections.tells_needless else ()
    out, err = election_lines(elections.problems, needless, elections.unclean)
    command.lines(out, err)
    return FAILED if err else DONE


def _unknown(place: Place, known: Mapping[Place, Partition]) -> str:
    """Return the controller's message for an unknown partition (ReplicationControlManager.electLeader)."""
    topic, number = place
    if any(name == topic for name, _ in known):
        return f"No such partition as {topic}-{number}"
    return f"No such topic as {topic}"


def election_lines(
    results: Mapping[Place, Failure | None], needless: Sequence[Place], unclean: bool
) -> tuple[list[str], list[str]]:
    """Return what kafka-leader-election prints on standard output, and on standard error.

    Args:
        results: partition -> why its election failed, None where a leader was elected.
        needless: partitions that have the wanted leader already.
    """
    kind = (UNCLEAN if unclean else PREFERRED).upper()
    elected = [place for place, problem in results.items() if problem is None]
    failed = {place: problem for place, problem in results.items() if problem is not None}
    out = []
    if elected:
        out.append(f"Successfully completed leader election ({kind}) for partitions {_joined(elected)}")
    if needless:
        out.append(f"Valid replica already elected for partitions {_joined(sorted(needless))}")
    out += [
        f"Error completing leader election ({kind}) for partition: {_joined([place])}: "
        f"{exception(problem, own_text=True)}"
        for place, problem in failed.items()
    ]
    return out, [f"{len(failed)} replica(s) could not be elected"] if failed else []


def _joined(places: Iterable[Place]) -> str:
    return ", ".join(f"{safe(topic)}-{number}" for topic, number in places)


# -- records -----------------------------------------------------------------------------------------------------------


async def delete_records(command: Running, client: Client, _context: Context) -> int | Change:
    """Delete the records before offsets."""
    offsets = deletion_offsets(command.given.offset_json_file)
    texts = {
        (topic, number): f"delete records topic {quote(topic)} partition {number} "
        f"before {'latest' if offset == END else offset}"
        for (topic, number), offset in offsets.items()
    }
    if not command.is_kafka:
        return Change(tuple(texts.values()), ask=True)
    from console.admin.partitions import log_ranges
    from console.admin.topics import describe_topics

    listing = await client.run(describe_topics, sorted({topic for topic, _ in offsets}))
    known = {(name, each.number) for name, topic in listing.topics.items() for each in topic.partitions}
    there = [place for place in offsets if place in known]
    logs, failures = await client.run(log_ranges, there)
    if failures:
        command.complain(str(failures[0]))
        return FAILED
    problems = {place: _why_not_deleted(place, offset, logs) for place, offset in offsets.items()}
    wanted = [
        place
        for place, problem in problems.items()
        if problem is None and (logs[place].end if offsets[place] == END else offsets[place]) > logs[place].start
    ]

    async def show(changed: Changed | None) -> int:
        if changed is not None and (command.given.validate_only or not changed.outcomes):
            return changed.code
        for outcome in changed.outcomes if changed is not None else ():
            if isinstance(outcome.target, LogTarget) and not outcome.ok:
                problems[outcome.target.topic, outcome.target.number] = _problem(outcome)
        now, _ = await client.run(log_ranges, there)
        command.lines(deletion_lines(problems, {place: each.start for place, each in now.items()}))
        return FAILED if any(problems.values()) else DONE

    return Change(tuple(texts[place] for place in wanted), then=show) if wanted else await show(None)


def _why_not_deleted(place: Place, offset: int, logs: Mapping[Place, LogRange]) -> Failure | None:
    """Return why records before an offset can't be deleted. logs: of the partitions that exist."""
    if place not in logs:
        return Failure("UNKNOWN_TOPIC_OR_PARTITION", "", "")
    return None if END <= offset <= logs[place].end else Failure("OFFSET_OUT_OF_RANGE", "", "")


def deletion_lines(problems: Mapping[Place, Failure | None], starts: Mapping[Place, int]) -> list[str]:
    """Return the lines that kafka-delete-records prints.

    Args:
        problems: partition -> why its records were not deleted, None where they were.
        starts: partition -> its first offset after the deletion.
    """
    lines = ["Executing records delete operation", "Records delete operation completed:"]
    for (topic, number), problem in problems.items():
        place = f"partition: {safe(topic)}-{number}"
        if problem is not None:
            lines.append(f"{place}\terror: {exception(problem)}")
        else:
            lines.append(f"{place}\tlow_watermark: {starts.get((topic, number), END)}")
    return lines
