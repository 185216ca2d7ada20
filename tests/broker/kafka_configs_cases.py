"""Command lines for both kafka-configs and `kac configs`. Placeholders: {topic}, {user}, {client}, {group} and
{metrics} are names of the case, and {folder} has the files of `FILES`. The topic {topic} exists, {missing} does not.
"""

from dataclasses import dataclass

FILES = {
    "topic.properties": "# Java's\nretention.ms = 5\ncleanup.policy: compact,delete\nmax.message.bytes=1\\\n  024\n",
    "scram.properties": "SCRAM-SHA-256=iterations=5000,password=hidden\n",
    "bad.properties": "a b=c\n",
    "empty.properties": "",
}


@dataclass(frozen=True, slots=True)
class Case:
    """Command lines that run one after another. differs: why the results of the last line differ on purpose; "" if they
    must be the same.
    """

    lines: tuple[str, ...]
    differs: str = ""


STRAY = "kafka-configs ignores such words without a message; kac refuses them"
TRACE_ONLY = "kafka-configs prints the text of a Java exception"
NUMBER = (
    "kafka-configs accepts +1 and 01 as numbers, but they are not broker 1: no broker uses a value that is set there"
)
HIDDEN = "kafka-configs repeats text that may contain a password"
TWICE = "kac refuses it before it sends a request, and names the key"
SCRAM_APART = "Kafka accepts one credential of a user in a request; kac sends two requests"
NOT_A_NUMBER = "brokers store NaN, and no rate can be compared with it; kac refuses it"
INFINITE = "kac refuses it before it sends a request"
EMPTY_PASSWORD = "kac refuses it before it sends a request"

_QUOTA = "--alter --user {user} --add-config"
_SCRAM = "--alter --user {user} --add-config SCRAM-SHA-256="
_TOPIC = "--alter --topic {topic} --add-config"


def _case(*lines: str, differs: str = "") -> Case:
    return Case(lines, differs)


CASES = (
    # topics
    _case("--describe --topic {topic}"),
    _case("--describe --topic {topic} --all"),
    _case("--describe --entity-type topics --entity-name {topic}"),
    _case("--describe --topic={topic}"),
    _case("--describe -topic {topic}"),
    _case("--describe --topic {topic} --describe"),
    _case("--describe --topic {topic} --"),
    _case("--describe=x --topic {topic}"),
    _case("--describe --topic {missing}"),
    _case("--describe --topic {missing} --all"),
    _case("--describe --topic '' --all"),
    _case("--describe --topic 'no pe'"),
    _case("--describe --topic ''"),
    _case("--describe --topic .."),
    _case(f"--describe --topic {'x' * 250}"),
    _case("--describe --entity-type topics --entity-name {topic} --entity-name {missing}"),
    _case("--describe --entity-type topics"),
    _case(f"{_TOPIC} retention.ms=1000,cleanup.policy=[compact,delete]", "--describe --topic {topic}"),
    _case(f"{_TOPIC} preallocate=TRUE,min.cleanable.dirty.ratio=.5", "--describe --topic {topic}"),
    _case(f"{_TOPIC} 'retention.ms = 7 , segment.ms= 8'", "--describe --topic {topic} --all"),
    _case(f"{_TOPIC} retention.ms=5,", "--describe --topic {topic}"),
    _case(f"{_TOPIC} retention.ms=1,retention.ms=2", "--describe --topic {topic}"),
    _case(f"{_TOPIC} cleanup.policy=", "--describe --topic {topic}"),
    _case(f"{_TOPIC} cleanup.policy=[compact],retention.ms=[5]", "--describe --topic {topic}"),
    _case(f"{_TOPIC} retention.ms=604800000", "--describe --topic {topic}"),
    _case(f"{_TOPIC} unclean.leader.election.enable=true", "--describe --topic {topic}"),
    _case(f"{_TOPIC} leader.replication.throttled.replicas=[0:1,1:1]", "--describe --topic {topic}"),
    _case(f"{_TOPIC} foo=1"),
    _case(f"{_TOPIC} retention.ms=5,foo=1", "--describe --topic {topic}"),
    _case(f"{_TOPIC} retention.ms=1d"),
    _case(f"{_TOPIC} cleanup.policy=foo"),
    _case(f"{_TOPIC} min.insync.replicas=0"),
    _case(f"{_TOPIC} preallocate=1"),
    _case(f"{_TOPIC} segment.bytes=1"),
    _case(f"{_TOPIC} message.format.version=2.0"),
    _case(f"{_TOPIC} ''"),
    _case(f"{_TOPIC} a"),
    _case(f"{_TOPIC} a=="),
    _case(f"{_TOPIC} k=a=b"),
    _case(f"{_TOPIC} a=[b,c,d=e"),
    _case(f"{_TOPIC} k=[a,[b,c]]"),
    _case(f"{_TOPIC} k=[a=b]"),
    _case(f"{_TOPIC} ,retention.ms=5"),
    _case(f"{_TOPIC} ,"),
    _case(f"{_TOPIC} 'a b=c'"),
    _case(f"{_TOPIC} é=c"),
    _case(f"{_TOPIC} =c"),
    _case(f"{_TOPIC} c=", "--describe --topic {topic}"),
    _case(f"{_TOPIC} retention.ms=1,segment.ms=2", "--alter --topic {topic} --delete-config retention.ms"),
    _case(f"{_TOPIC} retention.ms=1", "--alter --topic {topic} --delete-config 'segment.ms, retention.ms'"),
    _case("--alter --topic {topic} --delete-config foo,bar"),
    _case("--alter --topic {topic} --delete-config ''"),
    _case("--alter --topic {topic} --delete-config ,"),
    _case("--alter --topic {topic} --delete-config a,a"),
    _case(f"{_TOPIC} retention.ms=1 --delete-config segment.ms", "--describe --topic {topic}"),
    _case(f"{_TOPIC} retention.ms=1 --delete-config retention.ms"),
    _case("--alter --topic {missing} --add-config retention.ms=1"),
    _case("--alter --topic . --add-config retention.ms=1"),
    _case("--alter --topic {topic} --add-config-file {folder}/topic.properties", "--describe --topic {topic}"),
    _case("--alter --topic {topic} --add-config-file {folder}/empty.properties"),
    _case("--alter --topic {topic} --add-config-file {folder}/bad.properties"),
    _case("--alter --topic {topic} --add-config-file {folder}/none.properties", differs=TRACE_ONLY),
    _case("--describe --topic {topic} --add-config-file {folder}/none.properties"),
    # brokers
    _case("--describe --entity-type brokers"),
    _case("--describe --broker 1 --all"),
    _case("--describe --broker-defaults"),
    _case("--describe --entity-type brokers --entity-default --all"),
    _case("--describe --broker 2"),
    _case("--describe --broker x"),
    _case("--describe --broker 99999999999"),
    _case("--describe --broker -1"),
    _case("--describe --broker 01", differs=NUMBER),
    _case("--alter --broker 1 --add-config log.cleaner.threads=2", "--describe --broker 1"),
    _case("--alter --broker +1 --add-config log.cleaner.threads=2", "--describe --broker +1", differs=NUMBER),
    _case(
        "--alter --broker-defaults --add-config log.cleaner.threads=2,message.max.bytes=2000000",
        "--describe --entity-type brokers",
        "--alter --entity-type brokers --entity-default --delete-config log.cleaner.threads",
        "--describe --broker-defaults",
    ),
    _case("--alter --broker 1 --add-config log.dirs=/x"),
    _case("--alter --broker 1 --add-config num.io.threads=abc"),
    _case("--alter --broker 1 --add-config num.io.threads=-1"),
    _case("--alter --broker 1 --add-config log.retention.ms=5,num.io.threads=1", "--describe --broker 1"),
    _case("--alter --broker 1 --add-config foo=bar", "--describe --broker 1"),
    _case("--alter --broker-defaults --add-config foo=bar", "--describe --broker-defaults"),
    _case("--alter --broker-defaults --add-config advertised.listeners=a"),
    _case("--alter --broker-defaults --add-config listener.name.x.ssl.keystore.password=hidden"),
    _case("--alter --broker 1 --add-config ssl.keystore.password=hidden"),
    _case("--alter --broker 1 --add-config listener.name.x.ssl.keystore.password=hidden", "--describe --broker 1"),
    _case("--alter --broker 1 --broker-defaults --add-config a=b"),
    _case("--alter --entity-type brokers --entity-name 1 --entity-default --add-config a=b"),
    # loggers
    _case("--describe --broker-logger 1"),
    _case("--describe --entity-type broker-loggers"),
    _case("--describe --broker-logger 2"),
    _case("--alter --broker-logger 1 --add-config kafka.log.LogManager=DEBUG", "--describe --broker-logger 1"),
    _case("--alter --broker-logger 1 --add-config kafka.log.LogManager=debug"),
    _case("--alter --broker-logger 1 --add-config nope.x=DEBUG,b=INFO --delete-config c"),
    _case("--alter --broker-logger 1 --delete-config root"),
    # users and clients
    _case(f"{_QUOTA} producer_byte_rate=100,request_percentage=12.5", "--describe --user {user}"),
    _case(f"{_QUOTA} producer_byte_rate=1e3", "--describe --entity-type users --entity-name {user}"),
    _case(f"{_QUOTA} producer_byte_rate=1d", "--describe --user {user}"),
    _case(f"{_QUOTA} 'producer_byte_rate= 5 '", "--describe --user {user}"),
    _case(f"{_QUOTA} controller_mutation_rate=12345678.5", "--describe --user {user}"),
    _case(f"{_QUOTA} request_percentage=0.0001", "--describe --user {user}"),
    _case(f"{_QUOTA} producer_byte_rate=1.5"),
    _case(f"{_QUOTA} producer_byte_rate=-1"),
    _case(f"{_QUOTA} producer_byte_rate=10MB"),
    _case(f"{_QUOTA} producer_byte_rate="),
    _case(f"{_QUOTA} producer_byte_rate=NaN", differs=NOT_A_NUMBER),
    _case(f"{_QUOTA} producer_byte_rate=Infinity", differs=INFINITE),
    _case(f"{_QUOTA} foo=1"),
    _case(f"{_QUOTA} foo=1,bar=2"),
    _case(f"{_QUOTA} connection_creation_rate=1"),
    _case("--alter --user {user} --delete-config foo,bar"),
    _case("--alter --user {user} --delete-config consumer_byte_rate"),
    _case(f"{_QUOTA} producer_byte_rate=1 --delete-config consumer_byte_rate", "--describe --user {user}"),
    _case(
        f"{_QUOTA} producer_byte_rate=1,consumer_byte_rate=2",
        "--alter --user {user} --add-config producer_byte_rate=3 --delete-config consumer_byte_rate",
        "--describe --user {user}",
    ),
    _case(f"{_QUOTA} producer_byte_rate=5", f"{_QUOTA} producer_byte_rate=7 --delete-config producer_byte_rate",
          differs=TWICE),
    _case(
        "--alter --user {user} --client {client} --add-config producer_byte_rate=100",
        "--describe --entity-type users --entity-type clients",
        "--describe --entity-type users --entity-name {user} --entity-type clients",
        "--describe --entity-type clients --entity-type users --entity-name {user}",
        "--describe --user {user}",
    ),
    _case(
        "--alter --entity-type clients --entity-name {client} --entity-type users --entity-name {user} "
        "--add-config consumer_byte_rate=7",
        "--describe --client {client} --user {user}",
        "--alter --entity-type users --entity-name {user} --entity-type clients --entity-name {client} "
        "--delete-config consumer_byte_rate",
        "--describe --client {client} --user {user}",
    ),
    _case(
        "--alter --user {user} --client-defaults --add-config controller_mutation_rate=2.5",
        "--describe --user {user} --client-defaults",
        "--describe --entity-type users --entity-name {user} --entity-type clients --entity-default",
    ),
    _case(
        "--alter --user-defaults --client {client} --add-config request_percentage=200",
        "--describe --entity-type users --entity-default --entity-type clients --entity-name {client}",
    ),
    _case(
        "--alter --user-defaults --client-defaults --add-config request_percentage=200",
        "--describe --user-defaults --client-defaults",
        "--alter --user-defaults --client-defaults --delete-config request_percentage",
    ),
    _case(
        "--alter --user-defaults --add-config request_percentage=200",
        "--describe --user-defaults",
        "--alter --entity-type users --entity-default --delete-config request_percentage",
    ),
    _case("--alter --user '' --add-config request_percentage=200", "--describe --user-defaults",
          "--alter --user-defaults --delete-config request_percentage"),
    _case("--alter --client {client} --add-config producer_byte_rate=9", "--describe --client {client}"),
    _case("--alter --client {client} --add-config foo=1,SCRAM-SHA-256=[password=hidden]"),
    _case("--alter --client {client} --delete-config foo,SCRAM-SHA-256"),
    _case("--alter --user {user} --user-defaults --add-config producer_byte_rate=1"),
    _case("--describe --entity-type users --entity-name {user} --entity-name {client}"),
    _case("--describe --user {missing}"),
    _case("--describe --user {user} --topic {topic}"),
    # SCRAM credentials
    _case(f"{_SCRAM}[iterations=8192,password=hidden]", "--describe --user {user}"),
    _case(f"{_SCRAM}[password=hidden]", "--describe --entity-type users"),
    _case(f"{_SCRAM}[iterations=-1,password=hidden]", "--describe --user {user}"),
    _case(f"{_SCRAM}hidden", differs=HIDDEN),
    _case(f"{_SCRAM}[iterations=10,password=hidden]"),
    _case(f"{_SCRAM}[iterations=100000,password=hidden]"),
    _case(f"{_SCRAM}[iterations=,password=hidden]"),
    _case(f"{_SCRAM}[iterations=99999999999,password=hidden]"),
    _case(f"{_SCRAM}[password=]", differs=EMPTY_PASSWORD),
    _case(f"{_SCRAM}[password=hidden],SCRAM-SHA-512=[password=hidden]", differs=SCRAM_APART),
    _case(f"{_SCRAM}[password=hidden],producer_byte_rate=3"),
    _case(f"{_SCRAM}[password=hidden]", "--alter --user {user} --delete-config SCRAM-SHA-256",
          "--describe --user {user}"),
    _case("--alter --user {user} --delete-config SCRAM-SHA-512"),
    _case("--alter --user-defaults --add-config SCRAM-SHA-256=[password=hidden]"),
    _case("--alter --user {user} --add-config-file {folder}/scram.properties", "--describe --user {user}"),
    # IPs
    _case("--alter --ip 127.0.0.7 --add-config connection_creation_rate=10", "--describe --ip 127.0.0.7",
          "--describe --entity-type ips", "--alter --ip 127.0.0.7 --delete-config connection_creation_rate"),
    _case("--alter --ip-defaults --add-config connection_creation_rate=100000", "--describe --ip-defaults",
          "--alter --entity-type ips --entity-default --delete-config connection_creation_rate"),
    _case("--alter --ip 127.0.0.7 --add-config connection_creation_rate=10.5"),
    _case("--alter --ip 127.0.0.7 --add-config connection_creation_rate=abc"),
    _case("--alter --ip 127.0.0.7 --add-config foo=1,bar=2"),
    _case("--alter --ip 127.0.0.7 --delete-config connection_creation_rate"),
    # groups and client metrics
    _case("--alter --group {group} --add-config consumer.session.timeout.ms=50000", "--describe --group {group}"),
    _case("--describe --group {missing}"),
    _case("--describe --group {missing} --all"),
    _case("--describe --group '' --all"),
    _case("--describe --client-metrics {missing} --all"),
    _case("--describe --client-metrics '' --all"),
    _case("--describe --entity-type groups"),
    _case("--alter --group {group} --add-config a=b"),
    _case("--alter --group '' --add-config a=b"),
    _case("--alter --client-metrics {metrics} --add-config interval.ms=1000", "--describe --client-metrics {metrics}",
          "--describe --entity-type client-metrics"),
    _case("--alter --client-metrics {metrics} --add-config metrics=[a,b],match=[client_id=x]",
          "--describe --client-metrics {metrics}",
          "--alter --client-metrics {metrics} --delete-config metrics,match", "--describe --client-metrics {metrics}"),
    _case("--alter --client-metrics {metrics} --add-config interval.ms=5"),
    _case("--alter --client-metrics {metrics} --add-config a=b"),
    _case("--describe --client-metrics {missing}"),
    # options
    _case("--topic {topic}"),
    _case("--topic {topic} --describe --alter"),
    _case("--topic {topic} --describe --add-config a=b"),
    _case("--topic {topic} --describe --delete-config a"),
    _case("--topic {topic} --alter"),
    _case("--alter --entity-type topics --add-config a=b"),
    _case("--describe"),
    _case("--describe --entity-type foo"),
    _case("--describe --entity-type topics --entity-type topics"),
    _case("--describe --entity-type topics --entity-type users"),
    _case("--describe --topic {topic} --entity-type topics"),
    _case("--describe --entity-type topics --entity-default"),
    _case("--describe --entity-type broker-loggers --entity-default"),
    _case("--alter --entity-type users --add-config producer_byte_rate=1"),
    _case("--alter --entity-type users --entity-type clients --entity-name {user} --add-config producer_byte_rate=1"),
    _case("--alter --topic {topic} --add-config a=b --add-config-file {folder}/topic.properties"),
    _case("--describe --topic"),
    _case("--topics {topic} --describe"),
    _case("--top {topic} --describe"),
    _case("-t {topic} --describe"),
    _case("--topic {topic} --topic {missing} --describe"),
    _case("--bootstrap-server x:1 --describe --topic {topic}"),
    _case("--describe --entity-name {user}"),
    _case("--describe --topic= {topic}", differs=STRAY),
    _case("--describe --topic {topic} extra", differs=STRAY),
    _case("--alter --topic {topic} --delete-config a, b", differs=STRAY),
)  # fmt: skip
