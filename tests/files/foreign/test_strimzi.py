"""Strimzi's resources: what they want, what is refused and left out by name, and that what is written reads back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.files.foreign.strimzi import is_label, strimzi_text
from console.files.read import Read, for_cluster
from console.files.reading import take_text
from console.files.staging import file_edits
from console.files.wanted import Wanted, WantedTopic
from console.model.acl import Acl
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission
from console.model.config import topic_resource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from tests.files.foreign.wishes import notes, problems, wanted
from tests.files.test_round_trip import ENTITY, LIMITS, WANTED

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
        operation: IdempotentWrite
        type: deny
        host: 10.0.0.7
  quotas:
    producerByteRate: 1048576
    controllerMutationRate: 2.5
"""
BILLING = QuotaEntity.of({"user": "CN=billing"})


def acl(type_: str, name: str, pattern: str, principal: str, host: str, operation: str, permission: str) -> Acl:
    return Acl(
        AclResourceType.parse(type_),
        name,
        PatternType.parse(pattern),
        principal,
        host,
        AclOperation.parse(operation),
        Permission.parse(permission),
    )


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


def test_several_documents_and_lists(tmp_path: Path) -> None:
    """Of kubectl, too, with what the cluster adds to a resource."""
    indented = "\n".join(f"    {line}" for line in TOPIC.splitlines())[4:]
    listed = f"apiVersion: v1\nkind: List\nitems:\n  - {indented}\n"
    assert wanted(tmp_path, listed).topics == wanted(tmp_path, TOPIC).topics
    read = wanted(tmp_path, f"---\n# topics\n---\n{TOPIC}status: {{observedGeneration: 3}}\n---\n{USER}---\n")
    assert set(read.topics) == {"shop.Orders"}
    assert BILLING in read.quotas


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    others = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\n"
    unmanaged = TOPIC.replace("  labels:", '  annotations: {strimzi.io/managed: "false"}\n  labels:')
    scram = USER.replace("type: tls", "type: scram-sha-512")
    assert notes(tmp_path, f"{others}{unmanaged}---\n{scram}") == [
        "file:1: kind Secret is left out; KafkaTopic and KafkaUser are read",
        "file:5: KafkaTopic shop-orders is left out; it has strimzi.io/managed: false",
        "file:29: the SCRAM-SHA-512 credential of billing is left out: no file holds it; kac scram --create sets one",
    ]
    assert not wanted(tmp_path, unmanaged).topics
    assert QuotaEntity.of({"user": "billing"}) in wanted(tmp_path, scram).quotas


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("partitions: 6", "partition: 6", "file:9: unknown key 'partition'; did you mean partitions?"),
        ("partitions: 6", "partitions: 0", "file:9: '0' is no whole number of 1 to 1,000,000"),
        ("partitions: 6", "partitions: many", "file:9: 'many' is no whole number of 1 to 1,000,000"),
        ("min.insync.replicas: 2", "min.insync.replicas: 010", "file:13: YAML may take 010 for another number"),
        ("min.insync.replicas: 2", "min.insync.replicas: 0x2", "file:13: YAML may take 0x2 for another number"),
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
        (
            "    type: tls",
            "    type: scram-sha-512\n    password: {valueFrom: {secretKeyRef: {name: a, key: b}}}",
            "file:9: the password of billing is in a Secret, which is not read; take it out: kac scram --create sets",
        ),
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


def test_ours_stays_one_document(tmp_path: Path) -> None:
    assert problems(tmp_path, "version: 1\n---\nversion: 1\n") == [
        "file:2: a second document begins here: one file is one document"
    ]
    assert problems(tmp_path, f"{TOPIC}---\nversion: 1\n")[0].startswith("file:18: this document is in no form of ")


# -- writing -----------------------------------------------------------------------------------------------------------

USERS = st.sampled_from(["alice", "CN=billing", "CN=a,OU=b", "Alice Liddell", "*", "", "User:x", "a\x1b"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=8
)
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


@given(WANTED | OF_USERS, st.text(max_size=8))
def test_what_is_written_is_read_back(state: Wanted, title: str) -> None:
    """Nothing is added, nothing differs of what is said, and what can't be said is named."""
    written = strimzi_text(state, title, "west")
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
        assert topic.configs is None or topic.configs == there.configs
    unsaid = [name for name, topic in state.topics.items() if name not in back.topics or back.topics[name] != topic]
    limits = [entity for entity, values in state.quotas.items() if values != back.quotas.get(entity, {})]
    assert bool(written.left_out) == bool(unsaid or limits or back.acls != state.acls or state.configs)


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
