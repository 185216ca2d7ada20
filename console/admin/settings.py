"""The settings of a connection as plain values, which come from a file, a context or a flag (see console.contexts)."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, field

from console.model.cluster import address_text
from console.model.secret import Secret

Address = tuple[str, int]
"""Host and port."""


def show_address(address: Address) -> str:
    """Return ``host:port``, with an IPv6 address in brackets."""
    return address_text(*address)


CLIENT_ID = "kac"
REQUEST_TIMEOUT = 30.0
CONNECT_TIMEOUT = 10.0
LOST_ANSWER_TIMEOUT = 5.0
"""Default of `lost_answer_timeout`, in seconds. It is long enough, because brokers apply the controller's records
within milliseconds.
"""
VISIBLE_TIMEOUT = 2.0


class Store(Struct, frozen=True):
    """A key store or trust store in the format ``PEM``, ``JKS`` or ``PKCS12``: in a file, or, for PEM only, as text in
    the settings.
    """

    kind: str
    path: Path | None = None
    inline: Secret | None = None
    password: Secret | None = None


class TlsSettings(Struct, frozen=True):
    """Settings of TLS."""

    trust: Store | None = None
    """The store of the trusted certificates; None for those that the operating system trusts."""
    key_store: Store | None = None
    """The store of the client's certificate chain and private key, for mTLS; None without a client certificate."""
    key_file: Store | None = None
    """The store of the private key, if it is in a separate file; None if it is in `key_store`."""
    key_password: Secret | None = None
    verify_host: bool = True
    """Whether to check that the certificate has the broker's host name. False only if the settings' file says so
    (``ssl.endpoint.identification.algorithm=``).
    """
    verify_chain: bool = True
    """Whether to check that a trusted authority signed the certificate. False only if another tool's settings file says
    so (``insecure``).
    """

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of those stores that are in files."""
        stores = (self.trust, self.key_store, self.key_file)
        return tuple(store.path for store in stores if store is not None and store.path is not None)


class SaslSettings(Struct, frozen=True):
    """The settings of a SASL login. The meaning of username, password and options depends on the mechanism.

    SCRAM: the option ``tokenauth`` is ``true`` for a delegation token (KIP-48); username and password are then its id
    and HMAC.

    OAUTHBEARER with a token endpoint: the option ``token.endpoint.url`` is an https URL, or a ``file:`` that has the
    token; ``scope``, ``audience``, ``header.urlencode``, ``connect.timeout.ms``, ``read.timeout.ms`` and
    ``extension_NAME`` (for each SASL extension) are optional. Username and password are the client's id and secret;
    endpoint_tls is for the endpoint. If the option ``assertion`` is ``client`` or ``grant``, an assertion replaces the
    secret or the grant; the other options ``assertion.…`` are Kafka's, with absolute paths, and the password decrypts
    the private key.

    OAUTHBEARER with a command: the option ``token.command`` is a command line that prints a token, and
    ``token.command.folder`` the folder in which it runs. OAUTHBEARER without these options: the password is the token
    itself; without a password, the token is an unsigned one for username.

    AWS_MSK_IAM, and OAUTHBEARER with tokens of AWS: the option ``aws`` is set; ``aws.profile`` is optional. A role to
    assume is ``aws.role.arn``, with ``aws.role.session``, ``aws.role.external.id`` and ``aws.role.region``.

    GSSAPI: the option ``kerberos.service.name``; for tickets outside of the default cache also ``kerberos.keytab`` or
    ``kerberos.ticket.cache``, which are paths. Username is the principal, None for the default one.
    """

    mechanism: str
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, GSSAPI or AWS_MSK_IAM."""
    username: str | None = None
    password: Secret | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Further settings of the mechanism, which are not secret."""
    endpoint_tls: TlsSettings | None = None


class SshHost(Struct, frozen=True):
    """An SSH host through which all connections go."""

    host: str
    port: int | None = None
    """The port of the SSH host; None for the one in ssh's own configuration."""
    user: str | None = None
    """The user at the SSH host; None for the one in ssh's own configuration."""

    def __str__(self) -> str:
        where = self.host if self.port is None else show_address((self.host, self.port))
        return where if self.user is None else f"{self.user}@{where}"

    @property
    def as_argument(self) -> str:
        """The arguments of ssh for this host, as a user would type them."""
        to = self.host if self.user is None else f"{self.user}@{self.host}"
        return to if self.port is None else f"-p {self.port} {to}"


class Proxy(Struct, frozen=True):
    """A proxy through which all connections go. It resolves the host names."""

    scheme: str
    """The protocol: ``socks5``, or ``http`` for HTTP's CONNECT."""
    host: str
    port: int
    username: str | None = None
    """The user name; None for a proxy without a login."""
    password: Secret | None = None
    """The password; None for a proxy without a login."""

    def __str__(self) -> str:
        return f"{self.scheme}://{show_address((self.host, self.port))}"


class KubeNamespace(Struct, frozen=True):
    """A Kubernetes namespace with the brokers; kubectl forwards a local port to each of them."""

    namespace: str
    context: str | None = None
    """The name of a context in kubectl's configuration; None for the current one."""
    service: str | None = None
    """The service, or the Kafka cluster of Strimzi's, to connect to first; None if the settings name bootstrap servers.
    """

    def __str__(self) -> str:
        return "kube:" + "/".join(filter(None, (self.context, self.namespace, self.service)))


Via = SshHost | Proxy | KubeNamespace
"""An SSH host, proxy or Kubernetes namespace through which all connections go."""


def show_via(via: Via) -> str:
    """Return the text form that ``--via`` accepts, without a login."""
    return f"ssh:{via}" if isinstance(via, SshHost) else str(via)


class AddressRule(Struct, frozen=True):
    """A rule that replaces an address that brokers advertise by the address to connect to."""

    host: str
    """A glob for advertised host names, in lower case."""
    port: int | None
    """The advertised port; None for any port."""
    to_host: str
    """The host to connect to."""
    to_port: int | None
    """The port to connect to; None to keep the advertised one."""


class Route(Struct, frozen=True):
    """The rules that replace addresses, and the SSH host, proxy or Kubernetes namespace through which connections
    go.
    """

    via: Via | None = None
    addresses: tuple[AddressRule, ...] = ()

    def place_of(self, address: Address) -> Address:
        """Return the address to connect to instead of this one, by the first rule that fits; the address itself if no
        rule fits.
        """
        host, port = address
        for rule in self.addresses:
            if rule.port in (None, port) and fnmatchcase(host.lower(), rule.host):
                return rule.to_host, port if rule.to_port is None else rule.to_port
        return address


DIRECT = Route()
"""The route without rules: connections go from this host to the addresses themselves."""


class HttpSettings(Struct, frozen=True):
    """The settings of an HTTP service: a schema registry with Confluent's API, or a Connect worker."""

    host: str
    """The host in the service's URL."""
    port: int
    """The port in the service's URL."""
    path: str = ""
    """The path in the service's URL; ``""`` if it has none."""
    tls: TlsSettings | None = None
    """The settings of TLS; None for plain http."""
    username: str | None = None
    """The user name for Basic authentication; None without it."""
    password: Secret | None = None
    """The password for Basic authentication; None without it."""
    token: Secret | None = None
    """The configured token for Bearer authentication; None if there is none, or kac fetches tokens."""
    oauth: SaslSettings | None = None
    """The settings for fetching tokens for Bearer authentication; None if kac fetches none."""
    headers: tuple[tuple[str, Secret], ...] = ()
    """Further headers of each request, as pairs of name and value."""

    def __str__(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://{show_address((self.host, self.port))}{self.path}"


class ConnectSettings(Struct, frozen=True):
    """A Connect cluster: its name and its workers."""

    name: str
    """The name that kac uses for the cluster."""
    workers: tuple[HttpSettings, ...]
    """The settings of some or all of its workers. Most requests go to one of them."""


class ConnectionSettings(Struct, frozen=True):
    """All settings of a client. Times are in seconds."""

    bootstrap: tuple[tuple[str, int], ...]
    security_protocol: str = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None
    client_id: str = CLIENT_ID
    request_timeout: float = REQUEST_TIMEOUT
    """Maximum seconds for a request, with its retries."""
    connect_timeout: float = CONNECT_TIMEOUT
    read_only: bool = False
    """Whether the client refuses to send changes."""
    lost_answer_timeout: float = LOST_ANSWER_TIMEOUT
    """The time for finding out, after the response to a change was lost, whether the change was applied."""
    visible_timeout: float = VISIBLE_TIMEOUT
    """The time to wait until brokers return the state that an applied change has made."""
    via: Via | None = None
    """The SSH host, proxy or Kubernetes namespace through which all connections go, also those to addresses that
    brokers advertise; None if this host connects directly.
    """
    addresses: tuple[AddressRule, ...] = ()
    """The rules that replace advertised addresses. TLS and logins still use the advertised names."""
    controllers: bool = False
    """Whether `bootstrap` names listeners of controllers, which answer requests themselves (KIP-919)."""
    connect: tuple[ConnectSettings, ...] = ()
    """The Connect clusters next to the brokers."""
    schemas: HttpSettings | None = None
    """The schema registry with the schemas of the cluster's records; None without one."""

    @property
    def route(self) -> Route:
        """The route of the client's connections, from `via` and `addresses`."""
        return Route(self.via, self.addresses)

    @property
    def asked(self) -> str:
        """The word in messages for the nodes at the addresses: ``broker`` or ``controller``."""
        return "controller" if self.controllers else "broker"

    @property
    def exposures(self) -> tuple[str, ...]:
        """Lines about risks that these settings mean for credentials and data, each with the remedy."""
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
