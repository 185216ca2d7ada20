"""The subjects of a schema registry in files: the wanted subjects that files list, and the edits that make the registry
equal to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path, PurePath

from msgspec import Struct, field
from msgspec.structs import replace

from console.files.obstacles import Obstacle
from console.files.schema import SubjectPart
from console.model import subjects
from console.model.changes import Target
from console.model.codes import SCHEMA
from console.model.config import ConfigEntry, ConfigResource, ConfigSet, Synonym, own_source
from console.model.numbers import first_few
from console.model.parts import Part
from console.model.schemas import AVRO, kind_by_ending, kind_of
from console.model.snapshot import Snapshot, with_schemas
from console.plan import edits as plan_edits
from console.plan.kinds.schemas import AddSchema
from console.plan.schema_texts import references_of, same_schema
from console.safe_files import read_regular, why_unread

LARGEST = 1 << 20
"""Maximum size in bytes of a file with a schema. A registry's response, in which quotes are escaped, may have 2 MiB."""
MOST = 64 << 20
"""Maximum total size in bytes of the schemas that a wanted file lists."""
_LEGAL = {each.name: each.values for each in SCHEMA.entity.keys}


class WantedSubject(Struct, frozen=True):
    """A subject of the schema registry that a file lists."""

    schema: subjects.SchemaSource | None = None
    """The wanted newest version; None if the file gives no schema."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """The compatibility level and the mode that are to be set on the subject itself, key -> value."""
    earlier: tuple[subjects.SchemaSource, ...] = ()
    """Versions before `schema`, the oldest first, for compatibility checks without a registry; kac does not register
    them.
    """


# -- reading -----------------------------------------------------------------------------------------------------------


class Neighbours:
    """Reads files that a wanted file names, inside the folder of the wanted file. A limit on bytes applies to all of
    them together.

    Args:
        folder: the folder; None for a wanted file without one, as standard input.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._left = MOST
        self._known: dict[str, str] = {}

    def text(self, name: str) -> str:
        """Return the text of a file. Raises ValueError with the reason, one line, if it can't be read or is outside of
        the folder.
        """
        if name not in self._known:
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> str:
        if self._folder is None:
            raise ValueError("standard input has no folder with other files: write the schema itself, as schema:")
        if PurePath(name).is_absolute() or ".." in PurePath(name).parts or "\0" in name:
            raise ValueError("a file is named by its path below the folder of this file")
        try:
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._folder.resolve()):
                raise ValueError("a link leads out of the folder of this file")
            data = read_regular(path, min(LARGEST, self._left))
        except OSError as error:
            raise ValueError(f"it can't be read: {why_unread(error)}") from None
        self._left -= len(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise ValueError("it is no text in UTF-8") from None
        if not text.strip():
            raise ValueError("it is empty")
        return text


class _Wrong(Exception):
    """Raised for a value of a listed subject that kac can't use. key: the key of the value; ``""`` for the subject
    itself.
    """

    def __init__(self, key: str, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.key = key
        self.hint = hint


def wanted_subject(part: SubjectPart, files: Neighbours, wrong: list[tuple[str, str, str]]) -> WantedSubject:
    """Return a subject that a file lists.

    Args:
        part: the subject's part of the file, which matches the files' schema.
        files: reads the files that the part names.
        wrong: gets (key, reason, hint) for each value that can't be used.
    """
    schema = None
    earlier: tuple[subjects.SchemaSource, ...] = ()
    configs = {}
    try:
        schema = _source(part, files)
        if part.earlier and schema is None:
            raise _Wrong("earlier", "earlier versions are compared with a schema, which is missing", "add it, as file:")
        earlier = tuple(_from_file("earlier", each, part.type, files) for each in part.earlier)
    except _Wrong as problem:
        wrong.append((problem.key, str(problem), problem.hint))
    for key, value in ((subjects.COMPATIBILITY, part.compatibility), (subjects.MODE, part.mode)):
        if value is None:
            continue
        if value.upper() not in _LEGAL[key]:
            wrong.append((key, f"{value!r} is no {key}", f"one of {', '.join(_LEGAL[key])}"))
        configs[key] = value.upper()
    return WantedSubject(schema, configs, earlier)


def _source(part: SubjectPart, files: Neighbours) -> subjects.SchemaSource | None:
    if part.schema is not None and part.file is not None:
        raise _Wrong("file", "a subject has its schema here or in a file, not both", "remove schema: or file:")
    if part.schema is None and part.file is None:
        if part.type is not None or part.references:
            raise _Wrong("", "a type or references are of a schema, which is missing", "add it, as schema: or file:")
        return None
    try:
        references = tuple(map(subjects.parsed_reference, part.references))
    except ValueError as error:
        raise _Wrong("references", str(error)) from None
    if part.file is not None:
        return _from_file("file", part.file, part.type, files, references)
    text = part.schema or ""
    if not text.strip():
        raise _Wrong("schema", "the schema is empty")
    return subjects.SchemaSource(kind_of(text, part.type), text, references)


def _from_file(
    key: str,
    name: str,
    kind: str | None,
    files: Neighbours,
    references: tuple[subjects.SchemaReference, ...] = (),
) -> subjects.SchemaSource:
    try:
        text = files.text(name)
    except ValueError as error:
        raise _Wrong(key, f"{name}: {error}") from None
    return subjects.SchemaSource(kind_of(text, kind or kind_by_ending(name)), text, references)


# -- the cluster as a wanted state -------------------------------------------------------------------------------------


def wanted_subjects(snapshot: Snapshot) -> Iterator[tuple[ConfigResource, WantedSubject]]:
    """Yield the subjects of a snapshot as wanted ones: first the default of all subjects, then those that are not
    soft-deleted. A subject whose newest schema was not read has no schema.
    """
    for name in ("", *sorted(snapshot.schemas)):
        resource = subjects.subject_resource(name)
        known, entries = snapshot.schemas.get(name), snapshot.configs.get(resource)
        if known.is_deleted if known is not None else entries is None:
            continue
        newest = None if known is None else known.newest
        own = {} if entries is None else {each.name: each.value or "" for each in entries.overrides(resource)}
        source = None if newest is None else snapshot.schema_texts.get((name, newest.number))
        yield resource, WantedSubject(source, own)


def listed_subjects(wanted: Mapping[ConfigResource, WantedSubject]) -> frozenset[str]:
    """Return the subjects that files list, and those to which the listed schemas refer."""
    sources = [each.schema for each in wanted.values() if each.schema is not None]
    return frozenset(each.name for each in wanted if each.name) | {
        each.subject for source in sources for each in source.references
    }


def values_of(
    left: WantedSubject | None, right: WantedSubject | None
) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    """Return the values of a subject on both sides of a comparison; None for a side without the subject. If a side has
    the subject without a schema, neither side's values have one. Two texts of the same schema are made equal.
    """
    with_schema = all(each.schema is not None for each in (left, right) if each is not None)
    sides = [None if each is None else dict(each.configs) for each in (left, right)]
    for values, each in zip(sides, (left, right), strict=True):
        if values is not None and each is not None and with_schema and each.schema is not None:
            values |= {"type": each.schema.kind, "schema": each.schema.text}
            if each.schema.references:
                values["references"] = ", ".join(one.text for one in each.schema.references)
    mine, theirs = sides
    if left is not None and right is not None and left.schema is not None and right.schema is not None:
        assert mine is not None
        assert theirs is not None
        if same_schema(left.schema, right.schema):
            mine["schema"] = theirs["schema"]
    return mine, theirs


# -- the edits ---------------------------------------------------------------------------------------------------------


def other_version(name: str, wanted: subjects.SchemaSource, snapshot: Snapshot) -> AddSchema | str | None:
    """Return the edit that makes a schema the newest version of a subject, or the reason why no edit can do so; None if
    the schema is the newest version already.
    """
    known = snapshot.schemas.get(name)
    for version in reversed(known.versions if known is not None else ()):
        there = snapshot.schema_texts.get((name, version.number))
        if version.is_deleted or there is None or not same_schema(there, wanted):
            continue
        if known is not None and version is known.newest:
            return None
        newest = known.newest if known is not None else None
        return (
            f"it is version {version.number} of {name}, and the newest is {newest.number if newest else '?'}: a "
            "registry registers no schema twice; delete the versions after it, or write the newest one"
        )
    return AddSchema(name, wanted.kind, wanted.text, wanted.references)


# -- schemas that are not compared -------------------------------------------------------------------------------------


def unjudged(wanted: Mapping[ConfigResource, WantedSubject], snapshot: Snapshot, *, alone: bool) -> Iterator[str]:
    """Yield lines on the listed schemas that compatibility checks leave out, with the reasons.

    Args:
        snapshot: the predicted registry.
        alone: whether no registry was read, so that only versions in the files are compared.
    """
    with_schema = [(each.name, of) for each, of in wanted.items() if of.schema is not None]
    others = [name for name, of in with_schema if of.schema is not None and of.schema.kind != AVRO]
    if others:
        yield f"schemas of {first_few(others)} were compared with nothing: kac compares Avro, the registry all"
    for name, of in with_schema:
        if of.schema is not None and references_of(snapshot, of.schema) is None:
            there = snapshot.schema_texts
            gone = [each for each in of.schema.references if (each.subject, each.version) not in there]
            which = first_few([f"{each.subject} version {each.version}" for each in gone]) or "too many others"
            yield f"schema {name} was compared with nothing: it refers to {which}, which was not read"
    lonely = [name for name, of in with_schema if not of.earlier and name not in others]
    if alone and lonely:
        yield (
            f"schemas of {first_few(lonely)} were compared with no former version: no registry was read, and the "
            "files name none as earlier"
        )


# -- edits -------------------------------------------------------------------------------------------------------------

ConfigEdits = Callable[
    [ConfigResource, Mapping[str, str], Snapshot, AbstractSet[Target]], Iterable[plan_edits.Edit | Obstacle]
]
"""Function of (resource, key -> wanted value, snapshot, targets whose unlisted values stay) that yields the edits
and obstacles of the resource's configs.
"""


def subject_edits(
    wanted: Mapping[ConfigResource, WantedSubject], snapshot: Snapshot, config_edits: ConfigEdits
) -> Iterator[plan_edits.Edit | Obstacle]:
    """Yield the edits of subjects, compatibility levels first, and the obstacles. If the context has no registry, each
    subject is an obstacle. If the registry could not be read, nothing is yielded, since the unread parts are reported
    elsewhere.
    """
    versions: list[plan_edits.Edit] = []
    if Part.SCHEMAS not in snapshot.read_at:
        failed = any(each.part == Part.SCHEMAS for each in snapshot.failures)
        why = "the context has no schema registry: add its address, [contexts.NAME.schemas] url"
        yield from () if failed else (Obstacle(resource, "", why) for resource in wanted)
        return
    default = snapshot.configs.get(subjects.subject_resource(""))
    has_modes = default is not None and default.get(subjects.MODE) is not None
    for resource, each in wanted.items():
        # A registry without modes accepts all changes, so READWRITE requires no edit.
        values = {
            k: value for k, value in each.configs.items() if has_modes or (k, value) != (subjects.MODE, "READWRITE")
        }
        # The default for all subjects always has values, so values that the file does not list stay.
        open_keys = {resource} if resource.is_default else set()
        yield from config_edits(resource, values, snapshot, open_keys)
        edit = None if each.schema is None else other_version(resource.name, each.schema, snapshot)
        if isinstance(edit, str):
            yield Obstacle(resource, "", edit)
        elif edit is not None:
            versions.append(edit)
            mode = values.get(subjects.MODE, "")
            if mode.startswith("READONLY"):
                why = f"in mode {mode} no new version is accepted: leave the mode out until it is registered"
                yield Obstacle(resource, subjects.MODE, why)
    yield from versions


# -- without a registry ------------------------------------------------------------------------------------------------


def registry_of_files(snapshot: Snapshot, wanted: Mapping[ConfigResource, WantedSubject], at: datetime) -> Snapshot:
    """Return the snapshot with an assumed registry: each subject has only the earlier versions that the files list, and
    the default compatibility level is BACKWARD.
    """
    found: dict[str, subjects.Subject] = {}
    texts: dict[tuple[str, int], subjects.SchemaSource] = {}
    for resource, each in wanted.items():
        numbered = [*enumerate(each.earlier, start=1)]
        if numbered:
            versions = tuple(subjects.SchemaVersion(number, kind=text.kind) for number, text in numbered)
            found[resource.name] = subjects.Subject(resource.name, versions)
            texts |= {(resource.name, number): text for number, text in numbered}
    default = subjects.subject_resource("")
    source = own_source(default)
    key, value = subjects.COMPATIBILITY, subjects.BACKWARD
    level = ConfigEntry(key, value, source, synonyms=(Synonym(key, value, source),))
    listing = subjects.SchemaListing(found, {default: ConfigSet((level,))})
    return replace(with_schemas(snapshot, listing, at), schema_texts=texts)


def with_levels(snapshot: Snapshot, wanted: Iterable[ConfigResource]) -> Snapshot:
    """Return the snapshot in which wanted subjects that do not exist yet have configs: the values that they will
    inherit from the default of all subjects.
    """
    default = snapshot.configs.get(subjects.subject_resource(""), ConfigSet(()))
    known = {**dict.fromkeys(wanted, default), **snapshot.configs} if len(default) else snapshot.configs
    return replace(snapshot, configs=known)
