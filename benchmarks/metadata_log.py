"""Makes a metadata log of any size, as from a busy cluster of 30 brokers: every type of record, in the shares of a
usual day.

Most records are about restarted brokers, and partitions that change their leaders and replicas. Topics, configs,
quotas, ACLs and credentials are created and deleted, many with new names. An idle controller writes a NoOpRecord twice
a second.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.support.metadata_log import batch, value

BROKERS, TOPICS, PARTITIONS = 30, 2_000, 12
_KEYS = ("retention.ms", "cleanup.policy", "min.insync.replicas", "max.message.bytes", "segment.bytes")
_SHARES = (
    ("leader changes", 26),
    ("shrunk and grown replicas", 22),
    ("nothing", 18),
    ("topics", 7),
    ("configs", 10),
    ("quotas", 7),
    ("acls", 6),
    ("credentials", 1),
    ("brokers", 2),
    ("rare", 1),
)
"""Kind of batch, and the number of such batches among every hundred."""


class Day:
    """Makes the batches of a metadata log as on a usual day. seed: the same seed gives the same batches."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._topics = [self._uuid() for _ in range(TOPICS)]
        self._directories = [self._uuid() for _ in range(BROKERS)]
        self._replicas = [self._some_brokers() for _ in range(5_000)]
        self._acls: list[str] = []
        self._made: dict[str, Callable[[], list[bytes]]] = {
            "leader changes": self._leader_changes,
            "shrunk and grown replicas": self._replica_changes,
            "nothing": lambda: [value("NoOpRecord")],
            "topics": self._topic,
            "configs": self._configs,
            "quotas": self._quotas,
            "acls": self._acl,
            "credentials": self._credential,
            "brokers": self._broker,
            "rare": self._rare,
        }

    def batches(self) -> Iterator[list[bytes]]:
        """Yield batches without end, each as the encoded values of its records."""
        kinds, shares = zip(*_SHARES, strict=True)
        while True:
            for kind in self._random.choices(kinds, shares, k=1000):
                yield self._made[kind]()

    def _leader_changes(self) -> list[bytes]:
        """Return the records of a broker that stops or comes back: some of its partitions get another leader, and an
        ISR without the broker.
        """
        made = []
        for _ in range(self._random.randint(2, 24)):
            isr = self._random.choice(self._replicas)[:2]
            made.append(self._change(isr=isr, leader=isr[0]))
        return made

    def _replica_changes(self) -> list[bytes]:
        return [self._change(isr=self._random.choice(self._replicas)) for _ in range(self._random.randint(1, 8))]

    def _change(self, **fields: object) -> bytes:
        partition, topic = self._random.randrange(PARTITIONS), self._random.choice(self._topics)
        return value("PartitionChangeRecord", 2, partitionId=partition, topicId=topic, **fields)

    def _topic(self) -> list[bytes]:
        gone = self._random.randrange(TOPICS)
        removed = value("RemoveTopicRecord", topicId=self._topics[gone])
        topic = self._topics[gone] = self._uuid()
        name = f"team-{self._random.randrange(40)}.orders-{self._random.randrange(10**6)}.v1"
        made = [removed, value("TopicRecord", name=name, topicId=topic)]
        made.append(value("ConfigRecord", resourceType=2, resourceName=name, name="retention.ms", value="604800000"))
        for partition in range(PARTITIONS):
            replicas = self._random.choice(self._replicas)
            made.append(
                value(
                    "PartitionRecord",
                    2,
                    partitionId=partition,
                    topicId=topic,
                    replicas=replicas,
                    isr=replicas,
                    removingReplicas=[],
                    addingReplicas=[],
                    leader=replicas[0],
                    leaderEpoch=0,
                    partitionEpoch=0,
                    directories=[self._directories[broker - 1] for broker in replicas],
                )
            )
        return made

    def _configs(self) -> list[bytes]:
        made = []
        for _ in range(self._random.randint(1, 10)):
            name = f"team-{self._random.randrange(40)}.orders-{self._random.randrange(10**4)}.v1"
            new = None if self._random.random() < 0.2 else str(self._random.randrange(1, 1000) * 3_600_000)
            key = self._random.choice(_KEYS)
            made.append(value("ConfigRecord", resourceType=2, resourceName=name, name=key, value=new))
        if self._random.random() < 0.05:
            made.append(
                value("ConfigRecord", resourceType=4, resourceName="1", name="ssl.keystore.password", value="not shown")
            )
        return made

    def _quotas(self) -> list[bytes]:
        user = {"entityType": "user", "entityName": f"service-{self._random.randrange(5000)}"}
        client = {"entityType": "client-id", "entityName": self._random.choice([None, "batch", "live"])}
        return [
            value("ClientQuotaRecord", entity=[user, client], key=key, value=limit, remove=limit == 0)
            for key in ("producer_byte_rate", "consumer_byte_rate")
            for limit in [self._random.choice([0.0, 1e6, 5e6, 2.5e7])]
        ]

    def _acl(self) -> list[bytes]:
        if self._acls and self._random.random() < 0.4:
            return [value("RemoveAccessControlEntryRecord", id=self._acls.pop())]
        made = []
        for operation in (3, 4, 8):
            self._acls.append(self._uuid())
            made.append(
                value(
                    "AccessControlEntryRecord",
                    id=self._acls[-1],
                    resourceType=2,
                    resourceName=f"team-{self._random.randrange(40)}.orders-{self._random.randrange(10**4)}",
                    patternType=3,
                    principal=f"User:service-{self._random.randrange(5000)}",
                    host="*",
                    operation=operation,
                    permissionType=3,
                )
            )
        return made

    def _credential(self) -> list[bytes]:
        name = f"service-{self._random.randrange(5000)}"
        if self._random.random() < 0.3:
            return [value("RemoveUserScramCredentialRecord", name=name, mechanism=1)]
        secrets = {each: self._random.randbytes(32) for each in ("salt", "storedKey", "serverKey")}
        return [value("UserScramCredentialRecord", name=name, mechanism=1, iterations=8192, **secrets)]

    def _broker(self) -> list[bytes]:
        broker, epoch = self._random.randrange(1, BROKERS + 1), self._random.randrange(10**6)
        directory = self._directories[broker - 1]
        return [
            value("BrokerRegistrationChangeRecord", 2, brokerId=broker, brokerEpoch=epoch, inControlledShutdown=1),
            value("FenceBrokerRecord", id=broker, epoch=epoch),
            value(
                "RegisterBrokerRecord",
                3,
                brokerId=broker,
                isMigratingZkBroker=False,
                incarnationId=self._uuid(),
                brokerEpoch=epoch + 1,
                endPoints=[{"name": "SSL", "host": f"broker-{broker}.example", "port": 9092, "securityProtocol": 1}],
                features=[{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 29}],
                rack=f"zone-{broker % 3}",
                fenced=True,
                inControlledShutdown=False,
                logDirs=[directory],
            ),
            value("BrokerRegistrationChangeRecord", 2, brokerId=broker, brokerEpoch=epoch + 1, fenced=-1),
            value("UnfenceBrokerRecord", id=broker, epoch=epoch + 1),
            value("ProducerIdsRecord", brokerId=broker, brokerEpoch=epoch + 1, nextProducerId=epoch * 1000),
        ]

    def _rare(self) -> list[bytes]:
        token = self._uuid()
        stamp = 1_763_600_000_000 + self._random.randrange(10**9)
        endpoint = {"name": "CONTROLLER", "host": "broker-1.example", "port": 9093, "securityProtocol": 1}
        feature = {"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 29}
        return [
            value("BeginTransactionRecord", name="rare"),
            value("FeatureLevelRecord", name="metadata.version", featureLevel=25),
            value(
                "RegisterControllerRecord",
                controllerId=1,
                incarnationId=self._uuid(),
                zkMigrationReady=False,
                endPoints=[endpoint],
                features=[feature],
            ),
            value(
                "DelegationTokenRecord",
                owner="User:alice",
                requester="User:alice",
                renewers=["User:orders"],
                issueTimestamp=stamp,
                maxTimestamp=stamp + 1,
                expirationTimestamp=stamp + 1,
                tokenId=token,
            ),
            value("RemoveDelegationTokenRecord", tokenId=token),
            value("ZkMigrationStateRecord", zkMigrationState=0),
            value("ClearElrRecord", topicName="orders"),
            value("UnregisterBrokerRecord", brokerId=99, brokerEpoch=1),
            value("EndTransactionRecord"),
        ]

    def _some_brokers(self) -> list[int]:
        return self._random.sample(range(1, BROKERS + 1), 3)

    def _uuid(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")


def idle() -> Iterator[list[bytes]]:
    """Yield the batches of an idle controller without end, each as the encoded values of its records."""
    while True:
        yield [value("NoOpRecord")]


def write_log(folder: Path, size: int, batches: Iterable[list[bytes]]) -> Path:
    """Make a folder `__cluster_metadata-0` in `folder` with a segment of about `size` bytes, and next to it the file
    meta.properties with the cluster's id. Return the new folder.
    """
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (folder / "meta.properties").write_text("version=1\ncluster.id=benchmark-of-kac-lake1\nnode.id=1\n")
    offset = written = 0
    with (log / f"{0:020}.log").open("wb") as file:
        for values in batches:
            written += file.write(batch(offset, values, stamp_ms=1_763_600_000_000 + offset))
            offset += len(values)
            if written >= size:
                break
    return log
