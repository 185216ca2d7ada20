"""Staging files in a session: the edits that they require, and what can't be done, each with its file and line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import Struct, field

from console.files import wanted as files_wanted
from console.files.read import Read
from console.files.writing import DEFAULT
from console.language.quoting import quote_beside_equals, shell_word
from console.language.sensitive import seems_sensitive
from console.model.changes import NewTopic, Target
from console.model.cluster import Topic
from console.model.config import ConfigEntry, ConfigPlace, ConfigResource, topic_resource
from console.model.numbers import commas, plural
from console.model.quota import USER, QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot, settled_topics
from console.model.system_topics import is_kafkas_own
from console.model.yaml_places import FileProblem
from console.plan import edits as plan_edits
from console.plan.plan import StageReport
from console.plan.staged import Pruned, subject
from console.plan.stale_throttles import ADDED
from console.plan.values import as_compared
from console.present.names import quota_entity

# What has to be edited for a cluster to be as a file wants it.


class Prune(NamedTuple):
    """What may be removed where no file lists it: entities of a kind (one of `wanted.KINDS`) whose names match a glob;
    ACLs are matched by principal, quotas by their entity as text.
    """

    kind: str
    glob: str = "*"


class Obstacle(NamedTuple):
    """What a file wants and no edit can do. target, key: by which its line is found. secret: it is a value that no file
    holds; it is set by hand, and does not prevent the rest.
    """

    target: Target
    key: str
    message: str
    secret: bool = False


class FileEdits(Struct, frozen=True):
    """What a wanted state requires. edits: what to stage. obstacles: what no edit can do. pruned: of the edits that
    remove what no file lists, what they are part of. spared: what is not pruned though it was asked for, and why. left:
    what the files would have otherwise, and belongs to running moves.
    """

    edits: tuple[plan_edits.Edit, ...]
    obstacles: tuple[Obstacle, ...]
    pruned: Mapping[plan_edits.Slot, Pruned] = field(default_factory=dict)
    spared: tuple[str, ...] = ()
    left: Mapping[ConfigPlace, str] = field(default_factory=dict)


def file_edits(
    wanted: files_wanted.Wanted,
    snapshot: Snapshot,
    prune: Iterable[Prune] = (),
    owned: Mapping[ConfigPlace, str] | None = None,
) -> FileEdits:
    """Return the edits that make all that a wanted state lists as it wants it.

    Of each broker, group, metrics subscription or quota entity that is listed, and of each topic with listed configs,
    all overrides and limits are set as listed and all others removed, unless the file names some of them only
    (`Wanted.partial`); what is not listed stays, unless `prune` names it.

    Args:
        snapshot: in which `wanted.PARTS` were read.
        prune: what may be removed where the wanted state does not list it.
        owned: what belongs to running moves, from `session.owned_reading.read_owned`: it is left as it is.

    Returns:
        Edits in the order topics, configs, quotas, ACLs, pruned ones. Nothing is validated here: staging may refuse
            one.
    """
    edits: list[plan_edits.Edit] = []
    obstacles: list[Obstacle] = []
    moves = owned or {}
    topics = dict(settled_topics(snapshot))
    for name, topic in wanted.topics.items():
        for each in _topic(name, topic, topics.get(name), snapshot, wanted.partial):
            (obstacles if isinstance(each, Obstacle) else edits).append(each)  # type: ignore[arg-type]
    for resource, values in wanted.configs.items():
        for each in _configs(resource, values, snapshot, wanted.partial):
            (obstacles if isinstance(each, Obstacle) else edits).append(each)  # type: ignore[arg-type]
    for entity, limits in wanted.quotas.items():
        there = snapshot.quotas.get(entity, {})
        edits += [
            plan_edits.SetQuota(entity, key, value)
            for key, value in limits.items()
            if not _is_limit(there.get(key), value)
        ]
        if entity not in wanted.partial:
            edits += [plan_edits.UnsetQuota(entity, key) for key in there if key not in limits]
    edits += [plan_edits.AddAcl(acl) for acl in sorted(wanted.acls.difference(snapshot.acls))]
    pruned: dict[plan_edits.Slot, Pruned] = {}
    spared: list[str] = []
    left = {
        place: moves[place]
        for edit in edits
        if isinstance(edit, plan_edits.SetConfig | plan_edits.UnsetConfig)
        and (place := (edit.resource, edit.key)) in moves
    }
    added = ((topic_resource(name), ADDED) for name, topic in wanted.topics.items() if topic.replication is not None)
    left |= {place: moves[place] for place in added if place in moves}
    edits = [each for each in edits if (each.target, each.key) not in left]
    some = tuple(prune)
    now = files_wanted.wanted_of(snapshot, moves) if some else files_wanted.Wanted()
    for one in some:
        for of, gone in _by_section(_unlisted(one, wanted, now)).items():
            if why := _why_spared(one.kind, of, wanted):
                spared.append(f"{plural(len(gone), 'entity', 'entities')} of {of} not pruned: {why}")
                continue
            removals = [edit for each in gone for edit in each.edits]
            edits += removals
            pruned |= dict.fromkeys((edit.slot for edit in removals), Pruned(of, len(_sections(now)[of])))
    return FileEdits(tuple(edits), tuple(obstacles), pruned, tuple(spared), left)


def _topic(
    name: str, wanted: files_wanted.WantedTopic, there: Topic | None, snapshot: Snapshot, partial: AbstractSet[Target]
) -> Iterator[plan_edits.Edit | Obstacle]:
    """Yield what a topic requires. there: the topic as its running moves leave it, None where there is none."""
    resource = topic_resource(name)
    if there is None:
        values = (wanted.configs or {}).items()
        given = {key: _sent(key, value, None) for key, value in values if isinstance(value, str)}
        yield plan_edits.CreateTopic(NewTopic(name, wanted.partitions or -1, wanted.replication or -1, configs=given))
        for key, value in (wanted.configs or {}).items():
            if value is files_wanted.HIDDEN:
                yield _secret(resource, key)
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
    """Return why a topic is not of the replication that is wanted, ``""`` where each partition is."""
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
                yield _secret(resource, key)
        elif not _is_that(own.get(key), str(value)):
            yield plan_edits.SetConfig(resource, key, _sent(key, str(value), own.get(key)))
    for key in own:
        if key not in values and resource not in partial:
            yield plan_edits.UnsetConfig(resource, key)


def _sent(key: str, value: str, entry: ConfigEntry | None) -> str | Secret:
    """Return a value as an edit carries it: as a Secret where its key is sensitive, though the file has it in the
    clear, so that it is not shown anywhere.
    """
    return Secret(value) if seems_sensitive(key) or (entry is not None and entry.sensitive) else value


def _is_limit(there: float | None, value: float) -> bool:
    """Return whether a limit is as wanted. Brokers accept nan, which is equal to nan here."""
    return there == value or (there is not None and there != there and value != value)


def _is_that(entry: ConfigEntry | None, value: str) -> bool:
    if entry is None or entry.value is None:
        return False
    mine = as_compared(entry.name, entry.type, entry.value)
    return mine == value or mine == as_compared(entry.name, entry.type, value)


def _secret(resource: ConfigResource, key: str) -> Obstacle:
    why = f"{key} is secret and not set; set it by hand, as {quote_beside_equals(key)}=?"
    return Obstacle(resource, key, why, secret=True)


class _Unlisted(NamedTuple):
    """An entity that no file lists. section: where files have such entities. edits: what removes it."""

    section: str
    edits: tuple[plan_edits.Edit, ...]


def _unlisted(prune: Prune, wanted: files_wanted.Wanted, now: files_wanted.Wanted) -> Iterator[_Unlisted]:
    """Yield what a cluster has and no file lists, of a kind and with a name that may be removed. now: the cluster."""
    match prune.kind:
        case "topics":
            alone = {target.name for target in wanted.alone if isinstance(target, ConfigResource)}
            stay = alone | wanted.topics.keys()
            gone = (name for name in now.topics if not (name in stay or is_kafkas_own(name)) and _goes(name, prune))
            yield from (_Unlisted("topics", (plan_edits.DeleteTopic(name),)) for name in gone)
        case "configs":
            for resource, values in now.configs.items():
                name = DEFAULT if resource.is_cluster_default else resource.name
                if resource not in wanted.configs and _goes(name, prune):
                    yield _Unlisted(_section(resource), tuple(plan_edits.UnsetConfig(resource, key) for key in values))
        case "quotas":
            for entity, limits in now.quotas.items():
                if entity not in wanted.quotas and entity not in wanted.alone and _goes(quota_entity(entity), prune):
                    yield _Unlisted(_section(entity), tuple(plan_edits.UnsetQuota(entity, key) for key in limits))
        case "acls":
            users = {f"User:{target.name_of(USER)}" for target in wanted.alone if isinstance(target, QuotaEntity)}
            left = (acl for acl in sorted(now.acls - wanted.acls) if acl.principal not in users)
            yield from (_Unlisted("acls", (plan_edits.RemoveAcl(acl),)) for acl in left if _goes(acl.principal, prune))


def _goes(name: str, prune: Prune) -> bool:
    return fnmatchcase(name, prune.glob)


def _section(of: ConfigResource | QuotaEntity) -> str:
    """Return where files have an entity: a form that has no word for quotas of clients may list those of users."""
    return f"quotas by {' and '.join(of.types)}" if isinstance(of, QuotaEntity) else of.type.entity.section


def _sections(wanted: files_wanted.Wanted) -> Mapping[str, Collection[object]]:
    """Return what a state has, by section."""
    found: dict[str, list[object]] = {"topics": [*wanted.topics], "acls": [*wanted.acls]}
    entities: list[ConfigResource | QuotaEntity] = [*wanted.configs, *wanted.quotas]
    for each in entities:
        found.setdefault(_section(each), []).append(each)
    return found


def _by_section(unlisted: Iterable[_Unlisted]) -> Mapping[str, list[_Unlisted]]:
    found: dict[str, list[_Unlisted]] = {}
    for each in unlisted:
        found.setdefault(each.section, []).append(each)
    return found


def _why_spared(kind: str, section: str, wanted: files_wanted.Wanted) -> str:
    """Return why nothing of a section is removed though no file lists it; ``""`` if it may be."""
    if (refused := wanted.refused.get(kind)) is not None:
        return f"not all documents of that kind were taken: {refused}"
    # A file that says nothing of a kind does not say that there should be none.
    return "" if _sections(wanted).get(section) else "the files list nothing of it"


# Files staged in a session: the edits that they ask for, and what of them can't be.


class Staging(Struct, frozen=True):
    """The outcome of staging files. report: what was staged. problems: what can't be done, each with its file and line;
    secrets: those among the wanted that are not set and that no file holds, likewise; unread: parts of the cluster that
    could not be read, a line each. spared: what is not pruned though it was asked for, likewise. left: what belongs to
    running moves, likewise.
    """

    report: StageReport
    problems: tuple[FileProblem, ...]
    secrets: tuple[FileProblem, ...] = ()
    unread: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def blocked(self) -> bool:
        """Whether the rest may be sent only if the operator asks for it."""
        return bool(self.problems or self.unread)

    @property
    def whole(self) -> bool:
        """Whether nothing that the files want, or the operator asked for, was left out."""
        return not (self.blocked or self.secrets or self.spared)


def staging_of(read: Read, found: FileEdits, report: StageReport, snapshot: Snapshot) -> Staging:
    """Return what was staged of files, and what could not be.

    Args:
        read: the wanted state, from `reading.read_files`.
        found: its edits, from `file_edits`.
        report: what became of them.
        snapshot: the cluster, read whole.

    Returns:
        Where it is `Staging.blocked`, the caller asks before it applies the rest.
    """
    problems = [_problem(read, each.target, each.key, each.message) for each in found.obstacles if not each.secret]
    problems += [
        _problem(read, subject(each.edit.target), each.edit.key, each.reason, each.remedy) for each in report.refused
    ]
    unread = tuple(
        f"{each.part} {each.entity}: {each.failure}".strip()
        for each in snapshot.failures
        if each.part in files_wanted.PARTS
    )
    secrets = tuple(_problem(read, each.target, each.key, each.message) for each in found.obstacles if each.secret)
    return Staging(report, tuple(problems), secrets, unread, found.spared, tuple(files_wanted.owned_lines(found.left)))


def _problem(read: Read, target: Target, key: str, message: str, hint: str = "") -> FileProblem:
    source, line = read.place(target, key)
    return FileProblem(source or "the plan", line, message, hint)
