"""The brokers of a night, and the command lines of Kafka's own commands for them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import major, tools_version
from tests.support.server_properties import properties_of, properties_text

SECURITIES = ("plain", "logins", "acls")
USERS = ("admin", "alice", "bob")
SCRAM = "SCRAM-SHA-256"
_TOOLS = "org.apache.kafka.tools"
_COMMANDS = {
    "kafka-acls": f"{_TOOLS}.AclCommand",
    "kafka-broker-api-versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "kafka-client-metrics": f"{_TOOLS}.ClientMetricsCommand",
    "kafka-cluster": f"{_TOOLS}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": f"{_TOOLS}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{_TOOLS}.ConsoleProducer",
    "kafka-console-share-consumer": f"{_TOOLS}.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": f"{_TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-delegation-tokens": f"{_TOOLS}.DelegationTokenCommand",
    "kafka-delete-records": f"{_TOOLS}.DeleteRecordsCommand",
    "kafka-features": f"{_TOOLS}.FeatureCommand",
    "kafka-get-offsets": f"{_TOOLS}.GetOffsetShell",
    "kafka-groups": f"{_TOOLS}.GroupsCommand",
    "kafka-leader-election": f"{_TOOLS}.LeaderElectionCommand",
    "kafka-log-dirs": f"{_TOOLS}.LogDirsCommand",
    "kafka-metadata-quorum": f"{_TOOLS}.MetadataQuorumCommand",
    "kafka-producer-perf-test": f"{_TOOLS}.ProducerPerformance",
    "kafka-reassign-partitions": f"{_TOOLS}.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": f"{_TOOLS}.consumer.group.ShareGroupCommand",
    "kafka-streams-application-reset": f"{_TOOLS}.StreamsResetter",
    "kafka-streams-groups": f"{_TOOLS}.streams.StreamsGroupCommand",
    "kafka-topics": f"{_TOOLS}.TopicCommand",
    "kafka-transactions": f"{_TOOLS}.TransactionsCommand",
    "kafka-verifiable-consumer": f"{_TOOLS}.VerifiableConsumer",
    "kafka-verifiable-producer": f"{_TOOLS}.VerifiableProducer",
    "kafka-verifiable-share-consumer": f"{_TOOLS}.VerifiableShareConsumer",
}
_OF_KAFKA_3 = {"kafka-acls": "kafka.admin.AclCommand", "kafka-console-producer": "kafka.tools.ConsoleProducer"}
_AFTER_A_WORD = frozenset({"kafka-cluster"})
"""Commands whose first argument is a subcommand, which has to precede the options."""
_WITHOUT_BOOTSTRAP = frozenset({"kafka-producer-perf-test"})


class NightCluster(KafkaCluster):
    """Brokers 1…n, each also a controller.

    Every client of the plain listener is a super user: the other brokers, the console, the commands. With ``logins`` or
    ``acls`` there is a second listener for the users admin (super), alice and bob with PLAIN, and for SCRAM users.
    """

    def __init__(
        self,
        version: str,
        brokers: int,
        security: str,
        properties: Mapping[str, str],
        format_options: tuple[str, ...] = (),
    ) -> None:
        if security not in SECURITIES:
            raise ValueError(f"security {security!r} is none of {', '.join(SECURITIES)}")
        logins = {
            "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
            f"listener.name.sasl_plaintext.{SCRAM.lower()}.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
        super().__init__(
            version,
            brokers=brokers,
            logins=security != "plain",
            allow_everyone=security != "acls",
            properties=(logins if security != "plain" else {}) | dict(properties),
            format_options=format_options,
        )

    def _make_secrets(self) -> None:
        self.users = {name: secrets.token_hex(12) for name in USERS} if self._logins else {}

    @property
    def login_bootstrap(self) -> str:
        """``host:port,…`` of the listener with logins."""
        return ",".join(f"{host}:{port}" for host, port in self.login_addresses)

    def command(self, name: str, *arguments: str) -> list[str]:
        """Return the command line of one of Kafka's commands for this cluster. Raises KeyError if the command is
        unknown.
        """
        main_class = _COMMANDS[name]
        if major(self.version) < 4:
            main_class = _OF_KAFKA_3.get(name, main_class)
        told = any(each.startswith(("--bootstrap-", "--command-property")) for each in arguments)
        where = () if told or name in _WITHOUT_BOOTSTRAP else ("--bootstrap-server", self.bootstrap)
        both = (*arguments, *where) if name in _AFTER_A_WORD else (*where, *arguments)
        return self.tool_command(main_class, *both, version=tools_version(self.version))

    def change_properties(self, broker: int, changed: Mapping[str, str | None]) -> None:
        """Change a broker's server.properties; the broker reads it at its next start. changed: property -> its value;
        None removes the property.
        """
        file = self._folder(broker) / "server.properties"
        wanted = {**properties_of(file), **changed}
        file.write_text(properties_text({key: value for key, value in wanted.items() if value is not None}))
