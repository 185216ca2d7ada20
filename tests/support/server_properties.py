"""Makes the text of a broker's server.properties and logging configuration, by pure functions."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.certificates import Authority, Identity
from tests.support.free_ports import LOOPBACK

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
QUIET = {
    # By default there are more threads, each of which wakes up three times a second, and controllers write a record
    # every half second, which all brokers fetch.
    "num.network.threads": "1",
    "num.io.threads": "2",
    "metadata.max.idle.interval.ms": "5000",
}
"""Properties with which an idle broker uses two thirds of the usual CPU time, because a dozen brokers run during tests.
"""
_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class NodePorts:
    """A broker's ports: for clients (PLAINTEXT or SASL_SSL), for the quorum, for clients with certificates, and for
    logins of a plain cluster (SASL_PLAINTEXT).
    """

    client: int
    controller: int
    mtls: int | None = None
    sasl: int | None = None


@dataclass(frozen=True, slots=True)
class ServerTls:
    """The TLS files and logins of a secure cluster: the authority, the brokers' certificate, and the users and
    passwords for PLAIN.
    """

    authority: Authority
    identity: Identity
    users: Mapping[str, str]


def server_properties(
    node: int,
    ports: Mapping[int, NodePorts],
    data: Path,
    tls: ServerTls | None,
    users: Mapping[str, str],
    *,
    allow_everyone: bool,
    extra: Mapping[str, str],
    controllers: int | None = None,
    host: str = LOOPBACK,
) -> str:
    """Return the server.properties of a KRaft broker, with StandardAuthorizer and small internal topics.

    users: name -> password, for the PLAIN logins of a cluster without TLS. extra: further properties, which override
    others. controllers: the number of nodes, from the first on, that are also controllers; None for all. host: the name
    by which the broker is advertised; it listens on loopback.
    """
    mine = ports[node]
    voting = list(ports.items())[:controllers]
    voters = ",".join(f"{voter}@{LOOPBACK}:{each.controller}" for voter, each in voting)
    controls = node in dict(voting)
    properties = {
        "process.roles": "broker,controller" if controls else "broker",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The controller fences a killed broker after 6 s instead of 9.
        "broker.session.timeout.ms": "6000",
        "broker.heartbeat.interval.ms": "1000",
    }
    properties |= _common(node, len(ports), data, allow_everyone=allow_everyone)
    properties |= _secure_listeners(mine, tls) if tls else _plain_listeners(mine, users)
    advertised = properties["advertised.listeners"].replace(f"://{LOOPBACK}:", f"://{host}:")
    if not controls:
        properties["listeners"] = properties["advertised.listeners"]
    properties |= {"advertised.listeners": advertised, **extra}
    return properties_text(properties)


def zookeeper_mode_properties(
    node: int,
    ports: Mapping[int, NodePorts],
    data: Path,
    users: Mapping[str, str],
    zookeeper: int,
    *,
    allow_everyone: bool,
    extra: Mapping[str, str],
) -> str:
    """Return the server.properties of a broker that keeps its metadata in ZooKeeper (Kafka before 4), with
    AclAuthorizer.

    zookeeper: ZooKeeper's port on loopback. The other parameters are those of `server_properties`.
    """
    properties = {
        "broker.id": str(node),
        "zookeeper.connect": f"{LOOPBACK}:{zookeeper}",
        "zookeeper.connection.timeout.ms": "60000",
        # A broker without CPU time for a while must not lose its session.
        "zookeeper.session.timeout.ms": "45000",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    }
    properties |= _common(node, len(ports), data, allow_everyone=allow_everyone)
    listeners = _plain_listeners(ports[node], users)
    listeners["listeners"] = listeners["advertised.listeners"]
    properties |= listeners
    properties |= extra
    return properties_text(properties)


def zoo_cfg(data: Path, port: int) -> str:
    """Return the configuration of a ZooKeeper server on loopback."""
    properties = {
        "tickTime": "3000",
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": LOOPBACK,
        "admin.enableServer": "false",
        "maxClientCnxns": "0",
    }
    return properties_text(properties)


def properties_text(properties: Mapping[str, str]) -> str:
    """Return properties in the format of a Java properties file, without escapes."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def properties_of(file: Path) -> dict[str, str]:
    """Return key -> value of a file that `properties_text` wrote."""
    lines = (line for line in file.read_text().splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def _common(node: int, brokers: int, data: Path, *, allow_everyone: bool) -> dict[str, str]:
    replicas = str(min(3, brokers))
    return {
        "log.dirs": str(data),
        "broker.rack": f"rack-{node}",
        "allow.everyone.if.no.acl.found": str(allow_everyone).lower(),
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": str(4 * 1024 * 1024),
    }


def _plain_listeners(mine: NodePorts, users: Mapping[str, str]) -> dict[str, str]:
    clients = f"PLAINTEXT://{LOOPBACK}:{mine.client}"
    properties: dict[str, str] = {"super.users": "User:ANONYMOUS"}
    if users:
        clients += f",SASL_PLAINTEXT://{LOOPBACK}:{mine.sasl}"
        properties = {
            "super.users": "User:ANONYMOUS;User:admin",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": _plain_login(users),
        }
    return properties | {
        "listeners": f"{clients},CONTROLLER://{LOOPBACK}:{mine.controller}",
        "advertised.listeners": clients,
    }


def _plain_login(users: Mapping[str, str]) -> str:
    passwords = " ".join(f'user_{name}="{password}"' for name, password in users.items())
    return f"{_LOGIN}.plain.PlainLoginModule required {passwords};"


def _secure_listeners(mine: NodePorts, tls: ServerTls) -> dict[str, str]:
    scram = f"{_LOGIN}.scram.ScramLoginModule required;"
    jaas = "listener.name.sasl_ssl.{}.sasl.jaas.config"
    return {
        "listeners": f"SASL_SSL://{LOOPBACK}:{mine.client},SSL://{LOOPBACK}:{mine.mtls},"
        f"CONTROLLER://{LOOPBACK}:{mine.controller}",
        "advertised.listeners": f"SASL_SSL://{LOOPBACK}:{mine.client},SSL://{LOOPBACK}:{mine.mtls}",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,SSL:SSL,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SSL",
        # The brokers themselves are ANONYMOUS on the controller's plain loopback listener.
        "super.users": f"User:admin;User:CN=admin;User:CN={tls.identity.name};User:ANONYMOUS",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tls.identity.pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tls.authority.pem),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": ",".join(SASL_MECHANISMS),
        jaas.format("plain"): _plain_login(tls.users),
        jaas.format("scram-sha-256"): scram,
        jaas.format("scram-sha-512"): scram,
        # Unsecured tokens: without a configured validator, Kafka accepts any name in the token.
        jaas.format("oauthbearer"): f"{_LOGIN}.oauthbearer.OAuthBearerLoginModule required "
        f'unsecuredLoginStringClaim_sub="{tls.identity.name}";',
    }


LOGS_OF_THEIR_OWN = {"request": "kafka.request.logger", "authorizer": "kafka.authorizer.logger"}
"""Name of a log file, without its `.log` -> the logger that writes into it."""
_USUALLY = {"request": "warn", "authorizer": "info"}
"""Log file -> the level of its logger in Kafka's own configuration."""


def log4j2_properties(folder: Path, *, logged: Collection[str] = (), rotate_at: str | None = None) -> str:
    """Return Kafka 4's logging configuration, with server.log, request.log and authorizer.log.

    logged: names of `LOGS_OF_THEIR_OWN` whose logger has the level DEBUG. rotate_at: the size, such as ``30KB``, at
    which request.log becomes request.log.1.gz, .1.gz becomes .2.gz, and so on; None for never.
    """
    lines = ["status = warn"]
    for name in ("server", *LOGS_OF_THEIR_OWN):
        rotates = rotate_at is not None and name == "request"
        lines += [
            f"appender.{name}.type = {'RollingFile' if rotates else 'File'}",
            f"appender.{name}.name = {name}",
            f"appender.{name}.fileName = {folder / f'{name}.log'}",
            f"appender.{name}.layout.type = PatternLayout",
            f"appender.{name}.layout.pattern = [%d] %p %m (%c)%n",
        ]
        if rotates:
            lines += [
                f"appender.{name}.filePattern = {folder / f'{name}.log'}.%i.gz",
                f"appender.{name}.policies.type = Policies",
                f"appender.{name}.policies.size.type = SizeBasedTriggeringPolicy",
                f"appender.{name}.policies.size.size = {rotate_at}",
                f"appender.{name}.strategy.type = DefaultRolloverStrategy",
                f"appender.{name}.strategy.fileIndex = min",
                f"appender.{name}.strategy.max = 1000",
            ]
    lines += ["rootLogger.level = info", "rootLogger.appenderRef.server.ref = server"]
    for name, logger in LOGS_OF_THEIR_OWN.items():
        lines += [
            f"logger.{name}.name = {logger}",
            f"logger.{name}.level = {'debug' if name in logged else _USUALLY[name]}",
            f"logger.{name}.additivity = false",
            f"logger.{name}.appenderRef.{name}.ref = {name}",
        ]
    return "\n".join(lines) + "\n"


def log4j_properties(folder: Path, *, logged: Collection[str] = ()) -> str:
    """Return Kafka 3's logging configuration, in the format of log4j 1. logged: as for `log4j2_properties`."""
    lines = ["log4j.rootLogger=INFO, server"]
    for name in ("server", *LOGS_OF_THEIR_OWN):
        lines += [
            f"log4j.appender.{name}=org.apache.log4j.FileAppender",
            f"log4j.appender.{name}.File={folder / f'{name}.log'}",
            f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout",
            f"log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n",
        ]
    for name, logger in LOGS_OF_THEIR_OWN.items():
        level = "DEBUG" if name in logged else _USUALLY[name].upper()
        lines += [f"log4j.logger.{logger}={level}, {name}", f"log4j.additivity.{logger}=false"]
    return "\n".join(lines) + "\n"


def client_properties(mechanism: str, user: str, password: str, authority: Authority) -> str:
    """Return Java's properties for a client of the SASL_SSL listener (PLAIN or SCRAM)."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return "".join(
        f"{line}\n"
        for line in (
            "security.protocol=SASL_SSL",
            f"sasl.mechanism={mechanism}",
            f'sasl.jaas.config={_LOGIN}.{module} required username="{user}" password="{password}";',
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={authority.pem}",
        )
    )
