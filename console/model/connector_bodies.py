"""Parses configs and offsets of connectors in the forms that Connect's REST API and its standalone worker accept. Pure.

A config is JSON, ``{"name": …, "config": {…}}`` or the config alone, or Java's properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from console.model.connect import CLASS, PAUSED, RUNNING, STOPPED, ConnectorOffset
from console.model.foreign_json import json_of
from console.model.java_properties import parse_properties
from console.model.numbers import json_text

_BODY = frozenset({"name", "config", "initial_state", "tasks", "type"})
"""The members of the JSON object that describes a connector in requests and responses of the REST API."""
STATES = {"": "", RUNNING: "", PAUSED: PAUSED, STOPPED: STOPPED}


class ConnectorText(NamedTuple):
    """A connector as the text of a file describes it."""

    name: str
    """The name without the Connect cluster; ``""`` if the text has none."""
    config: Mapping[str, str]
    state: str = ""
    """The wanted state; ``""`` for RUNNING."""


def is_body(data: object) -> bool:
    """Return whether data is a connector in a form that the REST API accepts: an object with its name and config, or
    its config alone.
    """
    if not isinstance(data, Mapping):
        return False
    config = data.get("config")
    return CLASS in data or (isinstance(config, Mapping) and CLASS in config and data.keys() <= _BODY)


def of_body(data: Mapping[str, Any]) -> ConnectorText:
    """Return the connector in the body of a request.

    Raises:
        ValueError: it has no config, a value that a worker does not accept, or an unknown initial state.
    """
    body = data if CLASS in data else data.get("config")
    if not isinstance(body, Mapping):
        raise ValueError("there is no config in it")
    config = {str(key): _text(str(key), value) for key, value in body.items()}
    name = config.get("name", "") if CLASS in data else str(data.get("name", ""))
    state = str(data.get("initial_state", "") if CLASS not in data else "").upper()
    if state not in STATES:
        raise ValueError(f"initial_state is {RUNNING}, {PAUSED} or {STOPPED}")
    return ConnectorText(name, {key: value for key, value in config.items() if key != "name"}, STATES[state])


def _text(key: str, value: object) -> str:
    """Return a value of a config as the text that a worker reads: numbers and booleans are converted. Raises ValueError
    for null, an object or a list.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json_text(value)
    raise ValueError(f"{key}: {'null' if value is None else 'an object or a list'} is no value of a config")


def of_text(text: str) -> ConnectorText:
    """Return the connector that the text of a file describes.

    Raises:
        ValueError: the text is neither JSON nor Java properties, or describes no connector.
    """
    if text.lstrip().startswith("{"):
        data = json_of(text)
        if not is_body(data):
            raise ValueError(f'it is no config of a connector: {{"name": …, "config": {{"{CLASS}": …}}}} is one')
        return of_body(data)
    found: dict[str, str] = {}
    for each in parse_properties(text):
        if each.key in found:
            raise ValueError(f"line {each.line}: {each.key} stands there twice")
        found[each.key] = each.value
    if CLASS not in found:
        raise ValueError(f"it has no {CLASS}")
    return of_body(found)


def offsets_of(text: str) -> tuple[ConnectorOffset, ...]:
    """Parse offsets in the form that ``GET /connectors/NAME/offsets`` returns, or only their list.

    Raises:
        ValueError: the text has another form, or no offsets.
    """
    data = json_of(text)
    found = data.get("offsets") if isinstance(data, dict) else data
    if not isinstance(found, list) or not found:
        raise ValueError('write offsets as Connect returns them: [{"partition": {…}, "offset": {…}}]')
    return tuple(map(_offset, found))


def _offset(data: object) -> ConnectorOffset:
    if not isinstance(data, dict) or data.keys() - {"partition", "offset"} or "offset" not in data:
        raise ValueError('an offset has "partition" and "offset"')
    partition, offset = data.get("partition"), data["offset"]
    if not isinstance(partition, dict) or not (offset is None or isinstance(offset, dict)):
        raise ValueError("a partition is an object, and an offset is one or null")
    return partition, offset
