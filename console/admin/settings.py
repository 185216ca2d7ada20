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
    """A key or trust store: ``PEM``, ``JKS`` or ``PKCS12``, at a path or given inline (PEM only)."""

    kind: str
    path: Path | None = None
    inline: Secret | None = None
    password: Secret | None = None


class TlsSettings(Struct, frozen=True):
    """TLS.

    trust: None for the system's authorities. verify_host: False only if the file says so
    (``ssl.endpoint.identification.algorithm=``). verify_chain: False only if another tool's file says so
    (``insecure``); then any certificate is accepted. key_store: certificate chain and private key for mTLS. key_file:
    the private key if it is in a separate file.
    """

    trust: Store | None = None
    key_store: Store | None = None
    key_file: Store | None = None
    key_password: Secret | None = None
    verify_host: bool = True
    verify_chain: bool = True

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of the stores in files."""
        stores = (self.trust, self.key_store, self.key_file)
        return tuple(store.path for store in stores if store is not None and store.path is not None)


class SaslSettings(Struct, frozen=True):
    """SASL.

    mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI or AWS_MSK_IAM. options: other settings of the
    mechanism, not secret.

    SCRAM: ``tokenauth`` is true for a delegation token (KIP-48), with its id and its HMAC as username and password.
    OAUTHBEARER: options have ``token.endpoint.url`` (https, or a ``file:`` that contains the token), and optionally
    ``scope``, ``audience``, ``header.urlencode``, ``connect.timeout.ms``, ``read.timeout.ms``, and ``extension_NAME``
    for each SASL extension; username and password are the client's id and secret, and endpoint_tls is for the token
    endpoint. With ``assertion`` (``client`` or ``grant``) an assertion replaces the secret or the grant: the other
    options ``assertion.…`` are Kafka's, with absolute paths, and the password decrypts the private key. Or
    ``token.command``: a command line that prints a token, run in ``token.command.folder``. Without these the password
    is the token itself; without a password, the token is an unsecured one for username.
    AWS_MSK_IAM, and OAUTHBEARER with AWS tokens: ``aws``, optionally ``aws.profile``; ``aws.role.arn`` for a role to
    assume with those credentials, with ``aws.role.session``, ``aws.role.external.id`` and ``aws.role.region``.
    GSSAPI: ``kerberos.service.name``; ``kerberos.keytab`` or ``kerberos.ticket.cache``, paths, for tickets outside of
    the default cache; username is the principal, None for the default one.
    """

    mechanism: str
    username: str | None = None
    password: Secret | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    endpoint_tls: TlsSettings | None = None


class SshHost(Struct, frozen=True):
    """An SSH host for all connections. port, user: None for the values in ssh's own configuration."""

    host: str
    port: int | None = None
    user: str | None = None

    def __str__(self) -> str:
        where = self.host if self.port is None else show_address((self.host, self.port))
        return where if self.user is None else f"{self.user}@{where}"

    @property
    def as_argument(self) -> str:
        """The arguments of ssh, as typed by hand."""
        to = self.host if self.user is None else f"{self.user}@{self.host}"
        return to if self.port is None else f"-p {self.port} {to}"


class Proxy(Struct, frozen=True):
    """A proxy for all connections; it looks up the names. scheme: ``socks5``, or ``http`` for CONNECT. username,
    password: None for a proxy without a login.
    """

    scheme: str
    host: str
    port: int
    username: str | None = None
    password: Secret | None = None

    def __str__(self) -> str:
        return f"{self.scheme}://{show_address((self.host, self.port))}"


class KubeNamespace(Struct, frozen=True):
    """A namespace of Kubernetes; kubectl forwards a port to each of its brokers. context: a context of kubectl's
    configuration, None for its current one. service: the service, or Strimzi's Kafka cluster, to ask first.
    """

    namespace: str
    context: str | None = None
    service: str | None = None

    def __str__(self) -> str:
        return "kube:" + "/".join(filter(None, (self.context, self.namespace, self.service)))


Via = SshHost | Proxy | KubeNamespace
"""A way for all connections."""


def show_via(via: Via) -> str:
    """Return a way as ``--via`` takes it, without a login."""
    return f"ssh:{via}" if isinstance(via, SshHost) else str(via)


class AddressRule(Struct, frozen=True):
    """An address to connect to in place of an advertised one. host: a glob of advertised names, in lower case. port:
    None for every port. to_host, to_port: the place; None for the advertised port.
    """

    host: str
    port: int | None
    to_host: str
    to_port: int | None


class Route(Struct, frozen=True):
    """How connections get to addresses: other addresses in their place, then a way to these."""

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
    """A service with HTTP: a schema registry with Confluent's API, or a worker of Connect. host, port, path: parts of
    its URL; tls: None for http. username, password: the login for Basic authentication; token: the token for Bearer
    authentication; oauth: OAUTHBEARER, for a token that is fetched. headers: further ones, name -> value.
    """

    host: str
    port: int
    path: str = ""
    tls: TlsSettings | None = None
    username: str | None = None
    password: Secret | None = None
    token: Secret | None = None
    oauth: SaslSettings | None = None
    headers: tuple[tuple[str, Secret], ...] = ()

    def __str__(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://{show_address((self.host, self.port))}{self.path}"


class ConnectSettings(Struct, frozen=True):
    """A Connect cluster. name: kac's name for it. workers: the addresses of some of its workers."""

    name: str
    workers: tuple[HttpSettings, ...]


class ConnectionSettings(Struct, frozen=True):
    """All settings of a client. Times in seconds.

    request_timeout: for a call with its retries. read_only: whether the link refuses to send changes.
    lost_answer_timeout: to find out whether a change without an answer was applied. visible_timeout: for brokers to
    describe an applied change. via: the way to all addresses, also to those that brokers advertise; None: this host
    connects. addresses: the addresses to connect to in place of advertised ones; TLS and logins keep the advertised
    names. controllers: whether `bootstrap` has controllers' listeners, which answer requests about
    themselves (KIP-919). connect: the Connect clusters next to the brokers. schemas: the schema
    registry of their records.
    """

    bootstrap: tuple[tuple[str, int], ...]
    security_protocol: str = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None
    client_id: str = CLIENT_ID
    request_timeout: float = REQUEST_TIMEOUT
    connect_timeout: float = CONNECT_TIMEOUT
    read_only: bool = False
    lost_answer_timeout: float = LOST_ANSWER_TIMEOUT
    visible_timeout: float = VISIBLE_TIMEOUT
    via: Via | None = None
    addresses: tuple[AddressRule, ...] = ()
    controllers: bool = False
    connect: tuple[ConnectSettings, ...] = ()
    schemas: HttpSettings | None = None

    @property
    def route(self) -> Route:
        """How its connections get to addresses."""
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
    # If the chain is not checked either, the file's own warning covers this.
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
