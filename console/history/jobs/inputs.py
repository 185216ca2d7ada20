"""What `ingest` reads, and from where."""

from __future__ import annotations

import msgspec


class _Input(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class MetadataLog(_Input, frozen=True):
    """A folder ``__cluster_metadata-0`` of a controller, with segments and snapshots. cluster_id: None: that of the
    ``meta.properties`` in the folder above."""

    path: str
    cluster_id: str | None = None


class RequestLog(_Input, frozen=True):
    """The request log of one broker. paths: files or patterns as of a shell, rotated and gzip ones too. time_zone: of
    the times in its lines, as ``Europe/Berlin``; lines do not say."""

    paths: tuple[str, ...]
    cluster_id: str
    broker_id: int
    time_zone: str = "UTC"


class Journals(_Input, frozen=True):
    """A folder with journals of kac, or one of them: ``CLUSTER-ID.jsonl``."""

    path: str


class Inputs(_Input, frozen=True):
    """All that one run reads."""

    metadata_logs: tuple[MetadataLog, ...] = ()
    request_logs: tuple[RequestLog, ...] = ()
    journals: tuple[Journals, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path and pattern."""
        requests = (path for log in self.request_logs for path in log.paths)
        return (*(log.path for log in self.metadata_logs), *requests, *(journal.path for journal in self.journals))
