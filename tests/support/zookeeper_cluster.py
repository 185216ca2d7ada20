"""A real Kafka cluster that keeps its metadata in ZooKeeper, as up to Kafka 3: a ZooKeeper server and brokers 1…n on
loopback.
"""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support import kafka_cluster, kafka_jars, patience, server_properties
from tests.support.free_ports import LOOPBACK, free_ports


class ZooKeeperCluster(kafka_cluster.KafkaCluster):
    """A `KafkaCluster` without TLS that uses ZooKeeper; the first broker chooses its ``cluster_id`` at the start."""

    def __init__(
        self,
        version: str = kafka_jars.KAFKA_2_8,
        *,
        brokers: int = 2,
        request_log: bool = False,
        authorizer_log: bool = False,
        logins: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            version,
            brokers=brokers,
            request_log=request_log,
            authorizer_log=authorizer_log,
            logins=logins,
            properties=properties,
            quiet=False,
        )
        self._zookeeper: subprocess.Popen[bytes] | None = None
        self._zookeeper_port = 0

    def start(self) -> None:
        super().start()
        own = self._properties.get("log.dirs", "").partition(",")[0]
        where = Path(own) if own else next(self._folder(self.broker_ids[0]).glob("data-*"))
        told = where / "meta.properties"
        stored = dict(line.split("=", 1) for line in told.read_text().splitlines() if not line.startswith("#"))
        self.cluster_id = stored["cluster.id"]

    def forget_controller(self) -> None:
        """Delete the controller's node in ZooKeeper, so that the brokers elect a controller again; the former
        controller may win. Raises RuntimeError if ZooKeeper's tool fails.
        """
        arguments = ("-server", f"{LOOPBACK}:{self._zookeeper_port}", "delete", "/controller")
        done = self.run_tool("org.apache.zookeeper.ZooKeeperMain", *arguments)
        if done.returncode:
            raise RuntimeError(f"the controller could not be forgotten: {done.stdout.strip()} {done.stderr.strip()}")

    def _choose_ports(self) -> None:
        super()._choose_ports()
        (self._zookeeper_port,) = free_ports(1)

    def _server_properties(self, node: int, data: Path, extra: Mapping[str, str]) -> str:
        return server_properties.zookeeper_mode_properties(
            node, self._ports, data, self.users, self._zookeeper_port, allow_everyone=self._allow_everyone, extra=extra
        )

    def _prepare(self, nodes: Iterable[int]) -> None:
        """Start ZooKeeper, and write the brokers' files. Returns at once: brokers wait for ZooKeeper themselves."""
        folder = self.directory / f"zookeeper-{self._zookeeper_port}"
        folder.mkdir()
        (folder / "zoo.cfg").write_text(server_properties.zoo_cfg(folder / "data", self._zookeeper_port))
        (folder / "logging.properties").write_text(server_properties.log4j_properties(folder))
        main = ("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(folder / "zoo.cfg"))
        self._zookeeper = self._run(folder, *main)
        for node in nodes:
            self._write_files(node)

    def _end_all(self) -> None:
        super()._end_all()
        if self._zookeeper is not None:
            self._zookeeper.kill()
            self._zookeeper.wait(patience.PATIENCE)
            self._reaper.forget(self._zookeeper.pid)
            self._zookeeper = None
