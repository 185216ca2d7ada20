"""Three brokers for the laboratory, with relays between them, and a spare log directory of broker 2 on a small
filesystem. Two more brokers in another rack can be added for some time.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Self

from benchmarks.faults.relay import Relays
from tests.support.certificates import Authority
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.kafka_cluster import START_SECONDS, KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.server_properties import NodePorts

SPARE_ON = 2
"""The broker with the spare log directory."""
SPARE_MIB, DISKS_MIB = 256, 4096
"""Sizes in MiB of filesystems to which no other program writes, so that only faults fill them. The load would take
hours to fill the small one.
"""
CORE, ANNEX = (1, 2, 3), (4, 5)
ANNEX_RACK = "annex"

KEY_STORE = "listener.name.tls.ssl.keystore.location"
_DAY = timedelta(days=1)
_LOGINS = "SASL_PLAINTEXT:SASL_PLAINTEXT"

PROPERTIES = {
    # By default, a follower that does not fetch leaves the ISR only after 30 s.
    "replica.lag.time.max.ms": "5000",
    "auto.leader.rebalance.enable": "false",
    # Otherwise a client that requests metadata of a topic that was just deleted would create it again.
    "auto.create.topics.enable": "false",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "2000",
    # As before KIP-890, leaders accept transactional records that no coordinator knows, so that a transaction hangs.
    "transaction.partition.verification.enable": "false",
    "min.insync.replicas": "1",
    # On a busy machine, the start of a broker takes a while.
    "initial.broker.registration.timeout.ms": "240000",
    "log.index.size.max.bytes": "65536",
    # Kafka's default. With longer intervals, a broker that does not fetch the metadata log falls behind later.
    "metadata.max.idle.interval.ms": "500",
}


class FaultCluster(KafkaCluster):
    """Brokers 1 to 3, each also a controller, whose log directories are on small filesystems. Mounting these needs
    root.
    """

    def __init__(self, version: str) -> None:
        replication = free_ports(9)
        self._tls_ports = dict(zip((1, 2, 3), replication[6:], strict=True))
        self._replication = {node: (replication[2 * node - 2], replication[2 * node - 1]) for node in (1, 2, 3)}
        self.relays = Relays(self._replication)
        super().__init__(
            version, brokers=len(CORE), controllers=len(CORE), request_log=True, logins=True, properties=PROPERTIES
        )
        self._disks = self.directory / "disks"
        self.spare_mount = self.directory / "spare"
        self.spare_dir = self.spare_mount / "logs"
        self.certificate = self.daily_certificate = self.ending_certificate = self.directory

    def __enter__(self) -> Self:
        self.relays.__enter__()
        for folder, size in ((self._disks, DISKS_MIB), (self.spare_mount, SPARE_MIB)):
            folder.mkdir()
            _run("mount", "-t", "tmpfs", "-o", f"size={size}m,mode=0700", "kac-faults", str(folder))
        self.spare_dir.mkdir()
        # A running broker accepts another key store only if the certificate has the same names
        # (SslFactory.CertificateEntries).
        lasting, ending = (Authority(self.directory / name) for name in ("tls", "tls-ending"))
        self.certificate = lasting.issue("broker", LOOPBACK, age=_DAY, left=365 * _DAY).pem
        self.ending_certificate = ending.issue("broker", LOOPBACK, age=364 * _DAY, left=_DAY).pem
        third = timedelta(hours=8)
        daily = Authority(self.directory / "tls-daily")
        self.daily_certificate = daily.issue("broker", LOOPBACK, age=third, left=_DAY - third).pem
        return super().__enter__()

    @property
    def relayed_addresses(self) -> tuple[tuple[str, int], ...]:
        """(host, port) of the relay in front of each broker, in the order of the broker ids."""
        return tuple((LOOPBACK, self._replication[node][0]) for node in self.broker_ids)

    def close(self) -> None:
        """Kill every broker, unmount the filesystems, and end the relays."""
        self._end_all()
        for folder in (self._disks, self.spare_mount):
            if folder.is_mount():
                _run("umount", str(folder))
        super().close()

    def __exit__(self, *error: object) -> None:
        super().__exit__(None, None, None)
        self.relays.__exit__()

    def open_annex(self) -> None:
        """Start brokers 4 and 5, which are no controllers, in another rack."""
        ports = iter(free_ports(4 * len(ANNEX)))
        for node in ANNEX:
            self._ports[node] = NodePorts(next(ports), next(ports), None, next(ports))
            self._replication[node] = (port := next(ports), port)
        self._prepare(ANNEX)
        self.broker_ids = (*CORE, *ANNEX)
        for node in ANNEX:
            self._launch(node)
        self.await_brokers(self.broker_ids, timeout=START_SECONDS)

    def close_annex(self) -> None:
        """Kill brokers 4 and 5. They stay registered in the cluster until they are unregistered."""
        self.broker_ids = CORE
        for node in ANNEX:
            if node in self.running:
                self.kill(node)

    def segment(self, broker: int, topic: str, partition: int) -> Path:
        """Return the path of a replica's first segment file."""
        (file,) = self._disks.glob(f"{broker}-*/{topic}-{partition}/{0:020}.log")
        return file

    def pid(self, broker: int) -> int:
        """Return the process id of a broker."""
        return self._processes[broker].pid

    def _server_properties(self, node: int, data: Path, extra: Mapping[str, str]) -> str:
        data = self._disks / f"{node}-{data.name}"
        rack = {"broker.rack": ANNEX_RACK} if node in ANNEX else {}
        lines = super()._server_properties(node, data, {**extra, **rack}).splitlines()
        properties = dict(line.split("=", 1) for line in lines)
        relay, port = self._replication[node]
        properties["listeners"] += f",REPLICATION://{LOOPBACK}:{port}"
        properties["advertised.listeners"] += f",REPLICATION://{LOOPBACK}:{relay}"
        if node in CORE:
            tls = f",TLS://{LOOPBACK}:{self._tls_ports[node]}"
            properties["listeners"] += tls
            properties["advertised.listeners"] += tls
        properties["inter.broker.listener.name"] = "REPLICATION"
        properties["listener.security.protocol.map"] = ",".join(
            (*(f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", "REPLICATION")), "TLS:SSL", _LOGINS)
        )
        properties["listener.name.tls.ssl.keystore.type"] = "PEM"
        properties[KEY_STORE] = str(self.certificate)
        if node == SPARE_ON:
            properties["log.dirs"] += f",{self.spare_dir}"
            properties["metadata.log.dir"] = str(data)
        return "".join(f"{key}={value}\n" for key, value in properties.items())


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
