"""Makes edits of a wanted state, and reports the obstacles, each with its file and line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct, field

from console.files import subjects as files_subjects
from console.files import wanted as files_wanted
from console.files.connectors import connector_edits, unlisted
from console.files.obstacles import Obstacle, is_that, secret_not_set
from console.files.read import Read
from console.files.writing import DEFAULT
from console.language.quoting import shell_word
from console.model.changes import NewTopic, Target
from console.model.cluster import Topic
from console.model.config import ConfigEntry, ConfigPlace, ConfigResource, topic_resource
from console.model.grouping import grouped
from console.model.numbers import commas, plural
from console.model.parts import Part
from console.model.quota import USER, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot, settled_topics
from console.model.system_topics import is_kafkas_own
from console.model.yaml_places import FileProblem
from console.plan import edits as plan_edits
from console.plan.kinds.schemas import DropSchema
from console.plan.plan import StageReport
from console.plan.staged import Pruned, subject
from console.plan.stale_throttles import ADDED
from console.present.names import quota_entity
from console.sensitive import seems_sensitive

# The edits that change a cluster into the wanted state of files.


class Prune(NamedTuple):
    """The operator's permission to remove entities that no file lists: those of one kind (one of `wanted.KINDS`) whose
    names match a glob. For ACLs the glob is for the principal, for quotas for the entity as text.
    """

    kind: str
    glob: str = "*"


class FileEdits(Struct, frozen=True):
    """The edits that bring a cluster to a wanted state, and the obstacles to that."""

    edits: tuple[plan_edits.Edit, ...]
    """The edits to stage."""
    obstacles: tuple[Obstacle, ...]
    """The parts of the files that no edit can achieve."""
    pruned: Mapping[plan_edits.Slot, Pruned] = field(default_factory=dict)
    """Slot of an edit -> the record (`Pruned`) that the edit removes an entity because files do not list it."""
    spared: tuple[str, ...] = ()
    """Lines on unlisted entities that are not removed although the operator permitted it, each with the reason."""
    left: Mapping[ConfigPlace, str] = field(default_factory=dict)
    """(resource, key) of a config that differs only because of a running move -> a line that names the move."""


def file_edits(
    wanted: files_wanted.Wanted,
    snapshot: Snapshot,
    prune: Iterable[Prune] = (),
    owned: Mapping[ConfigPlace, str] | None = None,
) -> FileEdits:
    """Return the edits that bring everything that a wanted state lists to the wanted values.

    The overrides and limits of each listed broker, group, metrics subscription and quota entity, and of each topic with
    listed configs, become those that the file lists: others are removed, unless the file lists only some of the
    entity's keys (`Wanted.partial`). Unlisted entities stay, unless `prune` permits their removal.

    Args:
        snapshot: a snapshot in which `wanted.PARTS` were read.
        prune: the unlisted entities that may be removed.
        owned: configs of running moves, from `session.owned_reading.read_owned`, which are not changed; None if there
            are no moves.

    Returns:
        The edits in the order topics, configs, quotas, ACLs, connectors, schemas, removed entities; and the obstacles.
        The edits are not checked here: staging may refuse some.
    """
    moves = owned or {}
    found = [*_listed(wanted, snapshot)]
    edits = [each for each in found if not isinstance(each, Obstacle)]
    left = {
        place: moves[place]
        for edit in edits
        if isinstance(edit, plan_edits.SetConfig | plan_edits.UnsetConfig)
        and (place := (edit.resource, edit.key)) in moves
    }
    # A running move that adds replicas also explains why a topic's replication differs from the file's.
    added = ((topic_resource(name), ADDED) for name, topic in wanted.topics.items() if topic.replication is not None)
    left |= {place: moves[place] for place in added if place in moves}
    edits = [each for each in edits if (each.target, each.key) not in left]
    pruned: dict[plan_edits.Slot, Pruned] = {}
    spared: list[str] = []
    some = tuple(prune)
    now = files_wanted.wanted_of(snapshot, moves) if some else files_wanted.Wanted()
    for one in some:
        for of, gone in grouped((each.section, each) for each in _unlisted(one, wanted, now)).items():
            if why := _why_spared(one.kind, of, wanted):
                spared.append(f"{plural(len(gone), 'entity', 'entities')} of {of} not pruned: {why}")
                continue
            removals = [edit for each in gone for edit in each.edits]
            edits += removals
            pruned |= dict.fromkeys((edit.slot for edit in removals), Pruned(of, len(_sections(now)[of])))
    obstacles = tuple(each for each in found if isinstance(each, Obstacle))
    return FileEdits(tuple(edits), obstacles, pruned, tuple(spared), left)


def _listed(wanted: files_wanted.Wanted, snapshot: Snapshot) -> Iterator[plan_edits.Edit | Obstacle]:
    """Yield the edits and obstacles for everything that the files list."""
    topics = dict(settled_topics(snapshot))
    for name, topic in wanted.topics.items():
        yield from _topic(name, topic, topics.get(name), snapshot, wanted.partial)
    for resource, values in wanted.configs.items():
        yield from _configs(resource, values, snapshot, wanted.partial)
    for entity, limits in wanted.quotas.items():
        there = snapshot.quotas.get(entity, {})
        for key, value in limits.items():
            if not _is_limit(there.get(key), value):
                yield plan_edits.SetQuota(entity, key, value)
        if entity not in wanted.partial:
            yield from (plan_edits.UnsetQuota(entity, key) for key in there if key not in limits)
    yield from (plan_edits.AddAcl(acl) for acl in sorted(wanted.acls.difference(snapshot.acls)))
    for resource, connector in wanted.connectors.items():
        yield from connector_edits(resource, connector, snapshot, wanted.partial)
    yield from files_subjects.subject_edits(wanted.schemas, snapshot, _configs)


def _topic(
    name: str, wanted: files_wanted.WantedTopic, there: Topic | None, snapshot: Snapshot, partial: AbstractSet[Target]
) -> Iterator[plan_edits.Edit | Obstacle]:
    """Yield the edits and obstacles for a topic. there: the topic as it is after its running moves; None if it does not
    exist.
    """
    resource = topic_resource(name)
    if there is None:
        values = (wanted.configs or {}).items()
        given = {key: _sent(key, value, None) for key, value in values if isinstance(value, str)}
        yield plan_edits.CreateTopic(NewTopic(name, wanted.partitions or -1, wanted.replication or -1, configs=given))
        for key, value in (wanted.configs or {}).items():
            if value is files_wanted.HIDDEN:
                yield secret_not_set(resource, key)
        return
    count = len(there.partitions)
    if wanted.partitions is not None and wanted.partitions < count:
        yield Obstacle(resource, "", f"it has {count} partitions, and partitions can't be taken away")
    elif wanted.partitions is not None and wanted.partitions > count:
        yield plan_edits.GrowTopic(name, wanted.partitions)
    if wanted.replication is not None and (why := _other_replication(name, wanted.replication, there)):
        yield Obstacle(resource, "", why)
    if wanted.configs is not None:
        yield from _configs(resource, wanted.configs, snapshot, partial)


def _other_replication(name: str, wanted: int, there: Topic) -> str:
    """Return a text on how the replication of a topic differs from the wanted one; ``""`` if all partitions have the
    wanted one.
    """
    counts = sorted({len(partition.replicas) for partition in there.partitions})
    if counts in ([wanted], []):
        return ""
    has = (
        f"it has {plural(counts[0], 'replica')}"
        if len(counts) == 1
        else f"its partitions have {commas(counts)} replicas"
    )
    return f"{has}; kac moves replication {shell_word(name)} {wanted} plans the moves, with --run it makes them"


def _configs(
    resource: ConfigResource, values: Mapping[str, files_wanted.Value], snapshot: Snapshot, partial: AbstractSet[Target]
) -> Iterator[plan_edits.Edit | Obstacle]:
    entries = snapshot.configs.get(resource)
    own = {} if entries is None else {entry.name: entry for entry in entries.overrides(resource)}
    for key, value in values.items():
        if value is files_wanted.HIDDEN:
            if key not in own:
                yield secret_not_set(resource, key)
        elif not is_that(own.get(key), str(value)):
            yield plan_edits.SetConfig(resource, key, _sent(key, str(value), own.get(key)))
    for key in own:
        if key not in values and resource not in partial:
            yield plan_edits.UnsetConfig(resource, key)


def _sent(key: str, value: str, entry: ConfigEntry | None) -> str | Secret:
    """Return the value for an edit: a Secret if the key is sensitive, so that messages do not show it, although the
    file has it in plain text.
    """
    return Secret(value) if seems_sensitive(key) or (entry is not None and entry.sensitive) else value


def _is_limit(there: float | None, value: float) -> bool:
    """Return whether a limit is the wanted one; nan, which brokers accept, equals nan here. there: None if there is no
    limit.
    """
    return there == value or (there is not None and there != there and value != value)


class _Unlisted(NamedTuple):
    """An entity of the cluster that no file lists, with the edits that remove it."""

    section: str
    """The section of files in which such entities are listed."""
    edits: tuple[plan_edits.Edit, ...]
    """The edits that remove the entity."""


def _unlisted(prune: Prune, wanted: files_wanted.Wanted, now: files_wanted.Wanted) -> Iterator[_Unlisted]:
    """Yield the unlisted entities of the cluster that a prune matches. now: the present state of the cluster."""
    match prune.kind:
        case "topics":
            alone = {target.name for target in wanted.alone if isinstance(target, ConfigResource)}
            stay = alone | wanted.topics.keys()
            gone = (name for name in now.topics if not (name in stay or is_kafkas_own(name)) and _goes(name, prune))
            yield from (_Unlisted("topics", (plan_edits.DeleteTopic(name),)) for name in gone)
        case "configs":
            for resource, values in now.configs.items():
                name = DEFAULT if resource.is_default else resource.name
                if resource not in wanted.configs and _goes(name, prune):
                    yield _Unlisted(_section(resource), tuple(plan_edits.UnsetConfig(resource, key) for key in values))
        case "quotas":
            for entity, limits in now.quotas.items():
                if entity not in wanted.quotas and entity not in wanted.alone and _goes(quota_entity(entity), prune):
                    yield _Unlisted(_section(entity), tuple(plan_edits.UnsetQuota(entity, key) for key in limits))
        case "connectors":
            left_over = (each for each in unlisted(wanted, now) if _goes(each.name, prune))
            yield from (_Unlisted("connectors", (plan_edits.DeleteConnector(each.name),)) for each in left_over)
        case "schemas":
            others = (each.name for each in now.schemas if each.name and each not in wanted.schemas)
            yield from (_Unlisted("schemas", (DropSchema(name),)) for name in others if _goes(name, prune))
        case "acls":
            users = {f"User:{target.name_of(USER)}" for target in wanted.alone if isinstance(target, QuotaEntity)}
            left = (acl for acl in sorted(now.acls - wanted.acls) if acl.principal not in users)
            yield from (_Unlisted("acls", (plan_edits.RemoveAcl(acl),)) for acl in left if _goes(acl.principal, prune))


def _goes(name: str, prune: Prune) -> bool:
    return fnmatchcase(name, prune.glob)


def _section(of: ConfigResource | QuotaEntity) -> str:
    """Return the section of files for an entity. Quotas have a section for each combination of component types, since a
    form of files may have quotas of users but none of clients.
    """
    return f"quotas by {' and '.join(of.types)}" if isinstance(of, QuotaEntity) else of.type.entity.section


def _sections(wanted: files_wanted.Wanted) -> Mapping[str, Collection[object]]:
    """Return section of the files -> the entities that a state has in that section; schemas without a name are left
    out. Topics, ACLs, connectors and schemas are always present, possibly empty; any other section only if it has
    an entity.
    """
    found: dict[str, list[object]] = {
        "topics": [*wanted.topics],
        "acls": [*wanted.acls],
        "connectors": [*wanted.connectors],
        "schemas": [each for each in wanted.schemas if each.name],
    }
    entities: list[ConfigResource | QuotaEntity] = [*wanted.configs, *wanted.quotas]
    for each in entities:
        found.setdefault(_section(each), []).append(each)
    return found


def _why_spared(kind: str, section: str, wanted: files_wanted.Wanted) -> str:
    """Return the reason why unlisted entities of a section are not removed; ``""`` if they may be removed."""
    if (refused := wanted.refused.get(kind)) is not None:
        return f"not all documents of that kind were taken: {refused}"
    # If a section is missing or empty in the files, that does not mean that the cluster should have no such entities.
    return "" if _sections(wanted).get(section) else "the files list nothing of it"


# The staging of files in a session: the resulting edits, and the obstacles.


class Staging(Struct, frozen=True):
    """The result of staging files: the staged edits, and what could not be staged."""

    report: StageReport
    """The result of staging the edits."""
    problems: tuple[FileProblem, ...]
    """The parts of the files that no edit can achieve, each with its file and line."""
    secrets: tuple[FileProblem, ...] = ()
    """Secrets that the files want to be set and that are not set in the cluster, each with file and line."""
    unread: tuple[str, ...] = ()
    """The parts of the cluster that could not be read, one line each."""
    spared: tuple[str, ...] = ()
    """Unlisted entities that are not removed although the operator permitted it, one line each."""
    left: tuple[str, ...] = ()
    """Configs of running moves, which are not changed, one line each."""

    @property
    def blocked(self) -> bool:
        """Whether the operator has to agree before the staged edits are sent, because a part of the files could not be
        staged or a part of the cluster could not be read.
        """
        return bool(self.problems or self.unread)

    @property
    def whole(self) -> bool:
        """Whether everything in the files, and every permitted removal, was staged."""
        return not (self.blocked or self.secrets or self.spared)


def staging_of(read: Read, found: FileEdits, report: StageReport, snapshot: Snapshot) -> Staging:
    """Return the result of staging files.

    Args:
        read: the wanted state, from `reading.read_files`.
        found: the edits from `file_edits`.
        report: the result of staging them.
        snapshot: the cluster, as far as it was read.

    Returns:
        If it is `Staging.blocked`, the caller asks the operator before applying the staged edits.
    """
    problems = [_problem(read, each.target, each.key, each.message) for each in found.obstacles if not each.secret]
    problems += [
        _problem(read, subject(each.edit.target), each.edit.key, each.reason, each.remedy) for each in report.refused
    ]
    unread = tuple(
        f"{each.what}: {each.failure}"
        for each in snapshot.failures
        if each.part in files_wanted.PARTS
        and (each.part != Part.CONNECT or read.connectors)
        and (each.part != Part.SCHEMAS or read.schemas)
    )
    secrets = tuple(_problem(read, each.target, each.key, each.message) for each in found.obstacles if each.secret)
    return Staging(report, tuple(problems), secrets, unread, found.spared, tuple(files_wanted.owned_lines(found.left)))


def _problem(read: Read, target: Target, key: str, message: str, hint: str = "") -> FileProblem:
    source, line = read.place(target, key)
    return FileProblem(source or "the plan", line, message, hint)
