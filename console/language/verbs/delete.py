"""``delete``: deletes a topic, records before an offset or a time, a group or its offsets, a connector, a schema."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from console.language import arguments, statements
from console.language.errors import CommandError
from console.language.quoting import quote, quoted
from console.language.reader import Expected, Reader, Role, What
from console.language.snapshot_parts import Needs, the_group, the_topic, whole_parts
from console.language.staging import Staging
from console.language.verb import CHANGE, StatementKind, Verb, one_edit
from console.language.verbs import connector, passed_over
from console.model.config import topic_resource
from console.model.parts import Part
from console.model.patterns import is_glob, regex_hint
from console.model.system_topics import is_spared
from console.plan import edits as plan_edits
from console.plan.amounts import moment
from console.plan.kinds.groups import DeleteGroup
from console.plan.kinds.schemas import DropSchema
from console.present.text import clean


class Delete(statements.EditStatement, frozen=True):
    """The statement ``delete topic``."""

    name: statements.Name


class DeleteTopics(statements.EditStatement, frozen=True):
    """The statement ``delete topic GLOB``: all topics that match, except those in which Kafka keeps records of its
    own (`is_spared`).
    """

    glob: statements.Glob


class DeleteRecords(passed_over.PassingStatement, frozen=True):
    """The statement ``delete records``. If both `before` and `at_ms` are None, it deletes all present records."""

    topic: statements.Name
    partition: int | None = None
    """The number of the partition; None for all partitions."""
    before: int | None = None
    """The offset before which records are deleted; None if a time is given, or to delete all records."""
    at_ms: int | None = None
    """The time in ms since 1970 before which records are deleted; None if an offset is given, or to delete all
    records.
    """


class DeleteGroupOffsets(statements.EditStatement, frozen=True):
    """The statement ``delete group``: deletes the group, or its offsets of a topic or partition."""

    group: statements.Name
    topic: statements.Name | None = None
    partition: int | None = None


def _parse(
    reader: Reader,
) -> Delete | DeleteTopics | DeleteRecords | DeleteGroupOffsets | statements.OneEdit:
    what = reader.need_keyword("topic", "records", "group", "connector", "schema")
    if what == "connector":
        return statements.OneEdit(plan_edits.DeleteConnector(connector.name_of(reader).text or ""))
    if what == "schema":
        edit = DropSchema(arguments.schema_subject(reader), arguments.optional_version(reader))
        return statements.OneEdit(edit)
    if what == "records":
        return _parse_records(reader)
    if what == "group":
        group = arguments.plain_name(reader, arguments.GROUP, "groups", may_be_empty=True)
        return DeleteGroupOffsets(group, *arguments.topic_of_group(reader))
    word = reader.word
    name = arguments.plain_name(reader, arguments.TOPIC, "topics")
    found = arguments.pattern(word) if word is not None else None
    if found is not None and is_glob(found):
        return DeleteTopics(statements.Glob(found, name.span))
    return Delete(name)


def _parse_records(reader: Reader) -> DeleteRecords:
    """Read the words after ``delete records``: ``topic NAME [partition P] before (OFFSET | TIME | latest)``, and the
    place in which the records are kept, or to which they are sent, before the deletion. Raises ParseError.
    """
    topic = arguments.topic_name(reader)
    partition = arguments.optional_partition(reader, topic)
    reader.need_keyword("before")
    if reader.take_keyword("latest") is not None:
        return passed_over.with_first(reader, DeleteRecords(topic, partition))
    label = "an OFFSET, a TIME (2h, 14:05, 2026-11-20T14:05) or latest"
    word = reader.take(Expected(What.ARGUMENT, label, offers=arguments.offered_durations), Role.VALUE)
    before = arguments.whole_number(word.text, 0, arguments.NUMBER_MAX)
    if before is not None:
        return passed_over.with_first(reader, DeleteRecords(topic, partition, before))
    try:
        at = moment(word.text, datetime.now(UTC))
    except ValueError as error:
        reader.fail(str(error), word, "an OFFSET is a whole number")
    return passed_over.with_first(reader, DeleteRecords(topic, partition, at_ms=round(at.timestamp() * 1000)))


# -- deleting topics ---------------------------------------------------------------------------------------------------


def _named(statement: Delete, staging: Staging) -> list[plan_edits.Edit]:
    name, shown = statement.name.text or "", clean(statement.name.text or "", 80)
    # A quoted pattern, or a regular expression, is probably not meant as the name of a topic.
    hint = f"without quotes it is a pattern: {shown}" if is_glob(name) else regex_hint(name)
    if hint and name not in staging.snapshot.topics:
        raise CommandError(f"there is no topic '{shown}'", hint, statement.name.span)
    return [plan_edits.DeleteTopic(staging.topic(statement.name))]


def _topic_text(statement: Delete) -> str:
    name = statement.name.text or ""
    return f"delete topic {quoted(name) if is_glob(name) else statements.name_text(statement.name)}"


_TOPIC = StatementKind(
    statement=Delete,
    text=_topic_text,
    needs=lambda statement, _selected: the_topic(statement.name),
    edits=_named,
    of_edits={plan_edits.DeleteTopic: lambda edit: Delete(statements.Name(edit.name))},
)


def _matching(statement: DeleteTopics, staging: Staging) -> list[plan_edits.Edit]:
    """Return the deletion of each topic whose name matches. Raises CommandError: no topic matches, or not all topics
    are known.
    """
    from console.language.filters import glob_test

    glob, snapshot = statement.glob, staging.snapshot
    for failed in snapshot.failures:
        if failed.part == Part.TOPICS:
            raise CommandError(f"the topics could not be read: {clean(str(failed.failure), 300)}", "", glob.span)
    matches, topics = glob_test([glob.pattern]), snapshot.topics.items()
    found = [name for name, topic in topics if matches(name) and not is_spared(name, internal=topic.internal)]
    if not found:
        raise CommandError(f"no topic matches '{clean(glob.pattern or '', 80)}'", regex_hint(glob.pattern), glob.span)
    return [plan_edits.DeleteTopic(name) for name in sorted(found)]


_TOPICS = StatementKind(
    statement=DeleteTopics,
    text=lambda statement: f"delete topic {statements.pattern_text(statement.glob.pattern)}",
    needs=lambda _statement, _selected: whole_parts(Part.TOPICS),
    edits=_matching,
)

# -- records -----------------------------------------------------------------------------------------------------------


def _records_text(statement: DeleteRecords) -> str:
    if statement.before is not None:
        before = str(statement.before)
    elif statement.at_ms is not None:
        before = datetime.fromtimestamp(statement.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    else:
        before = "latest"
    of = statements.joined(statements.name_text(statement.topic), statements.partition_text(statement.partition))
    return statements.joined("delete records topic", of, f"before {before}", passed_over.first_text(statement))


def _records_needs(statement: DeleteRecords, _selected: statements.Subject | None) -> Needs:
    name = statement.topic.text or ""
    times = frozenset() if statement.at_ms is None else frozenset({(name, statement.at_ms)})
    topics, resources = frozenset({name}), frozenset({topic_resource(name)})
    # Read the documentation of cleanup.policy: it shows how these brokers treat an empty list.
    needs = Needs(topics=topics, resources=resources, log_ranges=topics, offsets_at=times, documentation=True)
    return needs | passed_over.first_needs(statement)


def _trims(statement: DeleteRecords, staging: Staging) -> Iterator[plan_edits.Edit]:
    """Yield for each partition an edit that deletes the records before an offset. A time in the statement becomes
    the offset of the first record that is not older, or the end offset if all records are older. Raises
    CommandError: the offset for the time was not read.
    """
    name = staging.topic(statement.topic)
    if statement.partition is not None:
        staging.require_partition(name, statement.partition, statement.span)
    for number in staging.partitions(name) if statement.partition is None else (statement.partition,):
        yield plan_edits.TrimLog(name, number, _offset(statement, staging, name, number))


def _offset(statement: DeleteRecords, staging: Staging, name: str, number: int) -> int:
    if statement.before is not None:
        return statement.before
    snapshot = staging.snapshot
    log = snapshot.log_ranges.get((name, number))
    at = -1 if statement.at_ms is None else snapshot.offsets_at.get((name, number, statement.at_ms))
    if log is None or at is None:
        why = next((f.failure for f in snapshot.failures if f.part in (Part.LOG_RANGES, Part.OFFSETS_AT)), None)
        hint = clean(str(why), 300) if why is not None else "refresh, and look whether the partition has a leader"
        raise CommandError(f"the offsets of {clean(name, 80)}/{number} could not be read", hint, statement.span)
    return log.end if at < 0 else at


_RECORDS = StatementKind(
    statement=DeleteRecords,
    text=_records_text,
    needs=_records_needs,
    edits=lambda statement, staging: passed_over.letters_first(statement, staging, _trims(statement, staging)),
    of_edits={plan_edits.TrimLog: lambda edit: DeleteRecords(statements.Name(edit.topic), edit.partition, edit.before)},
)

# -- a group, or its offsets -------------------------------------------------------------------------------------------


def _group_edits(statement: DeleteGroupOffsets, staging: Staging) -> Iterator[plan_edits.Edit]:
    from console.language.group_edits import existing, shown

    group, topic = statement.group, statement.topic
    name = group.text or ""
    position = existing(staging.snapshot, group)
    if topic is None:
        yield DeleteGroup(name)
        return
    if statement.partition is not None:
        yield plan_edits.DeleteOffset(name, topic.text or "", statement.partition)
        return
    places = [place for place in position.committed if place[0] == topic.text]
    if not places:
        raise CommandError(f"group {shown(group)} has no offset of topic {shown(topic)}", "", topic.span)
    for place in places:
        yield plan_edits.DeleteOffset(name, *place)


_GROUP = StatementKind(
    statement=DeleteGroupOffsets,
    text=lambda statement: f"delete {statements.in_group(statement.group, statement.topic, statement.partition)}",
    needs=lambda statement, _selected: the_group(statement.group),
    edits=_group_edits,
    of_edits={
        plan_edits.DeleteOffset: lambda edit: DeleteGroupOffsets(
            statements.Name(edit.group), statements.Name(edit.topic), edit.partition
        ),
        DeleteGroup: lambda edit: DeleteGroupOffsets(statements.Name(edit.name)),
    },
)

# -- a schema ----------------------------------------------------------------------------------------------------------


def _schema_text(edit: DropSchema) -> str:
    return statements.joined(f"delete schema {quote(edit.subject)}", statements.version_text(edit.version))


def _schema_needs(edit: DropSchema) -> Needs:
    subject = frozenset({edit.subject})
    return whole_parts(Part.SCHEMAS, Part.TOPICS) | Needs(schema_texts=subject, schema_users=subject)


VERBS = (
    Verb(
        "delete",
        CHANGE,
        (
            "delete topic (NAME | GLOB)",
            f"delete records topic NAME [partition P] before (OFFSET | TIME | latest) {passed_over.USAGE}",
            "delete group NAME [topic NAME [partition N]]",
            "delete connector CLUSTER/NAME",
            "delete schema SUBJECT [version N]",
        ),
        "Stage the deletion of a topic, old records, a group or its offsets, a connector, or a schema",
        "Topics: a GLOB stands for all topics that match, except the topics that brokers keep for themselves. "
        "`revert` creates a deleted topic again with its configs, but without its records.\n\n"
        "To delete a topic that has records or readers, or that belongs to another tool, type its name. A script "
        "uses `--accept topic-deleted=TOPIC`. To delete more than three topics in a plan, type their number.\n\n"
        "Records: TIME is 2h or 7d (ago), 14:05, 2026-11-20 or 2026-11-20T14:05. `latest` is the end of the log. "
        "When you stage the statement, kac turns TIME or `latest` into an offset of each partition.\n\n"
        "Brokers delete records only if `cleanup.policy` contains delete. Deleted records can't be restored. A "
        "script uses `--accept records-deleted=TOPIC`.\n\n"
        "`keep FILE` first copies the records into a new file of JSON lines, when you stage the statement. `to "
        "topic NAME` first sends the records to that topic, when you apply the plan. The sent records have headers "
        "that `redrive` reads.\n\n"
        "Groups: a group must have no members. `revert` commits the deleted offsets again.\n\n"
        "Connectors: the offsets of a deleted connector stay. `revert` creates the connector again, without its "
        "secrets.\n\n"
        "Schemas: the registry deletes a schema softly, so its ids still decode records. If topics or other "
        "schemas use the schema, type its subject. A script uses `--accept in-use=SUBJECT`. `revert` registers "
        "the schema again.",
        (
            "delete topic orders-old",
            "delete topic tmp-*",
            "delete records topic orders partition 3 before 1200",
            "delete records topic orders before 2026-11-20T14:05",
            "delete records topic orders before latest",
            "delete records topic orders before latest keep orders.jsonl",
            "delete group billing-old",
            "delete group billing topic orders",
            "delete connector main/orders-sink",
            "delete schema orders-value version 3",
        ),
        takes_away=True,
        rank=5,
        stands_for={
            "delete topic NAME": "topic delete",
            "delete records topic NAME before latest": "topic purge, record delete, record purge",
            "delete group NAME": "group delete",
            "delete group NAME topic TOPIC": "offset delete",
        },
        parse=_parse,
        statements=(
            _TOPIC,
            _TOPICS,
            _RECORDS,
            _GROUP,
            connector.DELETE,
            one_edit(DropSchema, _schema_text, _schema_needs),
        ),
    ),
)
