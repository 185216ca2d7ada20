"""The certificates that listeners present in a TLS handshake. No Kafka request is sent."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec.structs import replace

from console.admin.link import Link
from console.admin.settings import ConnectionSettings, TlsSettings
from console.flight.answer import Shown
from console.model.certificates import Certificate, Listener

HANDSHAKE_SECONDS = 3.0
AT_ONCE = 16
log = logging.getLogger(__name__)
MOST = 300
"""Maximum number of listeners whose certificates are read."""


async def shown_certificates(link: Link, listeners: Iterable[Listener]) -> tuple[Certificate, ...]:
    """Return the certificates that the first `MOST` (300) listeners present. A listener is missing in the result if it
    can't be reached, has no TLS, or presents a certificate that can't be parsed.

    Untrusted and expired certificates are returned as well. The client's own certificate is sent only to listeners to
    which the client connects anyway, since a cluster may advertise any address. Raises TlsFailed if the client's own
    certificate or key can't be read.
    """
    listeners = list(dict.fromkeys(listeners))[:MOST]
    own = {*link.settings.bootstrap}
    # `kac doctor` connects to bootstrap addresses themselves, and possibly no broker answers the request for nodes.
    if any((each.host, each.port) not in own for each in listeners):
        own.update((await link.nodes()).brokers.values())
    with_own = await asyncio.to_thread(_context, link.settings, own=True)
    without = await asyncio.to_thread(_context, link.settings, own=False)
    gate = asyncio.Semaphore(AT_ONCE)

    async def shown(listener: Listener) -> Certificate | None:
        async with gate:
            began = time.monotonic()
            found = await _certificate(listener, with_own if (listener.host, listener.port) in own else without)
        told = found and Shown(found.subject, found.issuer, _ms(found.begins), _ms(found.ends))
        address = listener.host, listener.port
        link.sender.keep_handshake(listener.broker, address, listener.name, told, time.monotonic() - began)
        return found

    found = await asyncio.gather(*map(shown, listeners))
    return tuple(each for each in found if each is not None)


def _context(settings: ConnectionSettings, *, own: bool) -> ssl.SSLContext:
    """Return a TLS context that accepts any certificate. own: whether to send the client's certificate, if the settings
    have one.
    """
    from console.admin.tls import client_context

    tls = settings.tls or TlsSettings()
    key_store = tls.key_store if own else None
    return client_context(replace(tls, trust=None, key_store=key_store, verify_chain=False))


async def _certificate(listener: Listener, context: ssl.SSLContext) -> Certificate | None:
    writer = None
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            _, writer = await asyncio.open_connection(
                listener.host, listener.port, ssl=context, server_hostname=listener.host
            )
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return _read(listener, shown) if shown else None
    except OSError:  # including TimeoutError and SSLError
        return None
    except Exception:  # an odd certificate or name must affect only its own row
        log.info("the certificate of a listener of broker %d can't be read", listener.broker, exc_info=True)
        return None
    finally:
        if writer is not None:
            writer.transport.abort()


def _read(listener: Listener, der: bytes) -> Certificate:
    from cryptography import x509

    found = x509.load_der_x509_certificate(der)
    return Certificate(
        listener,
        found.subject.rfc4514_string(),
        found.issuer.rfc4514_string(),
        _utc(found.not_valid_before_utc),
        _utc(found.not_valid_after_utc),
    )


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _utc(at: datetime) -> datetime:
    return at.astimezone(UTC)
