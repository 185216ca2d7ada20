"""The wanted state that files contain, with the file and line of each entity and key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from console.files.subjects import WantedSubject
from console.files.wanted import Value, Wanted, WantedConnector, WantedTopic
from console.lint.acceptance import Acceptance
from console.model.acl import Acl
from console.model.changes import Target
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.yaml_places import FileProblem, FileProblems
from console.operations.goals import Reassign


@dataclass
class DescribedCluster:
    """A cluster that resources of a Kubernetes operator describe, with the settings in its brokers' own files. kac
    changes none of these settings: only `kac lint --offline` checks them.
    """

    brokers: int = 0
    """The number of brokers; 0 if no resource gives it."""
    configs: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Key -> its file and line; the key ``""`` is the cluster itself."""
    problems: list[FileProblem] = field(default_factory=list)
    notes: list[FileProblem] = field(default_factory=list)
    """Notes on the cluster's resources, to be shown with `Read.notes`."""


@dataclass
class Read:
    """The wanted state that files contain, with the file and line of each entity and key."""

    topics: dict[str, WantedTopic] = field(default_factory=dict)
    configs: dict[ConfigResource, Mapping[str, Value]] = field(default_factory=dict)
    quotas: dict[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    acls: dict[Acl, None] = field(default_factory=dict)
    places: dict[tuple[Target, str], tuple[str, int]] = field(default_factory=dict)
    """(entity, key) -> its file and line; the key ``""`` is the entity itself."""
    partial: set[Target] = field(default_factory=set)
    """Entities of which the files list only some keys; their other keys are not changed."""
    alone: set[Target] = field(default_factory=set)
    """Entities that kac neither changes nor removes."""
    reassign: tuple[Reassign, str, int] | None = None
    """The goal in a file for kafka-reassign-partitions, with its file and line; None if there is no such file."""
    notes: list[FileProblem] = field(default_factory=list)
    """Parts of files that kac ignores, each with the reason; they do not prevent an apply."""
    refused: dict[str, FileProblem] = field(default_factory=dict)
    """Kind of entities (one of `wanted.KINDS`) -> an error of a document about that kind, which could not be read."""
    clusters: dict[str, Read] = field(default_factory=dict)
    """Name of a cluster -> the wanted state of the files that name this cluster; the other fields are for any cluster.
    """
    cluster: str = ""
    """The name of the cluster that `for_cluster` chose; ``""`` if it chose none."""
    accepted: list[Acceptance] = field(default_factory=list)
    """Acceptances of lint findings."""
    connectors: dict[ConfigResource, WantedConnector] = field(default_factory=dict)
    schemas: dict[ConfigResource, WantedSubject] = field(default_factory=dict)
    described: dict[str, DescribedCluster] = field(default_factory=dict)
    """Name of a cluster -> what resources of its Kubernetes operator describe; this is no wanted state."""

    @property
    def wanted(self) -> Wanted:
        """The wanted state, without the places in files."""
        return Wanted(
            self.topics,
            self.configs,
            self.quotas,
            frozenset(self.acls),
            frozenset(self.partial),
            frozenset(self.alone),
            self.refused,
            connectors=self.connectors,
            schemas=self.schemas,
        )

    def place(self, target: Target, key: str = "") -> tuple[str, int | None]:
        """Return the file and line (from 1) of an entity's key; those of the entity if no file lists the key; ``("",
        None)`` if no file lists the entity.
        """
        return self.places.get((target, key)) or self.places.get((target, "")) or ("", None)

    def of_cluster(self, name: str) -> Read:
        """Return the wanted state of the files that name this cluster; an empty one is created if there is none. For
        ``""`` return this object, which is for any cluster.
        """
        return self.clusters.setdefault(name, Read()) if name else self

    def begin(self, target: Target, name: str, source: str, line: int) -> Iterator[FileProblem]:
        """Record the place of an entity; yield a problem if a file lists the entity already.

        Args:
            name: the entity, for messages.
            line: the number of the line, counted from 1.
        """
        before = self.places.get((target, ""))
        if before is not None:
            yield FileProblem(source, line, f"{name} stands in {before[0]}:{before[1]} too", "let it stand once")
        self.places[target, ""] = (source, line)

    def remember(self, target: Target, source: str, lines: Iterable[tuple[str, int]]) -> None:
        """Record the places of an entity's keys. lines: keys and their lines."""
        for key, line in lines:
            self.places[target, key] = (source, line)

    @property
    def is_empty(self) -> bool:
        """Whether there is no wanted state, so that nothing can be compared with a cluster."""
        return not (self.topics or self.configs or self.quotas or self.acls or self.connectors or self.schemas)

    @property
    def is_taken(self) -> bool:
        """Whether any document was read. A document may be without a wanted state, as one that only excludes
        entities.
        """
        about = self.partial or self.alone or self.reassign or self.accepted
        return not self.is_empty or bool(about) or any(part.is_taken for part in self.clusters.values())

    def leave_out(self, note: FileProblem, kinds: Iterable[str]) -> None:
        """Record a document that is ignored, and the kinds of entities that it is about."""
        self.notes.append(note)
        for kind in kinds:
            self.refused.setdefault(kind, note)


def for_cluster(read: Read, given: str | None) -> Read:
    """Return the wanted state for one cluster, with a note for each other cluster; unchanged if no file names a
    cluster.

    Args:
        given: the name of the context that the operator chose; None if the operator chose none. If files name several
            clusters, those that name this one are used.

    Raises:
        FileProblems: the files name several clusters, none of which is `given`; or an entity is both in a file that
            names the cluster and in a file for any cluster.
    """
    if not read.clusters:
        return read
    names = sorted(read.clusters)
    if given not in names and len(names) > 1:
        source, line = next(iter(read.clusters[names[1]].places.values()), ("the files", 0))
        raise FileProblems(
            [FileProblem(source, line, f"the files are for clusters {', '.join(names)}", "--context NAME says which")]
        )
    name = given if given is not None and given in names else names[0]
    part = read.clusters[name]
    problems = [
        FileProblem(*place, f"it stands in {read.places[key][0]}:{read.places[key][1]} too", "let it stand once")
        for key, place in part.places.items()
        if key in read.places and not key[1] and key[0] not in part.acls
    ]
    if problems:
        raise FileProblems(problems)
    others = tuple(
        FileProblem(*next(iter(read.clusters[other].places.values())), f"it is for cluster {other}", "left out")
        for other in names
        if other != name and read.clusters[other].places
    )
    return Read(
        {**read.topics, **part.topics},
        {**read.configs, **part.configs},
        {**read.quotas, **part.quotas},
        {**read.acls, **part.acls},
        {**read.places, **part.places},
        read.partial | part.partial,
        read.alone | part.alone,
        read.reassign,
        [*read.notes, *part.notes, *others],
        {**part.refused, **read.refused},
        cluster=name,
        accepted=[*read.accepted, *part.accepted],
        connectors={**read.connectors, **part.connectors},
        schemas={**read.schemas, **part.schemas},
        described=read.described,
    )
