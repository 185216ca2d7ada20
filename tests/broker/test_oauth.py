"""Tests of OAUTHBEARER logins: a broker of 4.3 checks the tokens with Kafka's own validator; a strict identity provider
on this machine issues them.
"""

import json
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from msgspec.structs import replace

from console.admin.cluster import describe_cluster
from console.admin.errors import AdminError, AuthenticationFailed, Unreachable
from console.contexts import Context, load, resolve
from tests.scenarios.test_doctor import doctor
from tests.support import patience, real_clusters, worlds
from tests.support.kafka_cluster import JVM, KafkaCluster
from tests.support.oidc_server import OidcServer, oidc_server

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
RETRIEVER = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"
LISTENER = "listener.name.sasl_ssl.oauthbearer."
SECRET = "open sesame"
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

provider = worlds.running(oidc_server, scope="module")


@pytest.fixture(autouse=True)
def usual(provider: OidcServer) -> None:
    """Before each test, restore the settings of the identity provider that tests change."""
    provider.secrets = {"kac": SECRET}
    provider.keys = {}
    provider.life, provider.audience, provider.is_down = 60, "kafka", False
    provider.asked.clear()


@pytest.fixture(scope="module")
def cluster(provider: OidcServer) -> Iterator[KafkaCluster]:
    """Provide a broker of Kafka 4.3 that accepts the tokens of this identity provider."""
    handler = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
    properties = {
        f"{LISTENER}sasl.server.callback.handler.class": handler,
        f"{LISTENER}sasl.oauthbearer.jwks.endpoint.url": provider.jwks_url,
        f"{LISTENER}sasl.oauthbearer.expected.audience": "kafka",
        f"{LISTENER}sasl.oauthbearer.expected.issuer": provider.url,
        f"{LISTENER}sasl.oauthbearer.clock.skew.seconds": "0",
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.jwks_url}"
    yield from real_clusters.running(
        lambda: KafkaCluster(
            brokers=1, security="secure", request_log=True, properties=properties, jvm_options=(*JVM, allowed)
        )
    )


@pytest.fixture
def configure(cluster: KafkaCluster, tmp_path: Path) -> Callable[..., Context]:
    """Provide a function that takes further lines of a client.properties, options of the login module and
    environment variables, and returns the context that kac reads from them.
    """

    def write(*lines: str, jaas: str = "", **environ: str) -> Context:
        file = tmp_path / "client.properties"
        file.touch(mode=0o600)
        usual = (
            f"bootstrap.servers={cluster.bootstrap}",
            "security.protocol=SASL_SSL",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={cluster.authority.pem}",
            "sasl.mechanism=OAUTHBEARER",
            f"sasl.jaas.config={MODULE} required {jaas};",
        )
        file.write_text("\n".join((*usual, *lines, "")), encoding="latin-1")
        context = resolve(load(environ, tmp_path, cwd=tmp_path), command_config=file)
        assert context.warnings == ()
        return context

    return write


def endpoint(provider: OidcServer) -> str:
    return f"sasl.oauthbearer.token.endpoint.url={provider.token_url}"


CREDENTIALS = f'clientId=kac clientSecret="{SECRET}"'


async def principal(cluster: KafkaCluster, context: Context) -> str:
    """Send a request in this context; return the client's principal in the broker's request log."""
    client_id = f"oauth-{secrets.token_hex(4)}"
    async with worlds.linked(replace(context.settings, client_id=client_id)) as link:
        await describe_cluster(link)
    return cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)[0].principal


async def refusal(context: Context, kind: type[AdminError] = AuthenticationFailed) -> str:
    """Connect in this context, and return the one line that an operator sees for the error. Fails if no error of this
    kind is raised, or if the line contains a secret or a token.
    """
    async with worlds.linked(context.settings) as link:
        with pytest.raises(kind) as caught:
            await describe_cluster(link)
    failure = caught.value.failure
    line = f"{failure} | {failure.remedy}"
    assert "\n" not in line
    assert SECRET not in line
    assert "eyJ" not in line, "a part of a token"
    return line


def pem(key: Key, password: str | None = None) -> bytes:
    protection = NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)


def signing(provider: OidcServer, file: Path, *more: str) -> tuple[str, ...]:
    """Return the properties for an assertion that is signed with the private key in this file."""
    assertion = "sasl.oauthbearer.assertion."
    return (
        endpoint(provider),
        f"{assertion}private.key.file={file}",
        f"{assertion}claim.iss=kac",
        f"{assertion}claim.sub=kac",
        f"{assertion}claim.aud={provider.token_url}",
        f"{assertion}claim.jti.include=true",
        *more,
    )


async def test_client_credentials_with_scope_audience_and_extensions(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context]
) -> None:
    jaas = f"{CREDENTIALS} audience=kafka extension_logicalCluster=lkc-1 extension_identityPoolId=pool-1"
    assert await principal(cluster, configure(endpoint(provider), "sasl.oauthbearer.scope=admin", jaas=jaas)) == (
        "User:alice"
    )
    assert provider.asked == [{"grant_type": "client_credentials", "scope": "admin", "audience": "kafka"}]


@pytest.mark.parametrize("grant", [False, True])
@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_an_assertion_with_a_key_that_is_encrypted(
    cluster: KafkaCluster,
    provider: OidcServer,
    configure: Callable[..., Context],
    tmp_path: Path,
    algorithm: str,
    grant: bool,
) -> None:
    """kac logs in with an assertion that it signs with an encrypted key. grant: whether the assertion is the grant
    (KIP-1139), or replaces the client's secret (KIP-1258).
    """
    key: Key = (
        rsa.generate_private_key(65537, 2048) if algorithm == "RS256" else ec.generate_private_key(ec.SECP256R1())
    )
    provider.keys["kac"] = key.public_key()
    file = tmp_path / "assertion.pem"
    file.write_bytes(pem(key, SECRET))
    lines = signing(
        provider,
        file,
        f"sasl.oauthbearer.assertion.algorithm={algorithm}",
        "sasl.oauthbearer.assertion.private.key.passphrase=${env:PASSPHRASE}",
        *([f"sasl.oauthbearer.jwt.retriever.class={RETRIEVER}"] if grant else []),
    )
    assert await principal(cluster, configure(*lines, PASSPHRASE=SECRET)) == "User:alice"
    assert ("assertion" if grant else "client_assertion") in provider.asked[0]
    line = await refusal(configure(*lines, PASSPHRASE="open barley"))
    assert f"the assertion's key {file} does not open with this passphrase" in line
    assert "barley" not in line
    assert "is encrypted, and its passphrase is missing" in await refusal(configure(*signing(provider, file)))

    file.write_bytes(pem(rsa.generate_private_key(65537, 2048)))
    if algorithm == "ES256":
        assert f"the assertion's key {file} is not one for ES256" in await refusal(configure(*lines, PASSPHRASE=SECRET))
    else:
        assert "the assertion's signature is wrong" in await refusal(configure(*lines, PASSPHRASE=SECRET))


async def test_an_assertion_of_a_file_and_of_a_template(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context], tmp_path: Path
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    provider.keys["template"] = key.public_key()
    (tmp_path / "key.pem").write_bytes(pem(key))
    template = tmp_path / "template.json"
    content = {"header": {"kid": "k"}, "payload": {"iss": "template", "aud": provider.token_url}}
    template.write_text(json.dumps(content))
    lines = (
        endpoint(provider),
        f"sasl.oauthbearer.jwt.retriever.class={RETRIEVER}",
        f"sasl.oauthbearer.assertion.private.key.file={tmp_path / 'key.pem'}",
        f"sasl.oauthbearer.assertion.template.file={template}",
    )
    assert await principal(cluster, configure(*lines)) == "User:alice"
    assertion = tmp_path / "assertion"
    assertion.write_text(provider.asked[0]["assertion"] + "\n")
    from_file = (endpoint(provider), f"sasl.oauthbearer.assertion.file={assertion}")
    assert await principal(cluster, configure(*from_file)) == "User:alice"
    template.write_text("[]")
    assert "is not JSON with header and payload" in await refusal(configure(*lines))
    assertion.unlink()
    assert f"{assertion} can't be read: No such file" in await refusal(configure(*from_file))


async def test_a_token_of_a_command(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context], tmp_path: Path
) -> None:
    script = tmp_path / "token of mine.py"

    def command(code: str) -> str:
        script.write_text(f"import json, sys\n{code}\n")
        # In a properties file, backslashes and quotes have to be escaped once more.
        return f"sasl.oauthbearer.token.command={shlex.quote(sys.executable)} {shlex.quote(str(script))}"

    assert await principal(cluster, configure(command(f"print({provider.issue()!r})"))) == "User:alice"
    as_json = command(f"print(json.dumps({{'access_token': {provider.issue(sub='admin')!r}, 'expires_in': 60}}))")
    assert await principal(cluster, configure(as_json)) == "User:admin"
    line = await refusal(configure(command("sys.exit('first\\nPlease log in: az login')")))
    assert "the token's command python" in line
    assert "ended with 1: Please log in: az login" in line
    assert "wrote as the token is empty" in await refusal(configure(command("")))
    assert "can't be run: No such file" in await refusal(configure("sasl.oauthbearer.token.command=no-such-program x"))


async def test_a_file_whose_token_is_renewed(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context], tmp_path: Path
) -> None:
    """When the broker ends a session because the token expires, kac reads the next token from the file, and the session
    continues on the same connection.
    """
    file = tmp_path / "token"
    context = configure(f"sasl.oauthbearer.token.endpoint.url={file.as_uri()}")
    client_id = f"oauth-{secrets.token_hex(4)}"
    file.write_text(provider.issue(exp=int(time.time()) + 4))
    async with worlds.linked(replace(context.settings, client_id=client_id)) as link:
        await describe_cluster(link)
        file.write_text(provider.issue(exp=int(time.time()) + 60))
        await patience.for_seconds(6, lambda: describe_cluster(link))
    asked = cluster.request_log.wait_for(2, "DESCRIBE_CLUSTER", client_id=client_id)
    assert len({each.connection for each in asked}) == 1


async def test_a_token_of_an_endpoint_is_renewed_and_outlives_an_endpoint_that_is_down(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context]
) -> None:
    provider.life = 8
    context = configure(endpoint(provider), jaas=CREDENTIALS)
    client_id = f"oauth-{secrets.token_hex(4)}"
    async with worlds.linked(replace(context.settings, client_id=client_id)) as link:
        await patience.for_seconds(12, lambda: describe_cluster(link))
        assert len(provider.asked) >= 2
        asked = cluster.request_log.wait_for(2, "DESCRIBE_CLUSTER", client_id=client_id)
        assert len({each.connection for each in asked}) == 1
        provider.is_down = True
        with pytest.raises(AdminError) as raised:
            await patience.without_end(lambda: describe_cluster(link))
    assert f"the token endpoint {provider.token_url} answered 503" in str(raised.value.failure)


async def test_what_is_wrong_with_a_token(
    provider: OidcServer, configure: Callable[..., Context], tmp_path: Path
) -> None:
    """If the broker refuses a token, it only answers `invalid_token`; kac's message also has the claims of the
    token.
    """
    file = tmp_path / "token"
    context = configure(f"sasl.oauthbearer.token.endpoint.url={file.as_uri()}")

    async def refused(token: str) -> str:
        file.write_text(token)
        line = await refusal(context)
        assert 'refused the OAUTHBEARER credentials: {"status":"invalid_token"}' in line
        assert "Compare these with the listener's sasl.oauthbearer.expected.audience" in line
        return line

    assert f"subject alice, issuer {provider.url}, audience orders, key key-" in await refused(
        provider.issue(aud="orders")
    )
    assert "issuer https://elsewhere.example" in await refused(provider.issue(iss="https://elsewhere.example"))
    expired = await refused(provider.issue(exp=1_000_000_000))
    assert "expired at 2001-09-09 01:46:40 UTC by this host's clock" in expired
    stranger = rsa.generate_private_key(65537, 2048)
    claims = {"iss": provider.url, "sub": "admin", "aud": "kafka", "exp": int(time.time()) + 60, "iat": 0}
    assert "subject admin" in await refused(provider.signed(stranger, claims))


async def test_keys_that_are_rotated(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context]
) -> None:
    context = configure(endpoint(provider), jaas=CREDENTIALS)
    assert await principal(cluster, context) == "User:alice"
    provider.rotate()
    line = await refusal(context)
    assert f"key key-{len(provider._signing)}" in line
    # The broker reads the keys again after it saw an unknown key id (RefreshingHttpsJwks).

    async def seen() -> str:
        with suppress(AuthenticationFailed):
            return await principal(cluster, context)
        return ""

    assert await patience.shortly(seen) == "User:alice"


async def test_a_wrong_secret_and_an_endpoint_that_is_gone(
    provider: OidcServer, configure: Callable[..., Context]
) -> None:
    line = await refusal(configure(endpoint(provider), jaas='clientId=kac clientSecret="open barley"'))
    assert "answered 401: invalid_client unknown client or wrong secret" in line
    assert "barley" not in line
    nobody = "sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:1/token"
    assert "can't be reached: Connection refused" in await refusal(configure(nobody, jaas=CREDENTIALS), Unreachable)


async def test_the_doctor_names_it(
    cluster: KafkaCluster, provider: OidcServer, configure: Callable[..., Context], tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(provider.issue(aud="orders"))
    configure(f"sasl.oauthbearer.token.endpoint.url={file.as_uri()}")
    arguments = ("-b", cluster.bootstrap, "--command-config", str(tmp_path / "client.properties"))
    code, seen, _ = await doctor(tmp_path, *arguments)
    host, port = cluster.addresses[0]
    assert (code, seen[f"SASL {host}:{port}"]["health"]) == (1, "bad")
    assert "audience orders" in seen[f"SASL {host}:{port}"]["found"]
    nobody = "sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:1/token"
    configure(nobody, jaas=CREDENTIALS)
    _, seen, _ = await doctor(tmp_path, *arguments)
    assert "the token endpoint http://127.0.0.1:1/token can't be reached" in seen[f"SASL {host}:{port}"]["found"]
