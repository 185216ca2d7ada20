"""Tests of `kac configs` without a cluster: its arguments, values, checks, and output formats."""

import csv
import io
import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli.kafka_configs import command_line
from console.cli.kafka_configs import output as forms
from console.cli.kafka_configs.alter import is_scram, quota_changes, scram_changes
from console.cli.kafka_configs.command import ConfigsCommand
from console.cli.kafka_configs.describe import Absent, QuotaConfigs, ResourceConfigs, ScramConfigs, Unread
from console.cli.kafka_configs.output import kafka_lines
from console.cli.kafka_configs.request import ConfigsRequest, request_of
from console.model.cluster import ScramCredential
from console.model.codes import ConfigSource, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, Synonym, topic_resource
from console.model.failure import Failure
from console.model.numbers import java_double
from console.model.quota import QuotaEntity
from console.plan.edits import SetQuota, UpsertScram
from tests.broker.kafka_configs_cases import CASES

SPELLED = command_line.by_spelling(command_line.OPTIONS)


def request(*argv: str) -> ConfigsRequest:
    return request_of(command_line.read_arguments(argv, SPELLED), is_host=lambda host: host != "no.such.host")


def refusal(*argv: str) -> str:
    with pytest.raises(command_line.UsageError) as caught:
        request(*argv)
    return str(caught.value)


# Arguments


@pytest.mark.parametrize(
    "argv",
    [
        ("--topic", "a", "--describe"),
        ("--topic=a", "--describe"),
        ("-topic", "a", "-describe"),
        ("--describe", "--entity-type", "topics", "--entity-name", "a"),
        ("--describe-config", "--entity-type", "topic", "--entity-name", "a", "--broker-list", "h:1"),
        ("--bootstrap-servers", "h:1", "--entity-type", "topics", "--entity-name", "a", "--describe"),
    ],
)
def test_one_thing_is_said_in_many_ways(argv: tuple[str, ...]) -> None:
    assert request(*argv) == ConfigsRequest(alter=False, types=("topics",), names=("a",))


def test_the_spellings_of_the_older_proposal_change_and_unknown_ones_are_asked_back() -> None:
    argv = ("--alter-config", "--entity-type", "client", "--entity-name", "c")
    found = request(*argv, "--added-config", "consumer_byte_rate=1", "--deleted-config", "producer_byte_rate")
    assert found == ConfigsRequest(
        alter=True, types=("clients",), names=("c",), added="consumer_byte_rate=1", deleted=("producer_byte_rate",)
    )
    with pytest.raises(command_line.UsageError, match="topc is not a recognized option") as caught:
        command_line.read_arguments(["--topc", "a"], SPELLED)
    assert caught.value.hint == "did you mean --topic?"


@pytest.mark.parametrize(
    ("argv", "types", "names"),
    [
        (("--user", "u", "--client", "c"), ("clients", "users"), ("c", "u")),
        (("--client", "c", "--user", "u"), ("clients", "users"), ("c", "u")),
        (("--user", "u", "--client-defaults"), ("users", "clients"), ("u", "")),
        (("--user-defaults", "--client", "c"), ("clients", "users"), ("c", "")),
        (("--user-defaults", "--client-defaults"), ("clients", "users"), ("", "")),
        (("--entity-type", "users", "--entity-type", "clients"), ("users", "clients"), ()),
        (
            ("--entity-default", "--entity-type", "users", "--entity-type", "clients", "--entity-name", "c"),
            ("users", "clients"),
            ("", "c"),
        ),
    ],
)
def test_users_and_clients_go_together(argv: tuple[str, ...], types: tuple[str, ...], names: tuple[str, ...]) -> None:
    found = request("--describe", *argv)
    assert (found.types, found.names) == (types, names)


@given(st.lists(st.text(min_size=1).filter(lambda text: not text.startswith("-"))))
def test_words_without_an_option_are_never_passed_over(words: list[str]) -> None:
    argv = ["--describe", "--topic", "a", *words]
    if words:
        assert "belongs to no option" in refusal(*argv)
    else:
        request(*argv)


@given(st.text())
def test_a_value_may_look_like_anything(value: str) -> None:
    assert command_line.read_arguments(["--topic", value], SPELLED).values("topic") == (value,)
    assert command_line.read_arguments([f"--topic={value}"], SPELLED).values("topic") == (value,)


def test_hosts_are_looked_up_and_numbers_are_numbers() -> None:
    assert refusal("--describe", "--ip", "no.such.host").endswith("but it is: no.such.host")
    assert refusal("--describe", "--broker", "4294967296").endswith("but it is: 4294967296")
    request("--describe", "--broker", "-2147483648")


# Values

KEYS = st.text(alphabet=string.ascii_letters + string.digits + "._-$", min_size=1, max_size=12)
PLAIN = st.text(alphabet=string.ascii_letters + string.digits + ".:/ -", max_size=12).map(str.strip)
LISTS = st.lists(PLAIN, min_size=2, max_size=3).map(",".join)


@given(st.dictionaries(KEYS, PLAIN | LISTS, min_size=1, max_size=4), st.sampled_from(["", " "]), st.booleans())
def test_pairs_come_back_as_they_were_put_together(pairs: dict[str, str], space: str, comma: bool) -> None:
    parts = [f"{key}{space}={space}{f'[{value}]' if ',' in value else value}" for key, value in pairs.items()]
    text = f",{space}".join(parts) + ("," if comma else "")
    found = command_line.parse_added(text)
    assert found == {key: value.strip() for key, value in pairs.items()}
    command_line.check_keys(found)


@given(st.text(alphabet="ab=,[] ", max_size=20))
def test_any_text_is_pairs_or_refused_without_being_repeated(text: str) -> None:
    try:
        found = command_line.parse_added(text)
    except command_line.UsageError as error:
        said = str(error)
    else:
        assert all("[" not in value and "]" not in value for value in found.values())
        return
    assert said == command_line.NOT_PAIRS


@pytest.mark.parametrize("text", ["", "a", "a==", "k=a=b", "a=[b,c,d=e", "k=[a,[b,c]]", ",k=v", "secret"])
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(command_line.UsageError) as caught:
        command_line.parse_added(text)
    assert "secret" not in f"{caught.value} {caught.value.hint}"


def test_what_is_a_pair() -> None:
    assert command_line.parse_added("a=b,") == {"a": "b"}
    assert command_line.parse_added("k=[a=b]") == {"k": "a=b"}
    assert command_line.parse_added("c=") == {"c": ""}
    assert command_line.parse_added("a=[b,c], d=e") == {"a": "b,c", "d": "e"}
    assert command_line.parse_added(",") == {}


@given(st.lists(KEYS, min_size=1, max_size=4), st.sampled_from([",", ", ", " ,", ",,"]))
def test_keys_to_delete(keys: list[str], separator: str) -> None:
    assert command_line.parse_deleted((separator.join(keys),)) == tuple(keys)


# Changes


def altered(*argv: str) -> ConfigsRequest:
    return request("--alter", "--add-config", "a=b", *argv)


@given(st.floats(min_value=1e-3, max_value=1e15, allow_nan=False))
def test_a_quota_is_read_as_java_reads_it(value: float) -> None:
    (edit,) = quota_changes(altered("--user", "u"), {"request_percentage": java_double(value)}, (), {})
    assert edit == SetQuota(QuotaEntity.of({"user": "u"}), "request_percentage", value)


@pytest.mark.parametrize("text", ["", "1_0", "nan", "inf", "0x10", "10MB", "NaN", "1 2", "١"])
def test_what_is_no_quota(text: str) -> None:
    with pytest.raises(
        command_line.UsageError, match="Cannot parse quota configuration value for request_percentage: "
    ):
        quota_changes(altered("--user", "u"), {"request_percentage": text}, (), {})


def test_a_password_is_in_no_word_of_ours() -> None:
    user = altered("--user", "u")
    for text in ("hidden", "iterations=1,password=hidden", "iterations=x,password=hidden", "password"):
        with pytest.raises(command_line.UsageError) as caught:
            scram_changes(user, {"SCRAM-SHA-256": text}, ())
        assert "hidden" not in f"{caught.value} {caught.value.hint}"
    (edit,) = scram_changes(user, {"SCRAM-SHA-512": "password=hidden"}, ())
    assert isinstance(edit, UpsertScram)
    assert (edit.iterations, edit.password.reveal()) == (4096, "hidden")
    assert "hidden" not in repr(edit)


def test_quotas_and_credentials_are_told_apart() -> None:
    assert is_scram(altered("--user", "u"), {"SCRAM-SHA-256": ""}, ())
    assert not is_scram(altered("--user", "u"), {"producer_byte_rate": ""}, ("consumer_byte_rate",))
    with pytest.raises(command_line.UsageError, match="Cannot alter both"):
        is_scram(altered("--user", "u"), {"producer_byte_rate": ""}, ("SCRAM-SHA-256",))
    with pytest.raises(command_line.UsageError, match=r"Set\(producer_byte_rat\)") as caught:
        is_scram(altered("--user", "u"), {"producer_byte_rat": ""}, ())
    assert caught.value.hint == "producer_byte_rat: did you mean producer_byte_rate?"


# Output

RETENTION = ConfigEntry(
    "retention.ms",
    "5",
    ConfigSource(1),
    synonyms=(Synonym("retention.ms", "5", ConfigSource(1)), Synonym("log.retention.ms", None, ConfigSource(5))),
)
POLICY = ConfigEntry("cleanup.policy", "delete", ConfigSource(5), read_only=True)
KEY = ConfigEntry("ssl.key", None, ConfigSource(1), sensitive=True)
FOUND = (
    ResourceConfigs("topics", "a\x1b[31m", topic_resource("a"), (POLICY, RETENTION, KEY)),
    ResourceConfigs("brokers", "", CLUSTER_DEFAULT, ()),
    Absent("client-metrics", "m"),
    QuotaConfigs(QuotaEntity.of({"user": "u", "client-id": None}), {"b": 12345678.0, "a": 0.5}),
    ScramConfigs("u", (ScramCredential(ScramMechanism(1), 4096),)),
    Unread("group g", Failure("NO", "no", "")),
)


def test_the_lines_of_kafka_configs() -> None:
    head = "All configs for topic a\\x1b[31m are:"
    own = (
        "  retention.ms=5 sensitive=false "
        "synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5, DEFAULT_CONFIG:log.retention.ms=null}",
        "  ssl.key=null sensitive=true synonyms={}",
    )
    rest = [
        "Default configs for brokers in the cluster are:",
        "The client-metric 'm' doesn't exist and doesn't have dynamic config.",
        "Quota configs for user-principal 'u', the default client-id are a=0.5, b=1.2345678E7",
        "SCRAM credential configs for user-principal 'u' are SCRAM-SHA-256=iterations=4096",
    ]
    inherited = "  cleanup.policy=delete sensitive=false synonyms={}"
    assert list(kafka_lines(FOUND, all_=True)) == [head, inherited, *own, *rest]
    assert list(kafka_lines(FOUND, all_=False)) == [head.replace("All", "Dynamic"), *own, *rest]


def test_the_table_of_the_proposal() -> None:
    lines = list(forms.table_lines(forms.blocks(FOUND[:1])))
    assert lines == [
        "CONFIGS FOR TOPIC a\\x1b[31m",
        "Name             Value   Sensitive  Read-only  Default",
        "cleanup.policy = delete  false      true       true",
        "retention.ms   = 5       false      false      false",
        "ssl.key        = ······  true       false      false",
    ]
    rest = list(forms.table_lines(forms.blocks(FOUND[1:])))
    assert rest[0] == "CONFIGS FOR BROKER <default>"
    assert "NO CONFIGS FOR CLIENT-METRIC m: it does not exist" in rest
    assert "CONFIGS FOR USER u, CLIENT <default>" in rest


def test_the_table_says_that_there_is_nothing() -> None:
    assert list(forms.table_lines(())) == ["NO CONFIGS: none are set"]


@given(st.floats(min_value=1e-3, max_value=1e18, allow_nan=False))
def test_numbers_are_exact_and_large_ones_plain(value: float) -> None:
    text = forms.number_text(value)
    assert float(text) == value
    assert "e" not in text or value < 1


def test_forms_for_scripts_say_the_same() -> None:
    blocks = forms.blocks(FOUND)
    data: Any = json.loads(json.dumps(forms.as_data(blocks)))
    rows = list(csv.DictReader(io.StringIO(forms.csv_text(blocks))))
    flat = [config["name"] for entity in data for config in entity["configs"]]
    assert flat == [row["name"] for row in rows]
    assert data[0]["configs"][2] == {
        "name": "ssl.key",
        "value": None,
        "sensitive": True,
        "read_only": False,
        "default": False,
        "source": "DYNAMIC_TOPIC_CONFIG",
    }
    assert data[3]["entity"] == {"user": "u", "client": None}
    assert not data[2]["exists"]
    assert rows[3]["entity"] == "user=u,client=<default>"


# The command without a cluster


def run(*argv: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    command = ConfigsCommand(lambda _: None, lambda _: pytest.fail("nothing was to be sent"), out=out, err=err)
    return command.run(argv), out.getvalue(), err.getvalue()


def test_help_names_every_option_and_has_examples() -> None:
    code, out, _ = run("--help")
    assert (code, out) == (0, command_line.usage())
    assert all(f"--{option.name}" in out for option in command_line.OPTIONS)
    assert "examples:" in out


def test_what_is_said_of_two_ways_of_zookeeper_and_of_a_password_on_the_line() -> None:
    code, _, err = run("--bootstrap-servers", "h:1", "--config.properties", "f", "--describe", "--topic", "a")
    assert code == 1
    assert err.startswith("You can specify only one in --bootstrap-servers, --config.properties\n")
    code, _, err = run("--zookeeper", "z:2181", "--describe")
    assert code == 1
    assert err == (
        "kac: warning: --zookeeper is ignored: the brokers are asked\nAt least one entity type must be specified\n"
    )
    code, _, err = run("--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=hidden]", "--topic", "a")
    assert code == 1
    code, _, err = run("--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[password=hidden]")
    assert code == 1
    assert "--add-config-file FILE keeps it off" in err
    assert "hidden" not in err


def test_a_bad_file_is_told_with_its_line(tmp_path: Any) -> None:
    file = tmp_path / "a.properties"
    file.write_text("a=b\nc=\\u12\n")
    code, _, err = run("--alter", "--topic", "a", "--add-config-file", str(file))
    assert code == 1
    assert "a.properties: line 2: " in err
    code, _, err = run("--alter", "--topic", "a", "--add-config-file", str(tmp_path / "none"))
    assert code == 1
    assert "none can't be read: No such file or directory" in err


def test_the_page_tells_what_differs_and_why() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kafka-configs.md").read_text(encoding="utf-8")
    for reason in {case.differs for case in CASES if case.differs}:
        assert f"| {reason} |" in page
