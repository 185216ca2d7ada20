"""Reads topicctl's files of topics.

Sources for the fields, and for the fact that topicctl does not change settings that a file omits: segmentio/topicctl,
pkg/config/topic.go and settings.go, and its examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.files import foreign_form
from console.files.read import Read
from console.files.wanted import WantedTopic
from console.model.config import topic_resource
from console.model.yaml_places import Document, FileProblem, Node

_META = ("name", "cluster", "region", "environment", "description", "labels", "consumers")
_SPEC = ("partitions", "replicationFactor", "retentionMinutes", "settings", "placement", "migration")
_OTHERS = {"acls": "ACLs", "bootstrapAddrs": "a cluster", "authentication": "a user"}
"""Key in topicctl's files of other kinds -> what such a file describes, as text."""
_RETENTION = "retention.ms"
_MS_PER_MINUTE = 60_000
_ANYWHERE = "any"
_MOST_MINUTES = (2**63 - 1) // _MS_PER_MINUTE


def _owns(data: Any) -> bool:
    return isinstance(data, dict) and all(isinstance(data.get(key), dict) for key in ("meta", "spec"))


def _take(document: Document, read: Read) -> Iterator[FileProblem]:
    problems: list[FileProblem] = []
    try:
        _topic(document.root, read, problems)
    except FileProblem as problem:
        problems.append(problem)
    yield from problems


FORM = foreign_form.DocumentForm("topicctl's topics", _owns, _take)


def _topic(root: Node, read: Read, problems: list[FileProblem]) -> None:
    document = root.document
    parts = root.named()
    meta, spec = foreign_form.given(parts["meta"]), foreign_form.given(parts["spec"])
    for key, what in _OTHERS.items():
        if key in spec:
            note = spec[key].problem(f"topicctl's file of {what} is left out", "its topics are read")
            read.leave_out(note, foreign_form.kinds_about(what))
            return
    problems += [*root.unknown(("meta", "spec")), *parts["meta"].unknown(_META), *parts["spec"].unknown(_SPEC)]
    if "name" not in meta:
        parts["meta"].fail("name is missing", "add it")
    topic = foreign_form.shown(meta["name"])
    part = read.of_cluster(foreign_form.shown(meta["cluster"]) if "cluster" in meta else "")
    resource = topic_resource(topic)
    problems += part.begin(resource, f"topic {topic}", document.source, document.line(meta["name"].path))
    partitions = foreign_form.tried(problems, foreign_form.count(1, 1_000_000), spec.get("partitions"))
    replication = foreign_form.tried(problems, foreign_form.count(1, 10_000), spec.get("replicationFactor"))
    settings = foreign_form.tried(problems, Node.named, spec.get("settings")) or {}
    texts = {key: foreign_form.tried(problems, foreign_form.config_value, each) for key, each in settings.items()}
    lines = {key: document.line(each.path) for key, each in settings.items()}
    minutes = foreign_form.tried(problems, foreign_form.count(0, _MOST_MINUTES), spec.get("retentionMinutes"))
    if minutes:
        if _RETENTION in settings:
            problems.append(settings[_RETENTION].problem(f"retentionMinutes says {_RETENTION} too", "keep one of them"))
        texts[_RETENTION] = str(minutes * _MS_PER_MINUTE)
        lines[_RETENTION] = document.line(spec["retentionMinutes"].path)
    part.remember(resource, document.source, lines.items())
    part.partial.add(resource)
    configs = {key: text for key, text in texts.items() if text is not None}
    part.topics[topic] = WantedTopic(partitions, replication, configs or None)
    _note_placement(spec.get("placement"), topic, read, problems)


def _note_placement(placement: Node | None, topic: str, read: Read, problems: list[FileProblem]) -> None:
    found = foreign_form.tried(problems, Node.named, placement)
    strategy = foreign_form.tried(problems, foreign_form.shown, (found or {}).get("strategy"))
    if placement is not None and strategy not in (None, _ANYWHERE):
        hint = f"kac moves topic {topic} to ID[,ID…] moves replicas"
        read.notes.append(placement.problem(f"placement {strategy} of topic {topic} is not compared", hint))
