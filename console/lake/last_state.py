"""What a lake knows of a cluster from the last poll, and what the next poll adds to it."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from console.history.entities import folder_of
from console.history.lake import Lake
from console.lake.poll import Observation, Resource, Row, State, Value, state_rows
from console.model.numbers import json_text

# -- what a poll adds. Pure.


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


# -- the last states, and under which context each cluster was polled. They save rows of a poll: where one is missing,
# all of a cluster is delivered again, which makes no change of it.

OWNERS = "collect/owners.json"


class Owner(NamedTuple):
    """The context under which a cluster was last polled. declares: whether it names the cluster's id itself."""

    context: str
    declares: bool


class LastStates:
    """The last states of a lake's clusters, each read once."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self._known: dict[str, State] = {}

    def of(self, cluster_id: str) -> State:
        """The state of a cluster; empty if it was never polled."""
        if cluster_id not in self._known:
            self._known[cluster_id] = self._read(cluster_id)
        return self._known[cluster_id]

    def owners(self) -> Mapping[str, Owner]:
        """The context of each cluster that was polled, by the cluster's id."""
        text = self.lake.own_file(OWNERS)
        with suppress(ValueError, TypeError):
            return {of: Owner(*owner) for of, owner in json.loads(text or "{}").items()}
        return {}

    def keep(self, states: Mapping[str, tuple[Owner, State]]) -> None:
        """Keep the states of clusters that were polled."""
        for cluster_id, (_, state) in states.items():
            if self.of(cluster_id) != state:
                rows = [(*entity, values) for entity, values in state.items()]
                self.lake.files.replace(self._path(cluster_id), gzip.compress(msgspec.json.encode(rows)))
                self._known[cluster_id] = state
        before = self.owners()
        now = {**before, **{cluster_id: owner for cluster_id, (owner, _) in states.items()}}
        if now != before:
            self.lake.files.replace(self.lake.path(OWNERS), json_text(now).encode())

    def _path(self, cluster_id: str) -> str:
        return self.lake.path(f"collect/{folder_of(cluster_id)}.json.gz")

    def _read(self, cluster_id: str) -> State:
        text = self.lake.own_file(f"collect/{folder_of(cluster_id)}.json.gz")
        if text is None:
            return {}
        try:
            rows = msgspec.json.decode(gzip.decompress(text), type=list[tuple[str, str, tuple[Value, ...]]])
        except (OSError, EOFError, zlib.error, msgspec.DecodeError):
            return {}  # it is written again
        return {Resource(type_, key): values for type_, key, values in rows}
