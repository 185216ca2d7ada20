"""How to reach a cluster: plain values, from a file, a context or a flag (console.contexts makes them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console.model.secret import Secret


@dataclass(frozen=True, slots=True)
class Store:
    """A key or trust store: ``PEM``, ``JKS`` or ``PKCS12``, at a path or given inline (PEM only)."""

    kind: str
    path: Path | None = None
    inline: Secret | None = None
    password: Secret | None = None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """TLS. trust None: the system's authorities. verify_host False only where the file says so
    (``ssl.endpoint.identification.algorithm=``). key_store: certificate chain and private key for mTLS;
    key_file: the private key where it lies apart from the chain."""

    trust: Store | None = None
    key_store: Store | None = None
    key_file: Store | None = None
    key_password: Secret | None = None
    verify_host: bool = True


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """SASL. mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI. options: what the mechanism needs
    beyond a user and a password (``token.endpoint.url``, ``scope``, ``kerberos.service.name``), not secret."""

    mechanism: str
    username: str | None = None
    password: Secret | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Everything that a client needs to connect. Times in seconds."""

    bootstrap: tuple[tuple[str, int], ...]
    security_protocol: str = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None
    client_id: str = "kac"
    request_timeout: float = 30.0
    connect_timeout: float = 10.0
