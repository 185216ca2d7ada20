"""What a lake knows of a cluster from the last poll, and what the next poll adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from console.history.entities import folder_of
from console.history.schema import SNAPSHOT
from console.history.store.partitions import partition_values
from console.lake.poll import Observation, Resource, Row, State, Value, rows_table, state_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from console.history.store import Lake, Release
    from console.history.store.write import Write


# -- what a poll adds. Applying the rows of every poll in turn (`applied`) returns the state that each of them saw.
# Pure.


def changed_rows(last: State, seen: Observation) -> tuple[list[Row], State]:
    """The rows of the table `snapshot`, and the new state.

    A known resource that is not listed was deleted only if all of its type could be listed; if that failed, or reading
    its configs did, its state stays.
    """
    now: dict[Resource, tuple[Value, ...]] = {}
    for entity, values in seen.state.items():
        now[entity] = _with_former_configs(last.get(entity, ()), values) if entity in seen.partial else values
    changed = {entity: values for entity, values in now.items() if last.get(entity) != values}
    gone: list[Row] = []
    for entity, values in last.items():
        if entity in now:
            continue
        if entity.entity_type in seen.listed and entity not in seen.failed:
            gone.append(Row("absent", *entity))
        else:
            now[entity] = values
    return [*state_rows(changed), *gone], now


def _with_former_configs(before: tuple[Value, ...], facts: tuple[Value, ...]) -> tuple[Value, ...]:
    """The facts of the resource itself, with the configs that it had."""
    return tuple(sorted((*facts, *(value for value in before if not value.attr.startswith(":")))))


def applied(state: State, rows: Iterable[Row]) -> State:
    """The state after a poll, from the state before and the poll's rows."""
    now = dict(state)
    fresh: dict[Resource, list[Value]] = {}
    for row in rows:
        if row.kind == "absent":
            now.pop(Resource(row.entity_type, row.entity_key or ""), None)
        elif row.kind == "state":
            entity = Resource(row.entity_type, row.entity_key or "")
            value = Value(row.attr or "", row.value, row.source, row.is_sensitive)
            fresh.setdefault(entity, []).append(value)
    return now | {entity: tuple(sorted(values)) for entity, values in fresh.items()}


# -- the last state. It follows from the table `snapshot` alone; so that a poll need not read all of that, it is also
# kept in `collect/<cluster>/<run>.parquet`, which the release names. If that file is missing, the table is read. A
# cluster's folder is named by `console.history.entities.folder_of`, since the cluster chooses its own id.

_INPUT = "collect:"
_COLUMNS = ("entity_type", "entity_key", "attr", "value", "source", "is_sensitive")


class Owner(NamedTuple):
    """The context under which a cluster was last polled. declares: whether it names the cluster's id itself."""

    context: str
    declares: bool


class LastStates:
    """The last states of clusters, each read once."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._known: dict[tuple[str, str], State] = {}

    def of(self, release: Release, cluster_id: str) -> State:
        """The state of a cluster in a version of the lake; empty if it was never polled."""
        remembered = release.inputs.get(_INPUT + cluster_id)
        if remembered is None:
            return {}
        key = cluster_id, str(remembered["state"])
        if key not in self._known:
            self._known[key] = self._kept(*key) or self._rebuilt(release, cluster_id)
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
            self._lake.filesystem.replace(
                self._path(cluster_id, run), _parquet(rows_table(SNAPSHOT, state_rows(state), cluster_id, at))
            )
        self._known[cluster_id, run] = state
        looked = {"context": owner.context, "declares": owner.declares, "at": at.isoformat(), "state": run}
        write.remember({_INPUT + cluster_id: looked})

    def forget_older(self, release: Release, cluster_ids: Iterable[str]) -> None:
        """Deletes the files of these clusters that a release does not name; only for the holder of the lock."""
        for cluster_id in cluster_ids:
            named = self._path(cluster_id, str(release.inputs[_INPUT + cluster_id]["state"]))
            folder = named.rpartition("/")[0]
            for entry in self._lake.filesystem.entries(folder):
                if not entry.is_folder and f"{folder}/{entry.name}" != named:
                    self._lake.filesystem.remove(f"{folder}/{entry.name}")

    def _path(self, cluster_id: str, run: str) -> str:
        return self._lake.path(f"collect/{folder_of(cluster_id)}/{run}.parquet")

    def _kept(self, cluster_id: str, run: str) -> State | None:
        import pyarrow as pa

        try:
            read = _read(self._lake.filesystem.read(self._path(cluster_id, run)), _COLUMNS)
        except (OSError, pa.ArrowException):
            return None
        return applied(
            {}, (Row("state", *values) for values in zip(*(each.to_pylist() for each in read.columns), strict=True))
        )

    def _rebuilt(self, release: Release, cluster_id: str) -> State:
        import pyarrow as pa
        import pyarrow.compute as pc

        partitions = [
            each
            for each in release.table(SNAPSHOT).partitions
            if (partition_values(each).get("cluster_id") or "") == cluster_id
        ]
        parts = []
        for path in self._lake.files(release, SNAPSHOT, partitions):
            rows = _read(self._lake.filesystem.read(path), (*_COLUMNS, "kind", "observed_ts"))
            parts.append(rows.filter(pc.field("kind").isin(["state", "absent"])))
        if not parts:
            return {}
        looks: dict[datetime, list[Row]] = {}
        for row in pa.concat_tables(parts).sort_by("observed_ts").to_pylist():
            looks.setdefault(row.pop("observed_ts"), []).append(Row(**row))
        state: State = {}
        for rows in looks.values():
            state = applied(state, rows)
        return state


def _read(data: bytes, columns: tuple[str, ...]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.read_table(pa.BufferReader(data), columns=list(columns))


def _parquet(state: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(state.select(_COLUMNS), sink, compression="zstd")
    return bytes(sink.getvalue())
