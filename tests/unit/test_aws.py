"""IAM of Amazon MSK: signatures beside those of others, and where credentials come from. No cloud is reached."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.net.sasl.msk import AwsMskIamClient  # type: ignore[import-untyped]

from console.admin.aws import AwsLogin, AwsTokens, IamAuthenticator, bearer_token, mechanism_payload
from console.admin.aws_keys import Ask, AwsKeys, _token_service, keys_of, region_of
from console.admin.connections import sasl_login
from console.admin.errors import AdminError, AuthenticationFailed
from console.admin.link import Link
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.secret import Secret
from tests.support.msk_signer import official_token
from tests.wire.fake_broker import API_VERSIONS, METADATA, Conversation, FakeBroker, Received

HOST = "b-1.prod.abc123.c2.kafka.eu-central-1.amazonaws.com"
SECRET = "open/sesame+1"
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true"}
PRINTABLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@given(PRINTABLE, PRINTABLE, st.none() | PRINTABLE, st.integers(0, 4_000_000_000))
def test_the_mechanism_signs_as_kafka_python_does(access: str, secret: str, token: str | None, now: int) -> None:
    theirs = AwsMskIamClient(HOST, access, secret, "eu-central-1", token)
    at = datetime.fromtimestamp(now, UTC)
    theirs.datestamp, theirs.timestamp = at.strftime("%Y%m%d"), at.strftime("%Y%m%dT%H%M%SZ")
    expected = json.loads(theirs.first_message()) | {"user-agent": "kac"}
    keys = AwsKeys(access, Secret(secret), None if token is None else Secret(token), "a test")
    assert json.loads(mechanism_payload(keys, "eu-central-1", HOST, now)) == expected


def url_of(token: str) -> str:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()


@pytest.mark.slow
@pytest.mark.parametrize("session", [None, "a/session+token=="])
def test_tokens_are_signed_as_amazons_own_signer_does(session: str | None) -> None:
    theirs = url_of(official_token("us-east-1", "AKIDEXAMPLE", SECRET, *([session] if session else [])))
    stamp = dict(parse_qsl(urlsplit(theirs).query))["X-Amz-Date"]
    now = datetime.strptime(stamp, "%Y%m%dT%H%M%S%z").timestamp()
    keys = AwsKeys("AKIDEXAMPLE", Secret(SECRET), Secret(session) if session else None, "a test")
    ours = url_of(bearer_token(keys, "us-east-1", now))
    assert urlsplit(ours)[:3] == urlsplit(theirs)[:3]
    # The signer puts a session's token last; a query is signed in the order of its names.
    assert sorted(parts(ours)) == sorted(parts(theirs))


def parts(url: str) -> list[str]:
    """The query as it is encoded, without the client's name."""
    return [part for part in urlsplit(url).query.split("&") if not part.startswith("User-Agent=")]


# Where credentials come from.


def refusal(ask: Ask, profile: str | None = None) -> str:
    with pytest.raises(AuthenticationFailed) as raised:
        keys_of(ask, profile, 5)
    line = f"{raised.value.failure} | {raised.value.failure.remedy}"
    assert "\n" not in line
    assert SECRET not in line
    return line


def test_the_environment(tmp_path: Path) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET, "HOME": str(tmp_path)}
    assert keys_of(Ask(environ), None, 5) == AwsKeys("AKID", Secret(SECRET), None, "the environment")
    assert keys_of(Ask(environ | {"AWS_SESSION_TOKEN": "t"}), None, 5).token == Secret("t")
    del environ["AWS_ACCESS_KEY_ID"]
    assert "lack AWS_ACCESS_KEY_ID" in refusal(Ask(environ))
    assert "no AWS credentials found: environment, web identity, profile, container, instance" in refusal(
        Ask({"HOME": str(tmp_path), **NOWHERE})
    )


def test_profiles(tmp_path: Path) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    answer = {
        "AccessKeyId": "AKOF",
        "SecretAccessKey": SECRET,
        "SessionToken": "t",
        "Expiration": "2040-01-01T00:00:00Z",
    }
    script = tmp_path / "process.py"
    script.write_text(f"print({json.dumps(json.dumps(answer))})")
    (folder / "credentials").write_text(f"[default]\naws_access_key_id=AKDEF\naws_secret_access_key={SECRET}\n")
    (folder / "config").write_text(
        f"[default]\nregion=eu-west-1\n[profile made]\ncredential_process = '{sys.executable}' '{script}'\n"
        "[profile broken]\ncredential_process = false\n"
    )
    ask = Ask({"HOME": str(tmp_path), **NOWHERE})
    assert keys_of(ask, None, 5) == AwsKeys("AKDEF", Secret(SECRET), None, "profile default")
    assert region_of(ask, None) == "eu-west-1"
    made = keys_of(ask, "made", 5)
    assert (made.access_key, made.token) == ("AKOF", Secret("t"))
    assert made.ends == datetime(2040, 1, 1, tzinfo=UTC).timestamp()
    assert keys_of(Ask({"HOME": str(tmp_path), "AWS_PROFILE": "made"}), None, 5) == made
    assert "there is no AWS profile nobody in" in refusal(ask, "nobody")
    assert "credential_process of profile broken: false ended with 1" in refusal(ask, "broken")
    (folder / "credentials").write_text(f"aws_secret_access_key={SECRET}\n")
    assert f"{folder / 'credentials'} can't be read as AWS' files are: line 1 is no [section]" in refusal(ask)


class Metadata:
    """A metadata service of a container and of an instance: what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ends = time.time() + 3600
        self.url = ""

    def answer(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        self.asked.append(f"{method} {path}")
        ends = datetime.fromtimestamp(self.ends, UTC).isoformat()
        keys = {"AccessKeyId": "AKMETA", "SecretAccessKey": SECRET, "Token": "t", "Expiration": ends}
        roles = "/latest/meta-data/iam/security-credentials/"
        if path == "/container":
            return (200, json.dumps(keys)) if headers.get("authorization") == "let me in" else (403, "no")
        if method == "PUT" and path == "/latest/api/token" and "x-aws-ec2-metadata-token-ttl-seconds" in headers:
            return 200, "session"
        if headers.get("x-aws-ec2-metadata-token") != "session":
            return 401, "IMDSv2 only"
        return (200, "broker-role") if path == roles else (200, json.dumps(keys))


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address at which it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    service = Metadata()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body = service.answer(self.command, self.path, headers)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def do_PUT(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with served(Handler) as service.url:
        yield service


def test_a_container(metadata: Metadata, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("let me in\n")
    environ = {
        "HOME": str(tmp_path),
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{metadata.url}/container",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token),
        "http_proxy": "http://127.0.0.1:1",
    }
    found = keys_of(Ask(environ), None, 5)
    assert (found.access_key, found.token, found.source) == ("AKMETA", Secret("t"), "the container's service")
    token.write_text("wrong")
    assert "gave no AWS credentials: it answered 403" in refusal(Ask(environ))
    token.write_text("two\nlines")
    line = refusal(Ask(environ))
    assert "has invalid characters" in line
    assert "two" not in line
    token.unlink()
    assert f"authorization token {token} can't be read: " in refusal(Ask(environ))
    elsewhere = environ | {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://metadata.example/x"}
    assert "names metadata.example, which is not a container's service" in refusal(Ask(elsewhere))


class TokenService:
    """AWS' token service as its reference has it: XML, a code for each refusal. `asked`: the forms."""

    ROLE = "arn:aws:iam::123456789012:role/kafka-ops"

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.url = ""

    def answer(self, form: dict[str, str]) -> tuple[int, str]:
        self.asked.append(form)
        if form.get("WebIdentityToken") != "signed by the cluster":
            return (
                400,
                "<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredTokenException</Code></Error></ErrorResponse>",
            )
        ends = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        keys = {"SessionToken": "t/+=", "SecretAccessKey": SECRET, "Expiration": ends, "AccessKeyId": "ASIAWEB"}
        inner = "".join(f"<{name}>{value}</{name}>\n" for name, value in keys.items())
        return 200, (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<AssumeRoleWithWebIdentityResult><Credentials>\n{inner}</Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>"
        )


@pytest.fixture
def token_service() -> Iterator[TokenService]:
    service = TokenService()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, body = service.answer(dict(parse_qsl(form)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with served(Handler) as service.url:
        yield service


def test_the_web_identity_of_a_pod(token_service: TokenService, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("signed by the cluster\n")
    environ = {
        "HOME": str(tmp_path),
        "AWS_ROLE_ARN": TokenService.ROLE,
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ENDPOINT_URL_STS": token_service.url,
        "http_proxy": "http://127.0.0.1:1",
    }
    found = keys_of(Ask(environ), None, 5)
    assert (found.access_key, found.secret, found.token) == ("ASIAWEB", Secret(SECRET), Secret("t/+="))
    assert found.ends is not None
    assert 3500 < found.ends - time.time() <= 3600
    assert found.source == f"the web identity of role {TokenService.ROLE}"
    asked = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": TokenService.ROLE}
    assert token_service.asked == [{**asked, "RoleSessionName": "kac", "WebIdentityToken": "signed by the cluster"}]

    folder = tmp_path / ".aws"
    folder.mkdir()
    profile = f"[profile irsa]\nrole_arn={TokenService.ROLE}\nweb_identity_token_file={token}\nrole_session_name=me\n"
    (folder / "config").write_text(profile)
    elsewhere = {"HOME": str(tmp_path), "AWS_ENDPOINT_URL_STS": token_service.url}
    assert keys_of(Ask(elsewhere), "irsa", 5).access_key == "ASIAWEB"
    assert token_service.asked[-1]["RoleSessionName"] == "me"

    token.write_text("of yesterday")
    said = refusal(Ask(environ))
    assert "answered 400 ExpiredTokenException" in said
    assert "of yesterday" not in said
    token.unlink()
    assert f"its token {token} can't be read: " in refusal(Ask(environ))
    token.write_text("signed by the cluster")
    clear = environ | {"AWS_ENDPOINT_URL_STS": "http://sts.example"}
    assert "names sts.example without TLS" in refusal(Ask(clear))
    nobody = environ | {"AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"}
    assert "127.0.0.1:1 was not reached" in refusal(Ask(nobody))


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-central-1", "https://sts.eu-central-1.amazonaws.com/"),
        ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn/"),
        (None, "https://sts.amazonaws.com/"),
    ],
)
def test_the_token_service_is_that_of_the_region(region: str | None, url: str) -> None:
    assert _token_service(Ask({}), region) == url


def test_an_instance_by_imds_v2(metadata: Metadata, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url}
    found = keys_of(Ask(environ), None, 5)
    assert (found.access_key, found.source) == ("AKMETA", "the instance's role broker-role")
    roles = "/latest/meta-data/iam/security-credentials/"
    assert metadata.asked == ["PUT /latest/api/token", f"GET {roles}", f"GET {roles}broker-role"]
    assert "no AWS credentials found" in refusal(Ask(environ | NOWHERE))


async def test_temporary_credentials_are_kept_until_shortly_before_their_end(
    metadata: Metadata, tmp_path: Path
) -> None:
    login = AwsLogin(None, 5, Ask({"HOME": str(tmp_path), "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url}))
    metadata.ends = time.time() + 100
    await asyncio.gather(login.payload(HOST), login.payload(HOST))
    assert len(metadata.asked) == 6, "they end soon: asked for each time"
    metadata.ends = time.time() + 3600
    for _ in range(3):
        await login.payload(HOST)
    assert len(metadata.asked) == 9
    shown = "signed with access key AKMETA of the instance's role broker-role, for region eu-central-1"
    assert login.shown() == shown


async def test_the_exchanges(tmp_path: Path) -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": SECRET, "HOME": str(tmp_path), **NOWHERE}
    login = AwsLogin(None, 5, Ask(environ))
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
    named = AwsLogin(None, 5, Ask(environ | {"AWS_REGION": "sa-east-1"}))
    assert b"/sa-east-1/kafka-cluster/" in await named.payload("localhost")


def test_both_forms_are_logins() -> None:
    for mechanism in ("AWS_MSK_IAM", "OAUTHBEARER"):
        login = sasl_login(ConnectionSettings((), "SASL_SSL", SaslSettings(mechanism, options={"aws": "iam"})))
        assert login is not None
        assert login.mechanism == mechanism


async def test_a_login_that_a_broker_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the wire, to a peer that answers as MSK does to an identity without rights."""
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
