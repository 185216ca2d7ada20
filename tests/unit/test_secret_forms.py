"""Tests that a text with the form of a secret is replaced in answers to MCP clients, the log, the history, the journal
and bug reports.
"""

import base64
import json
import logging
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.checks import Check, Health
from console.cli.bug_report import _checks
from console.cli.mcp.bounds import fitted
from console.journal.entries import Answered, Ended, note_line
from console.language.secret_values import redact
from console.log_file import WithoutSecrets
from console.model.changes import Status
from console.model.failure import Failure
from console.model.numbers import EPOCH
from console.sensitive import data_without_secrets, without_secrets

WORD = "hunter2Hunter2hunter2Hunter2"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


HEADER, PAYLOAD = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"RS256"}', b'{"sub":"x"}'))
FORMS: dict[str, tuple[str, str]] = {
    "basic": ("Authorization: Basic {}", encoded(f"admin:{WORD}")),
    "basic without a header": ("sent basic {} to the registry", encoded(f"admin:{WORD}")),
    "bearer": ("Authorization: Bearer {}", WORD),
    "another scheme": ("authorization=Token {}", WORD),
    "no scheme": ('"Authorization": "{}"', WORD),
    "a token": ("got {} from the service", f"{HEADER}.{PAYLOAD}.{WORD}"),
    "a token, unsigned": ("x={}", f"{HEADER}.{PAYLOAD}."),
    "PEM": ("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", WORD),
    "PEM, encrypted": ("-----BEGIN ENCRYPTED PRIVATE KEY-----\\n{}\\n-----END ENCRYPTED PRIVATE KEY-----", WORD),
    "PEM, cut": ("-----BEGIN RSA PRIVATE KEY-----\n{}", WORD),
    "a URL": ("jdbc:postgresql://kafka:{}@db:5432/x", WORD),
    "a URL with an @ in it": ("amqp://kafka:{}@mq/x", f"p@{WORD}"),
    "a URL with a token": ("https://{}@git.example/x", WORD),
    "SAS": ("https://a.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}&se=2026", f"{WORD}%3D"),
    "SAS in a URL": ("https://x/?next=https%3A%2F%2Fa%2Fc%3Fsp%3Dr%26sig%3D{}", WORD),
    "S3": ("https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}", WORD),
    "S3's session": ("https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}&X-Amz-Date=1", WORD),
    "Google": ("https://storage.googleapis.com/b/k?X-Goog-Signature={}", WORD),
    "AWS' header": ("AWS4-HMAC-SHA256 SignedHeaders=host, Signature={}", WORD),
    "user info": ("basic.auth.user.info={}", f"admin:{WORD}"),
    "user info of a registry": ("value.converter.schema.registry.basic.auth.user.info: {}", f"a:{WORD}"),
    "an account": ("fs.azure.account.key.acct.dfs.core.windows.net={}", f"{WORD}=="),
    "a connection string": ("DefaultEndpointsProtocol=https;AccountKey={};EndpointSuffix=x", f"{WORD}=="),
    "JAAS": ('sasl.jaas.config=org.x.PlainLoginModule required username="a" password="{}";', WORD),
    "a service's token": ("remote: {} was refused", f"ghp_{WORD}"),
    "a service's URL": ("posted to https://hooks.slack.com/services/{}", f"T0/B0/{WORD}"),
    "a URL with a slash in it": ("jdbc:postgresql://kafka:{}@db:5432/x", f"ab/{WORD}"),
    "a URL with escaped slashes": (r'"https:\/\/kafka:{}@db\/x"', WORD),
    "a URL in a URL": ("?next=https%3A%2F%2Fadmin%3A{}%40host%2F", WORD),
    "a URL with a token and a name": ("https://{}:x-oauth-basic@git.example/x", WORD),
    "curl": ("curl -u admin:{} https://registry:8081", WORD),
    "an option": ("ended with 1: --db-password {} is wrong", WORD),
    "a cookie": ("Set-Cookie: session={}; HttpOnly", WORD),
    "a pair as Connect has it": ('"name": "database.password", "value": "{}"', WORD),
    "a refusal of Kafka's": ("Invalid value {} for configuration my.password: is short", f"a b {WORD}"),
    "an arrow": ("'password' => '{}'", WORD),
    "bytes of Python": ("{{'password': b'{}'}}", WORD),
    "a list": ('"passwords": ["x", "{}"]', WORD),
    "an object": ('"credentials": {{"user": "a", "pw": "{}"}}', WORD),
    "a block of YAML": ("password: |\n  {}\n", WORD),
    "a comma in it": ("password={}", f"a,b;{WORD}"),
    "a token's proof": ("hmac={}", f"{WORD}="),
    "a key store's key": ("ssl.keystore.key={}", WORD),
    "a store's password": ("keytool -storepass={}", WORD),
    "an assertion": ("client_assertion={}", WORD),
}  # fmt: skip


def in_the_log(text: str) -> str:
    return WithoutSecrets("%(message)s").format(logging.LogRecord("x", logging.INFO, "", 0, "%s", (text,), None))


def in_the_journal(text: str) -> str:
    ended = Ended(Status.FAILED, Failure("INVALID_CONFIG", text, ""))
    return note_line(Answered(1, 1, EPOCH, {0: ended})).decode()


PLACES: dict[str, Callable[[str], str]] = {
    "to an agent": lambda text: json.dumps(fitted({"rows": [{"name": "note", "value": text, "message": text}]}).data),
    "in the log": in_the_log,
    "in the journal": in_the_journal,
    "in a bug report": lambda text: _checks([Check("brokers", Health.BAD, text, "look")]).decode(),
    "in the history": lambda text: redact(f"set topic orders note={json.dumps(text)}"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_comes_out_nowhere(form: str, place: Callable[[str], str]) -> None:
    text, secret = FORMS[form]
    shown = place(text.format(secret))
    assert secret not in shown
    assert WORD not in shown


def as_config_of_a_connector(text: str) -> str:
    return json.dumps({"name": "sink", "config": {"tasks.max": "1", "note": text, "database.password": WORD}})


def within_json(text: str) -> str:
    return json.dumps({"error": as_config_of_a_connector(text)})


def within_two(text: str) -> str:
    return json.dumps([within_json(text)])


WRAPPED = (as_config_of_a_connector, within_json, within_two)


@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from([str, *WRAPPED]),
    st.text(max_size=30),
    st.text(alphabet=" \n\"'{}[],.:;=", max_size=4),
    st.sampled_from([*PLACES.values()]),
)
def test_whatever_stands_around_it(
    form: str, wrap: Callable[[str], str], before: str, between: str, place: Callable[[str], str]
) -> None:
    text, secret = FORMS[form]
    shown = place(wrap(f"{before} {text.format(secret)}{between}"))
    assert WORD not in shown
    assert secret not in shown


@pytest.mark.parametrize("wrap", WRAPPED)
def test_json_within_json_keeps_what_is_no_secret(wrap: Callable[[str], str]) -> None:
    shown = without_secrets(wrap("x"), "[hidden]")
    assert "tasks.max" in shown
    assert WORD not in shown


def test_a_password_with_quotes_in_json_within_json_goes_as_a_whole() -> None:
    inner = json.dumps({"password": f'a"b\\{WORD}', "tasks": "7"})
    shown = without_secrets(json.dumps({"config": inner}), "[hidden]")
    assert WORD not in shown
    assert '\\"tasks\\": \\"7\\"' in shown


HARMLESS = (
    "orders", "orders.basic.auth", "payments-bearer", "__consumer_offsets", "my_topic-7", "eyJhbGciOiJSUzI1NiJ9",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", "SASL_SSL", "OAUTHBEARER",
    "MkU3OEVBNTcwNTJENDM2Qg", "LBHTPRWaSHiNC--vty2UQw", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "4.3-IV0", "3.9.1",
    "Basic authentication is required", "basic understanding of topics", "Topic authorization failed.",
    "authorization: denied", "Not authorized to access topics: [orders]", "TOPIC_AUTHORIZATION_FAILED",
    "https://registry.example:8081/subjects", "broker-1.example.com:9092,broker-2.example.com:9092",
    "http://host:8080/x?design=modern&sign=plus", "ssh://ops@bastion", "User:alice@example.com",
    "SASL_SSL://0.0.0.0:9094,CONTROLLER://:9093", "s3://bucket/lake", "/var/lib/kafka/data-0", "retention.ms=604800000",
    "min.insync.replicas=2", "cleanup.policy=compact,delete", "2026-11-28T17:00:00.123Z", "-----BEGIN CERTIFICATE-----",
    "topic password-resets: UNKNOWN_TOPIC_OR_PARTITION", "group token-service: lag 5000", "Bearer token required",
    "Error getting request for apiKey: METADATA, apiVersion: 99", "apiKey=3", "hvs.orders-by-customer-and-region",
    "SASL mechanism OAUTHBEARER: no login", "ssl.key.password.file=/etc/kafka/password", "xoxb-orders-topic-name-long",
    "Invalid value 5 for configuration retention.ms: must be more", "http://host:8080/a@b", "--password-file x",
    "PLAINTEXT://host:9092,OTHER://a@b", "Invalid value [hidden] for configuration ssl.key.password: too short",
    "group.consumer.assignors=org.apache.kafka.coordinator.group.assignor.UniformAssignor", "consumer-orders-1-2f4a9c",
    "log.message.timestamp.type=CreateTime", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
)  # fmt: skip


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_stays(text: str) -> None:
    assert without_secrets(text, "[hidden]") == text
    assert data_without_secrets({"value": [text]}, "[hidden]") == {"value": [text]}


NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", min_size=1, max_size=249)


@given(NAMES)
def test_names_of_topics_groups_and_ids_stay(name: str) -> None:
    assert without_secrets(f"topic {name} has 3 partitions", "[hidden]") == f"topic {name} has 3 partitions" or any(
        word in name.lower() for word in ("ghp_", "glpat-", "xox", "aiza", "dapi", "_live_")
    )


@given(st.sampled_from(sorted(FORMS)))
def test_what_was_hidden_once_stays_as_it_is(form: str) -> None:
    text, secret = FORMS[form]
    once = without_secrets(text.format(secret), "[hidden]")
    assert without_secrets(once, "[hidden]") == once
