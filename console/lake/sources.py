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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from console.files.errors import FileProblem, FileProblems
from console.files.nodes import Document, read_yaml
from console.history.cluster_ids import id_problem
from console.model.numbers import is_natural

if TYPE_CHECKING:
    from console.history.jobs.inputs import Inputs

FILE = "sources.yaml"
_LOG = "__cluster_metadata-0"
_CLUSTER = ("id", "metadata-log", "request-logs", "timezone")
_REQUEST_LOG = ("broker", "files", "timezone")


@dataclass(frozen=True)
class RequestFiles:
    """Request logs of a broker. patterns: files, as a shell would find them. zone: of the times in their lines."""

    broker: int
    patterns: tuple[str, ...]
    zone: str = "UTC"


@dataclass(frozen=True)
class ClusterSources:
    """What there is of one cluster. cluster_id: None where its metadata log has to say."""

    cluster_id: str | None
    metadata_logs: tuple[str, ...] = ()
    request_logs: tuple[RequestFiles, ...] = ()


@dataclass(frozen=True)
class Sources:
    """All there is to read. Paths are absolute, or URIs."""

    clusters: tuple[ClusterSources, ...] = ()
    journals: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path and pattern."""
        logs = (each for cluster in self.clusters for each in cluster.metadata_logs)
        lines = (each for cluster in self.clusters for log in cluster.request_logs for each in log.patterns)
        return (*logs, *lines, *self.journals)

    def inputs(self) -> Inputs:
        """The same as the job takes it."""
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


def read_sources(text: str, source: str, folder: Path) -> Sources:
    """What a `sources.yaml` says. folder: what its relative paths stand upon.

    Raises:
        FileProblems: all that is wrong, each with its line.
    """
    try:
        reader = _Reader(read_yaml(text, source), folder)
    except FileProblem as problem:
        raise FileProblems([problem]) from None
    sources = reader.sources()
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
    """What the command line names. request_logs: ``BROKER=PATTERN`` each. ValueError, in words for the operator."""
    wrong = zone_problem(zone) if zone else ""
    if wrong:
        raise ValueError(f"--timezone: {wrong}")
    if cluster_id is not None and (problem := id_problem(cluster_id)):
        raise ValueError(f"--cluster-id: {problem}")
    by_broker: dict[int, list[str]] = {}
    for each in request_logs:
        broker, equals, pattern = each.partition("=")
        if not (equals and pattern and is_natural(broker)):
            raise ValueError(f"--request-log {each}: write BROKER=FILES, as --request-log '1=/logs/kafka-request.log*'")
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
    """Walks the file; what is wrong is gathered, and read over."""

    document: Document
    folder: Path
    problems: list[FileProblem] = field(default_factory=list)

    def sources(self) -> Sources:
        top = self._mapping((), self.document.data, ("version", "clusters", "journals"))
        if top.get("version") != "1":
            self._wrong(
                ("version",) if "version" in top else (), "a file says its version", "write version: 1 at its top"
            )
        clusters = tuple(self._clusters(self._list(("clusters",), top.get("clusters"))))
        sources = Sources(clusters, self._paths(("journals",), top.get("journals")))
        if not self.problems and not sources.paths:
            self._wrong((), "it names nothing to read", "name a metadata-log, request-logs or journals")
        return sources

    def _clusters(self, clusters: list[Any]) -> Iterator[ClusterSources]:
        for number, each in enumerate(clusters):
            at = ("clusters", number)
            read = self._mapping(at, each, _CLUSTER)
            cluster_id = self._text((*at, "id"), read.get("id")) or None
            if cluster_id is not None and (problem := id_problem(cluster_id)):
                self._wrong((*at, "id"), problem, "")
            zone = self._zone((*at, "timezone"), read.get("timezone"), "UTC")
            requests = self._list((*at, "request-logs"), read.get("request-logs"))
            logs = self._paths((*at, "metadata-log"), read.get("metadata-log"))
            if cluster_id is None and (requests or not logs):
                self._wrong(at, "id is missing here", "lines of request logs do not say which cluster they are of")
            found = tuple(self._request_log((*at, "request-logs", n), log, zone) for n, log in enumerate(requests))
            yield ClusterSources(cluster_id, logs, found)

    def _request_log(self, at: tuple[str | int, ...], log: Any, zone: str) -> RequestFiles:
        read = self._mapping(at, log, _REQUEST_LOG)
        broker = self._text((*at, "broker"), read.get("broker"))
        if not is_natural(broker):
            self._wrong(
                (*at, "broker"), "broker is missing here" if not broker else f"{broker!r} is no broker's id", ""
            )
        patterns = self._paths((*at, "files"), read.get("files"))
        if not patterns:
            self._wrong((*at, "files"), "files is missing here", "as /logs/kafka-request.log*")
        own = self._zone((*at, "timezone"), read.get("timezone"), zone)
        return RequestFiles(int(broker) if is_natural(broker) else 0, patterns, own)

    def _zone(self, at: tuple[str | int, ...], value: Any, default: str) -> str:
        zone = self._text(at, value)
        wrong = zone_problem(zone) if zone else ""
        if wrong:
            self._wrong(at, wrong, "")
        return zone or default

    def _paths(self, at: tuple[str | int, ...], value: Any) -> tuple[str, ...]:
        values = value if isinstance(value, list) else [] if value is None else [value]
        texts = [self._text((*at, number), each) for number, each in enumerate(values)]
        return tuple(_path(each, self.folder) for each in texts if each)

    def _list(self, at: tuple[str | int, ...], value: Any) -> list[Any]:
        if value is not None and not isinstance(value, list):
            self._wrong(at, f"{at[-1]} is a list", "each thing of it begins with a dash")
        return value if isinstance(value, list) else []

    def _mapping(self, at: tuple[str | int, ...], value: Any, legal: Sequence[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self._wrong(at, "keys with values are wanted here", f"here stand {', '.join(legal)}")
            return {}
        for key in value.keys() - set(legal):
            near = get_close_matches(key, legal, n=1)
            hint = f"did you mean {near[0]}?" if near else f"here stand {', '.join(legal)}"
            self._wrong((*at, key), f"there is no {key!r} here", hint)
        return value

    def _text(self, at: tuple[str | int, ...], value: Any) -> str:
        if value is not None and not isinstance(value, str):
            self._wrong(at, f"{at[-1]} is a text", "")
        return value if isinstance(value, str) else ""

    def _wrong(self, at: tuple[str | int, ...], message: str, hint: str) -> None:
        self.problems.append(FileProblem(self.document.source, self.document.line(at), message, hint))


def missing(sources: Sources) -> Iterator[str]:
    """What is not there, in words. Patterns may find nothing, and URIs are for Spark."""
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
