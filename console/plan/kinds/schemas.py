"""Schemas: registering a version of a subject, soft-deleting versions, and registering a soft-deleted version again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from console.model import subjects
from console.model.avro_compatibility import NotAvro, avro_schema, breaks, problems
from console.model.codes import DYNAMIC_DEFAULT_SCHEMA_CONFIG, SCHEMA
from console.model.numbers import first_few
from console.model.parts import Part
from console.model.schema_use import id_uses
from console.model.schemas import AVRO
from console.model.snapshot import Snapshot
from console.plan import risk_rules
from console.plan import staged as plan_staged
from console.plan.edit_kind import Batch, EditKind, Reversal, Stage
from console.plan.edits import ConfigEdit, Edit, Slot
from console.plan.effective_values import NOTHING, DiffLine, EffectiveValue
from console.plan.requests import Facts, Step
from console.plan.schema_texts import avro_of, read_versions, same_schema

# -- the edits ---------------------------------------------------------------------------------------------------------


class _SchemaEdit(Edit, frozen=True):
    subject: str


class AddSchema(_SchemaEdit, frozen=True):
    """Register a schema as the newest version of a subject."""

    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[subjects.SchemaReference, ...] = ()

    @property
    def target(self) -> subjects.SubjectTarget:
        """The new version of the subject; a plan has at most one for each subject."""
        return subjects.SubjectTarget(self.subject, 0)


class DropSchema(_SchemaEdit, frozen=True):
    """Soft-delete a version of a subject, or the whole subject."""

    version: int | None = None
    """The number of the version; None for the whole subject."""

    @property
    def target(self) -> subjects.SubjectTarget:
        """The version, or the whole subject."""
        return subjects.SubjectTarget(self.subject, self.version)


class RestoreSchema(_SchemaEdit, frozen=True):
    """Register the schema of a soft-deleted version again."""

    version: int

    @property
    def target(self) -> subjects.SubjectTarget:
        """The soft-deleted version."""
        return subjects.SubjectTarget(self.subject, self.version)


SchemaEdit = AddSchema | DropSchema | RestoreSchema

MOST_RECORDED = 64 << 10
"""Maximum length in characters of a schema's text that the journal stores, so that a deletion can be reverted."""
_KIND, _TEXT, _REFERENCES = "kind", "text", "references"


def source_of(edit: AddSchema) -> subjects.SchemaSource:
    """Return the schema that an edit registers."""
    return subjects.SchemaSource(edit.kind, edit.text, edit.references)


# -- requests ----------------------------------------------------------------------------------------------------------


def _request(staged: plan_staged.Staged) -> subjects.RegisterSchema | subjects.DeleteSchema:
    edit = staged.edit
    if isinstance(edit, AddSchema):
        return subjects.RegisterSchema(edit.subject, source_of(edit))
    if isinstance(edit, RestoreSchema):
        return subjects.RegisterSchema(edit.subject, undeletes=edit.version)
    assert isinstance(edit, DropSchema)
    return subjects.DeleteSchema(edit.subject, edit.version)


def _additions(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return one request for each registration. A schema comes after the schemas to which it refers, because the
    registry refuses a reference to a schema that it does not have.
    """

    def waits_for(each: plan_staged.Staged) -> set[str]:
        references = each.edit.references if isinstance(each.edit, AddSchema) else ()
        return {one.subject for one in references}

    return _in_turn(staged, waits_for, "once the schemas that it refers to are registered")


def _deletions(staged: Sequence[plan_staged.Staged], _facts: Facts) -> list[Step]:
    """Return one request for each deletion. A version comes after the versions that refer to it, because the
    registry refuses to delete a version to which another one refers.
    """
    users: dict[str, set[str]] = {}
    for each in staged:
        for version in each.was.versions if isinstance(each.was, subjects.Subject) else ():
            for one in version.references:
                users.setdefault(one.subject, set()).add(_subject_of(each))
    return _in_turn(staged, lambda each: users.get(_subject_of(each), set()), "once what refers to it is deleted")


def _subject_of(staged: plan_staged.Staged) -> str:
    assert isinstance(staged.edit, SchemaEdit)
    return staged.edit.subject


def _in_turn(
    staged: Sequence[plan_staged.Staged], waits_for: Callable[[plan_staged.Staged], set[str]], why: str
) -> list[Step]:
    """Return one request for each edit, after the requests for the subjects that the edit waits for. Edits that wait
    for each other, which valid schemas don't cause, are sent in the order of staging.

    Args:
        waits_for: a function from an edit to the subjects whose edits have to be sent first.
        why: the note on a request that waits.
    """
    steps: list[Step] = []
    places: dict[str, list[int]] = {}
    left = {each.edit.slot: each for each in staged}
    while left:
        open_ = {_subject_of(each) for each in left.values()}
        ready = [slot for slot, each in left.items() if not (waits_for(each) - {_subject_of(each)}) & open_]
        for each in [left.pop(slot) for slot in ready or [*left]]:
            subject = _subject_of(each)
            after = tuple(place for name in sorted(waits_for(each) - {subject}) for place in places.get(name, ()))
            places.setdefault(subject, []).append(len(steps))
            steps.append(Step(_request(each), (each,), why if after else "", after, unchecked=bool(after)))
    return steps


def _with(snapshot: Snapshot, edits: Sequence[SchemaEdit]) -> Snapshot:
    """Return the snapshot with its subjects changed by these edits."""
    found, texts = dict(snapshot.schemas), dict(snapshot.schema_texts)
    for edit in edits:
        after = found[edit.subject] = _after(edit, found.get(edit.subject))
        if isinstance(edit, AddSchema):
            texts[edit.subject, after.versions[-1].number] = source_of(edit)
    return replace(snapshot, schemas=found, schema_texts=texts)


def _after(edit: Edit, was: subjects.Subject | None) -> subjects.Subject:
    """Return a subject as it is after an edit; the schema id of a new version is 0, which means unknown. was: None for
    a subject that does not exist.
    """
    assert isinstance(edit, SchemaEdit)
    subject = was or subjects.Subject(edit.subject)
    if isinstance(edit, DropSchema):
        return replace(
            subject,
            versions=tuple(
                replace(each, is_deleted=each.is_deleted or edit.version in (None, each.number))
                for each in subject.versions
            ),
        )
    number = 1 + max((each.number for each in subject.versions), default=0)
    if isinstance(edit, AddSchema):
        new = subjects.SchemaVersion(number, kind=edit.kind, references=edit.references)
    else:
        restored = subject.version(edit.version) or subjects.SchemaVersion(edit.version)
        new = replace(restored, number=number, is_deleted=False)
    return replace(subject, versions=(*subject.versions, new))


ADDITIONS = Batch(stage=Stage.SCHEMAS, steps=_additions, predict=_with)
DELETIONS = Batch(stage=Stage.SCHEMAS_GONE, steps=_deletions, predict=_with)


# -- warnings ----------------------------------------------------------------------------------------------------------


def _readers_break(edit: AddSchema, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield a line if readers with the newest version can't read records of the version that is added, and a line if
    readers with the added version can't read records of the newest one; nothing if either schema is not Avro or
    was not read.
    """
    new = avro_of(judged.after, source_of(edit))
    versions = read_versions(judged.before, edit.subject)
    if new is None or not versions:
        return
    number, newest = versions[-1]
    if found := problems(newest, new):
        yield f"readers with version {number} can't read new records: {first_few([str(each) for each in found])}"
    if found := problems(new, newest):
        yield (
            f"readers with the new version can't read records of version {number}: "
            f"{first_few([str(each) for each in found])}"
        )


def _unchecked(edit: AddSchema, judged: risk_rules.Judged) -> Iterator[str]:
    if _is_new(judged.before, edit.subject):
        return
    if subjects.level_of(judged.after.configs, edit.subject) == subjects.NONE:
        yield f"the compatibility of {edit.subject} is NONE: the registry compares the new version with no other"


def _is_new(snapshot: Snapshot, subject: str) -> bool:
    known = snapshot.schemas.get(subject)
    return known is None or known.is_deleted


def turns_off_checks(edit: ConfigEdit, judged: risk_rules.Judged) -> Iterator[str]:
    """Yield a line if an edit ends the compatibility checks of new versions, of one subject or of all subjects."""
    resource = edit.resource
    if resource.type != SCHEMA or edit.key != subjects.COMPATIBILITY:
        return
    was, now = (subjects.level_of(each.configs, resource.name) for each in (judged.before, judged.after))
    if now == subjects.NONE != was:
        whose = f"version of {resource.name}" if resource.name else "version of subjects without a level of their own"
        yield f"the registry accepts any new {whose}, also one that no reader can read"


def _missing(edit: AddSchema, judged: risk_rules.Judged) -> Iterator[str]:
    added = {each.edit.subject for each in judged.staged if isinstance(each.edit, AddSchema)}
    for each in edit.references:
        known = judged.before.schemas.get(each.subject)
        version = None if known is None else known.version(each.version)
        if (version is None or version.is_deleted) and each.subject not in added:
            yield f"{each.name} refers to {each.subject} version {each.version}, which the registry does not have"


def _in_use(edit: DropSchema, judged: risk_rules.Judged) -> Iterator[str]:
    known = judged.before.schemas.get(edit.subject)
    if known is None:
        return
    live = _live(known)
    users = [
        f"{name} version {version.number}"
        for name, version, reference in subjects.users_of(judged.after.schemas, edit.subject)
        if not version.is_deleted and edit.version in (None, reference.version)
    ]
    if users:
        yield f"{first_few(users)} refers to it: the registry refuses the deletion while that is so"
    by_ids = {
        use.topic
        for use in id_uses(judged.before, known)
        if edit.version is None or not use.versions or edit.version in use.versions
    }
    topics = [*dict.fromkeys([*(use.topic for use in subjects.topics_of(known, judged.before.topics)), *by_ids])]
    last = edit.version is None or live == (edit.version,)
    if topics:
        left = (
            "the next producer registers its own schema, which is checked against nothing"
            if last
            else (f"producers that look for version {edit.version} are refused")
        )
        seen = f", and newest records of {first_few(sorted(by_ids))} have its ids" if by_ids else ""
        yield f"topic {first_few(topics)} uses it{seen}: {left}; records stay readable by their ids"


# -- the kinds of edits ------------------------------------------------------------------------------------------------


def _text(subject: subjects.Subject | None) -> EffectiveValue:
    newest = None if subject is None else subject.newest
    if subject is None or newest is None:
        return NOTHING
    count = len(subject.live)
    return EffectiveValue(f"version {newest.number}" + (f" of {count}" if count > 1 else ""))


def _live(subject: subjects.Subject | None) -> tuple[int, ...]:
    return () if subject is None else tuple(each.number for each in subject.live)


class _SchemaKind(EditKind):
    state = subjects.Subject

    def current(self, edit: SchemaEdit, seen: plan_staged.Described) -> plan_staged.Was:
        return seen.found(seen.snapshot.schemas.get(edit.subject), Part.SCHEMAS)

    def moved(self, _edit: object, was: subjects.Subject | None, now: subjects.Subject | None) -> bool:
        return _live(was) != _live(now)

    def before(self, _edit: object, there: subjects.Subject | None, _inheritance: object) -> EffectiveValue:
        return _text(there)

    def after(self, edit: Edit, there: subjects.Subject | None, _inheritance: object) -> EffectiveValue:
        return _text(_after(edit, there))


def _require_writable(subject: str, draft: plan_staged.Draft) -> None:
    """Raise Refused if the subject's mode forbids a new version, unless the plan changes the mode: that change is
    sent first.
    """
    for name in (subject, ""):
        resource = subjects.subject_resource(name)
        if draft.at(Slot(resource, subjects.MODE)) is not None:
            return
        configs = draft.snapshot.configs.get(resource)
        mode = None if configs is None else configs.get(subjects.MODE)
        if mode is not None:
            if (mode.value or "").startswith("READONLY"):
                whose = "<default>" if mode.source == DYNAMIC_DEFAULT_SCHEMA_CONFIG else subject
                remedy = f"set schema {whose} mode=READWRITE allows it."
                raise plan_staged.Refused(f"{subject} accepts no version: its mode is {mode.value}", remedy)
            return


class _AdditionKind(_SchemaKind):
    batch = ADDITIONS
    is_loss = False

    def reversal(self, edit: Edit, was: subjects.Subject | None, _recorded: object) -> Reversal:
        left = _after(edit, was)
        return Reversal((DropSchema(left.name, left.versions[-1].number),), left)


class _AddSchemaKind(_AdditionKind):
    edit = AddSchema
    verb = "register"
    risks = (
        risk_rules.RiskRule(risk_rules.READERS_BREAK, _readers_break),
        risk_rules.RiskRule(risk_rules.NOTHING_CHECKED, _unchecked),
        risk_rules.RiskRule(risk_rules.REFERENCE_MISSING, _missing),
    )

    def judge(self, edit: AddSchema, draft: plan_staged.Draft) -> plan_staged.Verdict:
        if not edit.subject:
            raise plan_staged.Refused("the subject has no name", "Name it: schema SUBJECT @FILE.")
        if edit.kind == AVRO and not edit.references:
            try:
                avro_schema(edit.text)
            except NotAvro as error:
                raise plan_staged.Refused(
                    f"it is no Avro schema: {error}", "Correct it, or name its type or its references."
                ) from None
        _require_writable(edit.subject, draft)
        was = self.current(edit, draft)
        newest = was.newest if isinstance(was, subjects.Subject) else None
        known = None if newest is None else draft.snapshot.schema_texts.get((edit.subject, newest.number))
        if newest is not None and known is not None and same_schema(known, source_of(edit)):
            return plan_staged.Dropped(edit, f"it is version {newest.number} of {edit.subject} already")
        return plan_staged.Staged(edit, was)

    def wanted(self, _edit: object, _now: object) -> bool | None:
        return None  # unknown here: the sender asks the registry for exactly this text

    def note(
        self,
        edit: AddSchema,
        _there: object,
        _old: object,
        _inheritance: object,
    ) -> str:
        count = len(edit.references)
        return f"{edit.kind}, {len(edit.text):,} characters" + (f", refers to {count} others" if count else "")

    def effects(self, edit: AddSchema, draft: plan_staged.Draft) -> tuple[str, ...]:
        new = avro_of(draft.snapshot, source_of(edit))
        level = subjects.level_of(draft.snapshot.configs, edit.subject)
        found = breaks(level, new, read_versions(draft.snapshot, edit.subject)) if new is not None else ()
        return tuple(f"not {level}: {each}" for each in found[:5])


class _DropSchemaKind(_SchemaKind):
    edit = DropSchema
    verb = "delete"
    batch = DELETIONS
    risks = (risk_rules.RiskRule(risk_rules.IN_USE, _in_use, subject=lambda edit, _judged: edit.subject),)

    def judge(self, edit: DropSchema, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _require_writable(edit.subject, draft)
        was = self.current(edit, draft)
        if was is plan_staged.UNREAD:
            return plan_staged.Staged(edit, was)
        live = _live(was if isinstance(was, subjects.Subject) else None)
        if not live or (edit.version is not None and edit.version not in live):
            return plan_staged.Dropped(edit, f"there is no {edit.target.title}")
        return plan_staged.Staged(edit, was)

    def wanted(self, edit: DropSchema, now: subjects.Subject | None) -> bool | None:
        return edit.version not in _live(now) if edit.version is not None else not _live(now)

    def recorded(self, edit: DropSchema, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the schema that a reversal registers again: that of the deleted version, or of the subject's newest
        version. Empty if its text was not read, or has more than 65,536 characters (`MOST_RECORDED`).
        """
        number = edit.version or next(reversed(_live(snapshot.schemas.get(edit.subject))), 0)
        source = snapshot.schema_texts.get((edit.subject, number))
        if source is None or len(source.text) > MOST_RECORDED:
            return {}
        references = ",".join(each.text for each in source.references)
        return {_KIND: source.kind, _TEXT: source.text, _REFERENCES: references}

    def reversal(self, edit: DropSchema, was: subjects.Subject | None, recorded: Mapping[str, str]) -> Reversal:
        live = _live(was)
        if was is None or not live:
            return Reversal((), None, "nothing was there")
        number = edit.version or live[-1]
        back: Edit = RestoreSchema(edit.subject, number)
        if _TEXT in recorded:
            texts = filter(None, recorded.get(_REFERENCES, "").split(","))
            references = tuple(map(subjects.parsed_reference, texts))
            back = AddSchema(edit.subject, recorded[_KIND], recorded[_TEXT], references)
        loss = f"version {number} gets another number"
        if edit.version is None and len(live) > 1:
            loss += ", and older ones stay deleted: their ids still decode records"
        return Reversal((back,), _after(edit, was), loss)

    def takes_away(self, edit: DropSchema) -> bool:
        return edit.version is None

    def phrase(self, edit: DropSchema, line: DiffLine, _old: object, _new: object) -> str:
        return line.verb if edit.version is None else f"delete version {edit.version}"


class _RestoreSchemaKind(_AdditionKind):
    edit = RestoreSchema
    verb = "undelete"
    words = "undelete: {old} -> {new}"

    def judge(self, edit: RestoreSchema, draft: plan_staged.Draft) -> plan_staged.Verdict:
        _require_writable(edit.subject, draft)
        was = self.current(edit, draft)
        if not isinstance(was, subjects.Subject):
            if was is plan_staged.UNREAD:
                return plan_staged.Staged(edit, was)
            raise plan_staged.Refused(f"there is no subject {edit.subject}", "list schemas shows what there is.")
        version = was.version(edit.version)
        if version is None:
            raise plan_staged.Refused(
                f"{edit.subject} has no version {edit.version}", f"describe schema {edit.subject} shows its versions."
            )
        if not version.is_deleted:
            return plan_staged.Dropped(edit, f"version {edit.version} is not deleted")
        if not version.id:
            raise plan_staged.Refused(
                f"the registry does not show version {edit.version} of {edit.subject}",
                "Register it again from a file: schema SUBJECT @FILE.",
            )
        return plan_staged.Staged(edit, was)

    def wanted(self, edit: RestoreSchema, now: subjects.Subject | None) -> bool | None:
        deleted = None if now is None else now.version(edit.version)
        if now is None or deleted is None:
            return None
        return any(each.id == deleted.id and not each.is_deleted for each in now.versions)


KINDS = (_AddSchemaKind(), _DropSchemaKind(), _RestoreSchemaKind())
