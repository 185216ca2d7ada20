"""Tests of Strimzi's resources as files: the wanted state that kac reads from them, the names of what it refuses or
leaves out, and that resources which kac wrote are read back equal.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.files.foreign.strimzi import is_label, strimzi_text
from console.files.read import Read, for_cluster
from console.files.reading import take_text
from console.files.staging import file_edits
from console.files.wanted import HIDDEN, Value, Wanted, WantedConnector, WantedTopic
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import ConfigResource, topic_resource
from console.model.connect import connector_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from tests.files.foreign.wishes import notes, problems, wanted
from tests.files.test_round_trip import ENTITY, LIMITS, WANTED
from tests.support import samples

TOPIC = """\
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata:
  name: shop-orders
  labels:
    strimzi.io/cluster: west
spec:
  topicName: shop.Orders
  partitions: 6
  replicas: 3
  config:
    retention.ms: 7200000
    min.insync.replicas: 2
    preallocate: true
    cleanup.policy: [compact, delete]
    compression.type: "zstd"
"""
USER = """\
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata:
  name: billing
  labels: {strimzi.io/cluster: west}
spec:
  authentication:
    type: tls
  authorization:
    type: simple
    acls:
      - resource: {type: topic, name: shop., patternType: prefix}
        operations: [Read, DescribeConfigs]
        host: "*"
      - resource: {type: cluster}
        operations: [IdempotentWrite]
        type: deny
        host: 10.0.0.7
  quotas:
    producerByteRate: 1048576
    controllerMutationRate: 2.5
"""
BILLING = QuotaEntity.of({"user": "CN=billing"})


def acl(type_: str, name: str, pattern: str, principal: str, host: str, operation: str, permission: str) -> Acl:
    return samples.acl(principal, name, operation, permission, on=type_, pattern=pattern, host=host)


def test_a_topic(tmp_path: Path) -> None:
    read = wanted(tmp_path, TOPIC)
    configs = {
        "retention.ms": "7200000",
        "min.insync.replicas": "2",
        "preallocate": "true",
        "cleanup.policy": "compact,delete",
        "compression.type": "zstd",
    }
    assert read.wanted == Wanted({"shop.Orders": WantedTopic(6, 3, configs)})
    assert read.cluster == "west"
    assert read.place(topic_resource("shop.Orders"), "preallocate") == (f"{tmp_path}/file.yaml", 14)


def test_a_user(tmp_path: Path) -> None:
    read = wanted(tmp_path, USER)
    assert read.quotas == {BILLING: {"producer_byte_rate": 1048576.0, "controller_mutation_rate": 2.5}}
    assert set(read.acls) == {
        acl("TOPIC", "shop.", "PREFIXED", "User:CN=billing", "*", "READ", "ALLOW"),
        acl("TOPIC", "shop.", "PREFIXED", "User:CN=billing", "*", "DESCRIBE_CONFIGS", "ALLOW"),
        acl("CLUSTER", "kafka-cluster", "LITERAL", "User:CN=billing", "10.0.0.7", "IDEMPOTENT_WRITE", "DENY"),
    }
    assert read.partial == {BILLING}


def test_a_limit_that_is_not_named_stays(tmp_path: Path) -> None:
    read = wanted(tmp_path, USER)
    there = {BILLING: {"consumer_byte_rate": 5.0, "producer_byte_rate": 1.0, "controller_mutation_rate": 2.5}}
    edits = file_edits(
        Wanted(quotas=read.quotas, partial=frozenset(read.partial)), replace(Snapshot(), quotas=there)
    ).edits
    assert [(type(each).__name__, each.key) for each in edits] == [("SetQuota", "producer_byte_rate")]
    whole = file_edits(Wanted(quotas=read.quotas), replace(Snapshot(), quotas=there)).edits
    assert ("UnsetQuota", "consumer_byte_rate") in [(type(each).__name__, each.key) for each in whole]


def test_a_key_with_all_commented_out_is_missing(tmp_path: Path) -> None:
    """A key whose content is commented out completely counts as missing, as in Kubernetes."""
    bare = TOPIC.partition("  config:")[0]
    empty = bare.replace("  labels:", "  annotations:\n  labels:").replace(
        "replicas: 3", "replicas:\n  config:\n  # a: b"
    )
    assert wanted(tmp_path, empty).topics == {"shop.Orders": WantedTopic(6, None, None)}
    user = USER.replace("authentication:\n    type: tls", "authentication:")
    head, _, limits = user.partition("  authorization:")
    no_rules = f"{head}  authorization:\n  quotas:\n    consumerByteRate:\n{limits.partition('  quotas:')[2]}"
    read = wanted(tmp_path, no_rules)
    assert (read.acls, set(read.quotas[QuotaEntity.of({"user": "billing"})])) == (
        {},
        {"producer_byte_rate", "controller_mutation_rate"},
    )


def test_several_documents_and_lists_of_which_ours_stays_one_document(tmp_path: Path) -> None:
    """kac reads a list of resources as kubectl prints it, with the fields that Kubernetes adds, as well as several
    documents in a file.
    """
    indented = "\n".join(f"    {line}" for line in TOPIC.splitlines())[4:]
    listed = f"apiVersion: v1\nkind: List\nitems:\n  - {indented}\n"
    assert wanted(tmp_path, listed).topics == wanted(tmp_path, TOPIC).topics
    read = wanted(tmp_path, f"---\n# topics\n---\n{TOPIC}status: {{observedGeneration: 3}}\n---\n{USER}---\n")
    assert set(read.topics) == {"shop.Orders"}
    assert BILLING in read.quotas
    assert problems(tmp_path, "version: 1\n---\nversion: 1\n") == [
        "file:2: a second document begins here: one file is one document"
    ]
    assert problems(tmp_path, f"{TOPIC}---\nversion: 1\n")[0].startswith("file:18: this document is in no form of ")


def test_older_versions_have_one_operation(tmp_path: Path) -> None:
    """In v1beta2 kac reads the field `operation` of an ACL. In v1 it refuses this field, because there is only a list
    of operations.
    """
    older = USER.replace("/v1\n", "/v1beta2\n").replace("operations: [IdempotentWrite]", "operation: IdempotentWrite")
    assert wanted(tmp_path, older).acls == wanted(tmp_path, USER).acls
    newest = older.replace("/v1beta2\n", "/v1\n")
    assert problems(tmp_path, newest) == [
        "file:16: kafka.strimzi.io/v1 has no operation; write a list of operations",
    ]


@pytest.mark.parametrize(
    "authentication",
    ["{type: scram-sha-512}", "{type: scram-sha-512, password: {valueFrom: {secretKeyRef: {name: a, key: b}}}}"],
)
def test_what_is_left_out_is_named(tmp_path: Path, authentication: str) -> None:
    """kac names what it leaves out of the wanted state: resources of other kinds, and passwords, which the operator
    generates or reads from a Secret.
    """
    others = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n"
    scram = USER.replace("authentication:\n    type: tls", f"authentication: {authentication}")
    assert notes(tmp_path, f"{others}{scram}") == [
        "file:1: Secret of v1 is not read; KafkaTopic, KafkaUser and KafkaConnector of kafka.strimzi.io are",
        "file:11: the SCRAM-SHA-512 credential of billing is left out: no file holds it; kac scram --create sets one",
    ]
    assert QuotaEntity.of({"user": "billing"}) in wanted(tmp_path, scram).quotas


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ('annotations: {strimzi.io/managed: "false"}', "it has strimzi.io/managed: false"),
        ('annotations: {strimzi.io/pause-reconciliation: "true"}', "it has strimzi.io/pause-reconciliation: true"),
        ('deletionTimestamp: "2026-11-27T04:00:00Z"', "it is being deleted"),
    ],
)
def test_what_the_operators_leave_alone_is_left_alone(tmp_path: Path, metadata: str, why: str) -> None:
    """kac does not change topics and users whose resources are marked to be ignored by Strimzi, or are being deleted
    (`deletionTimestamp`, as kubectl prints it).
    """
    theirs = f"{TOPIC}---\n{USER}".replace("  labels:", f"  {metadata}\n  labels:")
    assert notes(tmp_path, theirs) == [
        f"file:1: KafkaTopic shop-orders is left out; {why}",
        f"file:19: KafkaUser billing is left out; {why}",
    ]
    read = wanted(tmp_path, theirs)
    assert read.is_empty
    assert read.alone == {
        topic_resource("shop.Orders"),
        QuotaEntity.of({"user": "billing"}),
        QuotaEntity.of({"user": "CN=billing"}),
    }
    unset = theirs.replace('"false"', '"true"').replace('pause-reconciliation: "true"', 'pause-reconciliation: "false"')
    assert wanted(tmp_path, unset.replace("deletionTimestamp", "creationTimestamp")).topics.keys() == {"shop.Orders"}
    assert wanted(tmp_path, TOPIC.replace("  labels:", "  annotations:\n  labels:")).topics


def test_how_long_a_certificate_is_valid_is_no_concern_of_kafka(tmp_path: Path) -> None:
    days = USER.replace("type: tls", "type: tls\n    validityDays: 30\n    renewalDays: 10")
    assert wanted(tmp_path, days).wanted == wanted(tmp_path, USER).wanted


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("partitions: 6", "partition: 6", "file:9: unknown key 'partition'; did you mean partitions?"),
        ("partitions: 6", "partitions: 0", "file:9: '0' is no whole number of 1 to 1,000,000"),
        ("partitions: 6", "partitions: many", "file:9: 'many' is no whole number of 1 to 1,000,000"),
        ("min.insync.replicas: 2", "min.insync.replicas: 010", "file:13: YAML may take 010 for another number"),
        ("min.insync.replicas: 2", "min.insync.replicas: 0x2", "file:13: YAML may take 0x2 for another number"),
        ("retention.ms: 7200000", "retention.ms: 2h", "file:12: '2h' has a unit, and Kafka reads none; write digits"),
        ("retention.ms: 7200000", 'retention.ms: "7d"', "file:12: '7d' has a unit, and Kafka reads none; write digits"),
        ("retention.ms: 7200000", "retention.ms: 1e9", "file:12: YAML may take 1e9 for another number"),
        ("retention.ms: 7200000", "retention.ms: 1:30", "file:12: YAML may take 1:30 for another number"),
        ("min.insync.replicas: 2", "min.insync.replicas:", "file:13: it has no value; leave the key out"),
        ("min.insync.replicas: 2", 'min.insync.replicas: "2\\e"', "file:13: the value has a character that does not"),
        ("min.insync.replicas: 2", "min.insync.replicas: {a: 1}", "file:13: min.insync.replicas must be a text"),
        ("v1beta2", "v9", "file:1: kafka.strimzi.io/v9 is not known; known here: kafka.strimzi.io/v1, "),
        ("  name: shop-orders\n", "", "file:3: name is missing; add it"),
        ("spec:", "sepc:", "file:7: unknown key 'sepc'; did you mean spec?"),
        ("metadata:", "metadata: &a", "file:3: anchors and aliases"),
        ("partitions: 6", "partitions: !!int 6", "file:9: tags"),
        ("west", '""', "file:6: the text is empty"),
    ],
)  # fmt: skip
def test_a_topic_that_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in TOPIC
    assert problems(tmp_path, TOPIC.replace(old, new))[0].startswith(said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    type: tls", "    type: kerberos", "file:8: kerberos is not one of tls, tls-external, scram-sha-512"),
        ("  authentication:", "  userName: Billing\n  authentication:", "file:7: unknown key 'userName'; "),
        ("type: simple", "type: opa", "file:10: opa is not one of simple"),
        ("type: topic", "type: subject", "file:12: subject is not one of topic, group, cluster, transactionalId"),
        ("patternType: prefix", "patternType: glob", "file:12: glob is not one of literal, prefix"),
        ("name: shop., ", "", "file:12: name is missing; add it; * is every name"),
        ("[Read, DescribeConfigs]", "[Read, Descirbe]", "file:13: Descirbe is not one of Read, "),
        ("        operations: [Read, DescribeConfigs]\n", "", "file:12: operations is missing"),
        ("type: cluster", "type: cluster, name: mine", "file:15: the cluster is called kafka-cluster, not 'mine'"),
        ("type: deny", "type: forbid", "file:17: forbid is not one of allow, deny"),
        ("producerByteRate: 1048576", "producerByteRate: 1MB/s", "file:20: '1MB/s' is no number; write it without"),
        ("producerByteRate", "producerBytesRate", "file:20: unknown key 'producerBytesRate'; did you mean producerB"),
        ("spec:", "status:", "file:1: spec is missing; add it"),
    ],
)  # fmt: skip
def test_a_user_that_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in USER
    found = problems(tmp_path, USER.replace(old, new, 1))
    assert any(each.startswith(said) for each in found), found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TOPIC.replace("shop-orders", "{{ .Values.name }}"), 4),
        (f"{{{{- range .Values.topics }}}}\n{TOPIC}{{{{- end }}}}\n", 1),
    ],
)
def test_a_template_is_called_one(tmp_path: Path, text: str, line: int) -> None:
    """If a file has a YAML error and looks like a template, the message has the error, and then says how to render the
    template.
    """
    (said,) = problems(tmp_path, text)
    assert said.startswith(f"file:{line}: ")
    assert said.endswith("; it seems to be a template: render it first, as helm template does")
    assert problems(tmp_path, TOPIC.replace("kafka.strimzi.io/v1beta2", "{Version}")) == [
        "file:1: apiVersion must be a text or a number"
    ]


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    bad = TOPIC.replace("partitions: 6", "partitions: x").replace("replicas: 3", "replicas: y")
    assert len(problems(tmp_path, f"{bad}---\n{USER.replace('deny', 'x')}")) == 3
    assert problems(tmp_path, f"{TOPIC}---\n{TOPIC}") == [
        f"file:18: topic shop.Orders stands in {tmp_path}/file.yaml:1 too; let it stand once".replace(
            f"{tmp_path}/file.yaml", "file"
        )
    ]


def test_clusters(tmp_path: Path) -> None:
    both = f"{TOPIC}---\n{TOPIC.replace('west', 'east').replace('partitions: 6', 'partitions: 9')}"
    assert problems(tmp_path, both) == ["file:2: the files are for clusters east, west; --context NAME says which"] or (
        problems(tmp_path, both)[0].endswith("the files are for clusters east, west; --context NAME says which")
    )
    east = wanted(tmp_path, both, "east")
    assert east.topics["shop.Orders"].partitions == 9
    assert [each.message for each in east.notes] == ["it is for cluster west"]
    assert wanted(tmp_path, TOPIC, "mine").cluster == "west"
    bare = TOPIC.replace("  labels:\n    strimzi.io/cluster: west\n", "")
    assert wanted(tmp_path, bare).cluster == ""
    assert "too; let it stand once" in problems(tmp_path, f"{bare}---\n{TOPIC}")[0]


# -- writing -----------------------------------------------------------------------------------------------------------

USERS = st.sampled_from(
    ["alice", "CN=alice", "CN=billing", "CN=a,OU=b", "Alice Liddell", "*", "", "User:x", "a\x1b"]
) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ACLS = st.builds(
    Acl,
    st.sampled_from(["TOPIC", "GROUP", "TRANSACTIONAL_ID", "USER"]).map(AclResourceType.parse),
    st.sampled_from(["orders", "*", "a b", "ü", "\x00", ""]),
    st.sampled_from(["LITERAL", "PREFIXED"]).map(PatternType.parse),
    USERS.map("User:{}".format) | USERS,
    st.sampled_from(["*", "10.0.0.1", ""]),
    st.sampled_from(sorted(set(AclOperation.NAMES.values()) - {"ANY"})).map(AclOperation.parse),
    st.sampled_from(["ALLOW", "DENY"]).map(Permission.parse),
)
OF_USERS = st.builds(
    Wanted,
    quotas=st.dictionaries(USERS.map(lambda name: QuotaEntity.of({"user": name})) | ENTITY, LIMITS, max_size=4),
    acls=st.frozensets(ACLS, max_size=6),
)


def read_back(text: str) -> Read:
    read = Read()
    assert take_text(text, "here", read) == []
    return for_cluster(read, None)


@given(WANTED | OF_USERS, st.text(max_size=8), st.sets(USERS, max_size=2))
def test_what_is_written_is_read_back(state: Wanted, title: str, by_password: set[str]) -> None:
    """What kac reads from the Strimzi resources that it wrote is the written state or a part of it. `left_out` is
    empty only if nothing of the state is missing.
    """
    written = strimzi_text(state, title, "west", (), by_password)
    assert all(char.isprintable() or char == "\n" for char in written.text)
    back = read_back(written.text).wanted
    assert back.acls <= state.acls
    assert {
        entity for entity, limits in back.quotas.items() if not limits.items() <= state.quotas[entity].items()
    } == set()
    assert back.quotas.keys() <= back.partial
    for name, topic in back.topics.items():
        there = state.topics[name]
        assert (topic.partitions, topic.replication) == (there.partitions, there.replication)
        # The operator would remove a config that the resource does not list.
        assert topic.configs == there.configs
    unsaid = [name for name, topic in state.topics.items() if name not in back.topics or back.topics[name] != topic]
    limits = [entity for entity, values in state.quotas.items() if values != back.quotas.get(entity, {})]
    assert bool(written.left_out) == bool(unsaid or limits or back.acls != state.acls or state.configs)


NAMES = st.sampled_from(["orders", "jdbc.sink", "Orders", "a b", "x" * 300])
KEYS = st.sampled_from(["topics", "tasks.max", "connector.class", "a b", "\x00"]) | st.text(min_size=1, max_size=4)
CONNECTORS = st.dictionaries(
    st.builds(connector_resource, st.sampled_from(["main", "other", "no label!"]), NAMES),
    st.builds(
        WantedConnector,
        st.dictionaries(KEYS, st.sampled_from(["4", "0", "x.Y", "", "a: b", "${file:/run/p:k}", HIDDEN]), max_size=5),
        st.sampled_from([None, "RUNNING", "PAUSED", "STOPPED"]),
    ),
    max_size=4,
)


@given(CONNECTORS)
def test_connectors_that_are_written_are_read_back(connectors: Mapping[ConfigResource, WantedConnector]) -> None:
    """kac writes a connector with its whole config, or names it with the reason why it can't: an operator deletes
    configs that a resource does not list.
    """
    written = strimzi_text(Wanted(connectors=connectors), "", "west")
    back = read_back(written.text).wanted.connectors
    assert {each: connectors[each] for each in back} == back
    assert len(back) + len(written.left_out) == len(connectors)
    assert not any(HIDDEN in each.config.values() for each in back.values())


def test_a_connector_as_it_is_written() -> None:
    config: Mapping[str, Value] = {"connector.class": "x.Sink", "tasks.max": "2", "topics": "a", "door": "${file:/r:k}"}
    state = Wanted(connectors={connector_resource("main", "orders"): WantedConnector(config, "PAUSED")})
    assert (
        strimzi_text(state, "t", "west").text
        == """\
# t
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: orders
  labels:
    strimzi.io/cluster: "main"
spec:
  class: "x.Sink"
  tasksMax: 2
  state: paused
  config:
    door: "${file:/r:k}"
    topics: "a"
"""
    )


@given(
    st.dictionaries(
        st.text(max_size=6) | st.sampled_from(["a.b", "A.b", "a_b", "-", "x" * 300]), st.just(WantedTopic()), max_size=6
    )
)
def test_names_are_names_of_kubernetes(topics: dict[str, WantedTopic]) -> None:
    import yaml

    found = [
        each for each in yaml.safe_load_all(strimzi_text(Wanted(topics), "", None).text) if each["kind"] == "KafkaTopic"
    ]
    names = [each["metadata"]["name"] for each in found]
    assert len(set(names)) == len(names)
    for each in found:
        assert is_label(each["metadata"]["name"][:63].rstrip(".-"))
        assert len(each["metadata"]["name"]) <= 253
        assert each["metadata"]["name"] == each["metadata"]["name"].lower()
        assert each["spec"].get("topicName", each["metadata"]["name"]) in topics


@given(OF_USERS, st.sets(USERS, max_size=2))
def test_users_are_what_their_resources_are_called(state: Wanted, by_password: set[str]) -> None:
    """The resource of a user has the user's name, as Strimzi requires, and no name is used twice."""
    import yaml

    text = strimzi_text(state, "", None, (), by_password).text
    found = [each for each in yaml.safe_load_all(text) if each["kind"] == "KafkaUser"]
    assert {each["apiVersion"] for each in found} <= {"kafka.strimzi.io/v1"}
    names = [each["metadata"]["name"] for each in found]
    assert len(set(names)) == len(names)
    for each in found:
        assert each["spec"].keys() <= {"authentication", "authorization", "quotas"}
        is_certified = each["spec"].get("authentication") == {"type": "tls-external"}
        user = f"CN={each['metadata']['name']}" if is_certified else each["metadata"]["name"]
        assert user in {acl.principal.removeprefix("User:") for acl in state.acls} | {
            entity[1] for entity in state.quotas
        }


def test_who_has_a_password_keeps_one() -> None:
    """The resource of a user with a password has `authentication`, because the user operator deletes the password of a
    user without it.
    """
    names = ("alice", "bob", "carol", "CN=dave")
    limits = {QuotaEntity.of({"user": name}): {"producer_byte_rate": 5.0} for name in names}
    written = strimzi_text(Wanted(quotas=limits), "", None, (), {"alice", "dave", "eve"})
    assert written.text.count("scram-sha-512") == 1
    assert "name: alice\nspec:\n  authentication:\n    type: scram-sha-512\n" in written.text
    assert written.to_do == (
        "user dave loses its password: CN=dave logs in by a certificate",
        "user alice gets a new password, unless there is a Secret alice with its own as password",
    )
    assert all(f"# {line}\n" in written.text for line in written.to_do)
    (unknown,) = strimzi_text(Wanted(quotas=limits), "", None, (), None).to_do
    assert unknown.startswith("who has a password is not known: ")
    assert strimzi_text(Wanted(), "", None, (), None).to_do == ()


@pytest.mark.parametrize("configs", [None, {"x.password": HIDDEN}, {"a": "\x1b"}])
def test_a_topic_whose_configs_can_not_be_said_is_left_alone(configs: Mapping[str, Value] | None) -> None:
    """If a topic's configs can't be written in a resource, kac marks the resource as not managed, so that an
    operator does not change the topic: it would delete all configs that the resource does not list. --prune does
    not delete the topic either.
    """
    written = strimzi_text(Wanted({"orders": WantedTopic(3, 1, configs)}), "", None)
    assert '  annotations:\n    strimzi.io/managed: "false"\nspec:\n  partitions: 3\n' in written.text
    assert [each.partition(":")[0] for each in written.left_out] == ["configs of topic orders"]
    back = read_back(written.text)
    assert (back.is_empty, back.alone) == (True, {topic_resource("orders")})
