"""The causes whose reports the operator muted until a time, by cluster: a small file in the state directory."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct, field

from console.model.foreign_json import json_as
from console.safe_files import PRIVATE, private_folder, read_regular, write_whole

log = logging.getLogger(__name__)

LARGEST = 16 << 20
"""Maximum size of the file in bytes."""
MOST = 1_000
"""Maximum number of muted causes of one cluster. If there are more, those whose mute ends first are dropped."""


class _File(Struct):
    """The contents of the file of muted causes."""

    v: int = 1
    """The version of the format."""
    clusters: dict[str, dict[str, datetime]] = field(default_factory=dict)
    """Cluster id -> cause -> end of its mute, UTC."""


class MutedCauses:
    """The file ``muted.json``, mode 0600. A file that can't be read counts as empty. A failure to write is only logged;
    the causes then stay muted in this process. The methods block, so call them in a thread.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, cluster_id: str) -> dict[str, datetime]:
        """Return cause -> end of its mute, UTC, for a cluster; mutes that have ended are left out."""
        return self._read().clusters.get(cluster_id, {})

    def write(self, cluster_id: str, muted: Mapping[str, datetime]) -> None:
        """Store the muted causes of a cluster, at most the `MOST` whose mute ends last, and drop the ended mutes of all
        clusters. A failure to write is only logged.
        """
        # Read the file again right before writing: another console may have written for another cluster.
        file = self._read()
        latest = sorted(muted.items(), key=lambda item: item[1])[-MOST:]
        file.clusters[cluster_id] = dict(latest)
        file.clusters = {cluster: mine for cluster, mine in file.clusters.items() if mine}
        try:
            private_folder(self._path.parent)
            write_whole(self._path, msgspec.json.encode(file), PRIVATE)
        except OSError as error:
            log.warning("muted causes are not kept: %s", error)

    def _read(self) -> _File:
        try:
            file = json_as(read_regular(self._path, LARGEST), _File)
        except (OSError, ValueError):
            return _File()
        now = datetime.now(UTC)
        file.clusters = {
            # A time without a zone can't be compared with now; it can only come from a file that was edited by hand,
            # and is dropped.
            cluster: {cause: until for cause, until in mine.items() if until.tzinfo is not None and until > now}
            for cluster, mine in file.clusters.items()
        }
        return file


def of_this_user() -> MutedCauses:
    """Return the file of muted causes in this user's state directory."""
    from console.log_file import state_directory

    return MutedCauses(state_directory(os.environ) / "muted.json")
