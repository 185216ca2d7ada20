"""Test that kac's `explain` allows the same operations as brokers: alice produces, fetches, describes and creates
topics under different ACLs.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from console.answers.explain import explain
from console.answers.results import rows_of
from console.language.grammar import parse
from console.language.verbs.explain import Explain
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.snapshot import Snapshot, with_acls
from tests.contract import acls as rights
from tests.contract import test_records, verbs
from tests.contract.acls import FINE as CREATED
from tests.contract.target import ALICE, Target
from tests.embedded.record_batches import batch, fetch_request, produce_request
from tests.support.kafka_messages import with_fields

HERE = "127.0.0.1"
ALTER_CONFIGS = 11
REFUSED = "TOPIC_AUTHORIZATION_FAILED"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ME, EVERYONE = f"User:{ALICE}", "User:*"


@pytest.fixture(autouse=True)
def nothing_is_left(target: Target) -> Iterator[None]:
    """Delete all ACLs after each test."""
    yield
    rights.delete(target, rights.EVERYTHING)
    assert rights.found(target)[1] == set()


def refused(target: Target, topic: str) -> dict[str, bool]:
    """Send requests of alice, one for each operation on the topic; return operation -> whether brokers refuse it."""
    wrote = target.ask("produce", 9, produce_request(batch(b"a"), topic, 0, -1), broker=1, user=ALICE)
    read = target.ask("fetch", 12, fetch_request(0, topic=topic), broker=1, user=ALICE)
    seen = verbs.metadata(target, [topic], rights=False, user=ALICE)
    (configs,) = verbs.describe(target, [(verbs.TOPIC, topic)], user=ALICE)
    asked = with_fields(topics=[(f"{topic}-new", 1, 1, [], [])], timeout=20, validate_only=True)
    made = target.ask("create_topics", 5, asked, user=ALICE)
    codes = {
        "WRITE": test_records.code(wrote["responses"][0]["partition_responses"][0]),
        "READ": test_records.code(read["responses"][0]["partitions"][0]),
        "DESCRIBE": test_records.code(seen["topics"][0]),
        "DESCRIBE_CONFIGS": verbs.error(configs)[0],
        "CREATE": test_records.code(made["topics"][0]),
    }
    return {operation: REFUSED in answered for operation, answered in codes.items()}


def explained(bindings: list[rights.Binding], topic: str) -> dict[str, bool]:
    """Return operation -> whether `explain` says that alice is denied it under these ACLs, on brokers with
    allow.everyone.if.no.acl.found=true, as the brokers of these tests are.
    """
    acls = [
        Acl(
            AclResourceType(each.kind),
            each.name or "",
            PatternType(each.pattern),
            each.principal or "",
            each.host or "",
            AclOperation(each.operation),
            Permission(each.permission),
        )
        for each in bindings
    ]
    snapshot = with_acls(Snapshot(), acls, NOW)
    denied = {}
    for text in (f"READ,WRITE,DESCRIBE,DESCRIBE_CONFIGS on topic {topic}", f"CREATE on topic {topic}-new"):
        (statement,) = parse(f"explain User:{ALICE} {text} from {HERE}")
        assert isinstance(statement, Explain)
        for row in rows_of(explain(statement, snapshot)):
            unless = row["unless"]
            assert isinstance(unless, list)
            denied[str(row["operation"])] = not row["allowed"] and "allow.everyone.if.no.acl.found" not in unless
    # CREATE on the cluster allows it for every topic, as a hint of the explanation says.
    (statement,) = parse(f"explain User:{ALICE} CREATE on cluster from {HERE}")
    assert isinstance(statement, Explain)
    (row,) = rows_of(explain(statement, snapshot))
    denied["CREATE"] = denied["CREATE"] and not (row["allowed"] or not row["acls_on_resource"])
    return denied


@pytest.mark.parametrize(
    "bindings",
    [
        pytest.param([], id="none"),
        pytest.param([rights.Binding("{topic}", ME)], id="read"),
        pytest.param([rights.Binding("{topic}", "User:bob")], id="another's"),
        pytest.param([rights.Binding("{topic}", "User:Alice", operation=rights.ALL)], id="in another case"),
        pytest.param(
            [
                rights.Binding("contract", ME, pattern=rights.PREFIXED, operation=rights.ALL),
                rights.Binding("{topic}", ME, host=HERE, permission=rights.DENY),
            ],
            id="denied from here",
        ),
        pytest.param(
            [
                rights.Binding("*", EVERYONE, operation=rights.WRITE),
                rights.Binding("{topic}", ME, host="10.9.9.9", permission=rights.DENY),
            ],
            id="denied elsewhere",
        ),
        pytest.param(
            [
                rights.Binding("{topic}", EVERYONE, operation=rights.ALL),
                rights.Binding("contr", ME, 2, rights.PREFIXED, "*", rights.DESCRIBE, rights.DENY),
            ],
            id="everyone but",
        ),
        pytest.param([rights.Binding("{topic}", ME, operation=ALTER_CONFIGS)], id="implied"),
        pytest.param(
            [
                rights.Binding("{topic}", ME, operation=rights.ALL),
                rights.Binding("{topic}", ME, operation=rights.WRITE, permission=rights.DENY),
            ],
            id="a deny implies nothing",
        ),
        pytest.param(
            [
                rights.Binding("*", "User:bob", operation=rights.ALL),
                rights.Binding("kafka-cluster", ME, rights.CLUSTER, operation=rights.CREATE),
            ],
            id="create on the cluster",
        ),
        pytest.param(
            [
                rights.Binding("*", "User:bob", operation=rights.ALL),
                rights.Binding("kafka-cluster", "User:bob", rights.CLUSTER, permission=rights.ALLOW),
            ],
            id="nothing",
        ),
    ],
)
def test_what_is_refused_is_what_is_explained(target: Target, kept_topic: str, bindings: list[rights.Binding]) -> None:
    topic = kept_topic
    for server in target.servers:
        test_records.leads(server, topic)
    # A record in the topic, so that all replicas have the same log to fetch from.
    assert test_records.code(test_records.produce(target, topic, batch(b"a"))) == "NONE"
    named = [each._replace(name=(each.name or "").format(topic=topic)) for each in bindings]
    # With any ACL on the cluster, CREATE on it is no longer everyone's, so only the ACLs of this test count.
    named.append(rights.Binding("kafka-cluster", "User:nobody", rights.CLUSTER, operation=rights.CREATE))
    assert rights.create(target, *named) == [CREATED] * len(named)
    # A record that alice writes before broker 1 knows her ACLs would be in the log twice.
    target.until_told("describe_acls", 2, rights.describe_request, lambda told: rights.bindings_in(told) == {*named})
    assert refused(target, topic) == explained(named, topic)
