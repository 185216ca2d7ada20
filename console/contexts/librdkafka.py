"""Connection settings from librdkafka's properties, as kcat, kaskade and the Confluent clients use them (librdkafka's
CONFIGURATION.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from console.admin import settings
from console.contexts import java_client
from console.contexts.context import Addresses, ContextError, Place
from console.contexts.properties import Entry, Values
from console.model.secret import Secret

SECTION = "kafka"

_SECTION = re.compile(r"\A\[(?P<name>[^\]]*)\]")
_NAMES = """
metadata.broker.list sasl.mechanisms sasl.username sasl.password ssl.ca.location ssl.ca.pem
ssl.certificate.location ssl.certificate.pem ssl.key.location ssl.key.pem enable.ssl.certificate.verification
sasl.oauthbearer.method sasl.oauthbearer.client.id sasl.oauthbearer.client.secret socket.timeout.ms
sasl.kerberos.keytab sasl.kerberos.principal sasl.oauthbearer.config sasl.oauthbearer.grant.type
sasl.oauthbearer.metadata.authentication.type enable.sasl.oauthbearer.unsecure.jwt
"""
_ASSERTION, _GRANT = "sasl.oauthbearer.assertion.", "sasl.oauthbearer.grant.type"
_BY_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_UNSECURED, _OF_METADATA = "sasl.oauthbearer.config", "sasl.oauthbearer.metadata.authentication.type"
_SECRET_OF = {
    f"sasl.oauthbearer.{prefix}client.id": f"sasl.oauthbearer.{prefix}client.secret"
    for prefix in ("", "client.credentials.")
}
_CLIENT_KEYS = tuple(_SECRET_OF)
"""Keys for the id of the client that requests a token: librdkafka's name and Java's."""
_OWN_KEYS = frozenset(_NAMES.split())
"""Keys that librdkafka has and Java's clients do not."""


def is_librdkafka(text: str, keys: frozenset[str]) -> bool:
    """Return whether a file is in librdkafka's form. text: its content; keys: the keys that a parser of Java's
    properties finds in it.
    """
    has_section = any(_SECTION.fullmatch(line.strip()) for line in text.splitlines())
    return has_section or (bool(keys & _OWN_KEYS) and "sasl.jaas.config" not in keys)


def parse_ini(text: str, file: Path) -> Mapping[str, Entry]:
    """Return the ``key=value`` lines of the section ``[kafka]``, or of the whole file if it has no sections, by key.

    There are no escapes. Lines that start with ``#`` or ``;`` are comments.

    Raises:
        ContextError: there are sections but not ``[kafka]``.
    """
    sections: dict[str | None, dict[str, Entry]] = {None: {}}
    current: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        header = _SECTION.fullmatch(stripped)
        if header:
            current = header["name"].strip()
            sections.setdefault(current, {})
        elif stripped and stripped[0] not in "#;":
            key, _, value = stripped.partition("=")
            sections[current][key.strip()] = Entry(value.strip(), Place(file, number))
    if SECTION in sections:
        return sections[SECTION]
    if len(sections) > 1:
        names = ", ".join(f"[{name}]" for name in sections if name)
        raise ContextError(f"{file}: it has the sections {names}, but only [{SECTION}] is read")
    return sections[None]


def librdkafka_connection(values: Values, bootstrap: Addresses | None = None) -> settings.ConnectionSettings:
    """Return the connection settings that librdkafka's properties describe.

    Args:
        values: the properties, with the names in librdkafka's CONFIGURATION.md.
        bootstrap: addresses that replace those of the file; None for the file's own.

    Returns:
        Settings with times in seconds, although the file has milliseconds.

    Raises:
        ContextError: a value is invalid or missing; one line with file, line and key.
    """
    protocol = (values.text("security.protocol") or "PLAINTEXT").upper()
    if protocol not in java_client.PROTOCOLS:
        raise values.error("security.protocol", f"it is one of {', '.join(java_client.PROTOCOLS)}, not {protocol!r}")
    key = "bootstrap.servers" if "bootstrap.servers" in values else "metadata.broker.list"
    return settings.ConnectionSettings(
        bootstrap=bootstrap or java_client.addresses_at(values, key, protocol),
        security_protocol=protocol,
        sasl=_sasl(values) if protocol.startswith("SASL_") else None,
        tls=_tls(values) if protocol.endswith("SSL") else None,
        client_id=values.text("client.id") or settings.CLIENT_ID,
        request_timeout=values.seconds("request.timeout.ms")
        or values.seconds("socket.timeout.ms")
        or settings.REQUEST_TIMEOUT,
        connect_timeout=values.seconds("socket.connection.setup.timeout.ms") or settings.CONNECT_TIMEOUT,
    )


def _tls(values: Values) -> settings.TlsSettings:
    trust = _pem(values, "ssl.ca.location", "ssl.ca.pem")
    certificate = _pem(values, "ssl.certificate.location", "ssl.certificate.pem")
    key = _pem(values, "ssl.key.location", "ssl.key.pem")
    if (certificate is None) != (key is None):
        given, missing = ("certificate", "key") if certificate else ("key", "certificate")
        raise values.error(f"ssl.{given}.location", f"it comes with ssl.{missing}.location, which is missing")
    bundle = values.path("ssl.keystore.location")
    verify = values.flag("enable.ssl.certificate.verification", True)
    if not verify:
        values.warn("enable.ssl.certificate.verification", "is false: any server is accepted as the broker")
    return settings.TlsSettings(
        trust=trust,
        key_store=settings.Store("PKCS12", path=bundle, password=values.secret("ssl.keystore.password"))
        if bundle
        else certificate,
        key_file=None if bundle else key,
        key_password=values.secret("ssl.key.password"),
        verify_host=(values.text("ssl.endpoint.identification.algorithm") or "https").lower() == "https",
        verify_chain=verify,
    )


def _pem(values: Values, location: str, inline: str) -> settings.Store | None:
    text = values.text(inline)
    if text:
        # A private key is a secret; a certificate is not.
        return settings.Store("PEM", inline=values.secret(inline) if "key" in inline else Secret(text))
    path = None if values.text(location) == "probe" else values.path(location)
    return settings.Store("PEM", path=path) if path else None


def _sasl(values: Values) -> settings.SaslSettings:
    key = "sasl.mechanism" if "sasl.mechanism" in values else "sasl.mechanisms"
    mechanism = (values.text(key) or "GSSAPI").upper()
    if mechanism not in java_client.MECHANISMS:
        raise values.error(key, f"{mechanism} is not supported; it is one of {', '.join(java_client.MECHANISMS)}")
    if mechanism == "GSSAPI":
        service = values.text("sasl.kerberos.service.name") or java_client.DEFAULT_SERVICE
        options = {"kerberos.service.name": service}
        if keytab := values.path("sasl.kerberos.keytab"):
            options["kerberos.keytab"] = str(keytab)
            return settings.SaslSettings("GSSAPI", _needed(values, "sasl.kerberos.principal"), options=options)
        return settings.SaslSettings("GSSAPI", options=options)
    if mechanism == "AWS_MSK_IAM":
        return settings.SaslSettings(mechanism, options={"aws": "iam"})
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(values)
    return settings.SaslSettings(mechanism, _needed(values, "sasl.username"), _secret(values, "sasl.password"))


def _oauthbearer(values: Values) -> settings.SaslSettings:
    options = {}
    for extension in filter(None, (values.text("sasl.oauthbearer.extensions") or "").split(",")):
        name, _, value = extension.partition("=")
        options[f"extension_{name.strip()}"] = value.strip()
    method = (values.text("sasl.oauthbearer.method") or "default").lower()
    if method == "default" and values.flag("enable.sasl.oauthbearer.unsecure.jwt", False):
        return _unsecured_token(values, options)
    if method != "oidc" or (values.text(_OF_METADATA) or "none").lower() != "none":
        raise values.error(
            "sasl.oauthbearer.method" if method != "oidc" else _OF_METADATA,
            "only oidc is supported: client credentials, or an assertion, for a token endpoint; in a file of Java's "
            f"names {java_client.TOKEN_COMMAND} is a command that writes the token",
        )
    options["token.endpoint.url"] = _needed(values, "sasl.oauthbearer.token.endpoint.url")
    if scope := values.text("sasl.oauthbearer.scope"):
        options["scope"] = scope
    if (values.text(_GRANT) or "client_credentials").lower() == _BY_ASSERTION:
        if values.text(f"{_ASSERTION}private.key.pem"):
            raise values.error(
                f"{_ASSERTION}private.key.pem", f"write the key into a file: {_ASSERTION}private.key.file"
            )
        options |= {"assertion": "grant", **java_client.assertion_options(values)}
        if template := values.path(f"{_ASSERTION}jwt.template.file"):
            options["assertion.template.file"] = str(template)
        passphrase = values.secret(f"{_ASSERTION}private.key.passphrase")
        return settings.SaslSettings("OAUTHBEARER", None, passphrase, options=options)
    named = [key for key in _CLIENT_KEYS if key in values]
    client_id, client_secret = (named or _CLIENT_KEYS)[0], _SECRET_OF[(named or _CLIENT_KEYS)[0]]
    return settings.SaslSettings(
        "OAUTHBEARER", _needed(values, client_id), _secret(values, client_secret), options=options
    )


def _unsecured_token(values: Values, options: Mapping[str, str]) -> settings.SaslSettings:
    """Return the settings for the unsecured token that ``sasl.oauthbearer.config`` describes by ``name=value`` pairs,
    separated by blanks. Raises ContextError: the principal is missing, or the token has other claims.
    """
    pairs = dict(each.partition("=")[::2] for each in (values.text(_UNSECURED) or "").split())
    if not pairs.get("principal"):
        raise values.error(_UNSECURED, "it needs principal=NAME")
    if pairs.get("principalClaimName", "sub") != "sub" or pairs.get("scope"):
        raise values.error(_UNSECURED, "of an unsecured token the principal's name alone is taken, as sub")
    values.warn(_UNSECURED, "asks for an unsecured token, which brokers accept for tests only")
    return settings.SaslSettings("OAUTHBEARER", pairs["principal"], options=options)


def _needed(values: Values, key: str) -> str:
    text = values.untrimmed(key)
    if not text:
        raise ContextError(f"{values.file}: {key} is missing")
    return text


def _secret(values: Values, key: str) -> Secret | None:
    _needed(values, key)
    return values.secret(key)
