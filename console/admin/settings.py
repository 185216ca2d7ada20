"""Settings of a connection: plain values, from a file, a context or a flag (see console.contexts)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, field

from console.model.secret import Secret

Address = tuple[str, int]
"""Host and port."""


def show_address(address: Address) -> str:
    """Return ``host:port``, with an IPv6 address in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


CLIENT_ID = "kac"
REQUEST_TIMEOUT = 30.0
CONNECT_TIMEOUT = 10.0
LOST_ANSWER_TIMEOUT = 5.0
"""Default of `lost_answer_timeout` in seconds: brokers apply the controller's records within milliseconds."""
VISIBLE_TIMEOUT = 2.0


class Store(Struct, frozen=True):
    """A key or trust store: ``PEM``, ``JKS`` or ``PKCS12``; either at a path, or given inline (PEM only)."""

    kind: str
    path: Path | None = None
    inline: Secret | None = None
    password: Secret | None = None


class TlsSettings(Struct, frozen=True):
    """Settings of TLS."""

    trust: Store | None = None
    """The trusted authorities; None for the system's."""
    key_store: Store | None = None
    """The certificate chain and private key for mTLS; None without a client certificate."""
    key_file: Store | None = None
    """The private key if it is in a separate file; None if it is in `key_store`."""
    key_password: Secret | None = None
    verify_host: bool = True
    """Whether to check the broker's host name; False only if the settings' file says so
    (``ssl.endpoint.identification.algorithm=``)."""
    verify_chain: bool = True
    """Whether to check the certificate chain; False only if the settings are from another tool's file that says so
    (``insecure``)."""

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of the stores in files."""
        stores = (self.trust, self.key_store, self.key_file)
        return tuple(store.path for store in stores if store is not None and store.path is not None)


class SaslSettings(Struct, frozen=True):
    """Settings of SASL.

    SCRAM: ``tokenauth`` is true for a delegation token (KIP-48), with its id and its HMAC as username and password.
    OAUTHBEARER: options have ``token.endpoint.url`` (https, or a ``file:`` that contains the token), and optionally
    ``scope``, ``audience``, ``header.urlencode``, ``connect.timeout.ms``, ``read.timeout.ms``, and ``extension_NAME``
    for each SASL extension; username and password are the client's id and secret, and endpoint_tls is for the token
    endpoint. With ``assertion`` (``client`` or ``grant``) an assertion replaces the secret or the grant: the other
    options ``assertion.…`` are Kafka's, with absolute paths, and the password decrypts the private key. Or
    ``token.command``: a command line that prints a token, run in ``token.command.folder``. Without these the password
    is the token itself; without a password, the token is an unsecured one for username. AWS_MSK_IAM, and OAUTHBEARER
    with AWS tokens: ``aws``, optionally ``aws.profile``; ``aws.role.arn`` for a role to assume with those credentials,
    with ``aws.role.session``, ``aws.role.external.id`` and ``aws.role.region``. GSSAPI: ``kerberos.service.name``;
    ``kerberos.keytab`` or ``kerberos.ticket.cache``, paths, for tickets outside of the default cache; username is the
    principal, None for the default one.
    """

    mechanism: str
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI or AWS_MSK_IAM."""
    username: str | None = None
    password: Secret | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Other settings of the mechanism, not secret."""
    endpoint_tls: TlsSettings | None = None


class SshHost(Struct, frozen=True):
    """An SSH host for all connections."""

    host: str
    port: int | None = None
    """The port; None for the port in ssh's own configuration."""
    user: str | None = None
    """The user; None for the user in ssh's own configuration."""

    def __str__(self) -> str:
        where = self.host if self.port is None else show_address((self.host, self.port))
        return where if self.user is None else f"{self.user}@{where}"

    @property
    def as_argument(self) -> str:
        """The arguments of ssh, as typed by hand."""
        to = self.host if self.user is None else f"{self.user}@{self.host}"
        return to if self.port is None else f"-p {self.port} {to}"


class Proxy(Struct, frozen=True):
    """A proxy for all connections; it looks up the names."""

    scheme: str
    """The protocol: ``socks5``, or ``http`` for CONNECT."""
    host: str
    port: int
    username: str | None = None
    """The user name; None for a proxy without a login."""
    password: Secret | None = None
    """The password; None for a proxy without a login."""

    def __str__(self) -> str:
        return f"{self.scheme}://{show_address((self.host, self.port))}"


class KubeNamespace(Struct, frozen=True):
    """A namespace of Kubernetes; kubectl forwards a port to each of its brokers."""

    namespace: str
    context: str | None = None
    """A context of kubectl's configuration; None for its current one."""
    service: str | None = None
    """The service, or Strimzi's Kafka cluster, to ask first; None if the file names the bootstrap servers."""

    def __str__(self) -> str:
        return "kube:" + "/".join(filter(None, (self.context, self.namespace, self.service)))


Via = SshHost | Proxy | KubeNamespace
"""A way that all connections take."""


def show_via(via: Via) -> str:
    """Return a way as ``--via`` takes it, without a login."""
    return f"ssh:{via}" if isinstance(via, SshHost) else str(via)


class AddressRule(Struct, frozen=True):
    """An address to connect to in place of an advertised one."""

    host: str
    """A glob for advertised host names, in lower case."""
    port: int | None
    """The advertised port; None for every port."""
    to_host: str
    """The host to connect to."""
    to_port: int | None
    """The port to connect to; None for the advertised one."""


class Route(Struct, frozen=True):
    """The way of connections to addresses: other addresses in their place, then a way to these."""

    via: Via | None = None
    addresses: tuple[AddressRule, ...] = ()

    def place_of(self, address: Address) -> Address:
        """Return the address to connect to: by the first rule that fits; without one the address itself."""
        host, port = address
        for rule in self.addresses:
            if rule.port in (None, port) and fnmatchcase(host.lower(), rule.host):
                return rule.to_host, port if rule.to_port is None else rule.to_port
        return address


DIRECT = Route()
"""The route of connections from this host to the addresses themselves."""


class HttpSettings(Struct, frozen=True):
    """A service with HTTP: a schema registry with Confluent's API, or a worker of Connect."""

    host: str
    """The host in the service's URL."""
    port: int
    """The port in the service's URL."""
    path: str = ""
    """The path in the service's URL; ``""`` without one."""
    tls: TlsSettings | None = None
    """The settings of TLS; None for http."""
    username: str | None = None
    """The user name for Basic authentication; None without it."""
    password: Secret | None = None
    """The password for Basic authentication; None without it."""
    token: Secret | None = None
    """The configured token for Bearer authentication; None for other ways to log in."""
    oauth: SaslSettings | None = None
    """OAUTHBEARER settings, for a token that is fetched; None for other ways to log in."""
    headers: tuple[tuple[str, Secret], ...] = ()
    """The name and the value of each further header."""

    def __str__(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://{show_address((self.host, self.port))}{self.path}"


class ConnectSettings(Struct, frozen=True):
    """The name and the workers of a Connect cluster."""

    name: str
    """kac's name of the cluster."""
    workers: tuple[HttpSettings, ...]
    """The settings of some of its workers; most requests go to one of them."""


class ConnectionSettings(Struct, frozen=True):
    """All settings of a client. Times are in seconds."""

    bootstrap: tuple[tuple[str, int], ...]
    security_protocol: str = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None
    client_id: str = CLIENT_ID
    request_timeout: float = REQUEST_TIMEOUT
    """The time for a call, including its retries."""
    connect_timeout: float = CONNECT_TIMEOUT
    read_only: bool = False
    """Whether the link refuses to send changes."""
    lost_answer_timeout: float = LOST_ANSWER_TIMEOUT
    """The time to find out whether a change without an answer was applied."""
    visible_timeout: float = VISIBLE_TIMEOUT
    """The time for brokers to describe an applied change."""
    via: Via | None = None
    """The way to all addresses, also to those that brokers advertise; None if this host connects directly."""
    addresses: tuple[AddressRule, ...] = ()
    """The addresses to connect to in place of advertised ones; TLS and logins keep the advertised names."""
    controllers: bool = False
    """Whether `bootstrap` has controllers' listeners, which answer requests about themselves (KIP-919)."""
    connect: tuple[ConnectSettings, ...] = ()
    """The Connect clusters next to the brokers."""
    schemas: HttpSettings | None = None
    """The schema registry of the cluster's records; None without one."""

    @property
    def route(self) -> Route:
        """The route of the client's connections."""
        return Route(self.via, self.addresses)

    @property
    def asked(self) -> str:
        """The word for the nodes at the addresses in messages: broker or controller."""
        return "controller" if self.controllers else "broker"

    @property
    def exposures(self) -> tuple[str, ...]:
        """Risks to the credentials and the data, a line each, with the remedy."""
        found = []
        if self.sasl is not None and self.security_protocol == "SASL_PLAINTEXT":
            found += _in_the_clear(self.sasl)
        if self.tls is not None and self.security_protocol.endswith("SSL") and _host_unchecked(self.tls):
            found.append(f"the {self.asked}s' {_UNCHECKED}")
        if self.sasl is not None and self.sasl.endpoint_tls is not None and _host_unchecked(self.sasl.endpoint_tls):
            found.append(f"the token endpoint's {_UNCHECKED}")
        return tuple(found)


_UNCHECKED = (
    "host name is not checked: anyone with a certificate of a trusted authority can intercept the connection and read "
    "the credentials; remove ssl.endpoint.identification.algorithm="
)


def _host_unchecked(tls: TlsSettings) -> bool:
    # If the chain is not checked either, the warning about the chain covers this.
    return tls.verify_chain and not tls.verify_host


def _in_the_clear(sasl: SaslSettings) -> list[str]:
    way = f"{sasl.mechanism} over SASL_PLAINTEXT"
    if sasl.mechanism == "PLAIN":
        return [f"{way} sends the password in the clear; use SASL_SSL"]
    if sasl.mechanism.startswith("SCRAM-"):
        return [f"{way} lets eavesdroppers guess the password and read everything; use SASL_SSL"]
    if "aws" in sasl.options:
        return [f"{way} sends a signature that anyone who reads it can use for 15 minutes; use SASL_SSL"]
    signed = sasl.password is not None or {"token.endpoint.url", "token.command"} & sasl.options.keys()
    if sasl.mechanism == "OAUTHBEARER" and signed:
        return [f"{way} sends the token in the clear; use SASL_SSL"]
    return []
