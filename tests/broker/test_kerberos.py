"""Tests of logins with GSSAPI, with a real KDC and a broker of 4.3: by keytab, by ticket cache, and their errors."""

import asyncio
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.admin.cluster import describe_cluster
from console.admin.errors import AdminError, AuthenticationFailed
from console.contexts import Context, load, resolve
from console.wire import kerberos
from tests.scenarios.test_doctor import doctor
from tests.support import free_ports, patience, real_clusters, server_properties, worlds
from tests.support.kafka_cluster import JVM, KafkaCluster
from tests.support.kdc import REALM, Kdc, kdc

KRB5 = "com.sun.security.auth.module.Krb5LoginModule"
PASSWORD = "open-sesame"
SESSION_MS = 5000
Configure = Callable[..., Context]


@pytest.fixture(scope="module")
def realm() -> Iterator[Kdc]:
    with kdc() as running_realm:
        running_realm.add(f"kafka/{free_ports.LOOPBACK}")
        running_realm.add("alice", PASSWORD)
        yield running_realm


@pytest.fixture(scope="module")
def cluster(realm: Kdc) -> Iterator[KafkaCluster]:
    """Provide a broker of Kafka 4.3 with GSSAPI. A client has to log in again after five seconds."""
    keytab = realm.keytab(f"kafka/{free_ports.LOOPBACK}")
    principal = f"kafka/{free_ports.LOOPBACK}@{REALM}"
    login = f'{KRB5} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}";'
    properties = {
        "sasl.enabled.mechanisms": ",".join((*server_properties.SASL_MECHANISMS, "GSSAPI")),
        "listener.name.sasl_ssl.gssapi.sasl.jaas.config": login,
        "sasl.kerberos.service.name": "kafka",
        "connections.max.reauth.ms": str(SESSION_MS),
    }
    options = (*JVM, f"-Djava.security.krb5.conf={realm.config}")
    yield from real_clusters.running(
        lambda: KafkaCluster(brokers=1, security="secure", request_log=True, properties=properties, jvm_options=options)
    )


@pytest.fixture(autouse=True)
def environment(realm: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment variables for the realm's krb5.conf and for an empty default ticket cache."""
    monkeypatch.setenv("KRB5_CONFIG", str(realm.config))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'cache'}")


@pytest.fixture
def configure(cluster: KafkaCluster, tmp_path: Path) -> Configure:
    """Provide a function that takes options of the login module and further lines, writes a client.properties with
    them, and returns the context that kac reads from it.
    """

    def write(options: str = "", *lines: str) -> Context:
        file = tmp_path / "client.properties"
        file.touch(mode=0o600)
        service = () if any(line.startswith("sasl.kerberos") for line in lines) else ("kafka",)
        usual = (
            f"bootstrap.servers={cluster.bootstrap}",
            "security.protocol=SASL_SSL",
            "ssl.truststore.type=PEM",
            f"ssl.truststore.location={cluster.authority.pem}",
            *(f"sasl.kerberos.service.name={each}" for each in service),
            f"sasl.jaas.config={KRB5} required {options};",
        )
        file.write_text("\n".join((*usual, *lines, "")), encoding="latin-1")
        context = resolve(load({}, tmp_path, cwd=tmp_path), command_config=file)
        assert context.warnings == ()
        return context

    return write


def keyed(keytab: Path, principal: str = f"alice@{REALM}") -> str:
    return f'useKeyTab=true keyTab="{keytab}" principal="{principal}"'


async def ask(context: Context, seconds: float = 0.0) -> str:
    """Send requests over one link for `seconds` seconds, at least one request; return the link's client id."""
    client_id = f"kerberos-{secrets.token_hex(4)}"
    async with worlds.linked(replace(context.settings, client_id=client_id)) as link:
        await describe_cluster(link)
        await patience.for_seconds(seconds, lambda: describe_cluster(link))
    return client_id


async def principal(cluster: KafkaCluster, context: Context) -> str:
    """Send a request in this context; return the client's principal in the broker's request log."""
    return cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=await ask(context))[0].principal


async def refusal(context: Context, kind: type[AdminError] = AuthenticationFailed) -> str:
    """Connect in this context, and return the one line that an operator sees for the error. Fails if no error of this
    kind is raised, or if the line contains a password.
    """
    with pytest.raises(kind) as caught:
        await ask(context)
    failure = caught.value.failure
    line = f"{failure} | {failure.remedy}"
    assert "\n" not in line
    assert failure.remedy
    assert PASSWORD not in line
    return line


async def test_a_keytab_whose_sessions_are_renewed(cluster: KafkaCluster, realm: Kdc, configure: Configure) -> None:
    client_id = await ask(configure(keyed(realm.keytab("alice"))), seconds=8)
    asked = cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)
    assert {each.principal for each in asked} == {"User:alice"}
    assert len({each.connection for each in asked}) == 1


async def test_many_connections_at_once(cluster: KafkaCluster, realm: Kdc, configure: Configure) -> None:
    """If many connections are opened at once, in several threads, all log in with the tickets of one cache in
    memory.
    """
    context = configure(keyed(realm.keytab("alice")))
    clients = await asyncio.gather(*(ask(context) for _ in range(20)))
    for client_id in clients:
        asked = cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)
        assert asked[0].principal == "User:alice"


async def test_tickets_of_a_keytab_are_renewed(cluster: KafkaCluster, realm: Kdc, configure: Configure) -> None:
    """kac renews the tickets that it gets by a keytab before they expire, here after ten seconds, and the session
    continues on the same connection.
    """
    realm.add("erin", PASSWORD)
    realm.administer(f'modprinc -maxlife "10 seconds" erin@{REALM}')
    context = configure(keyed(realm.keytab("erin"), f"erin@{REALM}"))
    client_id = await ask(context, seconds=22)
    asked = cluster.request_log.wait_for(1, "DESCRIBE_CLUSTER", client_id=client_id)
    assert len({each.connection for each in asked}) == 1
    issued = (realm.folder / "kdc.log").read_text()
    assert issued.count(f"erin@{REALM} for krbtgt/{REALM}@{REALM}") >= 2


async def test_the_default_cache_and_a_named_one(
    cluster: KafkaCluster, realm: Kdc, configure: Configure, tmp_path: Path
) -> None:
    line = await refusal(configure())
    assert "was not asked: Kerberos: No Kerberos credentials available" in line
    assert "Get a ticket: kinit" in line
    realm.log_in("alice", PASSWORD, tmp_path / "cache")
    assert await principal(cluster, configure()) == "User:alice"
    (tmp_path / "cache").rename(tmp_path / "named")
    assert (
        await principal(cluster, configure(f'useTicketCache=true ticketCache="{tmp_path / "named"}"')) == "User:alice"
    )
    assert "kinit" in await refusal(configure(f'ticketCache="{tmp_path / "missing"}"'))


async def test_a_ticket_that_expires(realm: Kdc, configure: Configure, tmp_path: Path) -> None:
    realm.log_in("alice", PASSWORD, tmp_path / "cache", "-l", "2s")
    context = configure()
    with pytest.raises(AuthenticationFailed) as caught:
        await patience.without_end(lambda: ask(context))
    line = f"{caught.value.failure} | {caught.value.failure.remedy}"
    assert "expired" in line
    assert "Get a new ticket: kinit" in line


async def test_keytabs_that_do_not_work(realm: Kdc, configure: Configure, tmp_path: Path) -> None:
    missing = tmp_path / "missing.keytab"
    line = await refusal(configure(keyed(missing)))
    assert f"keytab not readable: No such file or directory (keytab {missing}, principal alice@{REALM})" in line
    keytab = realm.keytab("alice")
    line = await refusal(configure(keyed(keytab, f"nobody@{REALM}")))
    assert "nobody" in line
    assert "Check keyTab and principal" in line
    line = await refusal(configure(keyed(keytab, "alice@ELSEWHERE.TEST")))
    assert "alice@ELSEWHERE.TEST" in line

    realm.add("carol", PASSWORD)
    old = realm.keytab("carol")
    realm.administer(f"cpw -pw another carol@{REALM}")
    line = await refusal(configure(keyed(old, f"carol@{REALM}")))
    assert "the keytab has old keys" in line.lower()
    new = realm.keytab("carol")
    realm.administer(f"modprinc -allow_tix carol@{REALM}")
    line = await refusal(configure(keyed(new, f"carol@{REALM}")))
    assert "revoked" in line
    assert "locked or disabled" in line


async def test_a_wrong_service(realm: Kdc, configure: Configure, tmp_path: Path) -> None:
    realm.log_in("alice", PASSWORD, tmp_path / "cache")
    context = configure("serviceName=nokafka", "sasl.kerberos.service.name=nokafka")
    line = await refusal(context)
    assert f"Server nokafka/{free_ports.LOOPBACK}@{REALM} not found in Kerberos database" in line
    assert "Check sasl.kerberos.service.name" in line


async def test_a_kdc_that_is_down(realm: Kdc, configure: Configure) -> None:
    realm.add("dave", PASSWORD)
    context = configure(keyed(realm.keytab("dave"), f"dave@{REALM}"))
    realm.stop()
    try:
        line = await refusal(context)
    finally:
        realm.start_again()
    assert "Cannot contact any KDC" in line
    assert "Check that the realm's KDC is up" in line


async def test_a_broker_whose_keytab_is_old(
    cluster: KafkaCluster, realm: Kdc, configure: Configure, tmp_path: Path
) -> None:
    realm.log_in("alice", PASSWORD, tmp_path / "cache")
    settings = configure().settings
    assert settings.sasl is not None
    # The broker has no key of this service, so it can't decrypt the ticket.
    options = {**settings.sasl.options, "kerberos.service.name": "other"}
    realm.add(f"other/{free_ports.LOOPBACK}")
    context = replace(configure(), settings=replace(settings, sasl=replace(settings.sasl, options=options)))
    line = await refusal(context)
    assert "refused the GSSAPI credentials" in line
    assert f"the ticket was for other/{free_ports.LOOPBACK}" in line


def test_a_clock_that_is_an_hour_fast(realm: Kdc, configure: Configure, tmp_path: Path) -> None:
    if shutil.which("faketime") is None:
        pytest.skip("faketime is missing: install it")
    configure(keyed(realm.keytab("alice")))
    command = [sys.executable, "-m", "console", "run", "--command-config", str(tmp_path / "client.properties")]
    done = subprocess.run(
        ["faketime", "-f", "+1h", *command, "-e", "list topics"], capture_output=True, text=True, check=False,
        timeout=patience.PATIENCE,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Clock skew too great" in done.stdout + done.stderr
    assert "Set this host's clock by the KDC's" in done.stdout + done.stderr


async def test_a_host_without_the_library(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kerberos, "LIBRARIES", ("libno_such_gssapi.so.2",))
    kerberos._library.cache_clear()
    try:
        line = await refusal(configure())
    finally:
        kerberos._library.cache_clear()
    assert "which has no libno_such_gssapi.so.2" in line
    assert "libgssapi-krb5-2" in line


async def test_the_doctor_names_it(cluster: KafkaCluster, realm: Kdc, configure: Configure, tmp_path: Path) -> None:
    configure()
    arguments = ("-b", cluster.bootstrap, "--command-config", str(tmp_path / "client.properties"))
    here = {"KRB5_CONFIG": str(realm.config), "KRB5CCNAME": f"FILE:{tmp_path / 'cache'}"}
    code, seen, _ = await doctor(tmp_path, *arguments, **here)
    host, port = cluster.addresses[0]
    step = seen[f"SASL {host}:{port}"]
    assert (code, step["health"]) == (1, "bad")
    assert "No Kerberos credentials available" in step["found"]
    assert "kinit" in step["remedy"]
    configure(keyed(realm.keytab("alice")))
    code, seen, _ = await doctor(tmp_path, *arguments, **here)
    assert seen[f"SASL {host}:{port}"]["found"] == f"GSSAPI as alice@{REALM}"
