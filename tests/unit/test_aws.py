"""Tests of logins by IAM at Amazon MSK: signatures equal those of other libraries, and credentials come from the right
source. No test connects to a cloud.
"""

import asyncio
import base64
import importlib.util
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import botocore.auth
import pytest
from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from botocore.credentials import CredentialProvider, Credentials, SSOProvider
from botocore.tokens import SSOTokenProvider
from botocore.utils import ContainerMetadataFetcher
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.msk import AwsMskIamClient  # type: ignore[import-untyped]

from console.admin.aws import AwsLogin, AwsTokens, IamAuthenticator, bearer_token, mechanism_payload
from console.admin.aws_keys import LARGEST_ANSWER, AwsKeys, AwsSource
from console.admin.connections import sasl_login
from console.admin.errors import AdminError, AuthenticationFailed, Unreachable
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings
from console.extras import how_to_add
from console.model.secret import Secret
from tests.support.http_server import Answer, Asked, answering, serving
from tests.wire.fake_broker import API_VERSIONS, METADATA, Conversation, FakeBroker, Received

HOST = "b-1.prod.abc123.c2.kafka.eu-central-1.amazonaws.com"
SECRET = "open/sesame+1"
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true"}
PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@given(PRINTABLE, PRINTABLE, st.none() | PRINTABLE)
def test_the_mechanism_signs_as_kafka_python_does(access: str, secret: str, token: str | None) -> None:
    keys = AwsKeys(access, Secret(secret), None if token is None else Secret(token), "a test")
    ours = json.loads(mechanism_payload(keys, "eu-central-1", HOST))
    theirs = AwsMskIamClient(HOST, access, secret, "eu-central-1", token)
    theirs.timestamp = ours["x-amz-date"]
    theirs.datestamp = theirs.timestamp[:8]
    assert ours == json.loads(theirs.first_message()) | {"user-agent": "kac"}


def url_of(token: str) -> str:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


@pytest.mark.parametrize("session", [None, "a/session+token=="])
def test_tokens_are_signed_as_amazons_own_signer_does(session: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 28, 20, 15, tzinfo=UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: now)

    class Given(CredentialProvider):
        def load(self) -> Credentials:
            return Credentials("AKIDEXAMPLE", SECRET, session)

    theirs = url_of(MSKAuthTokenProvider.generate_auth_token_from_credentials_provider("us-east-1", Given())[0])
    keys = AwsKeys("AKIDEXAMPLE", Secret(SECRET), Secret(session) if session else None, "a test")
    ours = url_of(bearer_token(keys, "us-east-1"))
    assert urlsplit(ours)[:3] == urlsplit(theirs)[:3]
    assert parts(ours) == parts(theirs)


def parts(url: str) -> list[str]:
    """Return the encoded parameters of a URL's query, except the client's name (User-Agent)."""
    return [part for part in urlsplit(url).query.split("&") if not part.startswith("User-Agent=")]


def test_a_name_of_a_host_stays_within_its_header() -> None:
    keys = AwsKeys("AKID", Secret(SECRET), None, "a test")
    message = json.loads(mechanism_payload(keys, "eu-central-1", "x/?Action=kafka-cluster:Other&"))
    assert (message["host"], message["action"]) == ("x/?Action=kafka-cluster:Other&", "kafka-cluster:Connect")


def test_without_botocore_the_line_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "botocore" else found(name))
    settings = ConnectionSettings((), "SASL_SSL", SaslSettings("AWS_MSK_IAM", options={"aws": "iam"}))
    with pytest.raises(AuthenticationFailed) as raised:
        sasl_login(settings)
    assert "AWS_MSK_IAM of AWS needs botocore" in raised.value.failure.message
    assert raised.value.failure.remedy == f"Install it: {how_to_add('aws')}"


# Sources of credentials


def keys_of(profile: str | None = None, limit: float = 5) -> AwsKeys:
    return AwsSource(profile, limit).keys()


def refusal(profile: str | None = None, limit: float = 5) -> str:
    with pytest.raises(AuthenticationFailed) as raised:
        keys_of(profile, limit)
    line = f"{raised.value.failure} | {raised.value.failure.remedy}"
    assert "\n" not in line
    assert SECRET not in line
    return line


Stand = Callable[[dict[str, str]], None]


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    """Provide a function that sets the given environment variables, removes all other variables of AWS and of proxies,
    and uses an empty home.
    """
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setattr(ContainerMetadataFetcher, "SLEEP_TIME", 0)
    monkeypatch.setattr(SSOTokenProvider, "_SSO_TOKEN_CACHE_DIR", str(home / ".aws/sso/cache"))
    monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(home / ".aws/sso/cache"))

    def stand(environ: dict[str, str]) -> None:
        for name in [each for each in os.environ if each.startswith("AWS_") or each.lower().endswith("_proxy")]:
            monkeypatch.delenv(name)
        for name, text in {"HOME": str(home), **environ}.items():
            monkeypatch.setenv(name, text)

    stand(NOWHERE)
    return stand


def in_home(name: str, text: str) -> Path:
    file = Path(os.environ["HOME"]) / ".aws" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_the_environment(stand: Stand) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET, **NOWHERE}
    stand(environ)
    assert keys_of() == AwsKeys("AKID", Secret(SECRET), None, "the environment")
    stand(environ | {"AWS_SESSION_TOKEN": "t"})
    assert keys_of().token == Secret("t")
    stand({"AWS_ACCESS_KEY_ID": "AKID", **NOWHERE})
    assert "in the environment lack AWS_SECRET_ACCESS_KEY" in refusal()
    stand(NOWHERE)
    assert "no AWS credentials found: environment, web identity, profile, container, instance" in refusal()


def test_profiles(stand: Stand, tmp_path: Path) -> None:
    answer = {
        "Version": 1,
        "AccessKeyId": "AKOF",
        "SecretAccessKey": SECRET,
        "SessionToken": "t",
        "Expiration": "2040-01-01T00:00:00Z",
    }
    script = tmp_path / "process.py"
    script.write_text(f"print({json.dumps(json.dumps(answer))})")
    python = f"'{sys.executable}' '{script}'"
    in_home("credentials", f"[default]\naws_access_key_id=AKDEF\naws_secret_access_key={SECRET}\n")
    in_home(
        "config",
        f"[default]\nregion=eu-west-1\n[profile made]\ncredential_process = {python}\n"
        f"[profile of-made]\nrole_arn=arn:aws:iam::123456789012:role/ops\nsource_profile=broken\n"
        "[profile broken]\ncredential_process = false\n[profile slow]\ncredential_process = sleep 60\n"
        "[profile open]\ncredential_process = 'false\n[profile words]\ncredential_process = echo no JSON\n",
    )
    assert keys_of() == AwsKeys("AKDEF", Secret(SECRET), None, "profile default")
    assert AwsSource(None, 5).region() == "eu-west-1"
    made = keys_of("made")
    assert (made.access_key, made.token) == ("AKOF", Secret("t"))
    assert (made.source, made.ends) == ("credential_process of profile made", datetime(2040, 1, 1, tzinfo=UTC))
    stand({"AWS_PROFILE": "made", **NOWHERE})
    assert keys_of() == made
    assert "there is no AWS profile nobody in" in refusal("nobody")
    assert "credential_process of profile broken: false ended with 1" in refusal("broken")
    assert "credential_process of profile broken: false ended with 1" in refusal("of-made"), "of a source, too"
    assert "credential_process of profile slow: sleep does not end" in refusal("slow", 0.2)
    assert "profile open are not in AWS' form" in refusal("open")
    assert "profile words are not in AWS' form" in refusal("words")
    credentials = in_home("credentials", f"aws_secret_access_key={SECRET}\n")
    assert f"{credentials} can't be read as AWS' files are: line 1 is no [section]" in refusal()


class Metadata:
    """An HTTP handler that acts as the metadata service of containers and of instances, and keeps the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ends = time.time() + 3600
        self.url = ""

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(f"{asked.method} {asked.path}")
        ends = datetime.fromtimestamp(self.ends, UTC).isoformat()
        keys = {"AccessKeyId": "AKMETA", "SecretAccessKey": SECRET, "Token": "t", "Expiration": ends}
        roles, headers = "/latest/meta-data/iam/security-credentials/", asked.headers
        if asked.path == "/container":
            is_let_in = headers.get("authorization") == "let me in"
            return Answer(200, json.dumps(keys)) if is_let_in else Answer(403, "no")
        is_login = asked.method == "PUT" and asked.path == "/latest/api/token"
        if is_login and "x-aws-ec2-metadata-token-ttl-seconds" in headers:
            return Answer(200, "session")
        if headers.get("x-aws-ec2-metadata-token") != "session":
            return Answer(401, "IMDSv2 only")
        return Answer(200, "broker-role" if asked.path == roles else json.dumps(keys))


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    service = Metadata()
    with answering(service.answer) as service.url:
        yield service


def test_a_container(metadata: Metadata, stand: Stand, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("let me in")
    environ = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{metadata.url}/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token),
        "http_proxy": "http://127.0.0.1:1",
    }
    stand(environ)
    found = keys_of()
    assert (found.access_key, found.token, found.source) == ("AKMETA", Secret("t"), "the container's service")
    token.write_text("wrong")
    assert "gave no AWS credentials: it answered 403" in refusal()
    token.write_text("two\nlines")
    line = refusal()
    assert "authorization token has more than one line" in line
    assert "two" not in line
    token.unlink()
    assert f"{token}, which holds AWS credentials, can't be read: No such file" in refusal()
    del environ["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]
    stand(environ | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://metadata.example/x"})
    assert "names a host that is not a container's service" in refusal()


class TokenService:
    """An HTTP handler that acts as AWS' token service: it answers in XML, and refuses with an error code, as AWS'
    reference describes. `asked`: the forms that it got.
    """

    ROLE = "arn:aws:iam::123456789012:role/kafka-ops"

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.url = ""

    def answer(self, asked: Asked) -> Answer:
        form = dict(parse_qsl(asked.body.decode()))
        self.asked.append(form)
        if form.get("WebIdentityToken") != "signed by the cluster":
            error = "<Error><Type>Sender</Type><Code>ExpiredTokenException</Code></Error>"
            return Answer(400, f"<ErrorResponse>{error}</ErrorResponse>")
        ends = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys = {"SessionToken": "t/+=", "SecretAccessKey": SECRET, "Expiration": ends, "AccessKeyId": "ASIAWEB"}
        inner = "".join(f"<{name}>{value}</{name}>\n" for name, value in keys.items())
        return Answer(
            200,
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<AssumeRoleWithWebIdentityResult><Credentials>\n{inner}</Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>",
        )


@pytest.fixture
def token_service() -> Iterator[TokenService]:
    service = TokenService()
    with answering(service.answer) as service.url:
        yield service


def test_the_web_identity_of_a_pod(token_service: TokenService, stand: Stand, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("signed by the cluster")
    environ = {
        "AWS_ROLE_ARN": TokenService.ROLE,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ROLE_SESSION_NAME": "pod",
        "AWS_ENDPOINT_URL_STS": token_service.url,
        "http_proxy": "http://127.0.0.1:1",
    }
    stand(environ)
    found = keys_of()
    assert (found.access_key, found.secret, found.token) == ("ASIAWEB", Secret(SECRET), Secret("t/+="))
    assert found.ends is not None
    assert 3500 < found.ends.timestamp() - time.time() <= 3600
    assert found.source == "a web identity"
    asked = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": TokenService.ROLE}
    assert token_service.asked == [{**asked, "RoleSessionName": "pod", "WebIdentityToken": "signed by the cluster"}]

    in_home(
        "config",
        f"[profile irsa]\nrole_arn={TokenService.ROLE}\nweb_identity_token_file={token}\nrole_session_name=me\n",
    )
    stand({"AWS_ENDPOINT_URL_STS": token_service.url})
    assert keys_of("irsa").access_key == "ASIAWEB"
    assert token_service.asked[-1]["RoleSessionName"] == "me"

    stand(environ)
    token.write_text("of yesterday")
    said = refusal()
    assert "AssumeRoleWithWebIdentity answered 400 ExpiredTokenException" in said
    assert "trusts this identity and its audience" in said
    assert "of yesterday" not in said
    token.unlink()
    assert f"{token}, which holds AWS credentials, can't be read: No such file" in refusal()
    token.write_text("signed by the cluster")
    stand(environ | {"AWS_ENDPOINT_URL_STS": "http://sts.example"})
    assert "sts.example would be asked for AWS credentials without TLS" in refusal()
    stand(environ | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"})
    assert "127.0.0.1:1 was not reached: Connection refused" in refusal()


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-central-1", "https://sts.eu-central-1.amazonaws.com/"),
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/"),
        (None, "https://sts.us-east-1.amazonaws.com/"),
    ],
)
def test_the_token_service_is_that_of_the_region(
    region: str | None, url: str, stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, asked = tmp_path / "token", []
    token.write_text("signed by the cluster")
    environ = {"AWS_ROLE_ARN": TokenService.ROLE, "AWS_WEB_IDENTITY_TOKEN_FILE": str(token)}
    stand(environ | ({"AWS_REGION": region} if region else {}))

    def send(_http: object, request: Any) -> None:
        asked.append(request.url)
        raise OSError(113, "No route to host")

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", send)
    refusal()
    assert asked == [url]


def test_an_instance_by_imds_v2(metadata: Metadata, stand: Stand) -> None:
    environ = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, "http_proxy": "http://127.0.0.1:1"}
    stand(environ)
    found = keys_of()
    assert (found.access_key, found.source) == ("AKMETA", "the instance's role")
    roles = "/latest/meta-data/iam/security-credentials/"
    assert metadata.asked == ["PUT /latest/api/token", f"GET {roles}", f"GET {roles}broker-role"]
    stand(environ | NOWHERE)
    assert "no AWS credentials found" in refusal()


async def test_temporary_credentials_are_kept_until_shortly_before_their_end(metadata: Metadata, stand: Stand) -> None:
    stand({"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url})
    login = AwsLogin(None, 5)
    metadata.ends = time.time() + 100
    await asyncio.gather(login.payload(HOST), login.payload(HOST))
    before = len(metadata.asked)
    await login.payload(HOST)
    assert len(metadata.asked) == before + 3, "they end soon: asked for each time"
    metadata.ends = time.time() + 3600
    await login.payload(HOST)
    for _ in range(3):
        await login.payload(HOST)
    assert len(metadata.asked) == before + 6
    shown = "signed with access key AKMETA of the instance's role, for region eu-central-1"
    assert login.shown() == shown


# Hostile services


class Hostile(BaseHTTPRequestHandler):
    """Answers every request with `answer`."""

    answer: Callable[[BaseHTTPRequestHandler], None]

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        type(self).answer(self)

    do_PUT = do_POST = do_GET  # noqa: N815 - names of http.server's

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def said(status: int, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, text in headers.items():
            handler.send_header(name, text)
        handler.end_headers()
        with suppress(OSError):
            handler.wfile.write(body)

    return answer


def drip(handler: BaseHTTPRequestHandler) -> None:
    """Send the beginning of an answer, then a byte at a time without an end."""
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b"{")
            handler.wfile.flush()
            time.sleep(0.02)


DEEP = b"[" * 200_000
HUGE = b"<a>" + b"x" * (2 * LARGEST_ANSWER)
BOMB = (
    b'<!DOCTYPE a [<!ENTITY a "'
    + b"x" * 1000
    + b'">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 100) for n in range(6))
    + b"]><a>&g;</a>"
)
HOSTILE = {
    "nothing": said(200, b""),
    "text": said(200, b"\x1b[2J open/sesame+1 \xff"),
    "deep": said(200, DEEP),
    "huge": said(200, HUGE),
    "bomb": said(200, BOMB),
    "list": said(200, b"[]"),
    "numbers": said(200, b'{"AccessKeyId": 1, "SecretAccessKey": [], "Token": {}, "Expiration": 1e999}'),
    "time": said(200, b'{"AccessKeyId": "a", "SecretAccessKey": "b", "Token": "c", "Expiration": "\\u001b[2J"}'),
    "error": said(500, b"<ErrorResponse><Error><Code>\x1b[2J</Code></Error></ErrorResponse>"),
    "odd": said(400, b"<Error><Code>&#27;[2Jx</Code><Message>open/sesame+1</Message></Error>"),
    "redirect": said(302, b"", Location="http://127.0.0.1:1/"),
    "drip": drip,
}


@pytest.mark.parametrize("place", ["token service", "container", "instance"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_service_that_answers_anything(kind: str, place: str, stand: Stand, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("signed by the cluster")
    handler = type("Handler", (Hostile,), {"answer": staticmethod(HOSTILE[kind])})
    with serving(handler) as url:
        stand(
            {
                "token service": {
                    "AWS_ROLE_ARN": TokenService.ROLE,
                    "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
                    "AWS_ENDPOINT_URL_STS": url,
                },
                "container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url},
                "instance": {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url},
            }[place]
        )
        began = time.monotonic()
        line = refusal(limit=0.5)
    assert time.monotonic() - began < 20
    assert line.isprintable()


def test_nothing_of_an_answer_is_logged(metadata: Metadata, stand: Stand, caplog: pytest.LogCaptureFixture) -> None:
    stand({"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url})
    with caplog.at_level("DEBUG"):
        keys_of()
    assert not [each for each in caplog.records if each.name.startswith("botocore")]
    assert SECRET not in caplog.text


async def test_a_service_that_does_not_answer_in_time(stand: Stand) -> None:
    handler = type("Handler", (Hostile,), {"answer": staticmethod(drip)})
    with serving(handler) as url:
        stand({"AWS_CONTAINER_CREDENTIALS_FULL_URI": url})
        with pytest.raises(Unreachable, match=r"no AWS credentials within 0.1 s"):
            await AwsLogin(None, 0.1).payload(HOST)


async def test_the_exchanges(stand: Stand) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET, **NOWHERE}
    stand(environ)
    login = AwsLogin(None, 5)
    exchange = IamAuthenticator(login, HOST)
    message = await exchange.step(None)
    assert message is not None
    assert json.loads(message)["host"] == HOST
    assert SECRET.encode() not in message
    assert await exchange.step(b'{"version":"2020_10_22","request-id":"x"}') is None
    serverless = "boot-x.c1.kafka-serverless.us-gov-west-1.amazonaws.com"
    assert url_of(await AwsTokens(login, serverless).token()).startswith("https://kafka.us-gov-west-1.amazonaws.com/?")
    with pytest.raises(AdminError, match="the AWS region of localhost is unknown"):
        await login.payload("localhost")
    stand(environ | {"AWS_REGION": "sa-east-1"})
    assert b"/sa-east-1/kafka-cluster/" in await AwsLogin(None, 5).payload("localhost")


def test_both_forms_are_logins() -> None:
    for mechanism in ("AWS_MSK_IAM", "OAUTHBEARER"):
        login = sasl_login(ConnectionSettings((), "SASL_SSL", SaslSettings(mechanism, options={"aws": "iam"})))
        assert login is not None
        assert login.mechanism == mechanism


async def test_a_login_that_a_broker_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a broker refuses a login, as MSK does without rights, the error names the access key but not the secret."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKREFUSED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value)) + value.encode()

    async def reply(conversation: Conversation, request: Received) -> None:
        if request.key == SASL_HANDSHAKE:
            body = struct.pack(">hi", 0, 1) + text("AWS_MSK_IAM")
        else:
            assert b"x-amz-signature" in request.frame
            assert SECRET.encode() not in request.frame
            body = struct.pack(">h", 58) + text("[1a2b]: Access denied") + struct.pack(">iq", 0, 0)
        await conversation.send(struct.pack(">ii", 4 + len(body), request.correlation_id) + body)

    versions = {API_VERSIONS: (0, 3), METADATA: (0, 12), SASL_HANDSHAKE: (0, 1), SASL_AUTHENTICATE: (0, 1)}
    async with FakeBroker(reply, versions=versions) as broker:
        settings = ConnectionSettings(
            (broker.address,), "SASL_PLAINTEXT", SaslSettings("AWS_MSK_IAM", options={"aws": "iam"})
        )
        link = Link(settings)
        with pytest.raises(AuthenticationFailed) as raised:
            await link.nodes()
        await link.close()
    line = f"{raised.value.failure} | {raised.value.failure.remedy}"
    assert "refused the AWS_MSK_IAM credentials: [1a2b]: Access denied" in line
    assert "signed with access key AKREFUSED of the environment, for region eu-central-1" in line
    assert "Check that this identity may kafka-cluster:Connect" in line
    assert SECRET not in line
