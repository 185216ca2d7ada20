"""What a lake knows of a cluster from the last poll, and what the next poll adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from console.history.entities import folder_of
from console.history.schema import SNAPSHOT
from console.history.store import Lake, Release, parquet_files
from console.history.store.partitions import partition_values
from console.history.store.write import Write
from console.lake.poll import Observation, Resource, Row, State, Value, rows_table, state_rows

# -- what a poll adds. The last rows of each resource (`latest`) give the state that the last poll saw. Pure.


def changed_rows(last: State, seen: Observation) -> tuple[list[Row], State]:
    """The rows of the table `snapshot`, and the new state.

    A known resource that is not listed was deleted only if all of its type could be listed; if that failed, or reading
    its configs did, its state stays.
    """
    now = dict(seen.state)
    for entity in now.keys() & seen.failed.keys():
        configs = (value for value in last.get(entity, ()) if not value.attr.startswith(":"))
        now[entity] = tuple(sorted((*now[entity], *configs)))
    changed = {entity: values for entity, values in now.items() if last.get(entity) != values}
    gone: list[Row] = []
    for entity in last.keys() - now.keys():
        if entity not in seen.failed and (entity.entity_type, None) not in seen.failed:
            gone.append(Row("absent", *entity))
        else:
            now[entity] = last[entity]
    return [*state_rows(changed), *gone], now


def latest(rows: pa.Table) -> pa.Table:
    """Of rows of `snapshot` those of each resource's last poll; none if it was gone then."""
    keys = ["entity_type", "entity_key"]
    last = rows.group_by(keys).aggregate([("observed_ts", "max")])
    return rows.join(last, keys).filter(
        (pc.field("observed_ts") == pc.field("observed_ts_max")) & (pc.field("kind") == "state")
    )


def state_of(rows: pa.Table) -> State:
    """The state that rows of one poll of each resource have."""
    found: dict[Resource, list[Value]] = {}
    for entity_type, key, *value in zip(*(rows.column(name).to_pylist() for name in _COLUMNS), strict=True):
        found.setdefault(Resource(entity_type, key), []).append(Value(*value))
    return {entity: tuple(sorted(values)) for entity, values in found.items()}


# -- the last state. It follows from the table `snapshot` alone; so that a poll need not read all of that, it is also
# kept in `collect/<cluster>/<run>.parquet`, which the release names. If that file is missing, the table is read. A
# cluster's folder is named by `console.history.entities.folder_of`, since the cluster chooses its own id.

_INPUT = "collect:"
_COLUMNS = ["entity_type", "entity_key", "attr", "value", "source", "is_sensitive"]


class Owner(NamedTuple):
    """The context under which a cluster was last polled. declares: whether it names the cluster's id itself."""

    context: str
    declares: bool


class LastStates:
    """The last states of a lake's clusters, each read once."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._known: dict[tuple[str, str], State] = {}

    def of(self, release: Release, cluster_id: str) -> State:
        """The state of a cluster in a version of the lake; empty if it was never polled."""
        remembered = release.inputs.get(_INPUT + cluster_id)
        if remembered is None:
            return {}
        key = cluster_id, str(remembered["state"])
        if key not in self._known:
            self._known[key] = self._read(release, *key)
        return self._known[key]

    def owners(self, release: Release) -> Mapping[str, Owner]:
        """The context of each cluster that was polled, by the cluster's id."""
        return {
            key.removeprefix(_INPUT): Owner(value["context"], bool(value.get("declares")))
            for key, value in release.inputs.items()
            if key.startswith(_INPUT)
        }

    def keep(self, write: Write, cluster_id: str, owner: Owner, at: datetime, state: State) -> None:
        """Keeps a state with the run that writes the poll."""
        last = write.release.inputs.get(_INPUT + cluster_id)
        same = last is not None and self.of(write.release, cluster_id) == state
        run = str(last["state"]) if last is not None and same else write.run_id
        if run == write.run_id and state:
            rows = rows_table(SNAPSHOT, state_rows(state), cluster_id, at)
            parquet_files.write(self.lake.filesystem, self._path(cluster_id, run), rows.select(_COLUMNS))
        self._known[cluster_id, run] = state
        looked = {"context": owner.context, "declares": owner.declares, "at": at.isoformat(), "state": run}
        write.remember({_INPUT + cluster_id: looked})

    def forget_older(self, release: Release, cluster_ids: Iterable[str]) -> None:
        """Deletes the files of these clusters that a release does not name; only for the holder of the lock."""
        for cluster_id in cluster_ids:
            named = self._path(cluster_id, str(release.inputs[_INPUT + cluster_id]["state"]))
            folder = named.rpartition("/")[0]
            for entry in self.lake.filesystem.entries(folder):
                if not entry.is_folder and f"{folder}/{entry.name}" != named:
                    self.lake.filesystem.remove(f"{folder}/{entry.name}")

    def _path(self, cluster_id: str, run: str) -> str:
        return self.lake.path(f"collect/{folder_of(cluster_id)}/{run}.parquet")

    def _read(self, release: Release, cluster_id: str, run: str) -> State:
        files = self.lake.filesystem
        try:
            return state_of(parquet_files.read(files, [self._path(cluster_id, run)], SNAPSHOT, columns=_COLUMNS))
        except (OSError, pa.ArrowException):
            partitions = release.table(SNAPSHOT).partitions
            own = [each for each in partitions if partition_values(each).get("cluster_id") == cluster_id]
            polled = pc.field("kind").isin(["state", "absent"])
            paths = self.lake.files(release, SNAPSHOT, own)
            return state_of(latest(parquet_files.read(files, paths, SNAPSHOT, where=polled)))
