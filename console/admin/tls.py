"""The SSL context of a client: at least TLS 1.2, the broker's certificate and host name checked."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from console.admin.errors import TlsFailed
from console.admin.key_stores import ClientIdentity, client_identity, trusted_certificates
from console.admin.settings import ConnectionSettings, TlsSettings
from console.model.failure import Failure

_OPEN_FILES = Path("/proc/self/fd")


def ssl_context(settings: ConnectionSettings) -> ssl.SSLContext | None:
    """The context for these settings, None where the protocol is one without TLS. Reads files; raises TlsFailed."""
    if not settings.security_protocol.endswith("SSL"):
        return None
    return client_context(settings.tls or TlsSettings())


def client_context(tls: TlsSettings) -> ssl.SSLContext:
    """A context that trusts and shows what the settings say. Reads files; raises TlsFailed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.verify_host and tls.verify_chain
    if not tls.verify_chain:
        context.verify_mode = ssl.CERT_NONE
    if tls.trust is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        # As in Java, every certificate of a trust store is trusted by itself, not only an authority's.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            context.load_verify_locations(cadata=trusted_certificates(tls.trust))
        except ssl.SSLError as error:
            raise _failed(f"trust store {tls.trust.path or 'given inline'}: {_reason(error)}", "Is it whole?") from None
    identity = client_identity(tls)
    if identity is not None:
        _load(context, identity, tls)
    return context


def _load(context: ssl.SSLContext, identity: ClientIdentity, tls: TlsSettings) -> None:
    where = f"key store {tls.key_store.path if tls.key_store and tls.key_store.path else 'given inline'}"
    password = identity.password.reveal() if identity.password else ""
    with _private_file((identity.chain + identity.key).encode("ascii")) as path:
        try:
            # The password is always given, since OpenSSL would ask for a missing one on the terminal.
            context.load_cert_chain(path, password=lambda: password)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise _failed(f"{where}: the key is not that of the certificate", "Take both from one store.") from None
            if identity.password is not None:
                raise _failed(f"{where}: the key can't be decrypted", "Check ssl.key.password.") from None
            raise _failed(f"{where}: {_reason(error)}", "Is it whole, and its key one of RSA or EC?") from None


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A path with this content, gone afterwards.

    OpenSSL reads a certificate chain by path only. On Linux the path leads to memory, so that a decrypted key is never
    on a disk; elsewhere to a file that nobody else may read, removed at once.
    """
    if hasattr(os, "memfd_create") and _OPEN_FILES.is_dir():
        descriptor, path = os.memfd_create("kac-key", os.MFD_CLOEXEC), None
        name = str(_OPEN_FILES / str(descriptor))
    else:
        descriptor, name = tempfile.mkstemp(prefix="kac-")
        path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield name
    finally:
        if path is not None:
            path.unlink()


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "OpenSSL can't read it").replace("_", " ").lower()


def _failed(message: str, remedy: str) -> TlsFailed:
    return TlsFailed(Failure("TLS_FAILED", message, remedy))
