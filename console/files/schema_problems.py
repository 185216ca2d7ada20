"""What pydantic found wrong, in words, with the line and the nearest legal key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from console.files.schema import AclPart, FilePart, QuotaPart, TopicPart
from console.model.yaml_places import Document, FileProblem, Path, unknown_key


def schema_problems(error: ValidationError, document: Document) -> Iterator[FileProblem]:
    """One problem for each place."""
    told: set[Path] = set()
    for each in error.errors(include_url=False, include_context=True):
        path = _real_path(each["loc"], document.data)
        if path in told:
            continue  # one of several things that might have stood there was told already
        told.add(path)
        message, hint = _words(each["type"], each["msg"], path, _at(document.data, path), str(each["loc"][-1]))
        yield FileProblem(document.source, document.line(path), message, hint)


def _real_path(loc: tuple[str | int, ...], data: Any) -> Path:
    """The path without the names of models, which pydantic puts between."""
    path: list[str | int] = []
    for step in loc:
        inside = (isinstance(data, dict) and step in data) or (isinstance(data, list) and isinstance(step, int))
        if inside and not (isinstance(data, list) and isinstance(step, int) and step >= len(data)):
            path.append(step)
            data = data[step]
    return tuple(path)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _words(kind: str, message: str, path: Path, value: Any, missing: str) -> tuple[str, str]:
    name = ".".join(map(str, path[-1:]))
    if kind == "extra_forbidden":
        return unknown_key(name, _legal(path[:-1]))
    if kind == "missing" and missing != "version":
        return f"{missing} is missing", "add it"
    if path == ("version",) or not path:
        return "a file says its version", "write version: 1 at its top"
    if value is None:
        return f"{name} has no value", 'leave the key out to inherit, or write "" for the empty value'
    return f"{name}: {message[:1].lower()}{message[1:]}", ""


def _legal(path: Path) -> list[str]:
    models: dict[tuple[str, ...], type[BaseModel]] = {
        (): FilePart,
        ("topics",): TopicPart,
        ("quotas",): QuotaPart,
        ("acls",): AclPart,
    }
    model = models.get(tuple(str(step) for step in path[:1]) if len(path) >= 2 else ())
    if model is None:
        return ["secret"]
    return [info.alias or name for name, info in model.model_fields.items()]
