"""Errors of connecting, for an operator: a line with host:port and the reason, and a remedy."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime

from kio.schema.errors import ErrorCode

from console.admin import errors as admin_errors
from console.admin.link_errors import another_node
from console.admin.settings import Address, ConnectionSettings, KubeNamespace, show_address
from console.wire.connection import AnotherNode, ConnectFailed, NoCommonVersion, NotKafka, Stage
from console.wire.sasl import EndsAtOnce, KerberosFailed, NotTheBroker, SaslRefused
from console.wire.schemas import version_range

# Numbers of X509_V_ERR_EXPIRED and others, from OpenSSL's x509_vfy.h
_EXPIRED, _HOST_MISMATCH, _ADDRESS_MISMATCH = 10, 62, 64
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")


def connect_error(error: Exception, address: Address, settings: ConnectionSettings) -> admin_errors.AdminError:
    """Convert the error of a failed connection to this address to an AdminError. error: as raised by
    `console.wire.connection.connect`.
    """
    if not isinstance(error, ConnectFailed):
        return error if isinstance(error, admin_errors.AdminError) else _not_set_up(error, address)
    cause = _root(error)
    if isinstance(cause, admin_errors.AdminError):
        return cause
    where = _shown(address, settings)
    if (words := _words_of_kubectl(cause, address, settings)) is not None:
        from console.admin.kube import silent

        return silent(address, words)
    if isinstance(cause, AnotherNode):
        return admin_errors.WrongNode(another_node(address, cause.meant, asked=settings.asked))
    if isinstance(cause, NoCommonVersion):
        return too_new(address, cause.api, cause.theirs)
    if isinstance(cause, ssl.SSLError):
        return _tls_error(cause, where, settings)
    if error.stage is Stage.OPENING:
        return _opening_error(cause, address, settings)
    if isinstance(cause, TimeoutError):
        return _hangs(error, where, settings)
    if error.stage is Stage.SASL:
        return _sasl_error(cause, where, settings)
    return _answer_error(cause, where, settings)


def refused_credentials(error: Exception) -> bool:
    """Return whether the login showed that the credentials are wrong: the broker checked them and refused them, or
    the peer does not know the user's keys.
    """
    cause = _root(error)
    if isinstance(cause, SaslRefused):
        return cause.errno == ErrorCode.sasl_authentication_failed
    return is_impostor(error)


def is_impostor(error: BaseException) -> bool:
    """Return whether the login showed that the peer is not the expected broker: it does not have the user's keys."""
    return isinstance(error, ConnectFailed) and isinstance(_root(error), NotTheBroker)


def too_new(address: Address, api: str, theirs: tuple[int, int]) -> admin_errors.AdminError:
    """Return the error that a broker supports an API only in versions newer than those that kac supports. theirs: the
    broker's lowest and highest version.
    """
    known = version_range(api)[1]
    message = (
        f"{show_address(address)} is newer than this kac: it has {api} {theirs[0]} to {theirs[1]}, known is {known}"
    )
    return admin_errors.NotKafkaBroker.of(
        message, "Update kac; until then use the tools of that Kafka release.", name="TOO_NEW"
    )


def not_a_broker(address: Address) -> admin_errors.AdminError:
    """Return the error that the peer uses Kafka's protocol but has no Metadata API: it is a KRaft controller."""
    message = f"{show_address(address)} is a controller's listener: it has no Metadata"
    remedy = "Use the address of a broker's listener, or name it with --bootstrap-controller."
    return admin_errors.NotKafkaBroker.of(message, remedy)


def not_a_controller(address: Address, *, older: bool) -> admin_errors.AdminError:
    """Return the error that the peer does not answer as a controller, although the settings name it as one. older:
    whether it is a controller before KIP-919.
    """
    if older:
        message = f"{show_address(address)} is a controller of a Kafka before 3.7, which answers no client"
        remedy = "Ask its brokers: name some with -b."
    else:
        message = f"{show_address(address)} is a broker's listener, named as a controller's"
        remedy = "Name it with -b, or a listener of controller.listener.names."
    return admin_errors.NotKafkaBroker.of(message, remedy, name="NOT_A_CONTROLLER")


_MOST_NAMED = 3
"""Maximum number of addresses that a message names for one reason; a cluster may have hundreds."""


def none_reached(errors: Sequence[admin_errors.AdminError]) -> admin_errors.AdminError:
    """Return one error for all addresses that could not be reached: the most specific one, or one that lists all
    reasons.
    """
    specific = (
        admin_errors.AuthenticationFailed,
        admin_errors.WayFailed,
        admin_errors.TlsFailed,
        admin_errors.NotKafkaBroker,
    )
    chosen = next((error for kind in specific for error in errors if isinstance(error, kind)), None)
    if chosen is not None or len(errors) == 1:
        return chosen or errors[0]
    at: dict[str, dict[str, None]] = {}
    for error in errors:
        where, _, why = error.failure.message.partition(": ")
        at.setdefault(why, {})[where] = None
    every = "; ".join(f"{_listed([*where])}: {why}" if why else _listed([*where]) for why, where in at.items())
    remedies = dict.fromkeys(error.failure.remedy for error in errors)
    return admin_errors.Unreachable.of(f"none of {len(errors)} addresses: {every}", " ".join(remedies))


def _listed(addresses: Sequence[str]) -> str:
    """Return the first `_MOST_NAMED` (3) addresses as text, and the number of the others."""
    named, more = addresses[:_MOST_NAMED], len(addresses) - _MOST_NAMED
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _root(error: BaseException) -> BaseException:
    """Return the exception at the end of the chain of causes. The chain ends at a TimeoutError, whose own cause is
    only the cancellation at the timeout.
    """
    while error.__cause__ is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error


def _shown(address: Address, settings: ConnectionSettings) -> str:
    """Return an address for a message; if the settings replace it by another address, that one is added."""
    place = settings.route.place_of(address)
    return show_address(address) if place == address else f"{show_address(address)} (at {show_address(place)})"


def _words_of_kubectl(cause: BaseException, address: Address, settings: ConnectionSettings) -> str | None:
    """Return kubectl's reason for closing a connection; None if kubectl gave none, or the connection does not go
    through kubectl, or failed in another way.
    """
    is_closed = isinstance(cause, ConnectionError | EOFError | ssl.SSLError)
    if not isinstance(settings.via, KubeNamespace) or not is_closed or isinstance(cause, ssl.SSLCertVerificationError):
        return None
    from console.admin.kube import KubeWay
    from console.admin.ways import way

    found = way(settings.via)
    return (found.last_words(settings.route.place_of(address)) or None) if isinstance(found, KubeWay) else None


_ASKED = {
    Stage.TLS: "the TLS handshake",
    Stage.VERSIONS: "the first request (ApiVersions)",
    Stage.SASL: "SASL authentication",
}


_SPELLING = "Check its spelling, DNS, and whether a VPN is up."
_UNKNOWN_HERE = (
    "Map it: addresses in the context, of which kac doctor prints the lines; or go by a host that knows it: --via; or "
    "add it to DNS or /etc/hosts."
)


def _hangs(error: ConnectFailed, where: str, settings: ConnectionSettings) -> admin_errors.AdminError:
    since = datetime.fromtimestamp(error.began).strftime("%H:%M:%S")
    if error.stage is Stage.VERSIONS and not _speaks_tls(settings):
        other = f", and whether that port is for {settings.security_protocol}"
    else:
        other = ""
    return admin_errors.Unreachable.of(
        f"{where}: something listens there, but it does not answer {_ASKED[error.stage]}: "
        f"nothing in {settings.connect_timeout:g} s, since {since}",
        f"If it is the {settings.asked}, it hangs or is overloaded: look at its process, its log, its disks and "
        f"its request queue. Else check the port{other}.",
        name="NO_ANSWER",
    )


def _not_set_up(error: Exception, address: Address) -> admin_errors.AdminError:
    return admin_errors.Unreachable.of(
        f"{show_address(address)} was not tried: {type(error).__name__} {error}".rstrip(),
        "Check the security settings of this context.",
    )


def _opening_error(cause: BaseException, address: Address, settings: ConnectionSettings) -> admin_errors.AdminError:
    where = _shown(address, settings)
    is_mapped = settings.route.place_of(address) != address
    if isinstance(cause, socket.gaierror):
        message, remedy = f"{where}: the host name is not known ({cause.strerror})", _SPELLING
        if address not in settings.bootstrap and not is_mapped:
            message = f"{where}: this host does not know the name that a {settings.asked} advertises ({cause.strerror})"
            remedy = _UNKNOWN_HERE
        return admin_errors.Unreachable.of(message, remedy)
    if isinstance(cause, ConnectionRefusedError):
        message, remedy = f"{where}: nothing listens there (connection refused)", "Check the port, and that the "
        remedy += f"{settings.asked} is up."
        if is_mapped:
            remedy = "Look whether the forward runs there, and at addresses in the context."
        return admin_errors.NothingListens.of(message, remedy)
    if isinstance(cause, TimeoutError):
        message = f"{where}: no connection within {settings.connect_timeout:g} s"
        return admin_errors.Unreachable.of(message, "Check the address, firewalls, and whether a VPN is up.")
    if isinstance(cause, ConnectionError) and _speaks_tls(settings):
        return _no_tls_there(where)
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return admin_errors.Unreachable.of(f"{where}: {text}", "Check the address and the network from here.")


def _tls_error(cause: ssl.SSLError, where: str, settings: ConnectionSettings) -> admin_errors.AdminError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _untrusted(cause, where, settings)
    reason = (cause.reason or "").upper()
    if "ALERT" in reason:
        own = settings.tls is not None and settings.tls.key_store is not None
        alert = reason.rpartition("ALERT_")[2].replace("_", " ").lower()
        from console.admin.tls import own_certificate_end

        ends = own_certificate_end(settings.tls) if own and settings.tls is not None else None
        if ends is not None and ends <= datetime.now(UTC):
            message = f"{where} refused this client's certificate, which ended on {ends:%Y-%m-%d %H:%M} UTC"
            remedy = "Renew it: the next connection takes it from the same file."
        elif own:
            message = f"{where} refused this client's certificate or TLS version (alert: {alert})"
            remedy = (
                f"Check that the {settings.asked}s' trust store has the authority that signed it, and that it is not "
                "expired."
            )
        else:
            message = f"{where} ended the TLS handshake (alert: {alert}): it seems to want a client certificate"
            remedy = "Set ssl.keystore.location (or ssl.keystore.certificate.chain and ssl.keystore.key)."
        return admin_errors.TlsFailed.of(message, remedy)
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNEXPECTED_EOF_WHILE_READING", ""):
        return _no_tls_there(where)
    message = f"{where}: TLS failed: {reason.replace('_', ' ').lower()}"
    return admin_errors.TlsFailed.of(message, "Compare ssl.protocol and ciphers with the listener's.")


def _untrusted(
    cause: ssl.SSLCertVerificationError, where: str, settings: ConnectionSettings
) -> admin_errors.AdminError:
    if cause.verify_code in (_HOST_MISMATCH, _ADDRESS_MISMATCH):
        remedy = (
            f"Connect by a name that the certificate has, or have the {settings.asked}'s certificate issued for this "
            "one."
        )
    elif cause.verify_code == _EXPIRED:
        remedy = f"Have the {settings.asked}'s certificate renewed; check this machine's clock."
    else:
        remedy = "Set ssl.truststore.location (or ssl.truststore.certificates) to the authority that signed it."
    message = f"{where}: the {settings.asked}'s certificate is not accepted: {cause.verify_message}"
    return admin_errors.TlsFailed.of(message, remedy)


def _no_tls_there(where: str) -> admin_errors.AdminError:
    # Never suggest plaintext: an attacker on the way could break every handshake to provoke just that.
    return admin_errors.TlsFailed.of(
        f"{where} does not speak TLS",
        "Use the port of a TLS listener. If this is one, something on the way cuts TLS off: find out what.",
    )


def _sasl_error(cause: BaseException, where: str, settings: ConnectionSettings) -> admin_errors.AdminError:
    """Return the error of a failed SASL login. where: the address as text."""
    mechanism = settings.sasl.mechanism if settings.sasl is not None else "SASL"
    if isinstance(cause, NotTheBroker):
        return admin_errors.AuthenticationFailed.of(
            f"{where} is not the expected {settings.asked}, for {mechanism}: {cause}",
            "Don't try again before you know what answers there: check the address, DNS and tunnels, and use "
            f"SASL_SSL with the authority of the {settings.asked}s' certificates.",
            name="NOT_THE_BROKER",
        )
    if isinstance(cause, EndsAtOnce):
        message = f"the {mechanism} credentials for {where} {cause}"
        return admin_errors.AuthenticationFailed.of(message, "Get new ones; compare the clocks of both hosts.")
    if isinstance(cause, KerberosFailed):
        return _kerberos_error(cause, where)
    code = cause.errno if isinstance(cause, SaslRefused) else None
    if isinstance(cause, SaslRefused) and code == ErrorCode.unsupported_sasl_mechanism:
        there = f"; it supports {', '.join(cause.mechanisms)}" if cause.mechanisms else ""
        message, remedy = f"{where} does not support {mechanism}{there}", "Set sasl.mechanism to one that it supports."
    elif code == ErrorCode.illegal_sasl_state:
        message = f"{where} has no SASL on this listener"
        remedy = "Use the port of a SASL listener"
        remedy += ", or set security.protocol=SSL." if settings.security_protocol == "SASL_SSL" else "."
    elif isinstance(cause, EOFError | OSError):
        message = f"{where} closed the connection during {mechanism} authentication"
        remedy = f"Check the credentials; the {settings.asked}'s own log says why."
    else:
        message = f"{where} refused the {mechanism} credentials"
        message += f": {admin_errors.in_bounds(str(cause))}" if str(cause) else ""
        remedy = "Check user name and password."
        if settings.sasl is not None and "tokenauth" in settings.sasl.options:
            remedy = (
                "The delegation token is wrong, expired or revoked: kac run -e 'list tokens', with another login of "
                "its owner, lists the valid ones."
            )
        elif mechanism.startswith("SCRAM"):
            remedy = f"Check user name and password, and that the user has a {mechanism} credential."
        elif mechanism == "GSSAPI":
            message += f"; {cause.shown}" if isinstance(cause, SaslRefused) else ""
            remedy = (
                f"Check that the {settings.asked}'s keytab has the service's present keys, and the clocks of both "
                "hosts."
            )
        elif settings.sasl is not None and "aws" in settings.sasl.options:
            message += f"; {cause.shown}" if isinstance(cause, SaslRefused) else ""
            remedy = "Check that this identity may kafka-cluster:Connect, its session's end, the region and the clock."
        elif mechanism == "OAUTHBEARER":
            message += f"; {cause.shown}" if isinstance(cause, SaslRefused) and cause.shown else ""
            remedy = (
                "Compare these with the listener's sasl.oauthbearer.expected.audience, expected.issuer and JWKS, and "
                f"the clocks; the {settings.asked}'s own log says which of them it is."
            )
    return admin_errors.AuthenticationFailed.of(message, remedy)


# The first match counts: a keytab's own text comes after the texts that any ticket causes.
_KERBEROS_REMEDIES = (
    ("expired", "Get a new ticket: kinit. With a keytab, compare the clocks of this host and the KDC."),
    ("Clock skew", "Set this host's clock by the KDC's: they may be five minutes apart."),
    (
        "not found in Kerberos database",
        "Check sasl.kerberos.service.name, and that the host's name is the broker's own.",
    ),
    ("Cannot find KDC", "Name the realm's KDC in krb5.conf (or KRB5_CONFIG), and check the principal's realm."),
    ("Cannot contact any KDC", "Check that the realm's KDC is up, and the network to it (port 88, TCP and UDP)."),
    ("revoked", "The principal is locked or disabled: ask the administrators of the realm."),
    ("Decrypt integrity check failed", "The keytab has old keys, as after a change of password: get a new one."),
    ("reauthentication failed", "The keytab has old keys, as after a change of password: get a new one."),
    ("keytab", "Check keyTab and principal: klist -k KEYTAB lists whose keys it has."),
    (
        "No Kerberos credentials",
        "Get a ticket: kinit; or set useKeyTab=true, keyTab and principal in sasl.jaas.config.",
    ),
    ("credentials cache", "Get a ticket: kinit; KRB5CCNAME or ticketCache names its cache."),
)


def _kerberos_error(cause: BaseException, where: str) -> admin_errors.AdminError:
    """Return the error of a Kerberos failure on this host, before anything was sent to the broker. where: the address
    as text.
    """
    text = str(cause)
    # Ignore paths in the text, which may contain any word.
    said = re.sub(r"\S++", lambda word: "" if "/" in word[0] else word[0], text)
    remedy = next((remedy for part, remedy in _KERBEROS_REMEDIES if part in said), "Try kinit and kvno by hand.")
    return admin_errors.AuthenticationFailed.of(f"{where} was not asked: Kerberos: {text}", remedy)


def _answer_error(cause: BaseException, where: str, settings: ConnectionSettings) -> admin_errors.AdminError:
    if isinstance(cause, NotKafka) and cause.start.startswith(_TLS_RECORDS):
        secure = "SASL_SSL" if settings.security_protocol == "SASL_PLAINTEXT" else "SSL or SASL_SSL"
        message = f"{where} answers in TLS: this looks like a TLS listener"
        return admin_errors.TlsFailed.of(message, f"Set security.protocol={secure}.")
    if isinstance(cause, NotKafka):
        shown = "HTTP" if cause.start == b"HTTP" else repr(cause.start)[2:-1]
        message = f"{where} is not a Kafka listener: it answers with {shown}"
        return admin_errors.NotKafkaBroker.of(message, "Check the port.")
    if isinstance(cause, asyncio.IncompleteReadError | ConnectionError):
        if _speaks_tls(settings):
            message, hint = f"{where} closed the connection without an answer", "whether it is a Kafka listener"
        else:
            message = f"{where} closed the connection without an answer: a TLS listener, or not Kafka"
            hint = "whether security.protocol should be SSL or SASL_SSL"
        return admin_errors.ClosedAtOnce.of(message, f"Check the port, and {hint}.")
    message = f"{where} is not a Kafka listener: its answer can't be read"
    return admin_errors.NotKafkaBroker.of(message, "Check the port.")


def _speaks_tls(settings: ConnectionSettings) -> bool:
    return settings.security_protocol in ("SSL", "SASL_SSL")
