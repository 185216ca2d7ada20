"""From the properties of Java's clients (AdminClientConfig, SaslConfigs, SslConfigs) to what our client needs."""

from __future__ import annotations

from collections.abc import Mapping

from console.admin.settings import CLIENT_ID, CONNECT_TIMEOUT, REQUEST_TIMEOUT, ConnectionSettings
from console.contexts.bootstrap import parse_bootstrap
from console.contexts.context import ContextError
from console.contexts.java_names import NOT_APPLIED, near_miss
from console.contexts.java_sasl import sasl_settings
from console.contexts.java_tls import tls_settings
from console.contexts.values import Values

Addresses = tuple[tuple[str, int], ...]

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def java_connection(values: Values, bootstrap: Addresses | None = None) -> ConnectionSettings:
    """The settings; `values.warnings` tells what is left out. bootstrap: addresses instead of those of the file.

    Raises ContextError where a value can't be used or is missing.
    """
    addresses = bootstrap or _bootstrap(values)
    protocol = _protocol(values)
    settings = ConnectionSettings(
        bootstrap=addresses,
        security_protocol=protocol,
        sasl=sasl_settings(values) if protocol.startswith("SASL_") else None,
        tls=tls_settings(values) if protocol.endswith("SSL") else None,
        client_id=values.text("client.id") or CLIENT_ID,
        # Our client's limit is for a call with its retries, which Java names default.api.timeout.ms.
        request_timeout=values.seconds("default.api.timeout.ms")
        or values.seconds("request.timeout.ms")
        or REQUEST_TIMEOUT,
        connect_timeout=values.seconds("socket.connection.setup.timeout.ms") or CONNECT_TIMEOUT,
    )
    _warn_of_the_rest(values, protocol)
    return settings


def _bootstrap(values: Values) -> Addresses:
    text = values.text("bootstrap.servers")
    if not text:
        raise ContextError(f"{values.file}: bootstrap.servers is missing; add it, or give -b HOST:PORT")
    try:
        return parse_bootstrap(text)
    except ValueError as error:
        raise values.error("bootstrap.servers", str(error)) from None


def _protocol(values: Values) -> str:
    text = values.text("security.protocol") or "PLAINTEXT"
    if text.upper() not in PROTOCOLS:
        raise values.error("security.protocol", f"it is one of {', '.join(PROTOCOLS)}, not {text!r}")
    return text.upper()


def _warn_of_the_rest(values: Values, protocol: str) -> None:
    """What the file asks for and does not get."""
    for key in values:
        if reason := _not_applied(values, key):
            values.warn(key, reason)
        elif near := near_miss(key):
            values.warn(key, f"is no key of Kafka's clients; did you mean {near}?")
    unused = {"ssl.": not protocol.endswith("SSL"), "sasl.": not protocol.startswith("SASL_")}
    for prefix, counts_for_nothing in unused.items():
        first = next((key for key in values if key.startswith(prefix)), None)
        if counts_for_nothing and first is not None:
            values.warn(first, f"counts for nothing with security.protocol={protocol}")


def _not_applied(values: Values, key: str) -> str | None:
    if key == "ssl.enabled.protocols":
        text = values.text(key) or ""
        return (
            None if "TLSv1.2" in text or "TLSv1.3" in text else "has neither TLSv1.2 nor TLSv1.3; they are used anyway"
        )
    if not values.text(key):
        return None
    if key == "config.providers":
        others = [name for name in (values.text(key) or "").replace(" ", "").split(",") if name not in ("env", "file")]
        told = "names Java code, which kac can't run: ${env:NAME}, ${file:PATH} and ${file:PATH:KEY} alone are resolved"
        return told if others else None
    applied: Mapping[str, str] = NOT_APPLIED
    return applied.get(key)
