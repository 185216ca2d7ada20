"""Rules on the subjects of the schema registry: compatibility checks, unused subjects, and incompatible versions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from console.lint.rule import Found, Seen, rule
from console.model import subjects
from console.model.avro_compatibility import breaks, problems
from console.model.config import entry_in, own_value, topic_resource
from console.model.numbers import first_few
from console.model.parts import Part
from console.model.severity import Certainty, Severity
from console.plan.edits import SetConfig
from console.plan.schema_texts import read_versions

AVRO_RESOLUTION = "https://avro.apache.org/docs/1.12.0/specification/#schema-resolution"


@rule(
    name="schema-unchecked",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a subject whose compatibility is NONE, or a default that is NONE",
    why="A producer can register a version that no reader can read",
    needs=(Part.SCHEMAS,),
    source=AVRO_RESOLUTION,
)
def _unchecked(seen: Seen) -> Iterator[Found]:
    """Yield a finding for the default of all subjects, or for subjects with a level of their own, if the compatibility
    level is NONE.
    """
    for name in ("", *sorted(seen.snapshot.schemas)):
        resource = subjects.subject_resource(name)
        own = own_value(entry_in(seen.snapshot.configs, resource, subjects.COMPATIBILITY), resource)
        if own is None or own.value != subjects.NONE:
            continue
        whose = f"version of {name}" if name else "version of all subjects without a level of their own"
        edit = SetConfig(resource, subjects.COMPATIBILITY, subjects.BACKWARD)
        yield Found(resource, f"the registry accepts any new {whose}", subjects.COMPATIBILITY, (edit,))


@rule(
    name="schema-unused",
    severity=Severity.INFO,
    certainty=Certainty.POSSIBLE,
    title="a subject that is named after a topic that does not exist",
    why="It may belong to a deleted topic, and the next topic of that name gets it",
    needs=(Part.SCHEMAS, Part.TOPICS),
    source=AVRO_RESOLUTION,
)
def _unused(seen: Seen) -> Iterator[Found]:
    """Yield a finding for each subject whose topic does not exist and to which no other schema refers."""
    for name, subject in seen.snapshot.schemas.items():
        topic = subjects.named_topic(name)
        if not topic or subject.is_deleted or topic in seen.snapshot.topics:
            continue
        if next(subjects.users_of(seen.snapshot.schemas, name), None) is None:
            what = f"no topic is named {topic}, and no other schema refers to it"
            yield Found(subjects.SubjectTarget(name), what, advice="delete it softly if no other cluster uses it")


@rule(
    name="records-without-schema",
    severity=Severity.WARNING,
    certainty=Certainty.POSSIBLE,
    title="a topic with a subject, whose newest records, as far as kac has read them, have no schema",
    why="A reader that expects the schema's id fails at the first such record",
    needs=(Part.SCHEMAS, Part.TOPICS),
    source=AVRO_RESOLUTION,
)
def _bare(seen: Seen) -> Iterator[Found]:
    """Yield a finding for topics that have a subject by their name, although values in their newest records refer to no
    schema; topics whose records were not read are left out.
    """
    for topic, sample in sorted(seen.snapshot.schema_samples.items()):
        subject = seen.snapshot.schemas.get(f"{topic}-value")
        if sample.bare and subject is not None and not subject.is_deleted and topic in seen.snapshot.topics:
            what = f"{sample.bare} of its {sample.records} newest records have a value without a schema"
            advice = f"look at its records, and for the producer that does not use {subject.name}"
            yield Found(topic_resource(topic), what, advice=advice)


@rule(
    name="schema-refused",
    severity=Severity.HIGH,
    certainty=Certainty.LIKELY,
    title="a subject whose newest version is refused by its own compatibility level",
    why="A registry with the versions before it would not accept it, and readers that rely on the level fail",
    needs=(Part.SCHEMAS,),
    source=AVRO_RESOLUTION,
)
def _refused(seen: Seen) -> Iterator[Found]:
    """Yield a finding for subjects whose newest version is incompatible with earlier ones by the subject's
    compatibility level.
    """
    for name in sorted(seen.snapshot.schemas):
        versions = read_versions(seen.snapshot, name)
        if not versions:
            continue
        *before, (number, newest) = versions
        level = subjects.level_of(seen.snapshot.configs, name)
        if lines := [str(each) for each in breaks(level, newest, before)]:
            what = f"version {number} is not {level}: {first_few(lines, 2)}"
            advice = "correct the schema, or set the level that is meant"
            yield Found(subjects.SubjectTarget(name), what, advice=advice)


@rule(
    name="schema-versions-break",
    severity=Severity.WARNING,
    certainty=Certainty.LIKELY,
    title="versions of a subject that readers with the next or the previous version can't read",
    why="A reader fails at the first record of the other version",
    needs=(Part.SCHEMAS,),
    source=AVRO_RESOLUTION,
)
def _breaking(seen: Seen) -> Iterator[Found]:
    """Yield a finding for each subject with two successive versions, one of which can't read the records of the
    other.
    """
    for name in sorted(seen.snapshot.schemas):
        versions = read_versions(seen.snapshot, name)
        for (old, before), (new, after) in pairwise(versions):
            lines = [f"version {new} can't read records of {old}: {each}" for each in problems(after, before)]
            lines += [f"version {old} can't read records of {new}: {each}" for each in problems(before, after)]
            if lines:
                advice = f"describe schema {name} shows the differences; keep readers of both until the old records end"
                yield Found(subjects.SubjectTarget(name), first_few(lines, 2), advice=advice)
                break
