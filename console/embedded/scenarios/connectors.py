"""A Connect cluster with problems: a sink whose folder is missing on one worker, a source that a user has paused, and a
healthy sink.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from console.embedded.connect import groups
from console.embedded.connect.state import PAUSED, RUNNING
from console.embedded.connect.workers import first_state, herder_of
from console.embedded.context import Cluster
from console.embedded.scenarios.seed import add_group
from console.embedded.spec import LOST_FOLDER

FAILING, PAUSED_SOURCE, WELL = "orders-archive", "carrier-rates", "audit-export"
_BEHIND, _CLOSE = 60_000, 5
"""Numbers of records in each partition that the sinks `FAILING` and `WELL` have not read."""
_FEED = "/srv/feeds/carriers.csv"
_CONFIGS: Mapping[str, Mapping[str, str]] = {
    FAILING: {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": "checkout.orders,checkout.payments",
        "file": f"{LOST_FOLDER}/orders.jsonl",
        "tasks.max": "2",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "errors.tolerance": "none",
    },
    PAUSED_SOURCE: {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "topic": "logistics.carriers",
        "file": _FEED,
    },
    WELL: {
        "connector.class": "FileStreamSink",
        "topics": "identity.audit",
        "file": "/srv/export/audit.jsonl",
    },
}


def seed_connectors(cluster: Cluster) -> None:
    """Add the connectors and the consumer groups of the sinks. Their topics must exist."""
    spec = cluster.spec.connect
    assert spec is not None
    herder, state = herder_of(cluster, spec), first_state(spec)
    for name, config in _CONFIGS.items():
        state = herder.configured(state, name, {**config, "name": name})
    state = herder.targeted(state, PAUSED_SOURCE, PAUSED)
    paused = state.connectors[PAUSED_SOURCE]
    offset = {"filename": _FEED}, {"position": 482_133}
    state = state.with_connector(replace(paused, topics=(paused.config["topic"],), offsets=(offset,)))
    for name, behind in ((FAILING, _BEHIND), (WELL, _CLOSE)):
        connector = state.connectors[name]
        topics = groups.topics_of(cluster, connector)
        clients = [groups.client_of(connector, task) for task in connector.tasks if task.state == RUNNING]
        add_group(cluster, groups.group_of(connector), topics, clients, behind)
        state = state.with_connector(replace(connector, topics=topics))
    cluster.state.connect = state
