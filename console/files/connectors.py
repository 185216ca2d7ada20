"""Connectors in files: makes the edits that bring connectors to their wanted state."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from console.files.obstacles import Obstacle, is_that, secret_not_set
from console.files.wanted import HIDDEN, Wanted, WantedConnector
from console.language.quoting import quote_beside_equals
from console.model import connect
from console.model.changes import Target
from console.model.config import ConfigResource
from console.model.secret import MaybeSecret, Secret
from console.model.snapshot import Snapshot
from console.plan import edits as plan_edits
from console.plan.connector_rules import NAME, defined_entry, is_secret
from console.plan.staged import Described
from console.sensitive import is_mask

_STEERING = {
    connect.RUNNING: plan_edits.ResumeConnector,
    connect.PAUSED: plan_edits.PauseConnector,
    connect.STOPPED: plan_edits.StopConnector,
}


def connector_edits(
    named: ConfigResource,
    wanted: WantedConnector,
    snapshot: Snapshot,
    partial: AbstractSet[Target],
) -> Iterator[plan_edits.Edit | Obstacle]:
    """Yield the edits that bring a connector to its wanted state, and the obstacles to that.

    Args:
        named: the connector as the file names it, with or without its Connect cluster.
        partial: the connectors of which files list only some keys.
    """
    resource = _in_cluster(named, snapshot)
    if resource is None:
        there = ", ".join(sorted(snapshot.connect)) or "none"
        why = f"which Connect cluster it is of is open: the context has {there}"
        yield Obstacle(named, "", why)
        return
    name = resource.name
    entries, there_now = snapshot.configs.get(resource), connect.connector_in(snapshot.connect, name)
    own = {each.name: each for each in entries.overrides(resource)} if entries is not None else {}
    seen, class_name = Described(snapshot), str(wanted.config.get(connect.CLASS, ""))
    config: dict[str, MaybeSecret] = {}
    for key, value in wanted.config.items():
        entry = own.get(key) or defined_entry(seen, name, class_name, key)
        secret = value is HIDDEN or is_secret(key, str(value), entry)
        # Other tools write a mask or an empty text in place of a hidden value; kac then keeps the present value.
        hides = is_mask(str(value)) if secret else not value and entry is not None and entry.hidden
        if value is HIDDEN or hides:
            if key not in own:
                yield secret_not_set(named, key) if there_now is not None else _secret_of_new(named, key, name)
            continue
        if there_now is None or not is_that(own.get(key), str(value)):
            config[key] = Secret(str(value)) if secret else str(value)
    if there_now is None:
        if config.keys() == wanted.config.keys():
            yield plan_edits.CreateConnector(name, config, wanted.state or "")
        return
    yield from (plan_edits.SetConfig(resource, key, value) for key, value in config.items())
    gone = (key for key in own if key not in wanted.config and key != NAME and named not in partial)
    yield from (plan_edits.UnsetConfig(resource, key) for key in gone)
    if wanted.state is not None and wanted.state != there_now.wanted_state:
        yield _STEERING[wanted.state](name)


def _secret_of_new(named: ConfigResource, key: str, name: str) -> Obstacle:
    how = f"create it by hand: create connector {name} @FILE {quote_beside_equals(key)}=?"
    return Obstacle(named, key, f"{key} is secret, and without it no connector is created; {how}", secret=True)


def _in_cluster(named: ConfigResource, snapshot: Snapshot) -> ConfigResource | None:
    """Return a connector with its Connect cluster. If the file names no Connect cluster, return the connector in the
    only Connect cluster of the context; None if the context names several or none.
    """
    cluster, name = connect.split_name(named.name)
    if cluster:
        return named
    return connect.connector_resource(next(iter(snapshot.connect)), name) if len(snapshot.connect) == 1 else None


def unlisted(wanted: Wanted, now: Wanted) -> Iterator[ConfigResource]:
    """Yield the connectors of a cluster that the files neither list, with or without a Connect cluster, nor exclude
    from removal. now: the present state of the cluster.
    """
    names = {each.name for each in wanted.connectors}
    for resource in now.connectors:
        is_listed = not names.isdisjoint({resource.name, connect.split_name(resource.name)[1]})
        if not is_listed and resource not in wanted.alone:
            yield resource
