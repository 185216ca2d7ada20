"""The wanted state in files, with the file and line of each part of it."""

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
    changes none of these: only `kac lint --offline` judges them.
    """

    brokers: int = 0
    """The number of brokers; 0 if no resource gives it."""
    configs: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The file and line of each key, and of the cluster itself (key ``""``)."""
    problems: list[FileProblem] = field(default_factory=list)
    notes: list[FileProblem] = field(default_factory=list)
    """The notes on the cluster's resources for `Read.notes`."""


@dataclass
class Read:
    """The wanted state that files list, with the place of each part in them."""

    topics: dict[str, WantedTopic] = field(default_factory=dict)
    configs: dict[ConfigResource, Mapping[str, Value]] = field(default_factory=dict)
    quotas: dict[QuotaEntity, Mapping[str, float]] = field(default_factory=dict)
    acls: dict[Acl, None] = field(default_factory=dict)
    places: dict[tuple[Target, str], tuple[str, int]] = field(default_factory=dict)
    """The file and line of each key of an entity, and of the entity itself (key ``""``)."""
    partial: set[Target] = field(default_factory=set)
    """Entities whose unlisted keys stay as they are."""
    alone: set[Target] = field(default_factory=set)
    """Entities that kac neither changes nor removes."""
    reassign: tuple[Reassign, str, int] | None = None
    """The goal in a file of kafka-reassign-partitions, with its file and line; None without such a file."""
    notes: list[FileProblem] = field(default_factory=list)
    """Parts of files that are left out, with the reason; they block nothing."""
    refused: dict[str, FileProblem] = field(default_factory=dict)
    """Kind of entities (one of `wanted.KINDS`) -> a document about that kind that could not be read."""
    clusters: dict[str, Read] = field(default_factory=dict)
    """Name of a cluster in the files -> the wanted state of the files for that cluster; everything else is for any
    cluster."""
    cluster: str = ""
    """The key of `clusters` that `for_cluster` chose; ``""`` otherwise."""
    accepted: list[Acceptance] = field(default_factory=list)
    """Findings of lint that are accepted."""
    connectors: dict[ConfigResource, WantedConnector] = field(default_factory=dict)
    schemas: dict[ConfigResource, WantedSubject] = field(default_factory=dict)
    described: dict[str, DescribedCluster] = field(default_factory=dict)
    """Name of a cluster -> the description of that cluster in its operator's resources; it is no wanted state."""

    @property
    def wanted(self) -> Wanted:
        """The wanted state."""
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
        """Return the file and line (from 1) of an entity's key, or of the entity; ``("", None)`` if no file has it."""
        return self.places.get((target, key)) or self.places.get((target, "")) or ("", None)

    def of_cluster(self, name: str) -> Read:
        """Return the part of the files that is for a cluster, and create it if it is missing; for ``""`` return the
        part for any cluster, which is this object.
        """
        return self.clusters.setdefault(name, Read()) if name else self

    def begin(self, target: Target, name: str, source: str, line: int) -> Iterator[FileProblem]:
        """Record the place of an entity; yield a problem if the entity already has a place.

        Args:
            name: the entity, for messages.
            line: the number of the line, counted from 1.
        """
        before = self.places.get((target, ""))
        if before is not None:
            yield FileProblem(source, line, f"{name} stands in {before[0]}:{before[1]} too", "let it stand once")
        self.places[target, ""] = (source, line)

    def remember(self, target: Target, source: str, lines: Iterable[tuple[str, int]]) -> None:
        """Record the lines of an entity's keys."""
        for key, line in lines:
            self.places[target, key] = (source, line)

    @property
    def is_empty(self) -> bool:
        """Whether it has no wanted state to compare."""
        return not (self.topics or self.configs or self.quotas or self.acls or self.connectors or self.schemas)

    @property
    def is_taken(self) -> bool:
        """Whether a document was read. A document may name an entity without any state to compare."""
        about = self.partial or self.alone or self.reassign or self.accepted
        return not self.is_empty or bool(about) or any(part.is_taken for part in self.clusters.values())

    def leave_out(self, note: FileProblem, kinds: Iterable[str]) -> None:
        """Record a document that is not read, and its kinds."""
        self.notes.append(note)
        for kind in kinds:
            self.refused.setdefault(kind, note)


def for_cluster(read: Read, given: str | None) -> Read:
    """Return the wanted state of one cluster, with a note for each other cluster; unchanged if no file is for a certain
    cluster.

    Args:
        given: the context that the operator names; None without a named context. If files are for several clusters,
            those with that name are used.

    Raises:
        FileProblems: the files are for several clusters and the choice is open; or an entity is both in a file for
            this cluster and in a file for any cluster.
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
