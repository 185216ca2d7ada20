"""Checks of the connection from this host to a cluster, step by step: names, TCP, TLS, SASL, advertised listeners,
clocks, rights, quotas.

No step changes the cluster. Credentials are sent to one address after another, and to no further address once a broker
refused them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from console.admin import settings as admin_settings
from console.admin.errors import AdminError, AuthenticationFailed
from console.answers.checks import Check, Health
from console.cli.doctor_brokers import answered_by_others, missing_apis, shared_address_checks
from console.model.parts import Part
from console.present.names import plural, quota_entity
from console.present.text import clean

if TYPE_CHECKING:
    from console.admin.link import Link
    from console.contexts.context import Context
    from console.model.cluster import ClusterInfo

STEP_SECONDS = 5.0
"""Timeout in seconds for each name lookup, TCP connection and handshake."""
MOST_BOOTSTRAP, MOST_ADDRESSES, MOST_BROKERS, AT_ONCE = 8, 8, 200, 16
SLOW_SECONDS = 0.25
CLOCK_SECONDS = 2.0
"""Maximum difference in seconds between two clocks. With a higher difference, times on the screen mislead, and tokens
and tickets are refused.
"""
RIGHTS = (
    # An operation on the cluster, and the features that need the right to it.
    ("DESCRIBE", "ACLs, SCRAM users, disks, moves, the quorum"),
    ("DESCRIBE_CONFIGS", "configs of brokers, quotas"),
    ("ALTER_CONFIGS", "changes to configs of brokers and to quotas"),
    ("ALTER", "changes to ACLs and SCRAM users, moves, elections"),
    ("CREATE", "new topics"),
)


class _Step(NamedTuple):
    """The result for one bootstrap address: its checks, whether Kafka answered there, and whether it refused the
    credentials.
    """

    checks: list[Check]
    works: bool
    refused: bool = False


async def cluster_checks(context: Context) -> list[Check]:
    """Return the checks of a context's cluster: the way to it (`via`), its first `MOST_BOOTSTRAP` bootstrap
    addresses, the checks of `_beyond`, the schema registry and the Connect workers. If the way fails, or no
    address works, the result ends there.
    """
    settings = context.settings
    found: list[Check] = []
    if settings.via is not None:
        found.append(await _way(settings.via))
        if found[0].health is Health.BAD:
            return found
    works = refused = False
    for address in settings.bootstrap[:MOST_BOOTSTRAP]:
        step = await _bootstrap(address, settings, ask=not refused)
        found += step.checks
        works, refused = works or step.works, refused or step.refused
    if not works:
        return found
    from console.admin.client import AdminClient

    with AdminClient(settings) as client:
        try:
            found += await client.run(_beyond, context)
        except AdminError as error:
            found.append(_failed("cluster", error))
        if context.schemas is not None:
            found.append(await client.run(_registry, context.schemas))
        if settings.connect:
            from console.cli.doctor_connect import worker_checks

            found += await client.run(worker_checks)
    return found


async def _way(via: admin_settings.Via) -> Check:
    from console.admin.ways import way

    begun, name = time.monotonic(), f"via {admin_settings.show_via(via)}"
    try:
        await asyncio.to_thread(way(via).start, ask=False)
    except AdminError as error:
        return _failed(name, error)
    return Check(name, Health.OK, f"logged in, in {_ms(time.monotonic() - begun)}; it looks up all names")


async def _bootstrap(
    address: admin_settings.Address, settings: admin_settings.ConnectionSettings, *, ask: bool
) -> _Step:
    """Check one bootstrap address: its name, each of its IP addresses, TLS, and the response of Kafka.

    Args:
        ask: whether to authenticate; False once credentials were refused, since more attempts may lock the account.
    """
    where = admin_settings.show_address(address)
    attempts = await _reach(address, settings.route)
    checks = _reached(f"name {address[0]}", f"TCP {where}", attempts, settings.asked)
    if not any(each.seconds is not None for each in attempts.tried):
        return _Step(checks, works=False)
    if settings.security_protocol.endswith("SSL"):
        shown = await _tls(address, settings)
        checks += shown
        if any(each.health is Health.BAD for each in shown):
            return _Step(checks, works=False)
    if not ask:
        note = "not tried: the credentials were refused above, and more attempts may lock the account"
        return _Step([*checks, Check(f"SASL {where}", Health.NOTE, note)], works=False)
    return _joined(checks, await _kafka(address, settings))


def _joined(checks: list[Check], step: _Step) -> _Step:
    return _Step(checks + step.checks, step.works, step.refused)


class _Try(NamedTuple):
    """An attempt of a TCP connection to one IP address."""

    ip: str
    seconds: float | None
    """The duration of the connection's setup in seconds; None if it failed."""
    problem: str = ""
    """The reason why the connection failed; empty if it succeeded."""


class _Attempts(NamedTuple):
    """The attempts to connect to the IP addresses of a host name."""

    tried: tuple[_Try, ...]
    problem: str = ""
    """The reason why the lookup of the name failed; empty if it succeeded."""
    by_way: bool = False
    """Whether a proxy, an SSH host or Kubernetes (the context's `via`) resolved the name and connected."""


async def _reach(address: admin_settings.Address, route: admin_settings.Route) -> _Attempts:
    host, port = place = route.place_of(address)
    if route.via is not None:
        return await _reach_by_way(place, route.via)
    try:
        async with asyncio.timeout(STEP_SECONDS):
            infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except TimeoutError:
        return _Attempts((), f"no answer within {STEP_SECONDS:g} s")
    except OSError as error:
        return _Attempts((), error.strerror or str(error))
    except UnicodeError:
        return _Attempts((), "not a host name")
    ips = list(dict.fromkeys(str(info[4][0]) for info in infos))[:MOST_ADDRESSES]
    return _Attempts(tuple(await asyncio.gather(*(_tcp(ip, port) for ip in ips))))


async def _reach_by_way(address: admin_settings.Address, via: admin_settings.Via) -> _Attempts:
    from console.admin.ways import way

    begun = time.monotonic()
    seconds, problem = None, ""
    try:
        async with asyncio.timeout(STEP_SECONDS):
            (await way(via).open(*address)).close()
        seconds = time.monotonic() - begun
    except TimeoutError:
        problem = f"no answer within {STEP_SECONDS:g} s"
    except AdminError as error:
        problem = error.failure.message.removeprefix(f"{admin_settings.show_address(address)}: ")
    return _Attempts((_Try(f"by {admin_settings.show_via(via)}", seconds, problem),), by_way=True)


async def _tcp(ip: str, port: int) -> _Try:
    begun = time.monotonic()
    try:
        async with asyncio.timeout(STEP_SECONDS):
            _, writer = await asyncio.open_connection(ip, port)
    except TimeoutError:
        return _Try(ip, None, f"no answer within {STEP_SECONDS:g} s")
    except OSError as error:
        # Use the system's text, as asyncio's own repeats the address.
        return _Try(ip, None, os.strerror(error.errno) if error.errno else str(error))
    writer.transport.abort()
    return _Try(ip, time.monotonic() - begun)


def _reached(name: str, tcp: str, attempts: _Attempts, asked: str) -> list[Check]:
    if attempts.problem:
        return [
            Check(name, Health.BAD, attempts.problem, "check its spelling, DNS and /etc/hosts, and whether a VPN is up")
        ]
    names = [Check(name, Health.OK, ", ".join(each.ip for each in attempts.tried))]
    checks = [] if attempts.by_way else names
    some = any(each.seconds is not None for each in attempts.tried)
    for each in attempts.tried:
        if each.seconds is not None:
            checks.append(Check(tcp, Health.OK, f"{each.ip}: {_ms(each.seconds)}"))
        else:
            remedy = f"a wrong port, a {asked} that is down, or a firewall between"
            if some:
                remedy = "clients that take this address first wait for it; remove it from DNS, or open the way"
            checks.append(Check(tcp, Health.NOTE if some else Health.BAD, f"{each.ip}: {each.problem}", remedy))
    return checks


async def _tls(address: admin_settings.Address, settings: admin_settings.ConnectionSettings) -> list[Check]:
    """Check the TLS handshake with the client's own settings, and the broker's certificate, whether it is trusted or
    not.
    """
    from console.admin.link import Link
    from console.admin.tls import ssl_context

    where = admin_settings.show_address(address)
    try:
        context = await asyncio.to_thread(ssl_context, settings)
    except AdminError as error:
        return [_failed("TLS of this side", error)]
    host, port = address
    checks = []
    try:
        async with asyncio.timeout(STEP_SECONDS):
            _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
        spoken = writer.get_extra_info("ssl_object")
        checks.append(Check(f"TLS {where}", Health.OK, f"{spoken.version()}, {spoken.cipher()[0]}, trusted"))
        writer.transport.abort()
    except ssl.SSLCertVerificationError as error:
        remedy = "trust its authority (ssl.truststore.location), or name the host as the certificate does"
        checks.append(Check(f"TLS {where}", Health.BAD, error.verify_message, remedy))
    except TimeoutError:
        remedy = "a listener without TLS says nothing: check security.protocol against the listener"
        checks.append(Check(f"TLS {where}", Health.BAD, f"no handshake within {STEP_SECONDS:g} s", remedy))
    except OSError as error:
        remedy = "without TLS, of another version, or wanting a certificate: check security.protocol, ssl.keystore"
        checks.append(Check(f"TLS {where}", Health.BAD, str(getattr(error, "reason", None) or error), remedy))
    link = Link(settings)
    try:
        checks += await _certificate(link, address, settings.asked)
    finally:
        await link.close()
    return checks


async def _certificate(link: Link, address: admin_settings.Address, asked: str) -> list[Check]:
    from console.admin.certificates import shown_certificates
    from console.model.certificates import Listener

    now = datetime.now(UTC)
    checks = []
    for shown in await shown_certificates(link, [Listener(-1, *address)]):
        left = plural((shown.ends - now).days, "day")
        found = f"{shown.subject}, by {shown.issuer}, until {shown.ends:%Y-%m-%d} ({left})"
        name = f"certificate {admin_settings.show_address(address)}"
        if now < shown.begins:
            found = f"{shown.subject}, by {shown.issuer}, not before {shown.begins:%Y-%m-%d %H:%M} UTC"
            checks.append(Check(name, Health.BAD, found, "compare this host's clock, or wait"))
        elif shown.ends <= now:
            checks.append(Check(name, Health.BAD, found, f"it has ended: renew it on the {asked}"))
        elif shown.ends_soon(now):
            checks.append(Check(name, Health.NOTE, found, f"renew it on the {asked} before it ends"))
        else:
            checks.append(Check(name, Health.OK, found))
    return checks


async def _kafka(address: admin_settings.Address, settings: admin_settings.ConnectionSettings) -> _Step:
    """Check ApiVersions and SASL over a connection that is opened as the client opens it."""
    from console.admin.connections import Connections
    from console.model.releases import proven_release, release_of

    where = admin_settings.show_address(address)
    connections = Connections(settings)
    begun = time.monotonic()
    try:
        connection = await connections.open_apart(address)
    except AdminError as error:
        from console.wire.connection import ConnectFailed, Stage

        cause = error.__cause__
        sasl = isinstance(error, AuthenticationFailed) or (
            isinstance(cause, ConnectFailed) and cause.stage is Stage.SASL
        )
        name = f"SASL {where}" if sasl else f"Kafka {where}"
        return _Step([_failed(name, error)], works=False, refused=isinstance(error, AuthenticationFailed))
    took = time.monotonic() - begun
    release, apis = proven_release(connection.versions, {}), len(connection.versions)
    known = f"release {release} or near"
    if settings.controllers:
        known = "of a controller"
    elif not release:
        known = f"the set of no Kafka release, nearest {release_of(connection.versions, {})}"
    await connection.close()
    found = [Check(f"Kafka {where}", Health.OK, f"ApiVersions: {apis} APIs, {known}, in {_ms(took)}")]
    if settings.sasl is not None and settings.security_protocol.startswith("SASL_"):
        user = f" as {settings.sasl.username}" if settings.sasl.username else ""
        found.append(Check(f"SASL {where}", Health.OK, f"{settings.sasl.mechanism}{user}"))
    return _Step(found, works=True)


async def _beyond(link: Link, context: Context) -> list[Check]:
    """Return the checks that need a working connection: the cluster, its brokers, clocks, rights and quotas; on a
    connection to controllers only the cluster's id, the controllers and the rights.
    """
    from console.admin.cluster import describe_cluster

    cluster = await describe_cluster(link)
    checks = [_cluster_id(cluster, context.cluster_id)]
    if link.settings.controllers:
        return [*checks, *await _controllers(link, cluster), *_rights(cluster)]
    checks += await advertised_checks(link, cluster)
    checks.append(await _clock(link))
    checks += _rights(cluster)
    checks.append(await _topics(link, cluster, context))
    checks.append(await _quotas(link, context.settings))
    return checks + await missing_apis(link)


async def _controllers(link: Link, cluster: ClusterInfo) -> list[Check]:
    """Return the checks of the registered controllers: whether each of them answers, and which one is the leader."""
    from console.admin.cluster import describe_quorum

    silent = (await link.silence(STEP_SECONDS)).silent
    found = [
        Check(f"controller {each.id}", Health.OK, f"answers at {admin_settings.show_address((each.host, each.port))}")
        if each.id not in silent
        else _failed(f"controller {each.id}", silent[each.id])
        for each in cluster.controllers
    ]
    try:
        quorum = await describe_quorum(link)
    except AdminError as error:
        return [*found, _failed("quorum", error)]
    voters = ", ".join(str(each.id) for each in quorum.voters)
    if quorum.leader_id < 0:
        return [*found, Check("quorum", Health.BAD, f"no controller leads, voters {voters}")]
    leads = f"controller {quorum.leader_id} leads, epoch {quorum.leader_epoch}, voters {voters}"
    return [*found, Check("quorum", Health.OK, leads)]


def _cluster_id(cluster: ClusterInfo, wanted: str | None) -> Check:
    if not cluster.cluster_id:
        remedy = "nothing shows whether another cluster answers at these addresses: look before you apply"
        return Check("cluster", Health.BAD if wanted else Health.NOTE, "the server gives no id", remedy)
    if wanted is None:
        remedy = f'cluster_id = "{cluster.cluster_id}" in the context refuses any other'
        return Check("cluster", Health.OK, f"{cluster.cluster_id}, not pinned", remedy)
    if wanted != cluster.cluster_id:
        found = f"{cluster.cluster_id}, but the context says {wanted}"
        return Check("cluster", Health.BAD, found, "the addresses lead to another cluster: correct them, or cluster_id")
    return Check("cluster", Health.OK, f"{cluster.cluster_id}, as in the context")


async def advertised_checks(link: Link, cluster: ClusterInfo) -> list[Check]:
    """Return the checks of the first `MOST_BROKERS` brokers that are not fenced: whether each is reachable at its
    advertised listener, and the duration of a request.
    """
    gate = asyncio.Semaphore(AT_ONCE)
    brokers = [each for each in cluster.brokers if not each.fenced][:MOST_BROKERS]
    missed: dict[admin_settings.Address, bool] = {}  # address -> whether this host can't resolve its name

    async def one(broker_id: int, address: admin_settings.Address) -> tuple[Check | None, float | None]:
        name = f"broker {broker_id} advertises {admin_settings.show_address(address)}"
        async with gate:
            attempts = await _reach(address, link.settings.route)
            if not any(each.seconds is not None for each in attempts.tried):
                why = attempts.problem or "; ".join(f"{each.ip}: {each.problem}" for each in attempts.tried)
                missed[address] = bool(attempts.problem)
                remedy = (
                    f"if clients should reach it from here: correct advertised.listeners of broker {broker_id}, "
                    "DNS or /etc/hosts here, or the firewall"
                )
                return Check(name, Health.BAD, why, remedy), None
            try:
                return None, await _round_trip(link, broker_id)
            except AdminError as error:
                return _failed(name, error), None

    results = await asyncio.gather(*(one(each.id, (each.host, each.port)) for each in brokers))
    checks = [check for check, _ in results if check is not None]
    # Suggest a map only for names that this host can't resolve, or if no broker is reached: a single one may be down.
    unknown = sorted(missed if len(missed) == len(brokers) else [each for each in missed if missed[each]])
    if unknown:
        checks.append(_map(unknown, len(brokers), link.settings.route))
    checks += shared_address_checks(brokers)
    checks += await answered_by_others(
        link, [each.id for each, (_, took) in zip(brokers, results, strict=True) if took]
    )
    times = sorted(seconds for _, seconds in results if seconds is not None)
    if times:
        more = "" if len(brokers) == len(cluster.brokers) else f" of {len(cluster.brokers)}, some fenced or not asked"
        checks.append(Check("advertised listeners", Health.OK, f"{len(times)} of {len(brokers)} brokers reached{more}"))
        found = f"{_ms(times[0])} to {_ms(times[-1])}, median {_ms(times[len(times) // 2])}"
        slow = times[len(times) // 2] > SLOW_SECONDS
        remedy = "each read waits so long; a bastion nearer to the brokers is faster" if slow else ""
        checks.append(Check("round trips", Health.NOTE if slow else Health.OK, found, remedy))
    return checks


def _map(missed: Sequence[admin_settings.Address], count: int, route: admin_settings.Route) -> Check:
    """Return the check for a cluster whose bootstrap address answers, although the advertised addresses of its brokers
    do not. The remedy has the lines of `[contexts.NAME.addresses]` for the operator to complete.

    Args:
        missed: the advertised addresses that were not reached.
        count: the number of brokers that were tried.
    """
    lines = [
        f'"{admin_settings.show_address(each)}" = "{admin_settings.show_address(route.place_of(each))}"'
        for each in missed[:MOST_ADDRESSES]
    ]
    other = (
        "" if route.via is not None else "go by a host that reaches them (--via ssh:…, socks5:…, http:…, kube:…), or "
    )
    more = len(missed) - len(lines)
    remedy = f"{other}give the places that lead to them, such as the local ends of forwards, in the context:"
    remedy = "\n".join([remedy, "[contexts.NAME.addresses]", *lines, *([f"# and {more} more"] if more > 0 else [])])
    found = f"the bootstrap answers, and {len(missed)} of {count} advertised addresses do not"
    return Check("addresses", Health.BAD, found, remedy)


async def _round_trip(link: Link, broker_id: int) -> float:
    """Return the duration in seconds of one request to a broker on an open connection."""
    from console.admin.cluster import ASK_VERSIONS
    from console.admin.link import broker

    await link.call("api_versions", ASK_VERSIONS, to=broker(broker_id))
    begun = time.monotonic()
    await link.call("api_versions", ASK_VERSIONS, to=broker(broker_id))
    return time.monotonic() - begun


async def _clock(link: Link) -> Check:
    """Compare this host's clock with that of the leader of the controllers' quorum, which reports its present time
    (KIP-836).
    """
    from console.admin.cluster import describe_quorum

    before = time.time()
    try:
        quorum = await describe_quorum(link)
    except AdminError as error:
        return Check("clock", Health.OK, f"not compared: {error.failure}")
    after = time.time()
    theirs = next((each.last_caught_up_ms for each in quorum.voters if each.id == quorum.leader_id), -1)
    if theirs <= 0:
        return Check("clock", Health.OK, "not compared: this server gives no times")
    apart = theirs / 1000 - (before + after) / 2
    # The leader took its time at an unknown moment between request and response.
    unsure = (after - before) / 2
    found = f"the controller's is {apart:+.1f} s (± {unsure:.1f}) from this host's"
    if abs(apart) - unsure > CLOCK_SECONDS:
        return Check(
            "clock", Health.NOTE, found, "times mislead, tokens and tickets may be refused: see NTP on both hosts"
        )
    return Check("clock", Health.OK, found)


def _rights(cluster: ClusterInfo) -> Iterator[Check]:
    if cluster.operations is None:
        yield Check("rights", Health.OK, "not told by this server")
        return
    held = cluster.operations
    for operation, needed_for in RIGHTS:
        name = f"right {operation}"
        if operation in held or "ALL" in held:
            yield Check(name, Health.OK, needed_for)
        else:
            words = operation.replace("_", " ").title().replace(" ", "")
            remedy = f"grant it: kac acls --add --cluster --operation {words} --allow-principal User:NAME"
            yield Check(name, Health.NOTE, f"missing; without it: no {needed_for}", remedy)


async def _topics(link: Link, cluster: ClusterInfo, context: Context) -> Check:
    from console.admin.cluster import describe_log_dirs
    from console.admin.topics import describe_topics
    from console.model.snapshot import ReadFailure, Snapshot
    from console.model.visibility import unseen_topics

    topics = await describe_topics(link)
    if count := len(topics.topics):
        return Check("topics", Health.OK, f"{count:,} are visible")
    dirs = await describe_log_dirs(link)
    failures = tuple(ReadFailure(Part.LOG_DIRS, str(broker), why) for broker, why in dirs.failures.items())
    known = Snapshot(cluster=cluster, log_dirs=dirs.dirs, failures=failures)
    if (unseen := unseen_topics(known, context.kafka_principal)) is None:
        return Check("topics", Health.OK, "the cluster has none: its log directories are empty")
    return Check("topics", Health.NOTE, unseen.message, unseen.remedy)


async def _quotas(link: Link, settings: admin_settings.ConnectionSettings) -> Check:
    """Return the check that lists the quotas that apply to this user and client id."""
    from console.admin.quotas import describe_quotas
    from console.model.quota import CLIENT_KEYS, effective

    user = settings.sasl.username if settings.sasl is not None and settings.sasl.username else "ANONYMOUS"
    try:
        quotas = await describe_quotas(link)
    except AdminError as error:
        return Check("quotas", Health.NOTE, f"not known: {error.failure}", error.failure.remedy)
    held = [(key, found) for key in CLIENT_KEYS if (found := effective(quotas, user, settings.client_id, key))]
    if not held:
        return Check("quotas", Health.OK, f"no quota limits user {user}, client {settings.client_id}")
    text = ", ".join(f"{key}={found.value:.12g} of {quota_entity(found.entity)}" for key, found in held)
    return Check(
        "quotas",
        Health.NOTE,
        f"user {user}, client {settings.client_id}: {text}",
        "the console waits where it is throttled",
    )


async def _registry(_link: Link, settings: admin_settings.HttpSettings) -> Check:
    """Return the check of the schema registry: whether it answers. The registry is reached by the same way as the
    brokers (`via`).
    """
    from console.admin.schema_registry import SchemaRegistry
    from console.model.schemas import NotDecoded

    begun = time.monotonic()
    try:
        kinds = await SchemaRegistry(settings).kinds()
    except NotDecoded as error:
        remedy = "Records are shown as they are without it. Check url, login and ssl.* of the context's schemas."
        return Check("schema registry", Health.BAD, f"{settings}: {error}", remedy)
    known = ", ".join(sorted(clean(each, 20) for each in kinds[:10]))
    return Check("schema registry", Health.OK, f"{settings}: {known or 'no kinds'}, in {_ms(time.monotonic() - begun)}")


def _failed(name: str, error: AdminError) -> Check:
    return Check(name, Health.BAD, str(error.failure), error.failure.remedy)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
