"""Lines of a broker's authorizer log (kafka.authorizer.logger, Kafka 2.8 to 4.x), and its decisions added up by the
minute.

A line contains names that clients chose. A client may look for a group of any name, and the broker logs that name
unchanged, with its line ends and with any text that looks like a decision. A line that can be read in two ways is
therefore stored as unreadable, not as a decision. Such a line, and any damage that a client's name can cause, does not
count against the log: otherwise a client could make kac refuse the whole log. If the first line of a name ends like a
message, its further lines look like those of a broker; only a layout that escapes line ends prevents this
(docs/lake.md).
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from console.lake.redact import Damaged
from console.lake.requests import lines
from console.lake.requests.counted import CHUNK_BYTES, Whose, batch_of, in_utc, last_batches
from console.lake.schema import AUTHORIZATION, CHECK_1M, arrow_schema

MESSAGE = b"Principal = "
LOGGER = b"kafka.authorizer.logger"
_BEHIND = b" (" + LOGGER + b")"
_DECIDED = re.compile(
    rb" is (Allowed|Denied) [Oo]peration = ([A-Za-z_]{1,40}) from host = ([^ ]{1,100}) on resource = "
    rb"([A-Za-z_]{1,40}):([A-Z]{1,20}):"
)
"""Matches the text between the principal and the name of the resource. AclAuthorizer (with ZooKeeper) writes `Operation
= Describe`, StandardAuthorizer `operation = DESCRIBE`."""
_ASKED = re.compile(rb" for request = (\w{1,100}) with resourceRefCount = \d{1,10}(?= based on rule |\Z)", re.ASCII)
"""Matches the text after the name of the resource. AclAuthorizer writes no rule."""
_BY_RULE = b" based on rule "
REQUESTS = frozenset(
    """
    ADD_OFFSETS_TO_TXN ADD_PARTITIONS_TO_TXN ADD_RAFT_VOTER ALLOCATE_PRODUCER_IDS ALTER_CLIENT_QUOTAS ALTER_CONFIGS
    ALTER_ISR ALTER_PARTITION ALTER_PARTITION_REASSIGNMENTS ALTER_REPLICA_LOG_DIRS ALTER_SHARE_GROUP_OFFSETS
    ALTER_USER_SCRAM_CREDENTIALS API_VERSIONS ASSIGN_REPLICAS_TO_DIRS BEGIN_QUORUM_EPOCH BROKER_HEARTBEAT
    BROKER_REGISTRATION CONSUMER_GROUP_DESCRIBE CONSUMER_GROUP_HEARTBEAT CONTROLLED_SHUTDOWN CONTROLLER_REGISTRATION
    CREATE_ACLS CREATE_DELEGATION_TOKEN CREATE_PARTITIONS CREATE_TOPICS DELETE_ACLS DELETE_GROUPS DELETE_RECORDS
    DELETE_SHARE_GROUP_OFFSETS DELETE_SHARE_GROUP_STATE DELETE_TOPICS DESCRIBE_ACLS DESCRIBE_CLIENT_QUOTAS
    DESCRIBE_CLUSTER DESCRIBE_CONFIGS DESCRIBE_DELEGATION_TOKEN DESCRIBE_GROUPS DESCRIBE_LOG_DIRS DESCRIBE_PRODUCERS
    DESCRIBE_QUORUM DESCRIBE_SHARE_GROUP_OFFSETS DESCRIBE_TOPIC_PARTITIONS DESCRIBE_TRANSACTIONS
    DESCRIBE_USER_SCRAM_CREDENTIALS ELECT_LEADERS END_QUORUM_EPOCH END_TXN ENVELOPE EXPIRE_DELEGATION_TOKEN FETCH
    FETCH_SNAPSHOT FIND_COORDINATOR GET_TELEMETRY_SUBSCRIPTIONS HEARTBEAT INCREMENTAL_ALTER_CONFIGS
    INITIALIZE_SHARE_GROUP_STATE INIT_PRODUCER_ID JOIN_GROUP LEADER_AND_ISR LEAVE_GROUP
    LIST_CLIENT_METRICS_RESOURCES LIST_CONFIG_RESOURCES LIST_GROUPS LIST_OFFSETS LIST_PARTITION_REASSIGNMENTS
    LIST_TRANSACTIONS METADATA OFFSET_COMMIT OFFSET_DELETE OFFSET_FETCH OFFSET_FOR_LEADER_EPOCH PRODUCE
    PUSH_TELEMETRY READ_SHARE_GROUP_STATE READ_SHARE_GROUP_STATE_SUMMARY REMOVE_RAFT_VOTER RENEW_DELEGATION_TOKEN
    SASL_AUTHENTICATE SASL_HANDSHAKE SHARE_ACKNOWLEDGE SHARE_FETCH SHARE_GROUP_DESCRIBE SHARE_GROUP_HEARTBEAT
    STOP_REPLICA STREAMS_GROUP_DESCRIBE STREAMS_GROUP_HEARTBEAT SYNC_GROUP TXN_OFFSET_COMMIT UNREGISTER_BROKER
    UPDATE_FEATURES UPDATE_METADATA UPDATE_RAFT_VOTER VOTE WRITE_SHARE_GROUP_STATE WRITE_TXN_MARKERS
    """.split()  # noqa: SIM905 - a line for each would be 96
)
UNKNOWN = "UNKNOWN"
"""Replaces the name of a request that is not in `REQUESTS`: the column `request` must not contain a text that a client
chose.
"""
ANY = "*"
"""Replaces the name of a resource in a check that any resource of the type satisfies: for such a check, brokers log the
pattern UNKNOWN and the name NONE.
"""
_OF_OTHERS = b"ResourcePattern("
"""The text before the name in AclAuthorizer's DEBUG messages about the ACLs that it found or did not find."""
_WHOLE = re.compile(
    rb", patternType=[A-Z]{1,20}\)"
    rb"(?:, authorized = (?:true|false)\b| from host = [^ ]{1,100} is (?:ALLOW|DENY) based on acl = )"
)
"""Matches the text after the name in the messages that contain `_OF_OTHERS`, if the message is complete."""
_SUPER_USER = re.compile(
    rb"principal = .* is a super user, allowing operation without checking acls\.(?:" + re.escape(_BEHIND) + rb")?\Z"
)
"""Matches AclAuthorizer's DEBUG message about a super user."""
_LONGEST_RULE = 500
_LONGEST_NAME = 100_000
"""Maximum size in bytes of the lines that one name of a client can cause: a text in Kafka's requests has at most 32,767
bytes, and AclAuthorizer may log a name three times for one decision.
"""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

NO_DECISION = "not a decision of the authorizer"
AMBIGUOUS = "a name in it has the words of such a line, so whose decision it is can't be known"

OF_OTHERS = lines.Form(
    "lines of other loggers, with none of kafka.authorizer.logger",
    "Set kafka.authorizer.logger to INFO on that broker, or to DEBUG, and name the file of its appender "
    "(kafka-authorizer.log).",
)


class Access(NamedTuple):
    """An access that an authorizer allowed or denied: columns of CHECK_1M, with names as in Kafka's enumerations."""

    principal: str
    host: str
    operation: str
    resource_type: str
    pattern_type: str
    resource_name: str
    request: str
    is_allowed: bool


class Check(NamedTuple):
    """A line of the authorizer log that reports a decision."""

    byte_pos: int
    second: datetime
    """The time of the line, in whole seconds: in UTC if the line has a zone, otherwise without a zone."""
    millis: int
    """The milliseconds within that second."""
    access: Access
    rule: str | None
    """The rule that led to the decision; None if the line does not name it."""


def _kafka_name(text: bytes) -> str:
    """Return a name as Kafka's enumerations have it: `DescribeConfigs` is DESCRIBE_CONFIGS."""
    return _CAMEL.sub("_", text.decode()).upper()


def _decision(rest: bytes) -> tuple[Access, str | None] | str:
    """Return the access in a message and the rule, None if the message has no rule; or the reason why the message can't
    be read. rest: the message after the text `MESSAGE`.
    """
    found = _DECIDED.search(rest)
    if found is None:
        return NO_DECISION
    asked = _ASKED.search(rest, found.end())
    if asked is None:
        return lines.NO_END
    if _DECIDED.search(rest, found.end()) or _ASKED.search(rest, asked.end()) or MESSAGE in rest[: found.start()]:
        return AMBIGUOUS
    parts = (
        rest[: found.start()],
        found[3],
        rest[found.end() : asked.start()],
        rest[asked.end() :].removeprefix(_BY_RULE),
    )
    try:
        principal, host, name, rule = (part.decode() for part in parts)
    except UnicodeDecodeError:
        return lines.NO_TEXT
    operation, type_, pattern, request = map(_kafka_name, (found[2], found[4], found[5], asked[1]))
    request = request if request in REQUESTS else UNKNOWN
    name = ANY if (pattern, name) == ("UNKNOWN", "NONE") else name
    access = Access(principal, host, operation, type_, pattern, name, request, found[1] == b"Allowed")
    return access, rule[:_LONGEST_RULE] or None


_known_decision = lru_cache(1 << 14)(_decision)
"""`_decision` with a cache, because brokers log many equal decisions."""
_USUAL_BYTES = 1000
"""Maximum size in bytes of a message that is cached."""


def one_line(place: int, line: bytes) -> Check | Damaged | None:
    """Parse a single line in any layout. Return `Damaged` if its decision can't be read, or if only the logger's name
    at its end shows that the authorizer wrote it; None for any other line without a decision. place: the line's byte
    position.
    """
    stripped = line.rstrip(b"\r")
    if _OF_OTHERS in line.partition(MESSAGE)[0]:
        return None
    found = lines.taken(stripped, MESSAGE)
    if found is None:
        if _SUPER_USER.search(stripped):
            return None
        return Damaged.of(place, line, lines.NO_START) if stripped.endswith((LOGGER, LOGGER + b")")) else None
    if found.at is None:
        return Damaged.of(place, line, lines.NO_TIME)
    rest = found.rest.removesuffix(_BEHIND)
    decided = _known_decision(rest) if len(rest) <= _USUAL_BYTES else _decision(rest)
    return Damaged.of(place, line, decided) if isinstance(decided, str) else Check(place, *found.at, *decided)


class _Open(NamedTuple):
    """A message that may not be complete yet: a name in it may contain a line end, so that the next lines
    belong to it.
    """

    place: int
    text: list[bytes]
    """The lines of the message."""
    held: list[Check | Damaged]
    """The decisions and damaged lines that were read since the message began."""
    is_cut: bool
    """Whether the end of the message must be in a later line."""
    may_be_one: bool
    """Whether all lines together may still be one message."""

    def given_up(self) -> Iterator[Check | Damaged]:
        """Yield the results for a message whose end was not found, neither within `_LONGEST_NAME` bytes nor before the
        input ended: the held decisions and damaged lines. If a cut message has several lines, yield instead a single
        damaged line with the text of all: any of them may be forged.
        """
        if self.is_cut and len(self.text) > 1:
            yield Damaged.of(self.place, b"\n".join(self.text), AMBIGUOUS)
        else:
            yield from self.held


def checks(blocks: Iterable[tuple[int, bytes]]) -> Iterator[Check | Damaged]:
    """Yield the decisions and the damaged lines in blocks of whole lines with their byte positions.

    A name that contains line ends spans several lines. A line in its middle may look like a decision, but a client may
    have forged it: such a line is not yielded as a decision.
    """
    open_: _Open | None = None
    for place, line in _lines(blocks):
        found = one_line(place, line)
        reason = found.reason if isinstance(found, Damaged) else ""
        if open_ is not None and place - open_.place > _LONGEST_NAME:
            yield from open_.given_up()
            open_ = None
        if open_ is not None:
            open_.text.append(line)
            if reason != lines.NO_START:
                open_.held.extend(() if found is None else (found,))
                if reason == lines.NO_END:  # lines behind a cut message may be forged, also after an ambiguous one
                    open_ = open_._replace(is_cut=True)
                continue
            again = one_line(open_.place, b"\n".join(open_.text)) if open_.may_be_one else found
            if isinstance(again, Damaged):
                # A name may contain several texts that look like the message's end: no later line is certain to be a
                # decision.
                open_ = open_._replace(is_cut=True, may_be_one=False)
                continue
            open_ = None
            if again is not None:
                yield again
        elif reason in (lines.NO_END, AMBIGUOUS) or (found is None and _is_cut(line)):
            is_cut = reason != AMBIGUOUS
            open_ = _Open(place, [line], [] if found is None else [found], is_cut, is_cut)
        elif found is not None:
            yield found
    if open_ is not None:
        yield from open_.given_up()


def _is_cut(line: bytes) -> bool:
    """Return whether a line is the beginning of another message of AclAuthorizer, whose rest follows after a line end
    in a name.
    """
    _, found, name = line.partition(_OF_OTHERS)
    return bool(found) and _WHOLE.search(name) is None


def _lines(blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for place, text in blocks:
        for line in text.removesuffix(b"\n").split(b"\n"):
            yield place, line
            place += len(line) + 1


# -- decisions by the minute -------------------------------------------------------------------------------------------

_Minute = dict[Access, list[Any]]
"""Access -> a list of four: the number of decisions, the milliseconds within the minute of the first and of the last
decision, and the rule of the last one.
"""


class _Chunk:
    """The results from some lines. minutes: (minute by the lines' clock, whether it is in the second pass of an hour
    that the clock shows twice) -> the position of a line in that minute, and its decisions.
    """

    def __init__(self) -> None:
        self.lines = self.bad = 0
        self.minutes: dict[tuple[datetime, bool], tuple[int, _Minute]] = {}
        self.damaged: list[Damaged] = []

    def add(self, found: Check | Damaged, fold: int, named: int) -> None:
        """Add a decision or a damaged line.

        Args:
            fold: the byte position from which on times are in the second pass of an hour that the clock shows twice.
            named: the byte position from which on no line can be part of a client's name.
        """
        if isinstance(found, Damaged):
            self.damaged.append(found)
            self.bad += found.byte_pos >= named
            return
        self.lines += 1
        minute, at = found.second.replace(second=0), found.second.second * 1000 + found.millis
        _, sums = self.minutes.setdefault((minute, found.byte_pos >= fold), (found.byte_pos, {}))
        known = sums.get(found.access)
        if known is None:
            sums[found.access] = [1, at, at, found.rule]
            return
        known[0] += 1
        if at < known[1]:
            known[1] = at
        if at >= known[2]:
            known[2:] = at, found.rule


def counted(whose: Whose, blocks: Iterable[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    """Yield rows of AUTHORIZATION for blocks of whole lines with their byte positions: the decisions by the minute,
    the damaged lines, and the number of lines. A last batch is always yielded, because it has the number of
    lines.
    """
    fold = sys.maxsize if whose.fold_at is None else whose.fold_at
    chunk, end = _Chunk(), 0
    blocks = iter(blocks)
    begin = next(blocks, (0, b""))
    # A part of a file may begin within a client's name, and more lines of that name may follow. Lines of a name may
    # also follow each decision or ambiguous line.
    named = begin[0] and begin[0] + _LONGEST_NAME
    for found in checks(itertools.chain((begin,), blocks)):
        if found.byte_pos >= end:
            if end:
                yield from _batches(whose, chunk)
            chunk, end = _Chunk(), found.byte_pos + CHUNK_BYTES
        if not isinstance(found, Damaged) or found.reason == AMBIGUOUS:
            named = found.byte_pos + _LONGEST_NAME
        chunk.add(found, fold, named)
    yield from _batches(whose, chunk)


def _batches(whose: Whose, chunk: _Chunk) -> Iterator[pa.RecordBatch]:
    if chunk.minutes:
        yield batch_of(AUTHORIZATION, "minute", _minutes(whose, chunk))
    yield from last_batches(AUTHORIZATION, whose, chunk.lines, chunk.damaged, chunk.bad)


def _minutes(whose: Whose, chunk: _Chunk) -> list[pa.Array]:
    utc = in_utc(whose, [minute for minute, _ in chunk.minutes], [place for place, _ in chunk.minutes.values()])
    made = []
    for begin, (_, sums) in zip(utc.to_pylist(), chunk.minutes.values(), strict=True):
        for access, (count, *ends, rule) in sums.items():
            times = (begin + timedelta(milliseconds=at) for at in ends)
            made.append((whose.cluster_id, whose.broker_id, begin, *access, count, *times, rule))
    fields = arrow_schema(CHECK_1M)
    return [pa.array(column, field.type) for column, field in zip(zip(*made, strict=True), fields, strict=True)]
