"""The JSON files of kafka-reassign-partitions (ReassignPartitionsCommand).

A file has version 1, and partitions with their replicas and, in the same order, the log directories of the replicas;
the directory ``any`` means no particular one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.files.foreign_form import DocumentForm, TextForm, count, shown, tried
from console.files.read import Read
from console.model.yaml_places import Document, FileProblem, Node
from console.operations.goals import Reassign

_MOST = 2**31 - 1
_ANY = "any"
_CURRENT, _PROPOSED = "Current partition replica assignment", "Proposed partition reassignment configuration"


def _owns(data: Any) -> bool:
    return isinstance(data, dict) and "partitions" in data and not {"topics", "meta", "spec"} & data.keys()


def _take(document: Document, read: Read) -> Iterator[FileProblem]:
    problems: list[FileProblem] = []
    root = document.root
    if read.reassign is not None:
        _, source, line = read.reassign
        yield root.problem(f"{source}:{line} has a reassignment too", "give one at a time")
        return
    parts = root.named()
    problems += root.unknown(("version", "partitions"))
    tried(problems, count(1, 1), parts.get("version"))
    replicas: dict[tuple[str, int], tuple[int, ...]] = {}
    dirs: list[tuple[str, int, int, str]] = []
    for node in tried(problems, Node.items, parts["partitions"]) or ():
        try:
            topic, number, brokers, paths = _partition(node)
        except FileProblem as problem:
            problems.append(problem)
            continue
        if (topic, number) in replicas:
            problems.append(node.problem(f"{topic}-{number} stands twice", "let it stand once"))
        replicas[topic, number] = brokers
        dirs += [(topic, number, broker, path) for broker, path in zip(brokers, paths, strict=False) if path != _ANY]
    if not problems and not replicas:
        problems.append(parts["partitions"].problem("no partition is in it", "name one"))
    goal = Reassign(tuple((*place, brokers) for place, brokers in replicas.items()), tuple(dirs))
    read.reassign = (goal, document.source, document.line(()))
    yield from problems


FORM = DocumentForm("kafka-reassign-partitions' JSON", _owns, _take)


def _partition(node: Node) -> tuple[str, int, tuple[int, ...], tuple[str, ...]]:
    """Return the topic, the number and the replicas of a partition, and the log directory of each replica; no
    directories if the file has none. Raises FileProblem for an invalid value.
    """
    found = node.fields(("topic", "partition", "replicas"), ("log_dirs",))
    topic, number = shown(found["topic"]), count(0, _MOST)(found["partition"])
    brokers = tuple(map(count(0, _MOST), found["replicas"].items()))
    if not brokers:
        found["replicas"].fail(f"{topic}-{number} has no replica", "name a broker")
    if len(set(brokers)) < len(brokers):
        found["replicas"].fail(f"{topic}-{number} has a broker twice", "name it once")
    paths = tuple(map(shown, found["log_dirs"].items())) if "log_dirs" in found else ()
    if paths and len(paths) != len(brokers):
        found["log_dirs"].fail(f"{topic}-{number} has {len(brokers)} replicas", f"one of log_dirs for each, or {_ANY}")
    return topic, number, brokers, paths


def _owns_topics(data: Any) -> bool:
    named = data.get("topics") if isinstance(data, dict) else None
    return isinstance(named, list) and all(isinstance(each, dict) and each.keys() == {"topic"} for each in named)


def _refuse_topics(document: Document, read: Read) -> Iterator[FileProblem]:  # noqa: ARG001 - as every form
    what = "this names topics to move, as --topics-to-move-json-file takes them, and not where to"
    yield document.root.named()["topics"].problem(what, "kac moves topic NAME to ID[,ID…] plans that")


TOPICS_TO_MOVE = DocumentForm(FORM.name, _owns_topics, _refuse_topics)


def _refuse_generated(text: str, source: str, read: Read) -> Iterator[FileProblem]:  # noqa: ARG001 - as every form
    number = next((number for number, line in enumerate(text.splitlines(), 1) if line.startswith(_PROPOSED)), 1)
    what = "this is what --generate prints, with what is and what is proposed"
    yield FileProblem(source, number, what, "keep the JSON that follows this line, and nothing else")


GENERATED = TextForm(
    "what kafka-reassign-partitions --generate prints",
    lambda beginning: beginning.startswith((_CURRENT, _PROPOSED)),
    _refuse_generated,
)
