"""How to reach a cluster: plain values, from a file, a context or a flag (console.contexts makes them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console.model.secret import Secret

CLIENT_ID = "kac"
REQUEST_TIMEOUT = 30.0
CONNECT_TIMEOUT = 10.0
"""Seconds."""


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
    (``ssl.endpoint.identification.algorithm=``), verify_chain False only where another tool's file does (``insecure``):
    then any certificate is taken. key_store: certificate chain and private key for mTLS; key_file: the private key
    where it lies apart from the chain."""

    trust: Store | None = None
    key_store: Store | None = None
    key_file: Store | None = None
    key_password: Secret | None = None
    verify_host: bool = True
    verify_chain: bool = True


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """SASL. mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI. options: what the mechanism needs
    beyond a user and a password, not secret.

    OAUTHBEARER: options has ``token.endpoint.url`` (https, or a ``file:`` whose content is the token), perhaps
    ``scope``, ``header.urlencode``, ``connect.timeout.ms``, ``read.timeout.ms``, and ``extension_NAME`` for each SASL
    extension; username and password are the client's id and secret, and endpoint_tls is for the token endpoint.
    Without a URL the password is the token itself, or, without a password, the token is an unsecured one for username.
    GSSAPI: ``kerberos.service.name``."""

    mechanism: str
    username: str | None = None
    password: Secret | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    endpoint_tls: TlsSettings | None = None


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Everything that a client needs to connect. Times in seconds; request_timeout is for a call with its retries.
    read_only: the link refuses to send what changes the cluster."""

    bootstrap: tuple[tuple[str, int], ...]
    security_protocol: str = "PLAINTEXT"
    sasl: SaslSettings | None = None
    tls: TlsSettings | None = None
    client_id: str = CLIENT_ID
    request_timeout: float = REQUEST_TIMEOUT
    connect_timeout: float = CONNECT_TIMEOUT
    read_only: bool = False
