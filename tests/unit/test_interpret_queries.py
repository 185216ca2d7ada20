"""Tests of the answers to `show`, `describe`, `list` and `effective`, as text and as JSON."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from console.answers.queries import answer
from console.answers.results import Column, Row, Table, render, to_data
from console.language.errors import CommandError
from console.language.filters import glob_test
from console.language.grammar import parse
from console.language.needs import needs, needs_of_script
from console.language.snapshot_parts import NOTHING, Needs
from console.language.verbs.listing import KINDS
from console.model import codes
from console.model.cluster import GroupPolls, Quorum, QuorumReplica
from console.model.config import CLUSTER_DEFAULT, ConfigResource, ConfigSet, broker_resource, topic_resource
from console.model.connect import Plugin
from console.model.failure import Failure
from console.model.mirror import Beat, Checkpoint, Flow, OffsetSync
from console.model.parts import Part
from console.model.quota import QuotaEntity, filter_for_entity, filter_for_name, levels
from console.model.snapshot import with_failures, with_group_polls
from console.model.subjects import SchemaVersion, Subject
from console.model.tokens import DelegationToken
from console.plan.edits import SetConfig
from console.plan.plan import EMPTY, stage
from console.present.kinds import KINDS as COLUMNS
from tests.support import connectors
from tests.unit.command_cluster import BROKER_SET, LONG, SNAPSHOT, entry, topic

ORDERS = topic_resource("orders")
METRICS = ConfigResource(codes.CLIENT_METRICS, "apps")


def ask(text, snapshot=SNAPSHOT, **more):
    (statement,) = parse(text)
    return answer(statement, snapshot, **more)


def data(text, snapshot=SNAPSHOT, **more):
    return json.loads(json.dumps(to_data(ask(text, snapshot, **more))))


def refused(text, snapshot=SNAPSHOT):
    with pytest.raises(CommandError) as caught:
        ask(text, snapshot)
    return caught.value


# -- show and describe -------------------------------------------------------------------------------------------------


def test_show_names_what_a_topic_sets_hides_secrets_and_knows_the_default_from_its_name():
    found = data("show topic orders")
    assert [config["name"] for config in found["configs"]] == ["retention.ms"]
    assert found["errors"] == []
    lines = render(ask("show topic orders")).splitlines()
    assert lines[0] == "topic orders  1 override of 5"
    assert lines[-1].split() == ["O", "retention.ms", "86400000", "1", "d", "topic"]
    assert "······" in render(ask("show broker 1 ssl.key.password"))
    (config,) = data("show broker 1 ssl.key.password")["configs"]
    assert config["value"] is None
    assert config["is_sensitive"]
    assert data("show client '<default>'")["quotas"][0]["value"] == 7.0
    assert data("show client <default>")["quotas"] == []


def test_describe_puts_overrides_first_and_names_partitions():
    found = data("describe topic orders")
    names = [config["name"] for config in found["configs"]]
    assert names[0] == "retention.ms"
    assert names[1:] == sorted(names[1:])
    assert len(names) == 5
    assert found["partitions"][11] == {
        "partition": 11,
        "leader": 1,
        "replicas": [1, 2, 3],
        "isr": [1, 2],
        "offline": [],
        "bytes_per_second": None,
        "records_per_second": None,
    }
    assert "12 partitions, replication 3, 12 under-replicated" in render(ask("describe topic orders"))


def test_what_could_not_be_read_of_one_group_is_said_with_its_name_once():
    late = Failure("TIMED_OUT", "no answer")
    asked = GroupPolls({}, {}, {"new": late}, {"billing": late})
    known = with_group_polls(SNAPSHOT, asked, {}, datetime.now(UTC))
    assert [each.what for each in known.failures] == ["members of new", "lag of billing"]
    assert "! lag of billing: TIMED_OUT: no answer\n" in render(ask("list groups", known))
    assert "lag of" not in render(ask("list groups empty", known))
    assert data("list groups", known)["errors"][0]["entity"] == "billing"
    assert "\n  TIMED_OUT: no answer\n" in render(ask("describe group new", known))
    assert "no such group" in render(ask("describe group other", known))
    # The next poll of a group removes the failures of that group only.
    again = with_group_polls(known, GroupPolls({}, {}, {}, {"new": late}), {}, datetime.now(UTC))
    assert [each.what for each in again.failures] == ["lag of billing", "lag of new"]


def test_an_entry_in_json_is_as_in_a_snapshot():
    (config,) = data("show topic orders retention.ms")["configs"]
    assert config == {
        "name": "retention.ms",
        "value": "86400000",
        "source": "DYNAMIC_TOPIC_CONFIG",
        "read_only": False,
        "is_default": False,
        "is_sensitive": False,
        "synonyms": [
            {"name": "retention.ms", "value": "86400000", "source": "DYNAMIC_TOPIC_CONFIG"},
            {"name": "log.retention.ms", "value": "604800000", "source": "DEFAULT_CONFIG"},
        ],
        "pending": False,
    }


def test_a_key_is_described_with_documentation_and_its_chain():
    text = render(ask("describe topic orders retention.ms"))
    assert "How long a log is kept. " not in text  # paragraphs stay apart
    assert "How long a log is kept.\n" in text
    assert "Without the override: 604800000 (7 d) from default" in text
    assert "topic 86400000 ▸ default log.retention.ms 604800000" in text
    (config,) = data("describe topic orders retention.ms")["configs"]
    assert config["type"] == "LONG"
    assert config["without_override"] == {"name": "log.retention.ms", "value": "604800000", "source": "DEFAULT_CONFIG"}


def test_which_broker_gives_what_is_told_where_they_differ():
    own = entry("log.retention.ms", "5000", codes.DYNAMIC_BROKER_CONFIG, LONG)
    others = tuple(e for e in BROKER_SET if e.name != own.name)
    odd = structs.replace(SNAPSHOT, configs=SNAPSHOT.configs | {broker_resource(2): ConfigSet((own, *others))})
    known = entry("log.retention.ms", "604800000", type_=LONG)
    odd = structs.replace(odd, configs=odd.configs | {broker_resource(1): ConfigSet((known, *others))})
    (config,) = data("describe topic payments retention.ms", odd)["configs"]
    assert [(at["broker"], at["value"]) for at in config["by_broker"]] == [(1, "604800000"), (2, "5000")]
    assert "Brokers differ: 1 gives" in render(ask("describe topic payments retention.ms", odd))
    (same,) = data("describe topic payments retention.ms")["configs"]
    assert "by_broker" not in same


def test_what_is_staged_is_marked():
    plan = stage(EMPTY, [SetConfig(ORDERS, "retention.ms", "1000")], SNAPSHOT).plan
    (config,) = data("show topic orders", plan=plan)["configs"]
    assert config["pending"]
    assert "86400000 → 1000" in render(ask("show topic orders", plan=plan))


def test_describe_broker_group_and_cluster_default():
    broker = data("describe broker 2")
    assert (broker["host"], broker["port"], broker["rack"]) == ("localhost", 9092, "rack-2")
    assert broker["replicas"] == 66
    assert {config["name"] for config in broker["configs"]} == {entry.name for entry in BROKER_SET}
    group = data("describe group billing")
    assert (group["state"], group["lag"]) == ("Stable", 10)
    assert group["members"][0]["assignment"] == [{"topic": "orders", "partition": 0}]
    assert group["partitions"][0]["lag"] == 10
    default = data("describe broker <default>")
    assert default["resource_name"] == ""
    assert [config["name"] for config in default["configs"]] == ["log.cleaner.threads"]


def test_describe_quota_entities():
    alice = data("describe user alice")
    assert alice["entity"] == {"user": "alice"}
    values = {quota["key"]: quota["value"] for quota in alice["quotas"]}
    assert values == {"consumer_byte_rate": 50e6, "request_percentage": 200.0}
    assert [client["entity"]["client-id"] for client in alice["clients"]] == [None, "check out"]
    assert alice["scram"] == [{"user": "alice", "mechanism": "SCRAM-SHA-256", "iterations": 4096}]
    pair = {level["key"]: level for level in data("describe user alice client x")["effective"]}
    assert pair["producer_byte_rate"]["entity"] == {"user": "alice", "client-id": None}
    assert pair["producer_byte_rate"]["beaten"] == [{"entity": {"user": None}, "value": 10e6}]
    address = data("describe ip 10.0.0.1")
    assert address["effective"][0]["value"] == 20.0
    assert data("show user alice request_percentage")["quotas"] == [
        {"key": "request_percentage", "value": 200.0, "pending": False}
    ]


def test_effective_limits_also_of_a_client_without_an_id():
    (found,) = data("effective user alice client 'check out' producer_byte_rate")["effective"]
    assert found["value"] == 5e6
    assert [level["value"] for level in found["beaten"]] == [1048576.0, 10e6]
    text = render(ask("effective user alice client 'check out'"))
    assert "each of the 3 brokers" in text
    assert "no limit" in text
    assert "did you mean 'producer_byte_rate'?" in refused("effective user a client b producer_byte_rat").hint
    (found,) = data("effective user alice client '' producer_byte_rate")["effective"]
    assert (found["entity"], found["value"]) == ({"user": None}, 10e6)
    assert "a client without a client id" in render(ask("effective user alice client ''"))
    (statement,) = parse("effective user alice client ''")
    assert needs(statement).quotas_of == {filter_for_name("user", "alice"), filter_for_name("user", None)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("describe topic ordrs", "did you mean 'orders'?"),
        ("describe topic zzz", "list topics"),
        ("describe broker 9", "brokers: 1, 2, 3"),
        ("describe topic orders retention.m", "did you mean 'retention.ms'?"),
        ("describe broker <default> message.max.bytes", "describe broker ID"),
        ("describe user alice nothing", "producer_byte_rate"),
        ("describe retention.ms", "none is selected"),
        ("list topics partions=3", "did you mean 'partitions'?"),
        ("list topics zzz=3", "columns: name"),
        ("list quotas usr=a", "did you mean 'user'?"),
        ("list topics no.such.key=1", "no topics have a config"),
        ("list topics partitions=many", "write for instance partitions=3"),
        ("list topics partitions=", "write for instance partitions=3"),
        ("list topics partitions>1_0", "write for instance partitions>3"),
        ("list topics partitions>٣", "write for instance partitions>3"),
        ("list topics partitions>nan", "write for instance partitions>3"),
        ("list topics retention.ms=soon", "write for instance retention.ms=250ms"),
        ("list topics retention.ms>3MB", "write for instance retention.ms>250ms"),
        ("list topics internal=yes", "write for instance internal=true"),
        ("list topics internal>true", "write for instance internal=true"),
        ("list topics name>a", "name=GLOB"),
        ("list topics name=", "write for instance name=GLOB"),
        ("list topics cleanup.policy>1", "cleanup.policy=GLOB"),
        ("list topics nope>=3", "columns: name"),
        ("list topics 'under_replicated=>0'", "leave the comparison out of the quotes: under_replicated=>VALUE"),
        ("list users 'quotas>1'", "leave the comparison out of the quotes"),
        ("list acls pattern_type=PREFIX", "did you mean 'PREFIXED'?"),
        ("list acls operation=REED", "did you mean 'READ'?"),
        ("list acls pattern_type=MATCH resource_name=a*", "write resource_name=NAME"),
        ("list acls pattern_type!=MATCH", "there are LITERAL, PREFIXED"),
    ],
)
def test_what_is_not_there_is_said(text, words):
    assert words in str(refused(text))


def test_what_sets_a_key_is_said_only_where_the_brokers_alter_it():
    """If a broker describes a key as read-only that kac knows as alterable, because it has another release, the answer
    proposes no statement that sets the key.
    """
    key = "message.max.bytes"
    hint = f"set broker <default> {key}=VALUE sets it"
    assert hint in str(refused(f"describe broker <default> {key}"))
    fixed = {
        resource: ConfigSet(tuple(structs.replace(each, read_only=True, type=codes.ConfigType(3)) for each in configs))
        for resource, configs in SNAPSHOT.configs.items()
        if resource.type == codes.BROKER
    }
    older = structs.replace(SNAPSHOT, configs=SNAPSHOT.configs | fixed)
    assert hint not in str(refused(f"describe broker <default> {key}", older))


def test_what_could_not_be_read_is_said_and_the_rest_is_shown():
    denied = Failure("TOPIC_AUTHORIZATION_FAILED", "no", "Ask for DESCRIBE_CONFIGS on the topic.")
    snapshot = structs.replace(SNAPSHOT, configs={})
    snapshot = with_failures(snapshot, "configs", [("topic orders", denied)])
    found = data("describe topic orders", snapshot)
    assert len(found["partitions"]) == 12
    assert found["errors"][0]["error"] == "TOPIC_AUTHORIZATION_FAILED"
    assert "Ask for DESCRIBE_CONFIGS" in render(ask("describe topic orders", snapshot))
    assert "TOPIC_AUTHORIZATION_FAILED" in refused("show topic orders retention.ms", snapshot).message
    listing = with_failures(SNAPSHOT, "acls", [("", Failure("SECURITY_DISABLED", "No Authorizer", "None needed."))])
    assert data("list acls", structs.replace(listing, acls=()))["errors"][0]["error"] == "SECURITY_DISABLED"


# -- list --------------------------------------------------------------------------------------------------------------


def names(text, snapshot=SNAPSHOT, column=0):
    return [row.cells[column] for row in ask(text, snapshot).rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list topics", ["__consumer_offsets", "orders", "orders-dlq", "payments"]),
        ("list topics orders*", ["orders", "orders-dlq"]),
        ("list topics 'orders*'", []),
        ("list topics pay* *dlq", ["orders-dlq", "payments"]),
        ("list topics internal=true", ["__consumer_offsets"]),
        ("list topics under-replicated=12", ["orders"]),
        ("list topics partitions=1*", ["orders", "orders-dlq"]),
        ("list topics partitions!=1*", ["__consumer_offsets", "payments"]),
        ("list topics under_replicated>0", ["orders"]),
        ("list topics under-replicated>=12 partitions<=12", ["orders"]),
        ("list topics under_replicated<12", ["__consumer_offsets", "orders-dlq", "payments"]),
        ("list topics internal!=True", ["orders", "orders-dlq", "payments"]),
        ("list topics name!=*orders*", ["__consumer_offsets", "payments"]),
        ("list topics retention.ms=1d", ["orders"]),
        ("list topics retention.ms<=1d", ["orders"]),
        ("list topics retention.ms>1d", ["orders-dlq", "payments"]),
        ("list brokers id!=1 id<3", ["2"]),
        ("list quotas request_percentage>=200%", ["user alice"]),
        ("list quotas user!=alice", ["user <default>"]),
        ("list topics retention.ms=86400000", ["orders"]),
        ("list topics retention.ms=6*", ["orders-dlq", "payments"]),
        ("list topics o* retention.ms=6*", ["orders-dlq"]),
        ("list brokers rack=rack-2", ["2"]),
        ("list brokers 1", ["1"]),
        ("list users", ["<default>", "alice", "bob"]),
        ("list users <default>", ["<default>"]),
        ("list clients", ["<default>", "'<default>'", "check out"]),
        ("list clients '<default>'", ["'<default>'"]),
        ("list clients <default>", ["<default>"]),
        ("list ips", ["10.0.0.1"]),
        ("list quotas user=alice", ["user alice", "user alice client <default>", "user alice client check out"]),
        ("list quotas user=<default>", ["user <default>"]),
        ("list quotas client='check out'", ["user alice client check out"]),
        ("list quotas client=*", ["client '<default>'", "user alice client <default>", "user alice client check out"]),
        ("list quotas request_percentage=200", ["user alice"]),
        ("list acls", ["User:alice", "User:bob"]),
        ("list acls principal=User:bob", ["User:bob"]),
        ("list acls operation=read", ["User:alice"]),
        ("list acls permission=deny", ["User:bob"]),
        ("list acls permission=ANY operation=any", ["User:alice", "User:bob"]),
        ("list acls pay", ["User:bob"]),
        ("list groups", ["billing", "empty"]),
        ("list groups state=stable", ["billing"]),
        ("list scram", ["alice"]),
        ("list scram mechanism=SCRAM-SHA-512", []),
    ],
)
def test_lists_and_their_filters(text, expected):
    column = 1 if text.startswith("list brokers") else 0
    assert names(text, column=column) == expected


def test_lists_of_loggers_and_client_metrics():
    assert data("list loggers level=info")["loggers"] == [
        {"broker": 1, "logger": "kafka.server.KafkaApis", "level": "INFO"}
    ]
    metrics = structs.replace(SNAPSHOT, configs={METRICS: ConfigSet((entry("interval.ms", "60000"),))})
    assert data("list client-metrics a*", metrics)["client_metrics"] == [
        {"name": "apps", "metrics": None, "interval_ms": "60000", "match": None}
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_of_a_list_can_be_filtered_by(kind):
    metrics = {METRICS: ConfigSet((entry("interval.ms", "60000"),))}
    quorum = Quorum(1, 7, 100, (QuorumReplica(1, 100, 0, directory_id="AAAA"),), ())
    tokens = {"t1": DelegationToken("t1", "User:alice", "User:bob", 1, 2, 3, ("User:carol",))}
    snapshot = structs.replace(SNAPSHOT, configs=SNAPSHOT.configs | metrics, quorum=quorum, tokens=tokens)
    plugin = Plugin("com.example.Sink", "sink", "1")
    snapshot = connectors.with_connect(snapshot, connectors.cluster(connectors.connector(), plugins=[plugin]))
    version = SchemaVersion(1, 1, "AVRO", "shop.Order")
    snapshot = structs.replace(snapshot, schemas={"orders-value": Subject("orders-value", (version,))})
    flow = Flow(
        "east",
        "west",
        ("east.orders",),
        Beat(1, 1_000, datetime.now(UTC)),
        Beat(1, 1_000, datetime.now(UTC)),
        ((Checkpoint("g", "east.orders", 0, 1, 1), 1),),
        ((OffsetSync("orders", 0, 1, 1), 1),),
        ("main/mirror",),
    )
    read_at = {**snapshot.read_at, Part.MIRRORS: datetime.now(UTC)}
    snapshot = structs.replace(snapshot, mirrors={flow.name: flow}, read_at=read_at)
    table = ask(f"list {kind}", snapshot)
    assert table.rows
    for column in COLUMNS[kind].columns.of("filter"):
        name = column.name
        assert isinstance(ask(f"list {kind} {name}=*", snapshot), Table)
        coded = kind == "acls" and name in ("resource_type", "pattern_type", "operation", "permission")
        if coded or column.type in ("number", "boolean"):  # the column can't have this value
            with pytest.raises(CommandError):
                ask(f"list {kind} {name}=nothing-is-so", snapshot)
        else:
            assert not ask(f"list {kind} {name}=nothing-is-so", snapshot).rows


@given(st.text(max_size=6), st.text(max_size=6))
def test_a_glob_never_fails_and_a_plain_one_matches_itself(pattern, text):
    assert isinstance(glob_test([pattern])(text), bool)
    if not any(char in text for char in "*?["):
        assert glob_test([text])(text)


ADDRESS = QuotaEntity.of({"ip": "1.2.3.4"})

# -- the reads that a statement needs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "describe topic a",
            Needs(
                frozenset({"reassignments", "connect", "groups"}),
                topics=frozenset({"a"}),
                resources=frozenset({topic_resource("a")}),
                tiered=frozenset({"a"}),
                users_of=frozenset({"a"}),
            ),
        ),
        (
            "set broker <default> k=v",
            Needs(frozenset({"cluster"}), resources=frozenset({CLUSTER_DEFAULT}), a_broker=True),
        ),
        ("list topics", Needs(frozenset({"topics"}))),
        ("list topics cleanup.policy=compact", Needs(frozenset({"topics"}), every=frozenset({codes.TOPIC}))),
        ("list loggers", Needs(frozenset({"cluster"}), every=frozenset({codes.BROKER_LOGGER}))),
        ("set user a k=1", Needs(frozenset({"quotas"}), quotas_of=frozenset({filter_for_name("user", "a")}))),
        (
            "list users a b",
            Needs(
                frozenset({"scram"}),
                quotas_of=frozenset({filter_for_name("user", "a"), filter_for_name("user", "b")}),
                acls_of=frozenset({"User:a", "User:b"}),
            ),
        ),
        ("list users a* b", Needs(frozenset({"quotas", "scram", "acls"}))),
        (
            "show ip 1.2.3.4",
            Needs(
                frozenset({"cluster"}),
                quotas_of=frozenset({filter_for_entity(ADDRESS), filter_for_name("ip", None)}),
            ),
        ),
        ("plan", NOTHING),
        ("apply --yes", NOTHING),
    ],
)
def test_what_a_statement_needs(text, expected):
    (statement,) = parse(text)
    assert needs(statement) == expected


@given(names=st.tuples(*[st.sampled_from(["a", "b", None])] * 2))
def test_what_counts_for_a_user_and_a_client_is_all_asked_for(names):
    user, client = names[0] or "alice", names[1] or "x"
    (statement,) = parse(f"effective user {user} client {client}")
    asked = needs(statement).quotas_of
    assert all(any(wanted.finds(level) for wanted in asked) for level in levels(user, client))


def test_what_is_read_for_a_described_key_a_script_and_the_selection():
    (statement,) = parse("describe topic a k")
    assert needs(statement).documentation
    assert needs(statement).every == {codes.BROKER}
    together = needs_of_script(parse("set topic a k=v; set topic b k=v; list quotas"))
    assert together.resources == {topic_resource("a"), topic_resource("b")}
    assert together.parts == {"quotas"}
    (statement,) = parse("describe")
    default = QuotaEntity.of({"ip": None})
    assert needs(statement, default).quotas_of == {filter_for_entity(default)}
    assert needs(statement, ORDERS).resources == {ORDERS}


# -- text --------------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=5))
def test_no_text_of_a_cluster_reaches_the_terminal_as_it_is(cells):
    rows = tuple(Row(pair, {}) for pair in cells)
    text = render(Table("t", (Column("A"), Column("B", True)), rows, title=f"<{cells[0][0]}>"))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert len(text.splitlines()) == len(rows) + 2


def test_hostile_names_stay_in_their_cell():
    name = "evil\x1b[2J\u202e\n"
    snapshot = structs.replace(SNAPSHOT, topics={name: topic(name)})
    text = render(ask("list topics", snapshot))
    assert "evil\\x1b[2J\\u202e\\n" in text
    assert data("list topics", snapshot)["topics"][0]["name"] == name
