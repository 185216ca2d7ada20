"""Tests of SASL/OAUTHBEARER with tokens from a token endpoint on loopback."""

import asyncio
import base64
import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from console.admin.connections import sasl_login
from console.admin.errors import AdminError, AuthenticationFailed, TlsFailed, Unreachable
from console.admin.jwt import Token, life_of, no_token, unsecured_token
from console.admin.oauth import LONGEST_LIFE, TokenProvider, token_provider
from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.model.secret import Secret
from console.wire import kerberos
from console.wire.sasl import Login
from tests.support.certificates import Authority
from tests.support.http_server import Answer, Asked, answering

SECRET = "open:sesame/ü"


@dataclass
class Endpoint:
    """A token endpoint that keeps the requests, and sends the answer that the test sets."""

    url: str = ""
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    status: int = 200
    answer: object = None
    location: str = ""

    def respond(self, asked: Asked) -> Answer:
        self.asked.append((asked.headers["authorization"], parse_qs(asked.body.decode())))
        given = {"access_token": f"token-{len(self.asked)}", "expires_in": 100, "token_type": "Bearer"}
        body = (
            self.answer if isinstance(self.answer, bytes) else json.dumps(given if self.answer is None else self.answer)
        )
        return Answer(self.status, body, {"Location": self.location} if self.location else {})


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    endpoint = Endpoint()
    with answering(endpoint.respond, tls) as url:
        endpoint.url = f"{url}/token"
        yield endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as endpoint:
        yield endpoint


def credentials(url: str, **options: str) -> SaslSettings:
    return SaslSettings("OAUTHBEARER", "kac", Secret(SECRET), {"token.endpoint.url": url, **options})


async def failure(sasl: SaslSettings) -> AdminError:
    with pytest.raises(AdminError) as caught:
        await token_provider(sasl).token()
    text = f"{caught.value.failure} {caught.value.failure.remedy}"
    assert SECRET not in text
    assert "\n" not in text
    assert text.isprintable()
    return caught.value


async def test_a_token_for_client_credentials(endpoint: Endpoint) -> None:
    sasl = credentials(endpoint.url, scope="kafka read", extension_logicalCluster="lkc-1")
    provider = token_provider(sasl)
    assert await provider.token() == "token-1"
    authorization, form = endpoint.asked[0]
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == f"kac:{SECRET}"
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert provider.extensions() == {"logicalCluster": "lkc-1"}


async def test_the_header_url_encoded(endpoint: Endpoint) -> None:
    await token_provider(credentials(endpoint.url, **{"header.urlencode": "true"})).token()
    assert base64.b64decode(endpoint.asked[0][0].removeprefix("Basic ")) == b"kac:open%3Asesame%2F%C3%BC"
    assert "scope" not in endpoint.asked[0][1]


async def test_a_token_is_used_until_it_is_old(endpoint: Endpoint) -> None:
    now = 0.0
    fetch = token_provider(credentials(endpoint.url))._fetch
    provider = TokenProvider(fetch, {}, clock=lambda: now)
    assert await asyncio.gather(*(provider.token() for _ in range(5))) == ["token-1"] * 5
    now = 79.9
    assert await provider.token() == "token-1"
    now = 80.0
    assert await provider.token() == "token-2"


async def test_a_jwt_tells_its_own_life(endpoint: Endpoint) -> None:
    clock = [0.0]
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + 1000}).encode()).decode().rstrip("=")
    endpoint.answer = {"access_token": f"e30.{claims}.x"}
    fetch = token_provider(credentials(endpoint.url))._fetch
    provider = TokenProvider(fetch, {}, clock=lambda: clock[0])
    for now, asked in ((0.0, 1), (700.0, 1), (801.0, 2)):
        clock[0] = now
        await provider.token()
        assert len(endpoint.asked) == asked


async def test_a_token_of_unknown_life_is_not_kept(endpoint: Endpoint) -> None:
    endpoint.answer = {"access_token": "opaque"}
    provider = token_provider(credentials(endpoint.url))
    assert [await provider.token(), await provider.token()] == ["opaque", "opaque"]
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("life", "kept"),
    [
        ("NaN", None),
        ("Infinity", None),
        ("-Infinity", None),
        ("-5", None),
        ("0", None),
        ("true", None),
        ('"NaN"', None),
        ('"soon"', None),
        ("[]", None),
        ("{}", None),
        ("null", None),
        ('"100"', 100.0),
        ("100.5", 100.5),
        ("1e300", LONGEST_LIFE),
        ("1" + "0" * 400, LONGEST_LIFE),
    ],
)
async def test_a_life_that_is_none_does_not_keep_a_token_for_ever(
    endpoint: Endpoint, life: str, kept: float | None
) -> None:
    endpoint.answer = f'{{"access_token": "t", "expires_in": {life}}}'.encode()
    assert token_provider(credentials(endpoint.url))._fetch() == Token("t", kept)
    provider = token_provider(credentials(endpoint.url))
    await provider.token()
    await provider.token()
    assert len(endpoint.asked) == (2 if kept else 3)
    endpoint.answer = f'{{"access_token": "t", "expires_in": {"[" * 100_000}'.encode()
    assert "without an access_token" in str(await failure(credentials(endpoint.url)))


@pytest.mark.parametrize("exp", ["NaN", "Infinity", "1e400", "-1", "1" + "0" * 400, "[]"])
def test_a_jwt_that_never_ends_is_kept_for_a_day_at_most(exp: str) -> None:
    claims = base64.urlsafe_b64encode(f'{{"exp": {exp}}}'.encode()).decode().rstrip("=")
    life = life_of(f"e30.{claims}.")
    assert life is None or 0 < life <= LONGEST_LIFE


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST"])
async def test_a_proxy_never_gets_what_is_for_this_machine(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, name: str, host: str
) -> None:
    with serving() as proxy:
        monkeypatch.setenv(name, proxy.url.removesuffix("/token"))
        for none in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(none, raising=False)
        await token_provider(credentials(endpoint.url.replace("127.0.0.1", host))).token()
    assert (len(endpoint.asked), proxy.asked) == (1, [])


async def test_refused_credentials_and_an_endpoint_in_trouble(endpoint: Endpoint) -> None:
    endpoint.status, endpoint.answer = 401, {"error": "invalid_client", "error_description": f"no\n\x1b[31m {SECRET}"}
    error = await failure(credentials(endpoint.url))
    assert isinstance(error, AuthenticationFailed)
    assert f"the token endpoint {endpoint.url} answered 401: invalid_client no[31m ······" in error.failure.message
    assert "secret or key, and the scope" in error.failure.remedy
    endpoint.status, endpoint.answer = 503, b"<html>"
    error = await failure(credentials(endpoint.url))
    assert isinstance(error, Unreachable)
    assert error.failure.message == f"the token endpoint {endpoint.url} answered 503"


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", [], {"access_token": 5}, {"token": "x"}, {"access_token": "a b\x01"}]
)
async def test_answers_that_hold_no_token(endpoint: Endpoint, answer: object) -> None:
    endpoint.answer = answer
    assert isinstance(await failure(credentials(endpoint.url)), AuthenticationFailed)


async def test_redirects_get_no_credentials(endpoint: Endpoint) -> None:
    with serving() as elsewhere:
        endpoint.status, endpoint.location = 302, elsewhere.url
        error = await failure(credentials(endpoint.url))
    assert "answered 302" in error.failure.message
    assert elsewhere.asked == []


async def test_an_endpoint_that_is_not_there_or_without_tls_gets_no_secret() -> None:
    with serving() as endpoint:
        pass
    error = await failure(credentials(endpoint.url))
    assert isinstance(error, Unreachable)
    assert f"the token endpoint {endpoint.url} can't be reached: Connection refused" in error.failure.message
    for url in ("http://idp.example/token", "http://127.0.0.1.idp.example/t", "ftp://localhost/t", "idp.example"):
        error = await failure(credentials(url))
        assert isinstance(error, AuthenticationFailed)
        assert "is not https" in error.failure.message
    assert "me:pw" not in str(await failure(credentials("http://me:pw@idp.example/token")))


async def test_an_endpoint_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/token"
        slow = credentials(url, **{"read.timeout.ms": "50"})
        error = await failure(slow)
        assert isinstance(error, Unreachable)
        assert error.failure.message == f"the token endpoint {url} can't be reached: no answer in time"

        never = threading.Event()
        provider = TokenProvider(lambda: (never.wait(10), Token("x", None))[1], {}, limit=0.05)
        with pytest.raises(Unreachable, match=r"no token within 0.05 s"):
            await provider.token()
        never.set()


async def test_an_endpoint_with_a_certificate_of_its_own_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority.issue("idp", "127.0.0.1").pem)
    with serving(tls) as endpoint:
        error = await failure(credentials(endpoint.url))
        assert isinstance(error, TlsFailed)
        assert "is not trusted" in error.failure.message
        assert "ssl.truststore.location among the options of sasl.jaas.config" in error.failure.remedy
        trusting = TlsSettings(trust=Store("PEM", authority.pem))
        options = {"token.endpoint.url": endpoint.url}
        provider = token_provider(SaslSettings("OAUTHBEARER", "kac", Secret("s"), options, trusting))
        assert await provider.token() == "token-1"


async def test_a_token_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a token"
    file.write_text("first\n")
    provider = token_provider(SaslSettings("OAUTHBEARER", options={"token.endpoint.url": file.as_uri()}))
    assert await provider.token() == "first"
    file.write_text("second")
    assert await provider.token() == "second"
    file.unlink()
    with pytest.raises(AuthenticationFailed, match="a token can't be read"):
        await provider.token()


async def test_a_token_as_given_and_one_that_nobody_signed() -> None:
    assert await token_provider(SaslSettings("OAUTHBEARER", password=Secret("abc"))).token() == "abc"
    token = await token_provider(SaslSettings("OAUTHBEARER", "alice")).token()
    header, claims, signature = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
    assert (json.loads(header), signature) == ({"alg": "none"}, b"")
    assert json.loads(claims)["sub"] == "alice"
    assert unsecured_token("alice", now=lambda: 5.0) == unsecured_token("alice", now=lambda: 5.9)


async def test_the_first_message_of_each_mechanism() -> None:
    def login(sasl: SaslSettings | None, protocol: str = "SASL_SSL") -> Login | None:
        return sasl_login(ConnectionSettings((), protocol, sasl))

    async def first(sasl: SaslSettings) -> bytes:
        found = login(sasl)
        assert found is not None
        assert found.mechanism == sasl.mechanism
        step = await found.begin("broker.example").step(None)
        assert step is not None
        return step

    scram = SaslSettings("SCRAM-SHA-256", "al=ice,", Secret("p"))
    assert re.fullmatch(rb"n,,n=al=3Dice=2C,r=\w+", await first(scram))
    assert login(scram, "SSL") is None
    assert await first(SaslSettings("PLAIN", "alice", Secret("p\u00fc"))) == b"\0alice\0p\xc3\xbc"
    options = {"extension_logicalCluster": "lkc-1", "extension_identityPoolId": "pool-1"}
    bearer = await first(SaslSettings("OAUTHBEARER", password=Secret("abc"), options=options))
    assert bearer == b"n,,\x01auth=Bearer abc\x01logicalCluster=lkc-1\x01identityPoolId=pool-1\x01\x01"
    for incomplete in (None, SaslSettings("PLAIN", "alice"), SaslSettings("PLAIN", password=Secret("p"))):
        with pytest.raises(AuthenticationFailed):
            login(incomplete)


def test_kerberos_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "LIBRARIES", ("libno_such_gssapi.so.2",))
    kerberos._library.cache_clear()
    with pytest.raises(AuthenticationFailed, match="which has no libno_such_gssapi"):
        sasl_login(ConnectionSettings((), "SASL_SSL", SaslSettings("GSSAPI")))
    kerberos._library.cache_clear()


async def test_the_former_token_is_used_while_there_is_no_new_one() -> None:
    clock, answers = [0.0], [Token("first", 100.0)]

    def fetch() -> Token:
        if not answers:
            raise no_token("the endpoint is down", "Wait.")
        return answers.pop()

    provider = TokenProvider(fetch, {}, clock=lambda: clock[0])
    for clock[0] in (0.0, 79.0, 81.0, 94.0):
        assert await provider.token() == "first"
    clock[0] = 96.0
    with pytest.raises(AuthenticationFailed, match="the endpoint is down"):
        await provider.token()
    answers.append(Token("second", 100.0))
    assert await provider.token() == "second"
