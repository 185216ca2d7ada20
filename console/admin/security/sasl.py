"""SASL: what aiokafka's connections take for a mechanism and its credentials."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from console.admin.errors import AuthenticationFailed
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.failure import Failure

TOKEN_SHARE = 0.8
"""Share of the time to connect that a token may take, so that a slow endpoint is told as such."""


def sasl_arguments(settings: ConnectionSettings) -> dict[str, Any]:
    """The arguments ``sasl_…`` of aiokafka.conn.create_conn; none for a protocol without SASL.

    Raises AuthenticationFailed where what the mechanism needs is missing.
    """
    if not settings.security_protocol.startswith("SASL_"):
        return {}
    sasl = settings.sasl
    if sasl is None:
        raise _failed(f"{settings.security_protocol} wants credentials, and there are none", "Set sasl.mechanism.")
    arguments: dict[str, Any] = {"sasl_mechanism": sasl.mechanism}
    if sasl.mechanism == "OAUTHBEARER":
        from console.admin.security.oauth import token_provider

        return arguments | {"sasl_oauth_token_provider": token_provider(sasl, TOKEN_SHARE * settings.connect_timeout)}
    if sasl.mechanism == "GSSAPI":
        return arguments | _kerberos(sasl)
    if sasl.username is None or sasl.password is None:
        raise _failed(f"{sasl.mechanism} wants a user and a password", "Set sasl.jaas.config.")
    return arguments | {"sasl_plain_username": sasl.username, "sasl_plain_password": sasl.password.reveal()}


def _kerberos(sasl: SaslSettings) -> dict[str, Any]:
    if find_spec("gssapi") is None:
        raise _failed(
            "GSSAPI (Kerberos) needs the Python package gssapi, which is not installed",
            "Install it where kac is installed, as with: pipx inject kafka-admin-console gssapi.",
        )
    return {"sasl_kerberos_service_name": sasl.options.get("kerberos.service.name", "kafka")}


def _failed(message: str, remedy: str) -> AuthenticationFailed:
    return AuthenticationFailed(Failure("AUTHENTICATION_FAILED", message, remedy))
