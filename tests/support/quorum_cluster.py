"""A real Kafka cluster whose controllers are not brokers. The quorum is dynamic (KIP-853: voters join and leave) or
static.

``python -m tests.support.quorum_cluster --version 4.4.0`` runs a cluster until Ctrl-C.
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support import kafka_cluster, kafka_jars, kafka_storage
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.server_properties import NodePorts, server_properties

FIRST_CONTROLLER = 101


class QuorumCluster(kafka_cluster.KafkaCluster):
    """Brokers 1…n, and controllers 101…m, each in its own process; use as a context manager.

    controllers: number of initial voters. observers: number of further controllers that are not voters. dynamic:
    whether voters can be added and removed; a static quorum has no observers. auto_join: whether controllers make
    themselves voters (Kafka 4.2 and later). The other parameters are those of a plain `KafkaCluster`.
    """

    def __init__(
        self,
        version: str = kafka_jars.RELEASES[kafka_jars.NEWEST],
        *,
        brokers: int = 2,
        controllers: int = 3,
        observers: int = 0,
        dynamic: bool = True,
        auto_join: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(version, brokers=brokers, properties=properties)
        self.voter_ids = tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + controllers))
        self.observer_ids = tuple(range(FIRST_CONTROLLER + controllers, FIRST_CONTROLLER + controllers + observers))
        self.dynamic, self.auto_join = dynamic, auto_join
        self._directory_ids = {node: kafka_storage.random_id() for node in self.voter_ids}

    @property
    def controller_ids(self) -> tuple[int, ...]:
        """The ids of all controllers, voters first."""
        return self.voter_ids + self.observer_ids

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, controllers first."""
        return self.controller_ids + self.broker_ids

    @property
    def controller_addresses(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of every controller's listener, in the order of the controllers' ids."""
        return tuple((LOOPBACK, self._ports[node].controller) for node in self.controller_ids)

    @property
    def bootstrap_controllers(self) -> str:
        """The controllers' addresses as ``host:port,host:port``."""
        return ",".join(f"{host}:{port}" for host, port in self.controller_addresses)

    def properties_file(self, node: int) -> Path:
        """Return the path of the server.properties with which a node was started."""
        return self._folder(node) / "server.properties"

    def start_again(self, node: int) -> None:
        """Start a node that is down, and return without waiting until it is up."""
        self._launch(node)

    def format_again(self, node: int) -> None:
        """Replace the storage of a stopped controller by empty storage with another directory id. Once started, the
        controller is an observer.
        """
        self._directory_ids.pop(node, None)
        self._prepare([node])  # in another folder

    def _choose_ports(self) -> None:
        free = iter(free_ports(2 * len(self.node_ids)))
        self._ports = {node: NodePorts(next(free), next(free)) for node in self.node_ids}

    def _server_properties(self, node: int, data: Path, extra: Mapping[str, str]) -> str:
        text = server_properties(
            node, {node: self._ports[node]}, data, None, {}, allow_everyone=self._allow_everyone, extra=extra
        )
        lines = dict(line.split("=", 1) for line in text.splitlines())
        del lines["controller.quorum.voters"]
        if self.dynamic:
            lines["controller.quorum.bootstrap.servers"] = self.bootstrap_controllers
        else:
            lines["controller.quorum.voters"] = ",".join(
                f"{voter}@{LOOPBACK}:{self._ports[voter].controller}" for voter in self.voter_ids
            )
        if node in self.broker_ids:
            clients = f"PLAINTEXT://{LOOPBACK}:{self._ports[node].client}"
            lines |= {"process.roles": "broker", "listeners": clients, "advertised.listeners": clients}
        else:
            control = f"CONTROLLER://{LOOPBACK}:{self._ports[node].controller}"
            lines |= {"process.roles": "controller", "listeners": control, "advertised.listeners": control}
            lines |= {"controller.quorum.auto.join.enable": "true"} if self.auto_join else {}
        lines["offsets.topic.replication.factor"] = str(len(self.broker_ids))
        return "".join(f"{key}={value}\n" for key, value in lines.items())

    def _storage_options(self, node: int) -> tuple[str, ...]:
        options = super()._storage_options(node)
        if self.dynamic and node in self._directory_ids:
            initial = ",".join(
                f"{voter}@{LOOPBACK}:{self._ports[voter].controller}:{directory}"
                for voter, directory in self._directory_ids.items()
            )
            return (*options, "--initial-controllers", initial)
        return (*options, "--no-initial-controllers") if self.dynamic and node not in self.broker_ids else options

    def _directory_id(self, node: int) -> str:
        return self._directory_ids.get(node) or super()._directory_id(node)


def main() -> int:
    """Run a cluster in the foreground until Ctrl-C or SIGTERM; print its addresses."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.quorum_cluster", description=main.__doc__)
    parser.add_argument("--version", default=kafka_jars.RELEASES[kafka_jars.NEWEST])
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--controllers", type=int, default=3)
    parser.add_argument("--observers", type=int, default=0)
    parser.add_argument("--static", action="store_true")
    arguments = parser.parse_args()

    def make() -> QuorumCluster:
        return QuorumCluster(
            arguments.version,
            brokers=arguments.brokers,
            controllers=arguments.controllers,
            observers=arguments.observers,
            dynamic=not arguments.static,
        )

    def addresses(cluster: QuorumCluster) -> Iterator[str]:
        yield f"brokers {cluster.bootstrap}"
        yield f"controllers {cluster.bootstrap_controllers}"
        for node, process in cluster.pids.items():
            yield f"process {process} {node}"

    return kafka_cluster.run_in_foreground(make, addresses)


if __name__ == "__main__":
    raise SystemExit(main())
