"""Tests of security, from an operator's files to the principal that the broker logs, with each SASL mechanism and each
type of key and trust store.
"""

import base64
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from msgspec.structs import replace

from console.admin.cluster import describe_cluster
from console.admin.errors import AdminError, AuthenticationFailed, TlsFailed
from console.admin.jwt import unsecured_token
from console.contexts import Context, load, resolve
from tests.support import worlds
from tests.support.certificates import Authority
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import keytool
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.core

LOGIN = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{LOGIN}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{LOGIN}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{LOGIN}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule",
}

KEY_STORES = ["PEM", "PEM inline", "PKCS12", "JKS"]
ENCRYPTED = ["encrypted PEM", "encrypted PEM inline"]
"""Kinds of key stores whose key is PKCS#8 encrypted with PBES2, OpenSSL's default, which Java 17 can't read."""

Configure = Callable[..., Context]


@pytest.fixture
def configure(tmp_path: Path) -> Configure:
    """Provide a function that takes bootstrap servers, further lines of a client.properties and environment
    variables, and returns the context that kac reads from them.
    """

    def write(bootstrap: str, *lines: str, **environ: str) -> Context:
        file = tmp_path / "client.properties"
        file.touch(mode=0o600)
        file.write_text("\n".join((f"bootstrap.servers={bootstrap}", *lines, "")), encoding="latin-1")
        return resolve(load(environ, tmp_path, cwd=tmp_path), command_config=file)

    return write


def login(mechanism: str, options: str) -> tuple[str, ...]:
    return (
        "security.protocol=SASL_SSL",
        f"sasl.mechanism={mechanism}",
        f"sasl.jaas.config={MODULES[mechanism]} required {options};",
    )


def on_one_line(pem: Path) -> str:
    """Return the text of a PEM file as one property value that continues over several lines."""
    return pem.read_text().strip().replace("\n", " \\\n    ")


def trusting(cluster: KafkaCluster, kind: str = "PEM") -> tuple[str, ...]:
    """Return the properties of a trust store of this type that contains the brokers' certificate authority."""
    authority = cluster.authority
    match kind:
        case "PEM":
            return "ssl.truststore.type=PEM", f"ssl.truststore.location={authority.pem}"
        case "PEM inline":
            return "ssl.truststore.type=PEM", f"ssl.truststore.certificates={on_one_line(authority.pem)}"
        case "PKCS12":
            store = authority.pkcs12
        case _:
            store = authority.jks(keytool())
    return (
        f"ssl.truststore.type={kind}",
        f"ssl.truststore.location={store}",
        f"ssl.truststore.password={authority.password}",
    )


def showing(cluster: KafkaCluster, name: str, kind: str) -> tuple[str, ...]:
    """Return the properties of a key store of this type that contains the certificate and key of client `name`."""
    identity = cluster.identity(name)
    password = identity.password
    match kind:
        case "PEM":
            return "ssl.keystore.type=PEM", f"ssl.keystore.location={identity.pem}"
        case "encrypted PEM":
            location = f"ssl.keystore.location={identity.encrypted_pem}"
            return "ssl.keystore.type=PEM", location, f"ssl.key.password={password}"
        case "PEM inline" | "encrypted PEM inline":
            key = identity.key if kind == "PEM inline" else identity.encrypted_key
            return (
                "ssl.keystore.type=PEM",
                f"ssl.keystore.certificate.chain={on_one_line(identity.cert)}",
                f"ssl.keystore.key={on_one_line(key)}",
                *(() if kind == "PEM inline" else (f"ssl.key.password={password}",)),
            )
        case "PKCS12":
            store = identity.pkcs12
        case _:
            store = identity.jks(keytool())
    return f"ssl.keystore.type={kind}", f"ssl.keystore.location={store}", f"ssl.keystore.password={password}"


@contextmanager
def endpoint_for(client_id: str, client_secret: str, token: str) -> Iterator[str]:
    """Run an OAuth token endpoint on this machine until the end of the block; yield its URL. It returns the token only
    for this client id and secret.
    """
    expected = "Basic " + base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            known = self.headers["Authorization"] == expected
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200 if known else 401)
            self.end_headers()
            answer = {"access_token": token, "expires_in": 60} if known else {"error": "invalid_client"}
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token"
    finally:
        server.shutdown()
        server.server_close()


async def principal_of(cluster: KafkaCluster, context: Context) -> str:
    """Send a request in this context; return the client's principal in the brokers' request log."""
    client_id = f"contexts-{secrets.token_hex(4)}"
    assert await ask(replace(context, settings=replace(context.settings, client_id=client_id))) == cluster.cluster_id
    return cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)[0].principal


async def ask(context: Context) -> str | None:
    async with worlds.linked(context.settings) as link:
        return (await describe_cluster(link)).cluster_id


async def refusal(context: Context, kind: type[AdminError]) -> str:
    """Connect in this context, and return the one line that an operator sees for the error. Fails if no error of this
    kind is raised.
    """
    with pytest.raises(kind) as caught:
        await ask(context)
    failure = caught.value.failure
    line = f"{failure} | {failure.remedy}"
    assert "\n" not in line
    assert failure.remedy
    return line


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_users_with_a_password(secure_cluster: KafkaCluster, configure: Configure, mechanism: str) -> None:
    for user, password in secure_cluster.users.items():
        lines = login(mechanism, f'username="{user}" password="${{env:PASSWORD}}"')
        context = configure(secure_cluster.bootstrap, *lines, *trusting(secure_cluster), PASSWORD=password)
        assert context.warnings == ()
        assert await principal_of(secure_cluster, context) == f"User:{user}"


@pytest.mark.parametrize("kind", ["PEM", "PEM inline", "PKCS12", "JKS"])
async def test_trust_stores(secure_cluster: KafkaCluster, configure: Configure, kind: str) -> None:
    lines = login("PLAIN", f"username=alice password={secure_cluster.users['alice']}")
    context = configure(secure_cluster.bootstrap, *lines, *trusting(secure_cluster, kind))
    assert await principal_of(secure_cluster, context) == "User:alice"


@pytest.mark.parametrize("kind", KEY_STORES + ENCRYPTED)
async def test_key_stores(secure_cluster: KafkaCluster, configure: Configure, kind: str) -> None:
    stores = (*trusting(secure_cluster), *showing(secure_cluster, "alice", kind))
    context = configure(secure_cluster.mtls_bootstrap, "security.protocol=SSL", *stores)
    assert await principal_of(secure_cluster, context) == "User:CN=alice"


@pytest.mark.parametrize("kind", ["RSA", "EC"])
@pytest.mark.parametrize("form", [PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL])
async def test_encrypted_keys_of_each_form(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path, form: PrivateFormat, kind: str
) -> None:
    """kac logs in with an encrypted private key in each form: PKCS#8, and OpenSSL's traditional forms, PKCS#1 for RSA
    and SEC 1 for EC.
    """
    name = f"form-{kind.lower()}"
    key = rsa.generate_private_key(65537, 2048) if kind == "RSA" else ec.generate_private_key(ec.SECP256R1())
    identity = secure_cluster.authority.issue(name, key=key)
    pem = key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(b"open sesame"))
    assert b"ENCRYPTED" in pem
    file = tmp_path / "identity.pem"
    file.write_bytes(pem + identity.cert.read_bytes())
    store = "ssl.keystore.type=PEM", f"ssl.keystore.location={file}", "ssl.key.password=${env:PASSWORD}"
    lines = ("security.protocol=SSL", *trusting(secure_cluster), *store)
    context = configure(secure_cluster.mtls_bootstrap, *lines, PASSWORD="open sesame")
    assert await principal_of(secure_cluster, context) == f"User:CN={name}"
    wrong = configure(secure_cluster.mtls_bootstrap, *lines, PASSWORD="open barley")
    line = await refusal(wrong, TlsFailed)
    assert f"key store {file}: the key can't be decrypted" in line
    assert "barley" not in line
    missing = configure(secure_cluster.mtls_bootstrap, *lines[:-1])
    assert "its private key is encrypted" in await refusal(missing, TlsFailed)


async def test_certificates_that_are_renewed_while_the_console_runs(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path
) -> None:
    """After the files of a certificate and its key were replaced, kac's next connection uses the new files. If only
    the certificate was replaced, so that the key does not fit, kac uses the former pair.
    """
    alice, admin = secure_cluster.identity("alice"), secure_cluster.identity("admin")
    file, trust = tmp_path / "identity.pem", tmp_path / "trust.pem"
    file.write_bytes(alice.pem.read_bytes())
    trust.write_bytes(secure_cluster.authority.pem.read_bytes())
    stores = (
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={trust}",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={file}",
    )
    context = configure(secure_cluster.mtls_bootstrap, "security.protocol=SSL", *stores)
    client_id = f"contexts-{secrets.token_hex(4)}"
    async with worlds.linked(replace(context.settings, client_id=client_id)) as link:

        async def principal() -> str:
            mark = secure_cluster.request_log.mark()
            link.reconnect()
            await describe_cluster(link)
            log = secure_cluster.request_log
            return log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id, since=mark)[0].principal

        assert await principal() == "User:CN=alice"
        file.write_bytes(alice.key.read_bytes() + admin.cert.read_bytes())
        assert await principal() == "User:CN=alice"
        file.write_bytes(admin.pem.read_bytes())
        assert await principal() == "User:CN=admin"
        trust.write_bytes(Authority(tmp_path / "stranger").pem.read_bytes())
        link.reconnect()
        with pytest.raises(TlsFailed):
            await describe_cluster(link)


@pytest.mark.parametrize("kind", KEY_STORES)
def test_kafkas_own_tools_take_the_same_files(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path, kind: str
) -> None:
    stores = (*trusting(secure_cluster, kind), *showing(secure_cluster, "admin", kind))
    configure(secure_cluster.mtls_bootstrap, "security.protocol=SSL", *stores)
    arguments = ("--bootstrap-server", secure_cluster.mtls_bootstrap, "--list")
    told = secure_cluster.run_tool(
        "org.apache.kafka.tools.TopicCommand", *arguments, "--command-config", str(tmp_path / "client.properties")
    )
    assert told.returncode == 0, told.stdout + told.stderr


async def test_a_token_that_the_broker_takes_and_one_that_it_does_not(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path
) -> None:
    unsecured = login("OAUTHBEARER", 'unsecuredLoginStringClaim_sub="alice"')
    context = configure(secure_cluster.bootstrap, *unsecured, *trusting(secure_cluster))
    assert await principal_of(secure_cluster, context) == "User:alice"

    file = tmp_path / "token"
    from_file = (*login("OAUTHBEARER", ""), f"sasl.oauthbearer.token.endpoint.url={file.as_uri()}")
    context = configure(secure_cluster.bootstrap, *from_file, *trusting(secure_cluster))
    file.write_text(unsecured_token("admin"))
    assert await principal_of(secure_cluster, context) == "User:admin"
    file.write_text(unsecured_token("admin", now=lambda: 1.0))
    line = await refusal(context, AuthenticationFailed)
    assert "refused the OAUTHBEARER credentials" in line


async def test_a_token_of_an_endpoint(secure_cluster: KafkaCluster, configure: Configure) -> None:
    """kac logs in to a broker with a token that an endpoint returns for the client's credentials."""
    with endpoint_for("kac", "open sesame", unsecured_token("alice")) as url:
        lines = (
            *login("OAUTHBEARER", 'clientId="kac" clientSecret="${env:SECRET}"'),
            f"sasl.oauthbearer.token.endpoint.url={url}",
            *trusting(secure_cluster),
        )
        context = configure(secure_cluster.bootstrap, *lines, SECRET="open sesame")
        assert await principal_of(secure_cluster, context) == "User:alice"
        wrong = configure(secure_cluster.bootstrap, *lines, SECRET="open barley")
        line = await refusal(wrong, AuthenticationFailed)
    assert f"the token endpoint {url} answered 401: invalid_client" in line
    assert "barley" not in line


async def test_a_wrong_password(secure_cluster: KafkaCluster, configure: Configure) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        lines = login(mechanism, 'username="alice" password="open sesame"')
        line = await refusal(
            configure(secure_cluster.bootstrap, *lines, *trusting(secure_cluster)), AuthenticationFailed
        )
        assert f"refused the {mechanism} credentials" in line
        assert "Check user name and password" in line
        assert "sesame" not in line


async def test_an_authority_that_is_not_trusted(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path
) -> None:
    lines = login("PLAIN", f"username=alice password={secure_cluster.users['alice']}")
    stranger = Authority(tmp_path / "stranger")
    for store in ((), ("ssl.truststore.type=PEM", f"ssl.truststore.location={stranger.pem}")):
        line = await refusal(configure(secure_cluster.bootstrap, *lines, *store), TlsFailed)
        assert "the broker's certificate is not accepted" in line
        assert "Set ssl.truststore.location" in line


async def test_another_host_name(secure_cluster: KafkaCluster, configure: Configure) -> None:
    lines = login("PLAIN", f"username=alice password={secure_cluster.users['alice']}")
    # A spelling of 127.0.0.1 that no certificate has.
    bootstrap = secure_cluster.bootstrap.replace("127.0.0.1", "127.1")
    line = await refusal(configure(bootstrap, *lines, *trusting(secure_cluster)), TlsFailed)
    assert "Hostname mismatch" in line
    assert "Connect by a name that the certificate has" in line
    assert "ssl.endpoint.identification.algorithm=" not in line
    unchecked = (*lines, *trusting(secure_cluster), "ssl.endpoint.identification.algorithm=")
    assert await principal_of(secure_cluster, configure(bootstrap, *unchecked)) == "User:alice"


async def test_no_client_certificate(secure_cluster: KafkaCluster, configure: Configure) -> None:
    context = configure(secure_cluster.mtls_bootstrap, "security.protocol=SSL", *trusting(secure_cluster))
    line = await refusal(context, TlsFailed)
    assert "it seems to want a client certificate" in line
    assert "Set ssl.keystore.location" in line


async def test_a_client_certificate_that_is_not_accepted(
    secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path
) -> None:
    """If brokers refuse the client's certificate, the error says so and why: it has expired, or is of another
    authority. A broker sends this alert only after the client has completed the handshake.
    """
    expired = secure_cluster.authority.issue("expired", age=timedelta(days=2), left=timedelta(days=-1))
    stranger = Authority(tmp_path / "stranger").issue("alice")
    ends = x509.load_pem_x509_certificate(expired.cert.read_bytes()).not_valid_after_utc
    for identity, said in (
        (expired, f"refused this client's certificate, which ended on {ends:%Y-%m-%d}"),
        (stranger, "Check that the brokers' trust store has the authority that signed it"),
    ):
        store = "ssl.keystore.type=PEM", f"ssl.keystore.location={identity.pem}"
        lines = ("security.protocol=SSL", *trusting(secure_cluster), *store)
        line = await refusal(configure(secure_cluster.mtls_bootstrap, *lines), TlsFailed)
        assert "refused this client's certificate" in line
        assert said in line


async def test_a_store_that_does_not_open(secure_cluster: KafkaCluster, configure: Configure) -> None:
    stores = (*trusting(secure_cluster, "PKCS12")[:-1], "ssl.truststore.password=open sesame")
    line = await refusal(configure(secure_cluster.mtls_bootstrap, "security.protocol=SSL", *stores), TlsFailed)
    assert f"trust store {secure_cluster.authority.pkcs12}: the password is wrong" in line
    assert "sesame" not in line


def kac(*arguments: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), **environ}
    command = [sys.executable, "-m", "console", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=environment)


def test_the_command_line(secure_cluster: KafkaCluster, configure: Configure, tmp_path: Path) -> None:
    lines = login("SCRAM-SHA-512", 'username="admin" password="${env:PASSWORD}"')
    configure(secure_cluster.bootstrap, *lines, *trusting(secure_cluster, "JKS"), PASSWORD="x")
    file = str(tmp_path / "client.properties")
    password = secure_cluster.users["admin"]
    done = kac("snapshot", "--command-config", file, "--overrides", home=tmp_path, PASSWORD=password)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cluster_id"] == secure_cluster.cluster_id
    assert password not in done.stdout + done.stderr

    refused = kac("run", "--command-config", file, "-e", "list topics", home=tmp_path, PASSWORD="open sesame")
    assert refused.returncode == 1
    assert "refused the SCRAM-SHA-512 credentials" in refused.stdout + refused.stderr
    unset = kac("run", "--command-config", file, "-e", "list topics", home=tmp_path)
    assert unset.returncode == 2
    assert f"{file}:4: sasl.jaas.config: password: the environment has no variable PASSWORD" in unset.stderr
    for said in (refused.stderr, unset.stderr):
        assert len(said.splitlines()) == 1
        assert "Traceback" not in said
        assert "sesame" not in said
