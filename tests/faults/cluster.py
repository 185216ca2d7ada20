"""Three brokers for the laboratory: relays between them, a spare log directory on a small filesystem of broker 2."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Self

from tests.faults.relay import Relays
from tests.support.certificates import Authority
from tests.support.free_ports import LOOPBACK, free_ports
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

SPARE_ON = 2
"""The broker that has the spare log directory."""
SPARE_MIB = 64

KEY_STORE = "listener.name.tls.ssl.keystore.location"
_DAY = timedelta(days=1)

PROPERTIES = {
    # A follower that does not fetch leaves the ISR after 5 s instead of 30.
    "replica.lag.time.max.ms": "5000",
    "auto.leader.rebalance.enable": "false",
    "log.retention.check.interval.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "log.initial.task.delay.ms": "2000",
    # Leaders take transactional records that no coordinator knows of, as before KIP-890: so a transaction hangs.
    "transaction.partition.verification.enable": "false",
    "min.insync.replicas": "1",
    "log.index.size.max.bytes": "65536",
}


class FaultCluster(KafkaCluster):
    """Brokers 1 to 3, each a controller too. Needs root where the spare directory is mounted."""

    def __init__(self, version: str) -> None:
        replication = free_ports(9)
        self._tls_ports = dict(zip((1, 2, 3), replication[6:], strict=True))
        self._replication = {node: (replication[2 * node - 2], replication[2 * node - 1]) for node in (1, 2, 3)}
        self.relays = Relays(self._replication)
        super().__init__(version, brokers=3, request_log=True, properties=PROPERTIES)
        self.spare_mount = self.directory / "spare"
        self.spare_dir = self.spare_mount / "logs"
        self.certificate = self.ending_certificate = self.directory

    def __enter__(self) -> Self:
        self.relays.__enter__()
        self.spare_mount.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={SPARE_MIB}m,mode=0700", "kac-faults", str(self.spare_mount))
        self.spare_dir.mkdir()
        # Brokers take another key store while they run only for the same names (SslFactory.CertificateEntries).
        lasting, ending = (Authority(self.directory / name) for name in ("tls", "tls-ending"))
        self.certificate = lasting.issue("broker", LOOPBACK, age=_DAY, left=365 * _DAY).pem
        self.ending_certificate = ending.issue("broker", LOOPBACK, age=364 * _DAY, left=_DAY).pem
        return super().__enter__()

    def close(self) -> None:
        """End every process, unmount, end the relays."""
        self._end_all()
        if self.spare_mount.is_mount():
            _run("umount", str(self.spare_mount))
        super().close()

    def __exit__(self, *error: object) -> None:
        super().__exit__(None, None, None)
        self.relays.__exit__()

    def _server_properties(self, node: int, data: Path, extra: Mapping[str, str]) -> str:
        lines = super()._server_properties(node, data, extra).splitlines()
        properties = dict(line.split("=", 1) for line in lines)
        relay, port = self._replication[node]
        tls = f"TLS://{LOOPBACK}:{self._tls_ports[node]}"
        properties["listeners"] += f",REPLICATION://{LOOPBACK}:{port},{tls}"
        properties["advertised.listeners"] += f",REPLICATION://{LOOPBACK}:{relay},{tls}"
        properties["inter.broker.listener.name"] = "REPLICATION"
        properties["listener.security.protocol.map"] = ",".join(
            (*(f"{name}:PLAINTEXT" for name in ("PLAINTEXT", "CONTROLLER", "REPLICATION")), "TLS:SSL")
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
