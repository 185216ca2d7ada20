"""What `kac lake ingest` reads: of the command line, or of the lake's own `sources.yaml`.

```yaml
version: 1
clusters:
  - id: 5L6g3nShT-eMCtK--X86sw         # may be left out where there is a metadata log: a file beside it has it
    metadata-log: /kafka/meta/__cluster_metadata-0                       # a folder, or a list of them
    timezone: Europe/Berlin                                              # of the times in request logs; UTC
    request-logs:
      - broker: 1
        files: /logs/broker-1/kafka-request.log*                         # a pattern, or a list of them
      - {broker: 2, files: /logs/broker-2/kafka-request.log*, timezone: UTC}
journals: ~/.local/state/kac/journal                                     # a folder or file, or a list of them
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from console.history.entities import id_problem
from console.model.numbers import is_natural
from console.model.yaml_places import FileProblem, FileProblems, Node, read_yaml

if TYPE_CHECKING:
    from console.history.jobs.inputs import Inputs

FILE = "sources.yaml"
_LOG = "__cluster_metadata-0"
_TOP = ("version", "clusters", "journals")
_CLUSTER = ("id", "metadata-log", "request-logs", "timezone")
_REQUEST_LOG = ("broker", "files", "timezone")
T = TypeVar("T")


@dataclass(frozen=True)
class RequestFiles:
    """Request logs of a broker. patterns: files, as shell patterns. zone: of the times in their lines."""

    broker: int
    patterns: tuple[str, ...]
    zone: str = "UTC"


@dataclass(frozen=True)
class ClusterSources:
    """The inputs of one cluster. cluster_id: None if its metadata log has to tell it."""

    cluster_id: str | None
    metadata_logs: tuple[str, ...] = ()
    request_logs: tuple[RequestFiles, ...] = ()


@dataclass(frozen=True)
class Sources:
    """All inputs. Paths are absolute, or URIs."""

    clusters: tuple[ClusterSources, ...] = ()
    journals: tuple[str, ...] = ()

    @property
    def request_logs(self) -> tuple[str, ...]:
        """The patterns of request logs."""
        return tuple(each for cluster in self.clusters for log in cluster.request_logs for each in log.patterns)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path and pattern."""
        logs = (each for cluster in self.clusters for each in cluster.metadata_logs)
        return (*logs, *self.request_logs, *self.journals)

    def inputs(self) -> Inputs:
        """The inputs of the job."""
        from console.history.jobs.inputs import Inputs, Journals, MetadataLog, RequestLog

        return Inputs(
            tuple(MetadataLog(path, each.cluster_id) for each in self.clusters for path in each.metadata_logs),
            tuple(
                RequestLog(log.patterns, each.cluster_id or "", log.broker, log.zone)
                for each in self.clusters
                for log in each.request_logs
            ),
            tuple(map(Journals, self.journals)),
        )


_REQUESTS_IN_ROWS = 64
"""Bytes of a request log to a byte of its sums, about: Java gets these alone, since Python reads and adds up."""


def bytes_for_java(sources: Sources) -> int | None:
    """What Spark's Java reads of them, about; None where some are elsewhere."""
    everything, lines = _bytes_of(sources.paths), _bytes_of(sources.request_logs)
    return None if everything is None or lines is None else everything - lines + lines // _REQUESTS_IN_ROWS


def _bytes_of(paths: Sequence[str]) -> int | None:
    """Of files, folders and patterns on this machine; None where some are elsewhere."""
    if any("://" in path for path in paths):
        return None
    found = {Path(each) for path in paths for each in glob(path)}  # noqa: PTH207 - patterns are absolute
    files = {file for path in found for file in ([path] if path.is_file() else path.iterdir())}
    return sum(file.stat().st_size for file in files if file.is_file())


def read_sources(text: str, source: str, folder: Path) -> Sources:
    """Reads a `sources.yaml`. folder: the base of its relative paths.

    Raises:
        FileProblems: all errors, each with its line.
    """
    reader = _Reader(folder)
    try:
        sources = reader.sources(read_yaml(text, source).root)
    except FileProblem as problem:
        raise FileProblems([problem]) from None
    if reader.problems:
        raise FileProblems(sorted(reader.problems, key=lambda each: each.line or 0))
    return sources


def given_sources(
    *,
    metadata_logs: Sequence[str] = (),
    request_logs: Sequence[str] = (),
    journals: Sequence[str] = (),
    cluster_id: str | None = None,
    zone: str | None = None,
    folder: Path,
) -> Sources:
    """The inputs of the command line. request_logs: ``BROKER=PATTERN`` each. ValueError with a text for the
    operator."""
    wrong = zone_problem(zone) if zone else ""
    if wrong:
        raise ValueError(f"--timezone: {wrong}")
    if cluster_id is not None and (problem := id_problem(cluster_id)):
        raise ValueError(f"--cluster-id: {problem}")
    by_broker: dict[int, list[str]] = {}
    for each in request_logs:
        broker, equals, pattern = each.partition("=")
        if not (equals and pattern and is_natural(broker)):
            raise ValueError(f"--request-log {each}: use BROKER=FILES, as --request-log '1=/logs/kafka-request.log*'")
        by_broker.setdefault(int(broker), []).append(_path(pattern, folder))
    if by_broker and cluster_id is None and not metadata_logs:
        raise ValueError(
            "--request-log needs --cluster-id or --metadata-log: lines do not say which cluster they are of"
        )
    logs = tuple(RequestFiles(broker, tuple(patterns), zone or "UTC") for broker, patterns in by_broker.items())
    cluster = ClusterSources(cluster_id, tuple(_path(each, folder) for each in metadata_logs), logs)
    there = cluster.metadata_logs or cluster.request_logs
    return Sources((cluster,) if there else (), tuple(_path(each, folder) for each in journals))


def zone_problem(zone: str) -> str:
    """Why a name is no time zone, or empty text."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(zone, available_timezones(), n=1)
        return f"there is no time zone {zone!r}" + (f"; did you mean {near[0]}?" if near else "; as Europe/Berlin")
    return ""


def _path(text: str, folder: Path) -> str:
    return text if "://" in text else str(folder / Path(text).expanduser())


@dataclass
class _Reader:
    """Reads the file; collects every error and omits its value."""

    folder: Path
    problems: list[FileProblem] = field(default_factory=list)

    def sources(self, root: Node) -> Sources:
        top = self._fields(root, _TOP)
        version = top.get("version")
        if version is None or version.data != "1":
            self._add((version or root).problem("a file says its version", "write version: 1 at its top"))
        clusters = tuple(map(self._cluster, self._items(top.get("clusters"))))
        sources = Sources(clusters, self._paths(top.get("journals")))
        if not self.problems and not sources.paths:
            self._add(root.problem("it names nothing to read", "name a metadata-log, request-logs or journals"))
        return sources

    def _cluster(self, node: Node) -> ClusterSources:
        read = self._fields(node, _CLUSTER)
        cluster_id = self._text(read.get("id")) or None
        if cluster_id is not None and (problem := id_problem(cluster_id)):
            self._add(read["id"].problem(problem))
        zone = self._zone(read.get("timezone"), "UTC")
        requests = self._items(read.get("request-logs"))
        logs = self._paths(read.get("metadata-log"))
        if cluster_id is None and (requests or not logs):
            self._add(node.problem("id is missing", "lines of request logs do not say which cluster they are of"))
        return ClusterSources(cluster_id, logs, tuple(self._request_log(each, zone) for each in requests))

    def _request_log(self, node: Node, zone: str) -> RequestFiles:
        read = self._fields(node, _REQUEST_LOG)
        broker = self._text(read.get("broker"))
        if not is_natural(broker):
            what = f"{broker!r} is no broker's id" if broker else "broker is missing"
            self._add(read.get("broker", node).problem(what))
        patterns = self._paths(read.get("files"))
        if not patterns:
            self._add(read.get("files", node).problem("files is missing", "for example /logs/kafka-request.log*"))
        return RequestFiles(int(broker) if is_natural(broker) else 0, patterns, self._zone(read.get("timezone"), zone))

    def _zone(self, node: Node | None, default: str) -> str:
        zone = self._text(node)
        if node is not None and zone and (wrong := zone_problem(zone)):
            self._add(node.problem(wrong))
        return zone or default

    def _paths(self, node: Node | None) -> tuple[str, ...]:
        """One path, or a list of them."""
        nodes = [] if node is None else self._items(node) if isinstance(node.data, list) else [node]
        return tuple(_path(text, self.folder) for each in nodes if (text := self._text(each)))

    def _fields(self, node: Node, legal: Sequence[str]) -> dict[str, Node]:
        none: dict[str, Node] = {}
        found = self._collecting(node.named, none)
        self.problems += node.unknown(legal) if found else []
        return found

    def _items(self, node: Node | None) -> list[Node]:
        return [] if node is None or node.is_null else self._collecting(node.items, [])

    def _text(self, node: Node | None) -> str:
        return "" if node is None or node.is_null else self._collecting(node.text, "")

    def _collecting(self, read: Callable[[], T], default: T) -> T:
        try:
            return read()
        except FileProblem as problem:
            self._add(problem)
            return default

    def _add(self, problem: FileProblem) -> None:
        self.problems.append(problem)


def missing(sources: Sources) -> Iterator[str]:
    """The first missing input, as text. Patterns may match nothing, and URIs are for Spark."""
    for cluster in sources.clusters:
        for path in cluster.metadata_logs:
            if "://" in path:
                continue
            if not Path(path).is_dir():
                yield f"there is no folder {path}"
            elif (Path(path) / _LOG).is_dir():
                yield f"{path} is no metadata log but holds one: name {Path(path) / _LOG}"
    for path in sources.journals:
        if "://" not in path and not Path(path).exists():
            yield f"there is no journal at {path}"
