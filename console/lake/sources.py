"""The lake's own `sources.yaml` (its form: docs/lake.md): what is read beside polls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from console.history.entities import id_problem
from console.history.inputs import Inputs, Journals, MetadataLog, RequestLog
from console.history.kraft.metadata_log import LOG_FOLDER
from console.history.requests.zone import zone_problem
from console.model.numbers import is_natural
from console.model.yaml_places import FileProblem, FileProblems, Node, read_yaml

FILE = "sources.yaml"
_TOP = ("version", "clusters", "journals")
_CLUSTER = ("id", "metadata-log", "request-logs", "timezone")
_REQUEST_LOG = ("broker", "files", "timezone")
T = TypeVar("T")


def read_sources(text: str, source: str, folder: Path) -> Inputs:
    """Reads a `sources.yaml`. folder: the base of its relative paths.

    Raises:
        FileProblems: all errors, each with its line.
    """
    reader = _Reader(folder)
    try:
        inputs = reader.inputs(read_yaml(text, source).root)
    except FileProblem as problem:
        raise FileProblems([problem]) from None
    if reader.problems:
        raise FileProblems(sorted(reader.problems, key=lambda each: each.line or 0))
    return inputs


def _path(text: str, folder: Path) -> str:
    return text if "://" in text else str(folder / Path(text).expanduser())


@dataclass
class _Reader:
    """Reads the file; collects every error and omits its value."""

    folder: Path
    problems: list[FileProblem] = field(default_factory=list)

    def inputs(self, root: Node) -> Inputs:
        top = self._fields(root, _TOP)
        version = top.get("version")
        if version is None or version.data != "1":
            self._add(version or root, "a file says its version", "write version: 1 at its top")
        metadata_logs: list[MetadataLog] = []
        request_logs: list[RequestLog] = []
        for each in self._items(top.get("clusters")):
            self._cluster(each, metadata_logs, request_logs)
        inputs = Inputs(
            tuple(metadata_logs), tuple(request_logs), tuple(map(Journals, self._paths(top.get("journals"))))
        )
        if not self.problems and not inputs.paths:
            self._add(root, "it names nothing to read", "name a metadata-log, request-logs or journals")
        return inputs

    def _cluster(self, node: Node, metadata_logs: list[MetadataLog], request_logs: list[RequestLog]) -> None:
        read = self._fields(node, _CLUSTER)
        cluster_id = self._text(read.get("id")) or None
        if cluster_id is not None and (problem := id_problem(cluster_id)):
            self._add(read["id"], problem)
        zone = self._zone(read.get("timezone"), "UTC")
        requests = self._items(read.get("request-logs"))
        paths = self._paths(read.get("metadata-log"))
        if cluster_id is None and (requests or not paths):
            self._add(node, "id is missing", "lines of request logs do not say which cluster they are of")
        metadata_logs += [MetadataLog(path, cluster_id) for path in paths]
        request_logs += [self._request_log(each, cluster_id or "", zone) for each in requests]

    def _request_log(self, node: Node, cluster_id: str, zone: str) -> RequestLog:
        read = self._fields(node, _REQUEST_LOG)
        broker = self._text(read.get("broker"))
        if not is_natural(broker):
            self._add(read.get("broker", node), f"{broker!r} is no broker's id" if broker else "broker is missing")
        paths = self._paths(read.get("files"))
        if not paths:
            self._add(read.get("files", node), "files is missing", "for example /logs/kafka-request.log*")
        zone = self._zone(read.get("timezone"), zone)
        return RequestLog(paths, cluster_id, int(broker) if is_natural(broker) else 0, zone)

    def _zone(self, node: Node | None, default: str) -> str:
        zone = self._text(node) or default
        if node is not None and (wrong := zone_problem(zone)):
            self._add(node, wrong)
        return zone

    def _paths(self, node: Node | None) -> tuple[str, ...]:
        """One path, or a list of them."""
        nodes = self._items(node) if node is not None and isinstance(node.data, list) else [node]
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
            self.problems.append(problem)
            return default

    def _add(self, node: Node, message: str, hint: str = "") -> None:
        self.problems.append(node.problem(message, hint))


def missing(inputs: Inputs) -> Iterator[str]:
    """The first missing input, as text. Patterns may match nothing, and URIs are for Spark."""
    for path in (each.path for each in inputs.metadata_logs if "://" not in each.path):
        if not Path(path).is_dir():
            yield f"there is no folder {path}"
        elif (Path(path) / LOG_FOLDER).is_dir():
            yield f"{path} is no metadata log but holds one: name {Path(path) / LOG_FOLDER}"
    for path in (each.path for each in inputs.journals if "://" not in each.path):
        if not Path(path).exists():
            yield f"there is no journal at {path}"
