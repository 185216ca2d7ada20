"""Tests against a cluster, or a host in place of a service, as an attacker: it gets no certificate or token meant for
another service, and its texts reach the terminal only through `console.terminal`.
"""

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from botocore.utils import ContainerMetadataFetcher

from console.admin.aws import AwsLogin
from console.admin.aws_keys import AwsSource
from console.admin.certificates import shown_certificates
from console.admin.client import AdminClient
from console.admin.errors import AdminError, AuthenticationFailed
from console.admin.settings import ConnectionSettings, Store, TlsSettings
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import run_in_thread
from console.embedded.spec import ClusterSpec
from console.model.certificates import Listener
from tests.support.certificates import Authority
from tests.support.http_server import Answer, Asked, answering


@contextmanager
def listening(authority: Authority, shown: list[bool]) -> Iterator[int]:
    """Run a TLS listener that requests a client certificate, and append to `shown` whether one came. Yield its port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.pem))
    context.load_cert_chain(str(authority.issue("broker", "127.0.0.1").pem))
    context.verify_mode = ssl.CERT_OPTIONAL
    # TLS 1.2 ends the handshake with the client's certificate, so it is known at once whether one came.
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            shown.append(bool(self.request.getpeercert()))
            super().setup()

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Ignore errors of clients that close the connection without a request."""

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_the_clients_certificate_goes_to_the_contexts_own_listeners_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """kac presents the client's certificate only to the listeners of the context's own cluster. A host name that is not
    valid affects only its own row, and writes nothing to the terminal.
    """
    authority = Authority(tmp_path)
    mine = authority.issue("operator", "localhost")
    own: list[bool] = []
    other: list[bool] = []
    with (
        run_in_thread(ClusterSpec(brokers=1)) as cluster,
        listening(authority, own) as here,
        listening(authority, other) as there,
    ):
        tls = TlsSettings(key_store=Store("PEM", mine.pem))
        settings = ConnectionSettings((*parse_bootstrap(cluster.bootstrap), ("127.0.0.1", here)), tls=tls)
        with AdminClient(settings) as client:
            listeners = [
                Listener(1, "127.0.0.1", here),
                Listener(2, "127.0.0.1", there),
                Listener(3, "\x1b[2J" + "a" * 64 + ".example", 9092),
                Listener(4, "a..b", 9092),
                Listener(5, "127.0.0.1", 1),
            ]
            found = client.submit(shown_certificates, listeners).result()
    assert [(each.listener.broker, each.subject) for each in found] == [(1, "CN=broker"), (2, "CN=broker")]
    assert (own, other) == ([True], [False])
    assert capfd.readouterr().err == ""


def test_a_thread_and_a_destructor_that_fail_write_into_the_log(tmp_path: Path) -> None:
    code = (
        "import os, threading\n"
        "from console.log_file import open_log\n"
        "assert open_log(os.environ) is None\n"
        "def fails(): raise ValueError('\\x1b[2J from a thread')\n"
        "thread = threading.Thread(target=fails, name='\\x1b[31m'); thread.start(); thread.join()\n"
        "class Odd:\n"
        "    def __del__(self): raise ValueError('\\x1b[2J from a destructor')\n"
        "Odd()\n"
    )
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environ)
    assert (done.stdout, done.stderr) == (b"", b"")
    written = (tmp_path / "kac" / "kac.log").read_text()
    assert "from a thread" in written
    assert "from a destructor" in written
    assert "\x1b" not in written


@contextmanager
def noting(status: int, location: str, asked: list[str]) -> Iterator[str]:
    """Run an HTTP server that appends the Authorization header of each request to `asked`, and redirects the client to
    `location`. Yield its URL.
    """

    def answer(request: Asked) -> Answer:
        asked.append(request.headers.get("authorization", ""))
        return Answer(status, headers={"Location": location} if location else {})

    with answering(answer) as url:
        yield f"{url}/"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"])
def test_a_redirect_gets_no_authorization(
    status: int, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[str] = []
    second: list[str] = []
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me in")
    monkeypatch.setattr(ContainerMetadataFetcher, "SLEEP_TIME", 0)
    with noting(200, "", second) as elsewhere, noting(status, elsewhere, first) as url:
        monkeypatch.setenv(name, url)
        with pytest.raises(AuthenticationFailed):
            AwsSource(None, 5).keys()
    assert set(first) == ({"let me in"} if "CONTAINER" in name else {""})
    assert second == []


AWS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "c2VjcmV0"}
REGIONAL = "b-1.prod.abc123.c2.kafka.eu-central-1.amazonaws.com"


@pytest.mark.parametrize(
    "host",
    [
        f"{REGIONAL}.example.net",
        f"{REGIONAL}evil",
        f"{REGIONAL}.cn.example",
        "kafka.eu-central-1.amazonaws.com.example",
        f"{REGIONAL}/x",
        "x.kafka.eu-central-1.amazonaws.com.",
        "x.kafka.eu-central-1.amazonaws.com",
        "x.kafka.eu-central-1.amazonaws.comx",
        REGIONAL.upper(),
    ],
)
async def test_the_region_is_that_of_a_whole_host_name(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {**AWS, "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, text)
    login = AwsLogin(None, 5)
    if host.lower().removesuffix(".").endswith("kafka.eu-central-1.amazonaws.com"):
        assert b"/eu-central-1/kafka-cluster/" in await login.payload(host)
    else:
        with pytest.raises(AdminError, match=r"the AWS region of .* is unknown"):
            await login.payload(host)
