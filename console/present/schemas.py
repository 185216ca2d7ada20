"""The subjects of the schema registry: rows, and the details of a subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from console.model import schema_use, subjects
from console.model.avro_compatibility import SAME, Difference, compare
from console.model.config import ConfigSet, own_value
from console.model.numbers import commas, first_few
from console.model.schemas import AVRO
from console.model.snapshot import Snapshot
from console.model.topic_readers import TopicLags
from console.plan.schema_texts import avro_of
from console.present import columns
from console.present.names import NOTHING, plural
from console.present.text import Cell, Line, clean, in_columns

NOT_NAMED = "the context names no schema registry: add [contexts.NAME.schemas] with url to its file"
MOST_NAMED = 20
"""Maximum number of topics, groups and schemas that a line of details lists."""


class SchemaRow(NamedTuple):
    """A subject with its configs (None if they were not read), the topics that use it, and the number of subjects that
    refer to it.
    """

    subject: subjects.Subject
    configs: ConfigSet | None
    topics: tuple[subjects.TopicUse, ...]
    users: int

    @property
    def name(self) -> str:
        """The name of the subject."""
        return self.subject.name

    @property
    def version(self) -> int | None:
        """The number of the newest version; None if all versions are deleted."""
        newest = self.subject.newest
        return None if newest is None else newest.number

    @property
    def id(self) -> int | None:
        """The id of the newest schema; None if it was not read, or all are deleted."""
        newest = self.subject.newest
        return (newest.id or None) if newest is not None else None

    def value(self, key: str) -> str | None:
        """Return the effective value of a config key; None if it is unknown or not set."""
        entry = None if self.configs is None else self.configs.get(key)
        return None if entry is None else entry.value

    def is_own(self, key: str) -> bool:
        """Return whether the subject itself sets a config key, instead of inheriting its value."""
        entry = None if self.configs is None else self.configs.get(key)
        return own_value(entry, subjects.subject_resource(self.name)) is not None

    @property
    def nothing_checked(self) -> bool:
        """Whether the registry would accept any new version, because the compatibility level is NONE."""
        return not self.subject.is_deleted and self.value(subjects.COMPATIBILITY) == subjects.NONE


def schema_rows(snapshot: Snapshot) -> Iterator[SchemaRow]:
    """Yield the subjects that were read, by name."""
    # Count users by subject: each version of a subject may repeat the same reference.
    users: dict[str, set[str]] = {}
    for subject in snapshot.schemas.values():
        for version in subject.versions:
            for each in version.references:
                users.setdefault(each.subject, set()).add(subject.name)
    for name in sorted(snapshot.schemas):
        subject = snapshot.schemas[name]
        yield SchemaRow(
            subject,
            snapshot.configs.get(subjects.subject_resource(name)),
            tuple(subjects.topics_of(subject, snapshot.topics)),
            len(users.get(name, ())),
        )


def row_of(snapshot: Snapshot, subject: str) -> SchemaRow | None:
    """Return the row of a subject by its name; None if there is no such subject, or it was not read."""
    return next((row for row in schema_rows(snapshot) if row.name == subject), None)


def _of_config(row: SchemaRow, key: str) -> str:
    """Return the effective value of a config key; in parentheses if it is inherited; a dash if it is unknown."""
    value = row.value(key)
    if value is None:
        return NOTHING
    return value if row.is_own(key) else f"({value})"


def _level_cell(row: SchemaRow) -> Cell:
    text = clean(_of_config(row, subjects.COMPATIBILITY), 30)
    return (text, "changed") if row.nothing_checked else text


def _topics_text(row: SchemaRow) -> str:
    # Mark a guess by the name with a question mark: deleting a subject because of it would be a mistake.
    names = (each.topic if each.is_sure else f"{each.topic}?" for each in row.topics)
    return ",".join(names) or ("by record" if subjects.is_by_record(row.subject) else NOTHING)


SCHEMAS: columns.Columns[SchemaRow] = columns.Columns(
    columns.Column(
        "subject",
        get=lambda row: row.name,
        cell=lambda row: (clean(row.name, 200), "muted") if row.subject.is_deleted else clean(row.name, 200),
        layout=columns.on_screen((20, None), flex=2, priority=99, sort_key="N"),
    ),
    columns.Column(
        "type",
        get=lambda row: row.subject.kind or None,
        type="word",
        cell=lambda row: clean(row.subject.kind, 12) or NOTHING,
        layout=columns.on_screen(8, priority=80, sort_key="T"),
    ),
    columns.Column(
        "version",
        type="number",
        cell=lambda row: "deleted" if row.version is None else str(row.version),
        layout=columns.on_screen(7, priority=90, sort_key="V"),
    ),
    columns.Column(
        "live_versions",
        columns.DATA | columns.DETAIL,
        lambda row: len(row.subject.live),
        "number",
    ),
    columns.Column(
        "deleted_versions",
        columns.DATA | columns.DETAIL,
        lambda row: len(row.subject.versions) - len(row.subject.live),
        "number",
    ),
    columns.Column(
        "id",
        type="number",
        cell=lambda row: NOTHING if row.id is None else str(row.id),
        layout=columns.on_screen(6, priority=70, sort_key="I"),
    ),
    columns.Column(
        subjects.COMPATIBILITY,
        get=lambda row: row.value(subjects.COMPATIBILITY),
        type="word",
        cell=_level_cell,
        layout=columns.on_screen(21, "Compatibility", priority=95, sort_key="C"),
    ),
    columns.Column(
        subjects.MODE,
        get=lambda row: row.value(subjects.MODE),
        type="word",
        cell=lambda row: clean(_of_config(row, subjects.MODE), 30),
        layout=columns.on_screen(11, "Mode", priority=50, sort_key="M"),
    ),
    columns.Column(
        "references",
        get=lambda row: sum(len(each.references) for each in [row.subject.newest] if each is not None),
        type="number",
        title="Refers to",
        cell=lambda row: str(len(row.subject.newest.references) if row.subject.newest is not None else 0),
        layout=columns.on_screen(5, "Refs", priority=40, sort_key="R"),
    ),
    columns.Column(
        "referenced_by",
        get=lambda row: row.users,
        type="number",
        title="Referred to by",
        layout=columns.on_screen(7, "Used by", priority=45, sort_key="U"),
    ),
    columns.Column(
        "topics",
        get=lambda row: [each.topic for each in row.topics],
        type="names",
        cell=lambda row: clean(_topics_text(row), 200),
        text=_topics_text,
        layout=columns.on_screen((12, None), flex=1, priority=85, sort_key="O"),
    ),
    views=columns.EVERYWHERE | columns.DETAIL,
)
"""The columns of subjects. A level or mode in parentheses is inherited from the registry; a topic with a question mark
is likely, not certain.
"""


VERSIONS: columns.Columns[subjects.SchemaVersion] = columns.Columns(
    columns.Column("version", get=lambda row: row.number, type="number"),
    columns.Column("id", get=lambda row: row.id or None, type="number"),
    columns.Column("type", get=lambda row: row.kind or None, text=lambda row: row.kind or NOTHING),
    columns.Column("record", get=lambda row: row.record or None, text=lambda row: row.record or NOTHING),
    columns.Column(
        "references",
        get=lambda row: [f"{each.subject} version {each.version} as {each.name}" for each in row.references],
        title="Refers to",
        text=lambda row: first_few([f"{each.subject} v{each.version}" for each in row.references], 5) or NOTHING,
    ),
    columns.Column(
        "deleted", get=lambda row: row.is_deleted, type="boolean", text=lambda row: "deleted" if row.is_deleted else ""
    ),
    views=columns.TOLD,
)
"""The columns of a subject's versions."""


class VersionDiff(NamedTuple):
    """The differences between two versions of a subject's schema."""

    old: int
    new: int
    places: tuple[Difference, ...] = ()
    why: str = ""
    """The reason why the versions are not compared; ``""`` if they are."""


def version_diff(snapshot: Snapshot, subject: str, *, whole: bool = False) -> VersionDiff | None:
    """Return the differences between the two newest of a subject's versions that are not deleted, or the reason why
    they can't be compared (`VersionDiff.why`).

    Args:
        whole: whether to return also the fields that do not differ.

    Returns:
        None if the subject has fewer than two such versions.
    """
    known = snapshot.schemas.get(subject)
    live = [each.number for each in known.live] if known is not None else []
    if len(live) < 2:
        return None
    old, new = live[-2:]
    texts = [snapshot.schema_texts.get((subject, number)) for number in (old, new)]
    # A text may be missing: texts are read only for the subject in view, and a registry may refuse one.
    if None in texts:
        return VersionDiff(old, new, why="their texts were not read")
    was, now = (avro_of(snapshot, text) for text in texts)
    if was is None or now is None:
        is_avro = all(text is not None and text.kind == AVRO for text in texts)
        why = "a schema that they refer to is not known" if is_avro else "only Avro is compared field by field"
        return VersionDiff(old, new, why=why)
    return VersionDiff(old, new, compare(was, now, whole=whole))


NEW_READERS, OLD_READERS = "New readers, old records", "Old readers, new records"

DIFFERENCES: columns.Columns[Difference] = columns.Columns(
    columns.Column("place", get=lambda row: row.path),
    columns.Column("old", get=lambda row: row.old or None, text=lambda row: row.old or NOTHING),
    columns.Column("new", get=lambda row: row.new or None, text=lambda row: row.new or NOTHING),
    columns.Column(
        "new_readers", title=NEW_READERS, text=lambda row: f"✗ {row.new_readers}" if row.breaks_new else row.new_readers
    ),
    columns.Column("new_readers_break", columns.OBJECT, lambda row: row.breaks_new, "boolean"),
    columns.Column(
        "old_readers", title=OLD_READERS, text=lambda row: f"✗ {row.old_readers}" if row.breaks_old else row.old_readers
    ),
    columns.Column("old_readers_break", columns.OBJECT, lambda row: row.breaks_old, "boolean"),
    views=columns.TOLD,
)
"""The columns of the differences between two versions."""


def schema_lines(snapshot: Snapshot, row: SchemaRow) -> list[Line]:
    """Return details of a subject, apart from its versions and configs: topics, readers, and references from and to
    other subjects.
    """
    subject = row.subject
    told: list[tuple[str, str]] = []
    if subject.is_deleted:
        told.append(("deleted", "softly: records are still decoded by its ids; undelete schema registers it again"))
    by_ids = schema_use.id_uses(snapshot, subject)
    told += [("used by", line) for line in _used_by(snapshot, row, by_ids)]
    if not row.topics and not by_ids:
        by_record = "any topic may use it: its name is its record's (RecordNameStrategy)"
        topic = subjects.named_topic(subject.name)
        missing = f"no topic: there is none named {topic}" if topic else "no topic has its name"
        told.append(("used by", by_record if subjects.is_by_record(subject) else missing))
    lags = TopicLags().after(snapshot)
    # Add the topics found by ids in records, whose subjects may have other names.
    topics = {use.topic for use in row.topics} | {use.topic for use in by_ids}
    readers = sorted({group for topic in topics for group, _ in lags.readers(topic)})
    if readers:
        told.append(("read by", f"{plural(len(readers), 'group')}: {first_few(readers, MOST_NAMED)}"))
    users = [
        f"{name} version {version.number}{' (deleted)' if version.is_deleted else ''}"
        for name, version, _ in subjects.users_of(snapshot.schemas, subject.name)
    ]
    if users:
        told.append(("referred to by", first_few(users, MOST_NAMED)))
    if row.nothing_checked:
        told.append(("not checked", "compatibility is NONE: the registry accepts a version that no reader can read"))
    return [[(f"{name:<15}", "muted"), (clean(value, 600), "")] for name, value in told]


def _used_by(snapshot: Snapshot, row: SchemaRow, by_ids: Sequence[schema_use.IdUse]) -> Iterator[str]:
    """Yield lines about the topics that use a subject: by its name, and by schema ids in the records that were read."""
    for use in row.topics:
        how = use.why if use.is_sure else f"likely: {use.why}"
        sample = snapshot.schema_samples.get(use.topic)
        seen = [_ids_text(each) for each in by_ids if each.topic == use.topic]
        if sample is not None and not seen:
            seen = [f"none of the {sample.records} newest records has its ids"]
        yield f"topic {use.topic}, {use.part} (by name: {'; '.join((how, *seen))})"
    named = {use.topic for use in row.topics}
    yield from (f"topic {each.topic} ({_ids_text(each)})" for each in by_ids if each.topic not in named)


def _ids_text(use: schema_use.IdUse) -> str:
    versions = f", version {first_few([*map(str, use.versions)], 5)}" if use.versions else ""
    return f"by the ids of {use.matching} of the {use.records} newest records, {use.part}{versions}"


ID_USES: columns.Columns[schema_use.IdUse] = columns.Columns(
    columns.Column("topic", columns.TOLD),
    columns.Column("part", columns.TOLD, type="word"),
    columns.Column("records", columns.TOLD, lambda row: row.matching, "number", title="Records with its ids"),
    columns.Column("read", columns.TOLD, lambda row: row.records, "number", title="Records read"),
    columns.Column(
        "versions", columns.TOLD, lambda row: [*row.versions], text=lambda row: commas(row.versions) or NOTHING
    ),
)
"""The columns of topics whose newest records contain ids of a subject's schemas."""


def version_lines(subject: subjects.Subject) -> list[Line]:
    """Return the versions of a subject, the newest first, a line each."""
    lines: list[Line] = []
    for version in reversed(subject.versions):
        refers = ", ".join(f"{each.subject} version {each.version}" for each in version.references[:10])
        words = (f"id {version.id}" if version.id else "", version.kind, version.record, f"refers to {refers}")
        told = ", ".join(filter(None, words if refers else words[:-1]))
        name = f"version {version.number}"
        deleted: Line = [("  deleted", "changed")] if version.is_deleted else []
        lines.append([(f"{name:<15}", "muted"), (clean(told, 300), ""), *deleted])
    return lines


SIDE_BY_SIDE = 110
"""Minimum width in cells for showing two versions next to each other."""


def diff_lines(snapshot: Snapshot, subject: subjects.Subject, diff: VersionDiff | None, width: int) -> list[Line]:
    """Return lines that compare two versions field by field, with the effect of each difference on old and new readers.
    Without a diff, return the text of the newest version, or no lines if that was not read. If the versions can't be
    compared, return the reason.

    Args:
        subject: the subject.
        diff: the differences between the two versions; None if the subject has fewer than two.
        width: the width in cells.
    """
    if diff is None:
        newest = subject.newest
        text = None if newest is None else snapshot.schema_texts.get((subject.name, newest.number))
        return [] if text is None else [[(clean(line, 400), "")] for line in text.text.splitlines()[:2_000]]
    lines: list[Line] = [[(f"version {diff.old} and version {diff.new}", "strong")]]
    if diff.why:
        return [*lines, [(diff.why, "muted")]]
    if width >= SIDE_BY_SIDE:
        titles = ("Place", f"Version {diff.old}", f"Version {diff.new}", NEW_READERS, OLD_READERS)
        head: list[Cell] = [(title, "muted") for title in titles]
        return [*lines, *in_columns([head, *map(_diff_row, diff.places)])]
    for each in diff.places:
        same = each.new_readers == SAME == each.old_readers
        lines.append([(clean(each.path, 120), "muted" if same else "strong")])
        if same:
            lines[-1].append((f"  {clean(each.new, 200)}", "muted"))
            continue
        told = (
            (f"Version {diff.old}", each.old, False),
            (f"Version {diff.new}", each.new, False),
            (NEW_READERS, each.new_readers, each.breaks_new),
            (OLD_READERS, each.old_readers, each.breaks_old),
        )
        lines += [
            [(f"  {name:<25}", "muted"), (clean(text, 200) or NOTHING, "failed" if breaks else "")]
            for name, text, breaks in told
        ]
    return lines


def _diff_row(each: Difference) -> list[Cell]:
    same = each.new_readers == SAME == each.old_readers
    style = "muted" if same else ""
    return [
        (clean(each.path, 60), "muted" if same else "strong"),
        (clean(each.old, 60) or NOTHING, style),
        (clean(each.new, 60) or NOTHING, style),
        (clean(each.new_readers, 80), "failed" if each.breaks_new else style),
        (clean(each.old_readers, 80), "failed" if each.breaks_old else style),
    ]
