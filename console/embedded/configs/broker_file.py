"""What is in each broker's server.properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.embedded.configs.definitions import release_configs
from console.embedded.configs.inheritance import BrokerLayers

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster
    from console.embedded.state.tables import View

CONTROLLER_LISTENER = "CONTROLLER"
_CONTROLLER_PORT = 10_000
"""Apart from the broker's own port. Nothing listens there; a client never needs it."""
_KRAFT_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ZOOKEEPER_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"


def broker_file(cluster: EmbeddedCluster, broker_id: int) -> dict[str, str]:
    """The keys of a broker's file: what makes it this broker, and what the cluster's specification says."""
    spec, broker = cluster.spec, cluster.state.brokers[broker_id]
    own = f"{cluster.listener_name}://{broker.host}:{broker.port}"
    file = {
        "listeners": own,
        "advertised.listeners": own,
        "log.dirs": ",".join(broker.log_dirs),
        "broker.id": str(broker_id),
    }
    if cluster.release.kraft:
        voters = (f"{each.id}@{each.host}:{_controller_port(each.port)}" for each in cluster.state.brokers.values())
        file |= {
            "node.id": str(broker_id),
            "process.roles": "broker,controller",
            "controller.listener.names": CONTROLLER_LISTENER,
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"{own},{CONTROLLER_LISTENER}://{broker.host}:{_controller_port(broker.port)}",
        }
    else:
        file["zookeeper.connect"] = "127.0.0.1:2181"
    if broker.rack is not None:
        file["broker.rack"] = broker.rack
    if spec.authorizer:
        file["authorizer.class.name"] = _KRAFT_AUTHORIZER if cluster.release.kraft else _ZOOKEEPER_AUTHORIZER
        file["super.users"] = ";".join(sorted(spec.super_users))
    if spec.sasl is not None:
        file["sasl.enabled.mechanisms"] = ",".join(cluster.mechanisms)
        file["security.inter.broker.protocol"] = cluster.listener_name
    return file | dict(spec.static_configs)


def _controller_port(port: int) -> int:
    return port + _CONTROLLER_PORT if port + _CONTROLLER_PORT < 65536 else port - _CONTROLLER_PORT


def layers_of(cluster: EmbeddedCluster, broker_id: int, view: View) -> BrokerLayers:
    """What a broker goes by, as this view has it."""
    return BrokerLayers.of(release_configs(cluster.release.name), view, broker_id, broker_file(cluster, broker_id))
