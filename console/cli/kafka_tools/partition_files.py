"""The JSON files of kafka-leader-election and kafka-delete-records: ``{"partitions": [{"topic": …, "partition": …}]}``,
with those tools' error messages (LeaderElectionCommand, DeleteRecordsCommand, 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from console.cli.kafka_tools.reset_offsets import Place
from console.cli.noun import OptionsError
from console.model.foreign_json import json_of
from console.model.numbers import LONG_MAX, LONG_MIN

LIMIT = 16 << 20
"""Bytes of a file, at most."""
_INT_MAX = 2**31 - 1


def election_places(path: str) -> list[Place]:
    """Return the partitions of a file for --path-to-json-file, sorted. Raises OptionsError."""
    data = _read(path, "Replica election data is empty")
    rows = data.get("partitions")
    if rows is None:
        raise OptionsError('Replica election data is missing "partitions" field')
    places = [_place(row) for row in _list(rows)]
    if twice := _twice(places):
        raise OptionsError(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]")
    return sorted(places)


def deletion_offsets(path: str) -> dict[Place, int]:
    """Return (topic, partition) -> offset from a file for --offset-json-file; -1 is the log's end. Raises
    OptionsError.
    """
    data = _read(path, "The input string is not a valid JSON")
    version = data.get("version", 1)
    if version != 1:
        raise OptionsError(f"Not supported version field value {version}")
    if data.get("partitions") is None:
        raise OptionsError("Missing partitions field")
    rows = [(_place(row), _number(row, "offset", LONG_MIN, LONG_MAX)) for row in _list(data["partitions"])]
    if twice := _twice(place for place, _ in rows):
        raise OptionsError(f"Offset json file contains duplicate topic partitions: {','.join(twice)}")
    return dict(sorted(rows))


def _read(path: str, invalid: str) -> dict[str, Any]:
    shown = path[:200]
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(LIMIT + 1)
    except OSError:
        raise OptionsError(f"Unable to read file {shown}") from None
    if len(content) > LIMIT:
        raise OptionsError(f"{shown} is too long: more than {LIMIT:,} bytes")
    try:
        data = json_of(content)
    except ValueError:
        raise OptionsError(invalid) from None
    if not isinstance(data, dict):
        raise OptionsError(invalid)
    return data


def _list(rows: object) -> list[Any]:
    if not isinstance(rows, list):
        raise OptionsError("partitions is no list")
    return rows


def _place(row: object) -> Place:
    if not isinstance(row, dict):
        raise OptionsError('an entry of partitions is not {"topic": …, "partition": …}')
    topic = row.get("topic")
    if not isinstance(topic, str):
        raise OptionsError("an entry of partitions has no topic")
    return topic, _number(row, "partition", 0, _INT_MAX)


def _number(row: dict[str, Any], key: str, lowest: int, highest: int) -> int:
    value = row.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise OptionsError(
            f"{key} of topic {str(row.get('topic'))[:80]} is not a whole number of {lowest} to {highest}"
        )
    return value


def _twice(places: Iterable[Place]) -> list[str]:
    return [f"{topic}-{number}" for (topic, number), count in sorted(Counter(places).items()) if count > 1]
