"""The keys ``sasl.*`` of Java's clients, login modules included (SaslConfigs, JaasContext)."""

from __future__ import annotations

from console.admin.settings import SaslSettings, TlsSettings
from console.contexts.context import ContextError
from console.contexts.jaas import LoginModule, parse_jaas
from console.contexts.java_tls import tls_settings
from console.contexts.references import whole_reference
from console.contexts.values import Values

DEFAULT_MECHANISM = "GSSAPI"
DEFAULT_SERVICE = "kafka"

_JAAS = "sasl.jaas.config"
_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "GSSAPI": "Krb5LoginModule",
}
MECHANISMS = tuple(_MODULES)

_URL = "sasl.oauthbearer.token.endpoint.url"
_ENDPOINT_OPTIONS = {
    "header.urlencode": "sasl.oauthbearer.header.urlencode",
    "connect.timeout.ms": "sasl.login.connect.timeout.ms",
    "read.timeout.ms": "sasl.login.read.timeout.ms",
}
_UNSECURED_SUBJECT = "unsecuredLoginStringClaim_sub"
_KNOWN_CLASSES = {
    "sasl.login.callback.handler.class": (
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
    ),
    "sasl.oauthbearer.jwt.retriever.class": (
        "DefaultJwtRetriever",
        "ClientCredentialsJwtRetriever",
        "FileJwtRetriever",
    ),
}


def sasl_settings(values: Values) -> SaslSettings:
    """Mechanism and credentials. Raises ContextError where something is missing or can't be used."""
    module = _login_module(values)
    mechanism = _mechanism(values, module)
    options = values.below(_JAAS, module.options if module else {})
    if module is not None and module.short_name not in _MODULES.values():
        values.warn(
            _JAAS,
            f"names the login module {module.class_name}, Java code that kac can't run; only its options are used",
        )
    for key, known in _KNOWN_CLASSES.items():
        named = values.text(key)
        if named and named.rpartition(".")[2] not in known:
            values.warn(key, "names Java code, which kac can't run; what it would provide is missing")
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(values, options)
    if mechanism == "GSSAPI":
        return _gssapi(values, options)
    return _user_and_password(values, options, mechanism)


def _login_module(values: Values) -> LoginModule | None:
    entry = values.raw(_JAAS)
    if entry is None or not entry.text.strip():
        return None
    # A reference that is the whole value stands for the config; one inside is an option's value, quotes and all.
    text = values.untrimmed(_JAAS) if whole_reference(entry.text) else entry.text
    try:
        modules = parse_jaas(text or "")
    except ValueError as error:
        raise values.error(_JAAS, str(error)) from None
    if len(modules) > 1:
        raise values.error(_JAAS, f"it has {len(modules)} login modules; a client has one")
    return modules[0]


def _mechanism(values: Values, module: LoginModule | None) -> str:
    text = values.text("sasl.mechanism")
    if text:
        if text.upper() not in MECHANISMS:
            raise values.error("sasl.mechanism", f"{text} is not supported; it is one of {', '.join(MECHANISMS)}")
        return text.upper()
    if module is not None and module.short_name != _MODULES[DEFAULT_MECHANISM]:
        fitting = [name for name, wanted in _MODULES.items() if wanted == module.short_name]
        raise values.error(
            _JAAS,
            f"without sasl.mechanism Kafka's clients take {DEFAULT_MECHANISM}, and this is {module.short_name}; "
            f"add sasl.mechanism={' or '.join(fitting or ['PLAIN'])}",
        )
    return DEFAULT_MECHANISM


def _user_and_password(values: Values, options: Values, mechanism: str) -> SaslSettings:
    if (options.text("tokenauth") or "").lower() == "true":
        raise options.error("tokenauth", "delegation tokens are not supported; give a user's own name and password")
    # Login modules take these untrimmed.
    username, password = options.untrimmed("username"), options.secret("password")
    if username is None or password is None:
        raise _missing(
            values,
            f"{'username' if username is None else 'password'} is missing",
            f'{_MODULES[mechanism]} required username="…" password="${{env:KAFKA_PASSWORD}}";',
        )
    return SaslSettings(mechanism, username, password)


def _missing(values: Values, what: str, wanted: str) -> ContextError:
    hint = "" if _JAAS in values else " (java.security.auth.login.config, a setting of the JVM, is not read)"
    return values.error(_JAAS, f"{what}{hint}; sasl.jaas.config wants: {wanted}")


def _gssapi(values: Values, options: Values) -> SaslSettings:
    if options.text("keyTab"):
        values.warn(
            _JAAS,
            "names a keyTab, which kac leaves to Kerberos: run kinit -kt KEYTAB PRINCIPAL first, "
            "or set KRB5_CLIENT_KTNAME",
        )
    service = values.text("sasl.kerberos.service.name") or options.text("serviceName") or DEFAULT_SERVICE
    return SaslSettings("GSSAPI", options={"kerberos.service.name": service})


def _oauthbearer(values: Values, options: Values) -> SaslSettings:
    """Client credentials (KIP-768, and its keys of KIP-1139), a token in a file, or an unsecured token."""
    extensions = {key: options.text(key) or "" for key in options if key.startswith("extension_")}
    url = values.text(_URL)
    if not url:
        return _unsecured_token(values, options, extensions)
    if url.lower().startswith("file:"):
        return SaslSettings("OAUTHBEARER", options={"token.endpoint.url": url, **extensions})
    client_id = values.text("sasl.oauthbearer.client.credentials.client.id") or options.untrimmed("clientId")
    client_secret = values.secret("sasl.oauthbearer.client.credentials.client.secret") or options.secret("clientSecret")
    if client_id is None or client_secret is None:
        raise _missing(
            values,
            f"{'clientId' if client_id is None else 'clientSecret'} is missing (only client credentials are supported)",
            'OAuthBearerLoginModule required clientId="…" clientSecret="${env:CLIENT_SECRET}";',
        )
    settings = {"token.endpoint.url": url, **extensions}
    if scope := values.text("sasl.oauthbearer.scope") or options.text("scope"):
        settings["scope"] = scope
    for name, key in _ENDPOINT_OPTIONS.items():
        if text := values.text(key):
            settings[name] = text
    return SaslSettings("OAUTHBEARER", client_id, client_secret, options=settings, endpoint_tls=_endpoint_tls(options))


def _unsecured_token(values: Values, options: Values, extensions: dict[str, str]) -> SaslSettings:
    """What Kafka's own login does without a token endpoint: a token that nobody signed (KIP-255)."""
    subject = options.text(_UNSECURED_SUBJECT)
    if not subject:
        raise values.error(
            _URL if _URL in values else "sasl.mechanism",
            f"OAUTHBEARER wants {_URL}, the https address where tokens are given out for client credentials",
        )
    values.warn(_JAAS, "asks for an unsecured token, which brokers take for tests only")
    return SaslSettings("OAUTHBEARER", subject, options=extensions)


def _endpoint_tls(options: Values) -> TlsSettings | None:
    """TLS to the token endpoint is set among the options of the login module (JaasOptionsUtils)."""
    return tls_settings(options) if any(key.startswith("ssl.") for key in options) else None
