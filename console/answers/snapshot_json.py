"""The output of `kac snapshot`: the whole state of a cluster as one JSON document, written incrementally.

Entries of equal config sets are one object (console.model.config), so the text of each entry is made once and joined
with the name of every resource that has it: 132,000 entries take as long as 34.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from console.answers.results import problem_data
from console.model.config import ConfigEntry, ConfigResource
from console.model.numbers import json_text, known_number
from console.model.snapshot import Snapshot
from console.present.acls import ACLS, AclRow
from console.present.configs import entry_data


def write_snapshot(snapshot: Snapshot, out: TextIO, *, overrides: bool) -> None:
    """Write the snapshot to `out` as one JSON document. overrides: whether to leave out values that the resource does
    not set itself.
    """
    cluster = snapshot.cluster
    out.write(f'{{"cluster_id": {json_text(cluster.cluster_id)},\n"controller_id": {json_text(_controller(snapshot))}')
    _array(out, "brokers", (json_text(_broker(b)) for b in cluster.brokers))
    _array(out, "topics", _topics(snapshot))
    _array(out, "configs", _configs(snapshot, overrides))
    _array(out, "quotas", _quotas(snapshot))
    _array(out, "acls", _acls(snapshot))
    _array(out, "errors", (json_text(problem_data(each)) for each in snapshot.failures))
    out.write("}\n")


def _array(out: TextIO, name: str, items: Iterable[str]) -> None:
    out.write(f',\n"{name}": [')
    separator = "\n "
    for item in items:
        out.write(separator + item)
        separator = ",\n "
    out.write("]")


def _controller(snapshot: Snapshot) -> int | None:
    return known_number(snapshot.quorum.leader_id if snapshot.quorum else snapshot.cluster.controller_id)


def _broker(broker: object) -> dict[str, object]:
    return {name: getattr(broker, name) for name in ("id", "host", "port", "rack")}


def _topics(snapshot: Snapshot) -> Iterator[str]:
    for name in sorted(snapshot.topics):
        topic = snapshot.topics[name]
        partitions = [
            {"partition": p.number, "leader": known_number(p.leader), "replicas": p.replicas, "isr": p.isr}
            for p in topic.partitions
        ]
        yield json_text({"name": name, "internal": topic.internal, "partitions": partitions})


def _configs(snapshot: Snapshot, overrides: bool) -> Iterator[str]:
    tails = _memo(lambda entry: json_text(entry_data(entry))[1:])
    for resource in sorted(snapshot.configs, key=_order):
        entries = snapshot.configs[resource]
        chosen = entries.overrides(resource) if overrides else entries.entries
        head = f'{{"resource_type": "{resource.type.name}", "resource_name": {json_text(resource.name)}, '
        for entry in chosen:
            yield head + tails(entry)


def _order(resource: ConfigResource) -> tuple[int, bool, int, str]:
    # Sort numbers by value, but without int(): a group's name may consist of digits of any length.
    return (
        resource.type,
        not resource.name.isdecimal(),
        len(resource.name) if resource.name.isdecimal() else 0,
        resource.name,
    )


def _memo(text: Callable[[ConfigEntry], str]) -> Callable[[ConfigEntry], str]:
    # Look up entries by identity: hashing an entry with its synonyms costs more than encoding it. The ids stay valid,
    # as the snapshot keeps the entries alive.
    known: dict[int, str] = {}

    def look_up(entry: ConfigEntry) -> str:
        found = known.get(id(entry))
        if found is None:
            found = known[id(entry)] = text(entry)
        return found

    return look_up


def _quotas(snapshot: Snapshot) -> Iterator[str]:
    for entity in sorted(snapshot.quotas, key=lambda e: [(p.type, p.name or "", p.name is not None) for p in e.parts]):
        values = snapshot.quotas[entity]
        yield json_text({"entity": entity.as_dict(), "values": {key: float(values[key]) for key in sorted(values)}})


def _acls(snapshot: Snapshot) -> Iterator[str]:
    columns = ACLS["principal"]
    return (json_text(columns.data(AclRow(acl, "", True))) for acl in snapshot.acls)
