"""Tests of files with the output of kafka-acls --list and kafka-configs --describe. Tests on real brokers check that
the samples are right.
"""

from pathlib import Path

import pytest

from console.files.wanted import HIDDEN, WantedTopic
from console.model import codes
from console.model.acl import Acl
from console.model.config import CLUSTER_DEFAULT, ConfigResource, topic_resource
from console.model.quota import QuotaEntity
from tests.files.foreign.wishes import notes, problems, wanted
from tests.support import samples

ACLS = """\
Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`: 
 \t(principal=User:CN=a, OU=b, host=*, operation=READ, permissionType=ALLOW)
\t(principal=User:bob, host=10.0.0.1, operation=DESCRIBE_CONFIGS, permissionType=DENY) 

Current ACLs for resource `ResourcePattern(resourceType=CLUSTER, name=kafka-cluster, patternType=LITERAL)`: 
 \t(principal=User:bob, host=*, operation=IDEMPOTENT_WRITE, permissionType=ALLOW) 

"""  # noqa: W291 - as it is printed
CONFIGS = """\
Dynamic configs for topic orders are:
  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000, DEFAULT_CONFIG:log.retention.hours=168}
  leader.replication.throttled.replicas=0:1,1:2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:leader.replication.throttled.replicas=0:1,1:2}
All configs for group billing are:
  consumer.session.timeout.ms=50000 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=50000}
  consumer.heartbeat.interval.ms=5000 sensitive=false synonyms={DEFAULT_CONFIG:group.consumer.heartbeat.interval.ms=5000}
Default configs for brokers in the cluster are:
  log.cleaner.threads=2 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=2}
Dynamic configs for broker 1 are:
  listener.name.a.ssl.key.password=null sensitive=true synonyms={DYNAMIC_BROKER_CONFIG:listener.name.a.ssl.key.password=null}
Quota configs for user-principal 'al ice', the default client-id are consumer_byte_rate=2.0E7, producer_byte_rate=1024.5
Quota configs for the default ip are connection_creation_rate=10.0
SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192
"""  # noqa: E501 - as it is printed


def test_acls(tmp_path: Path) -> None:
    def acl(type_: str, name: str, principal: str, host: str, operation: str, permission: str) -> Acl:
        return samples.acl(principal, name, operation, permission, on=type_, host=host)

    assert list(wanted(tmp_path, ACLS).acls) == [
        acl("TOPIC", "orders", "User:CN=a, OU=b", "*", "READ", "ALLOW"),
        acl("TOPIC", "orders", "User:bob", "10.0.0.1", "DESCRIBE_CONFIGS", "DENY"),
        acl("CLUSTER", "kafka-cluster", "User:bob", "*", "IDEMPOTENT_WRITE", "ALLOW"),
    ]


OF_ZOOKEEPER = """\
Current ACLs for resource `Topic:LITERAL:orders`: 
 \tUser:CN=a, OU=b has Allow permission for operations: Read from hosts: *
\tUser:bob has Deny permission for operations: DescribeConfigs from hosts: 10.0.0.1 

Current ACLs for resource `Cluster:LITERAL:kafka-cluster`: 
 \tUser:bob has Allow permission for operations: IdempotentWrite from hosts: * 

"""  # noqa: W291 - as kafka-acls of 2.0 to 2.3 prints it if it asks ZooKeeper


def test_acls_of_zookeeper(tmp_path: Path) -> None:
    assert wanted(tmp_path, OF_ZOOKEEPER).acls == wanted(tmp_path, ACLS).acls
    prefixed = OF_ZOOKEEPER.replace("Topic:LITERAL:orders", "TransactionalId:PREFIXED:a:b")
    first = next(iter(wanted(tmp_path, prefixed).acls))
    assert (first.resource_type.name, first.pattern_type.name, first.resource_name) == (
        "TRANSACTIONAL_ID",
        "PREFIXED",
        "a:b",
    )


NOISE = """\
Picked up JAVA_TOOL_OPTIONS: -Xmx1g
OpenJDK 64-Bit Server VM warning: Options -Xverify:none were deprecated in JDK 13.
SLF4J: Failed to load class "org.slf4j.impl.StaticLoggerBinder".
log4j:WARN No appenders could be found for logger (kafka.admin).
[2026-11-28 12:00:00,123] WARN The configuration 'x' was supplied but isn't a known config. (o.a.AdminClientConfig)
[2026-11-28 12:00:00,124] INFO Cannot resolve (org.apache.kafka.clients.ClientUtils)
java.net.UnknownHostException: b7
\tat java.base/java.net.InetAddress.getAllByName(InetAddress.java:1)
Caused by: java.lang.RuntimeException
\t... 4 more
WARNING: An illegal reflective access operation has occurred
"""


@pytest.mark.parametrize(
    "text",
    [ACLS, OF_ZOOKEEPER, CONFIGS, "version: 1\ntopics:\n  orders: {partitions: 1}\n"],
    ids=["acls", "zookeeper", "configs", "own"],
)
def test_what_java_writes_before_a_listing_is_passed_over(tmp_path: Path, text: str) -> None:
    plain, noisy = wanted(tmp_path, text), wanted(tmp_path, NOISE + text)
    assert (noisy.acls, noisy.configs, noisy.topics, noisy.quotas) == (
        plain.acls,
        plain.configs,
        plain.topics,
        plain.quotas,
    )


def test_lines_below_noise_keep_their_numbers_and_an_error_there_is_not_passed_over(tmp_path: Path) -> None:
    broken = ACLS.replace("READ", "REED", 1)
    assert problems(tmp_path, NOISE + broken)[0].startswith(f"file:{2 + NOISE.count(chr(10))}: 'REED'")
    error = "[2026-11-28 12:00:00,123] ERROR Timed out (kafka.admin.AclCommand$)\n"
    (said,) = problems(tmp_path, NOISE + error + ACLS)
    assert said.startswith(f"file:{1 + NOISE.count(chr(10))}: a tool says here that it failed")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("READ", "REED", "file:2: 'REED' is not one of "),
        ("Type=TOPIC, name", "Type=TOPIC; name", "file:1: this is no line of kafka-acls --list; take it out"),
        ("User:bob", "User:b\x1bob", "file:3: this is no line of kafka-acls --list"),
        (
            "`ResourcePattern(resourceType=TOPIC, name=orders, patternType=LITERAL)`",
            "`Topic:orders`",
            "file:1: this fo",
        ),
    ],
)
def test_acls_that_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in ACLS
    assert problems(tmp_path, ACLS.replace(old, new, 1))[0].startswith(said)


def test_configs(tmp_path: Path) -> None:
    read = wanted(tmp_path, CONFIGS)
    assert read.topics == {
        "orders": WantedTopic(None, None, {"retention.ms": "1000", "leader.replication.throttled.replicas": "0:1,1:2"})
    }
    assert read.configs == {
        ConfigResource(codes.GROUP, "billing"): {"consumer.session.timeout.ms": "50000"},
        CLUSTER_DEFAULT: {"log.cleaner.threads": "2"},
        ConfigResource(codes.BROKER, "1"): {"listener.name.a.ssl.key.password": HIDDEN},
    }
    assert read.quotas == {
        QuotaEntity.of({"user": "al ice", "client-id": None}): {
            "consumer_byte_rate": 2e7,
            "producer_byte_rate": 1024.5,
        },
        QuotaEntity.of({"ip": None}): {"connection_creation_rate": 10.0},
    }
    assert read.partial == set()
    assert read.place(topic_resource("orders"), "retention.ms")[1] == 2
    assert notes(tmp_path, CONFIGS) == [
        "file:13: the SCRAM credentials of alice are left out: no file holds one; kac scram --create sets one"
    ]


@pytest.mark.parametrize(
    ("entity", "parts"),
    [
        ("user-principal 'CN=O'Brien'", {"user": "CN=O'Brien"}),
        ("user-principal 'O'Brien, U.', client-id 'it's'", {"user": "O'Brien, U.", "client-id": "it's"}),
        ("user-principal 'O'Brien', the default client-id", {"user": "O'Brien", "client-id": None}),
        ("the default user-principal, client-id 'a, b'", {"user": None, "client-id": "a, b"}),
    ],
)
def test_names_with_quotes_and_commas(tmp_path: Path, entity: str, parts: dict[str, str | None]) -> None:
    read = wanted(tmp_path, f"Quota configs for {entity} are producer_byte_rate=5.0\n")
    assert read.quotas == {QuotaEntity.of(parts): {"producer_byte_rate": 5.0}}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  retention.ms=1000 ", "  retention.ms ", "file:2: this is no line of kafka-configs --describe; take it out"),
        ("retention.ms=1000 ", "retention.ms=10\x0700 ", "file:2: the line has a character that does not show itself"),
        ("broker 1", "broker one", "file:9: 'one' is no broker's id; write a number"),
        ("2.0E7", "much", "file:11: consumer_byte_rate has no number; take it out"),
        ("'al ice'", "'al ice", "file:11: no entity of a quota: "),
        (
            "Dynamic configs for topic orders are:",
            "Configs for topic 'orders' are retention.ms=1",
            "file:1: this form, with all on one line",
        ),
        ("group billing", "topic orders", "file:4: topic orders stands in "),
    ],
)
def test_configs_that_are_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in CONFIGS
    found = problems(tmp_path, CONFIGS.replace(old, new, 1))
    assert any(each.startswith(said) for each in found), found
