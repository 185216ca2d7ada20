"""Connectors in the forms that Kafka Connect accepts: the body of ``POST /connectors``, a config alone, and the
properties of a standalone worker.

These forms name no Connect cluster, so the connector belongs to the only Connect cluster of the context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from console.files import foreign_form
from console.files.read import Read
from console.files.wanted import WantedConnector
from console.model.codes import CONNECTOR
from console.model.config import ConfigResource
from console.model.connect import CLASS
from console.model.connector_bodies import is_body, of_body, of_text
from console.model.java_properties import parse_properties
from console.model.yaml_places import Document, FileProblem

_NO_NAME = "the connector has no name", "write it: name"
_IN_CLUSTER = "a name has no cluster here", "write it without CLUSTER/, or as connectors: in kac's own form"


def _take(document: Document, read: Read) -> Iterator[FileProblem]:
    problems: list[FileProblem] = []
    root = document.root
    parts = root.named()
    config = root if CLASS in parts else parts["config"]
    texts = {key: foreign_form.tried(problems, foreign_form.config_value, each) for key, each in config.named().items()}
    lines = {key: document.line(each.path) for key, each in config.named().items()}
    yield from problems
    if problems:
        return
    head: dict[str, object] = {key: parts[key].text() for key in ("name", "initial_state") if key in parts}
    try:
        found = of_body(texts if config is root else {**head, "config": texts})
    except ValueError as error:
        yield root.problem(str(error))
        return
    yield from _add(found.name, found.config, found.state, lines, read, (document.source, document.line(root.path)))


FORM = foreign_form.DocumentForm("Connect's connectors", is_body, _take)


def _take_properties(text: str, source: str, read: Read) -> Iterator[FileProblem]:
    try:
        found = of_text(text)
        lines = {each.key: each.line for each in parse_properties(text)}
    except ValueError as error:
        yield FileProblem(source, None, str(error))
        return
    yield from _add(found.name, found.config, found.state, lines, read, (source, 1))


_PROPERTIES = re.compile(r"^[ \t]*connector\.class[ \t]*=", re.MULTILINE)
PROPERTIES = foreign_form.TextForm(
    "Connect's properties", lambda beginning: _PROPERTIES.search(beginning) is not None, _take_properties
)


def _add(
    name: str, config: Mapping[str, str], state: str, lines: Mapping[str, int], read: Read, place: tuple[str, int]
) -> Iterator[FileProblem]:
    if not name or "/" in name:
        yield FileProblem(*place, *(_IN_CLUSTER if name else _NO_NAME))
        return
    resource = ConfigResource(CONNECTOR, name)
    yield from read.begin(resource, f"connector {name}", *place)
    read.remember(resource, place[0], lines.items())
    read.connectors[resource] = WantedConnector(config, state or None)
