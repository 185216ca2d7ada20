"""What `ingest` reads, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class MetadataLog:
    """A folder ``__cluster_metadata-0`` of a controller, with segments and snapshots. cluster_id: None: that of the
    ``meta.properties`` in the folder above."""

    path: str
    cluster_id: str | None = None


@dataclass(frozen=True)
class RequestLog:
    """The request log of one broker. paths: files or patterns as of a shell, rotated and gzip ones too. time_zone: of
    the times in its lines, as ``Europe/Berlin``; lines do not say."""

    paths: tuple[str, ...]
    cluster_id: str
    broker_id: int
    time_zone: str = "UTC"


@dataclass(frozen=True)
class Journals:
    """A folder with journals of kac, or one of them: ``CLUSTER-ID.jsonl``."""

    path: str


@dataclass(frozen=True)
class Inputs:
    """All that one run reads."""

    metadata_logs: tuple[MetadataLog, ...] = ()
    request_logs: tuple[RequestLog, ...] = ()
    journals: tuple[Journals, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For the record, and for `spark-submit`."""
        return asdict(self)


def inputs_from_json(read: Mapping[str, Any]) -> Inputs:
    """What `Inputs.as_json` gave. ValueError: a name is unknown or missing."""
    kinds = {"metadata_logs": MetadataLog, "request_logs": RequestLog, "journals": Journals}
    if unknown := set(read) - set(kinds):
        raise ValueError(f"unknown inputs: {', '.join(sorted(unknown))}; there are {', '.join(kinds)}")
    made: dict[str, Any] = {}
    for name, kind in kinds.items():
        of_kind = []
        for each in read.get(name, ()):
            if unknown := set(each) - {field.name for field in fields(kind)}:
                raise ValueError(f"{name}: unknown: {', '.join(sorted(unknown))}")
            try:
                of_kind.append(kind(**{key: tuple(value) if key == "paths" else value for key, value in each.items()}))
            except TypeError as wrong:
                raise ValueError(f"{name}: {wrong}") from wrong
        made[name] = tuple(of_kind)
    return Inputs(**made)
