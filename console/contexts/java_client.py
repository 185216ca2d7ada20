"""Connection settings from the configuration keys of Java's clients (AdminClientConfig, SaslConfigs, SslConfigs)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from console.admin import settings as admin_settings
from console.contexts import strimzi_oauth
from console.contexts.config_providers import PROVIDERS
from console.contexts.console_settings import near_key
from console.contexts.context import Addresses, ContextError, check_schemes, parse_bootstrap
from console.contexts.jaas import LoginModule, parse_jaas
from console.contexts.properties import Values
from console.contexts.secret_sources import LOCKED
from console.model.numbers import is_natural
from console.model.secret import Secret

# The keys of Java's AdminClient in Kafka 4.3 and 3.9 (AdminClientConfig.configNames), and the keys that kac can't
# apply.

_JAVA_NAMES = """
bootstrap.controllers bootstrap.servers client.dns.lookup client.id config.providers connections.max.idle.ms
default.api.timeout.ms enable.metrics.push metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms
metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
retry.backoff.ms sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism sasl.oauthbearer.assertion.algorithm
sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.template.file sasl.oauthbearer.client.credentials.client.id
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.clock.skew.seconds
sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
security.protocol security.providers send.buffer.bytes socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider
ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
ssl.truststore.password ssl.truststore.type auto.include.jmx.reporter
"""

JAVA_KEYS = frozenset(_JAVA_NAMES.split())

TOKEN_COMMAND = "sasl.oauthbearer.token.command"  # noqa: S105 a key
"""A key that only kac defines: a command line that prints a token."""

GUARDED = tuple(sorted(key for key in JAVA_KEYS if key.startswith(("bootstrap.", "sasl.", "security.", "ssl."))))
"""Keys whose misspelling is dangerous: it would change the user or the trusted servers."""

NOT_APPLIED = {
    "sasl.client.callback.handler.class": "names Java code, which kac can't run; what it would provide is missing",
    "sasl.login.class": "names Java code, which kac can't run; what it would provide is missing",
    "security.providers": "names Java code, which kac can't run; the providers of OpenSSL are used",
    "ssl.cipher.suites": "is not applied: the cipher suites are OpenSSL's own choice",
    "ssl.engine.factory.class": "names Java code, which kac can't run; TLS follows the other ssl.* keys",
    "ssl.provider": "names Java code, which kac can't run; TLS is OpenSSL's",
}
"""Key with an effect that kac can't apply -> the consequence for the user."""


def near_java_key(key: str) -> str | None:
    """Return the key in `GUARDED` that an unknown key resembles; None for a known key, or if none is similar."""
    if key in JAVA_KEYS or key == TOKEN_COMMAND or not key.lower().startswith(("boot", "sas", "sec", "ss")):
        return None
    return near_key(key, GUARDED, cutoff=0.88)


# The keys ``ssl.*`` of Java's clients (SslConfigs, DefaultSslEngineFactory).

STORE_TYPES = ("PEM", "JKS", "PKCS12")
DEFAULT_STORE_TYPE = "JKS"


def tls_settings(values: Values) -> admin_settings.TlsSettings:
    """Return the TLS settings of the keys ``ssl.*``. Raises ContextError: a value is invalid, or only one of an
    inline key and its certificate is given.
    """
    if values.text("ssl.keystore.key") and not values.text("ssl.keystore.certificate.chain"):
        raise values.error("ssl.keystore.key", "it comes with ssl.keystore.certificate.chain, which is missing")
    if values.text("ssl.keystore.certificate.chain") and not values.text("ssl.keystore.key"):
        raise values.error("ssl.keystore.certificate.chain", "it comes with ssl.keystore.key, which is missing")
    inline_key = values.secret("ssl.keystore.key")
    return admin_settings.TlsSettings(
        trust=_store(values, "truststore", "ssl.truststore.certificates"),
        key_store=_store(values, "keystore", "ssl.keystore.certificate.chain"),
        key_file=admin_settings.Store("PEM", inline=inline_key) if inline_key else None,
        key_password=values.secret("ssl.key.password"),
        verify_host=_verify_host(values),
    )


def _store(values: Values, which: str, inline_key: str) -> admin_settings.Store | None:
    """Return the key or trust store: the file at ``ssl.<which>.location``, or the inline content; None if neither is
    given. Raises ContextError: both are given, or the type of the store is not supported.

    Args:
        which: ``keystore`` or ``truststore``.
        inline_key: the key whose value is the inline content.
    """
    location, certificates = f"ssl.{which}.location", values.text(inline_key)
    path = values.path(location)
    if certificates:
        if path is not None:
            raise values.error(location, f"it is given, and {inline_key} too; remove one of them")
        return admin_settings.Store("PEM", inline=Secret(certificates))
    if path is None:
        return None
    kind = (values.text(f"ssl.{which}.type") or DEFAULT_STORE_TYPE).upper()
    if kind not in STORE_TYPES:
        raise values.error(
            f"ssl.{which}.type",
            f"{kind} stores can't be read, only {', '.join(STORE_TYPES)}; "
            "convert it with keytool -importkeystore -deststoretype PKCS12",
        )
    return admin_settings.Store(kind, path=path, password=values.secret(f"ssl.{which}.password"))


def _verify_host(values: Values) -> bool:
    algorithm = values.text("ssl.endpoint.identification.algorithm")
    if algorithm and algorithm.lower() != "https":
        raise values.error(
            "ssl.endpoint.identification.algorithm",
            f"it is https, or empty for no check of host names, not {algorithm!r}",
        )
    return algorithm != ""


# The keys ``sasl.*`` of Java's clients, including login modules (SaslConfigs, JaasContext).

DEFAULT_MECHANISM = "GSSAPI"
DEFAULT_SERVICE = "kafka"

_JAAS = "sasl.jaas.config"
_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
    "OAUTHBEARER": "OAuthBearerLoginModule",
    "GSSAPI": "Krb5LoginModule",
    "AWS_MSK_IAM": "IAMLoginModule",
}
MECHANISMS = tuple(_MODULES)

_ASSERTION = "sasl.oauthbearer.assertion."
_TOKEN_URL = "sasl.oauthbearer.token.endpoint.url"  # noqa: S105 a key
_ENDPOINT_OPTIONS = {
    "header.urlencode": "sasl.oauthbearer.header.urlencode",
    "connect.timeout.ms": "sasl.login.connect.timeout.ms",
    "read.timeout.ms": "sasl.login.read.timeout.ms",
}
_AWS_OPTIONS = {
    "awsProfileName": "aws.profile",
    "awsRoleArn": "aws.role.arn",
    "awsRoleSessionName": "aws.role.session",
    "awsRoleExternalId": "aws.role.external.id",
    "awsStsRegion": "aws.role.region",
}
"""Option of the login module of aws-msk-iam-auth -> option of SaslSettings."""
_AWS_ROLE_KEYS = ("awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken")
_UNSECURED_SUBJECT = "unsecuredLoginStringClaim_sub"
_AWS_TOKENS, _AWS_HANDLER = "IAMOAuthBearerLoginCallbackHandler", "IAMClientCallbackHandler"
"""Classes of Amazon's aws-msk-iam-auth: for OAUTHBEARER, and for AWS_MSK_IAM."""
_KNOWN_CLASSES = {
    "sasl.login.callback.handler.class": (
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
        strimzi_oauth.HANDLER,
        _AWS_TOKENS,
    ),
    "sasl.oauthbearer.jwt.retriever.class": (
        "DefaultJwtRetriever",
        "ClientCredentialsJwtRetriever",
        "FileJwtRetriever",
        "JwtBearerJwtRetriever",
    ),
}


def sasl_settings(values: Values) -> admin_settings.SaslSettings:
    """Return the SASL mechanism and its credentials. Raises ContextError: a value is missing or invalid."""
    module = _login_module(values)
    mechanism = _mechanism(values, module)
    options = values.below(_JAAS, _options(values, module))
    if module is not None and module.short_name not in _MODULES.values():
        values.warn(
            _JAAS,
            f"names the login module {module.class_name}, Java code that kac can't run; only its options are used",
        )
    for key, known in _KNOWN_CLASSES.items():
        named = values.text(key)
        if named and named.rpartition(".")[2] not in known:
            values.warn(key, "names Java code, which kac can't run; what it would provide is missing")
    named = (values.text("sasl.login.callback.handler.class") or "").rpartition(".")[2]
    if mechanism == "AWS_MSK_IAM" or (mechanism == "OAUTHBEARER" and named == _AWS_TOKENS):
        return _aws(options, mechanism)
    if mechanism == "OAUTHBEARER":
        return _oauthbearer(values, options)
    if mechanism == "GSSAPI":
        return _gssapi(values, options)
    return _user_and_password(values, options, mechanism)


def _options(values: Values, module: LoginModule | None) -> Mapping[str, str]:
    """Return the options of a login module; empty for None. The options of Strimzi's module are renamed to those of
    Kafka's own module. Raises ContextError: an option of Strimzi's module has no counterpart.
    """
    try:
        return {} if module is None else strimzi_oauth.renamed(module.options)
    except ValueError as error:
        raise values.error(_JAAS, str(error)) from None


def _login_module(values: Values) -> LoginModule | None:
    entry = values.raw(_JAAS)
    if entry is None or not entry.text.strip():
        return None
    try:
        modules = parse_jaas(values.config(_JAAS) or "")
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
            f"without sasl.mechanism Kafka's clients use {DEFAULT_MECHANISM}, and this is {module.short_name}; "
            f"add sasl.mechanism={' or '.join(fitting or ['PLAIN'])}",
        )
    return DEFAULT_MECHANISM


def _user_and_password(values: Values, options: Values, mechanism: str) -> admin_settings.SaslSettings:
    settings = {}
    if options.flag("tokenauth", default=False):
        if mechanism == "PLAIN":
            raise options.error("tokenauth", "delegation tokens are for SCRAM: set sasl.mechanism=SCRAM-SHA-256")
        settings["tokenauth"] = "true"
    # Keep surrounding blanks, as Kafka's login modules do.
    username, password = options.untrimmed("username"), options.secret("password")
    if username is None or password is None:
        raise _missing_option(
            values,
            f"{'username' if username is None else 'password'} is missing",
            f'{_MODULES[mechanism]} required username="…" password="${{env:KAFKA_PASSWORD}}";',
        )
    return admin_settings.SaslSettings(mechanism, username, password, options=settings)


def _missing_option(values: Values, what: str, wanted: str) -> ContextError:
    hint = "" if _JAAS in values else " (java.security.auth.login.config, a setting of the JVM, is not read)"
    return values.error(_JAAS, f"{what}{hint}; sasl.jaas.config needs: {wanted}")


def _gssapi(values: Values, options: Values) -> admin_settings.SaslSettings:
    """Return the Kerberos settings from the options of Java's Krb5LoginModule: useKeyTab, keyTab, principal,
    ticketCache.
    """
    service = values.text("sasl.kerberos.service.name") or options.text("serviceName") or DEFAULT_SERVICE
    settings = {"kerberos.service.name": service}
    principal = options.text("principal")
    if options.flag("useKeyTab", default=False):
        keytab = options.path("keyTab")
        if keytab is None or not principal:
            raise options.error(
                "principal" if keytab else "keyTab", "it is missing; useKeyTab needs keyTab and principal"
            )
        settings["kerberos.keytab"] = str(keytab)
    elif cache := options.path("ticketCache"):
        settings["kerberos.ticket.cache"] = str(cache)
    return admin_settings.SaslSettings("GSSAPI", principal, options=settings)


def _aws(options: Values, mechanism: str) -> admin_settings.SaslSettings:
    """Return the settings of AWS IAM for Amazon MSK, from the options of aws-msk-iam-auth."""
    settings = {"aws": "iam"}
    for option, name in _AWS_OPTIONS.items():
        if text := options.text(option):
            settings[name] = text
    for option in _AWS_ROLE_KEYS:
        if options.text(option):
            raise options.error(
                option,
                "credentials for a role are taken from AWS' own places: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
                "and AWS_SESSION_TOKEN, or awsProfileName, and take them out of sasl.jaas.config",
            )
    if "aws.role.arn" not in settings and (alone := sorted({*settings} & {*_AWS_OPTIONS.values()} - {"aws.profile"})):
        option = next(option for option, name in _AWS_OPTIONS.items() if name == alone[0])
        raise options.error(option, "it is of a role, and awsRoleArn is missing")
    return admin_settings.SaslSettings(mechanism, options=settings)


def _oauthbearer(values: Values, options: Values) -> admin_settings.SaslSettings:
    """Return the settings for a bearer token: one from a command, a token endpoint (KIP-768, KIP-1139, KIP-1258) or
    a file; or an unsecured token.
    """
    extensions = {key: options.text(key) or "" for key in options if key.startswith("extension_")}
    if TOKEN_COMMAND in values:
        return admin_settings.SaslSettings("OAUTHBEARER", options={**_token_command(values), **extensions})
    if strimzi_oauth.TOKEN in options:
        return admin_settings.SaslSettings(
            "OAUTHBEARER", password=options.secret(strimzi_oauth.TOKEN), options=extensions
        )
    kept = options.path(strimzi_oauth.TOKEN_FILE)
    url = values.text(_TOKEN_URL) or options.text(strimzi_oauth.TOKEN_URL) or (kept and kept.absolute().as_uri())
    if not url:
        return _unsecured_token(values, options, extensions)
    if url.lower().startswith("file:"):
        return admin_settings.SaslSettings("OAUTHBEARER", options={"token.endpoint.url": url, **extensions})
    client_id = values.text(_CLIENT_ID) or options.untrimmed("clientId")
    settings = {"token.endpoint.url": url, **extensions}
    for name in ("scope", "audience"):
        if text := values.text(f"sasl.oauthbearer.{name}") or options.text(name):
            settings[name] = text
    for name, key in _ENDPOINT_OPTIONS.items():
        if text := values.text(key) or _milliseconds(options, name):
            settings[name] = text
    tls = _endpoint_tls(options)
    if kind := _assertion_kind(values):
        settings |= {"assertion": kind, **assertion_options(values)}
        passphrase = values.secret(f"{_ASSERTION}private.key.passphrase")
        return admin_settings.SaslSettings("OAUTHBEARER", client_id, passphrase, options=settings, endpoint_tls=tls)
    client_secret = values.secret(_CLIENT_SECRET) or options.secret("clientSecret")
    if client_id is None or client_secret is None:
        missing = "clientId" if client_id is None else "clientSecret"
        raise _missing_option(
            values,
            f"{missing} is missing, and there is no assertion ({_ASSERTION}file or claim.iss)",
            'OAuthBearerLoginModule required clientId="…" clientSecret="${env:CLIENT_SECRET}";',
        )
    return admin_settings.SaslSettings("OAUTHBEARER", client_id, client_secret, options=settings, endpoint_tls=tls)


_CREDENTIALS = "sasl.oauthbearer.client.credentials."
BEARER_KEYS = frozenset(
    key
    for key in (*JAVA_KEYS, TOKEN_COMMAND, "sasl.oauthbearer.audience")
    if key.startswith((_ASSERTION, _CREDENTIALS, TOKEN_COMMAND, _TOKEN_URL))
    or key in _ENDPOINT_OPTIONS.values()
    or key in ("sasl.oauthbearer.scope", "sasl.oauthbearer.audience", "sasl.oauthbearer.jwt.retriever.class")
)
"""The keys that describe how kac gets a bearer token for an HTTP service of a context."""
_CLIENT_ID, _CLIENT_SECRET = (f"{_CREDENTIALS}client.{each}" for each in ("id", "secret"))


def bearer_settings(values: Values) -> admin_settings.SaslSettings | None:
    """Return the source of bearer tokens for an HTTP service; None if the keys name none. The keys ``ssl.*`` also apply
    to the token endpoint. Raises ContextError: the endpoint, or the client's id or secret, is missing.
    """
    given = sorted(BEARER_KEYS & set(values))
    if not given:
        return None
    url = values.text(_TOKEN_URL) or ""
    if TOKEN_COMMAND not in values and not url:
        raise values.error(_TOKEN_URL, f"it is missing, and {given[0]} is given: the address of a token endpoint")
    by_secret = url and not url.lower().startswith("file:") and _assertion_kind(values) is None
    for key in (_CLIENT_ID, _CLIENT_SECRET) if by_secret and TOKEN_COMMAND not in values else ():
        if not values.text(key):
            raise values.error(key, "it is missing: a token endpoint wants a client's id and its secret")
    found = _oauthbearer(values, values.below(_JAAS, {}))
    tls = tls_settings(values) if any(key.startswith("ssl.") for key in values) else None
    return replace(found, endpoint_tls=tls)


def _milliseconds(options: Values, name: str) -> str | None:
    """Return the value of a timeout as text in milliseconds, from the option in which Strimzi has it in seconds;
    None if the option is not set. Raises ContextError: the value is not a whole number.
    """
    key = f"{name.removesuffix('.ms')}.seconds"
    text = options.text(key)
    if text is not None and not is_natural(text):
        raise options.error(key, f"it is a number of seconds, not {text!r}")
    return None if text is None else f"{text}000"


def _token_command(values: Values) -> dict[str, str]:
    """Return the options for the command that prints a token. Raises ContextError: the value is not a command line, or
    another user can change the file that contains it.
    """
    text = values.command(TOKEN_COMMAND) or ""
    try:
        arguments = shlex.split(text)
    except ValueError:
        arguments = []
    if not arguments:
        raise values.error(TOKEN_COMMAND, "it is a command with its arguments, quoted as in a shell")
    values.check_command(TOKEN_COMMAND)
    return command_options(text, values.place(TOKEN_COMMAND).file)


def command_options(command: str, file: Path) -> dict[str, str]:
    """Return the options for a command that prints a token. file: the file that contains the command."""
    return {"token.command": command, "token.command.folder": str(file.absolute().parent)}


def _assertion_kind(values: Values) -> str | None:
    """Return how the client proves its identity to the token endpoint: ``grant`` if an assertion is the grant,
    ``client`` if an assertion authenticates the client, None for a client secret. The order of precedence is that
    of Kafka's ClientCredentialsRequestFormatterFactory.
    """
    if (values.text("sasl.oauthbearer.jwt.retriever.class") or "").endswith("JwtBearerJwtRetriever"):
        return "grant"
    return "client" if {f"{_ASSERTION}file", f"{_ASSERTION}claim.iss"} & set(values) else None


def assertion_options(values: Values) -> dict[str, str]:
    """Return the options of a client assertion (a signed JWT). Raises ContextError: an option is missing or invalid."""
    found = {}
    for name in ("file", "private.key.file", "template.file"):
        if path := values.path(_ASSERTION + name):
            found[f"assertion.{name}"] = str(path)
    if "assertion.file" not in found and "assertion.private.key.file" not in found:
        raise values.error(f"{_ASSERTION}private.key.file", "it is missing: with it the assertion is signed")
    for name in ("algorithm", "claim.aud", "claim.iss", "claim.sub", "claim.jti.include"):
        if text := values.text(_ASSERTION + name):
            found[f"assertion.{name}"] = text
    for name in ("claim.exp.seconds", "claim.nbf.seconds"):
        if text := values.text(_ASSERTION + name):
            if not is_natural(text):
                raise values.error(_ASSERTION + name, f"it is a number of seconds, not {text!r}")
            found[f"assertion.{name}"] = text
    if found.get("assertion.algorithm", "RS256") not in ("RS256", "ES256"):
        raise values.error(f"{_ASSERTION}algorithm", "it is RS256 or ES256")
    return found


def _unsecured_token(values: Values, options: Values, extensions: dict[str, str]) -> admin_settings.SaslSettings:
    """Return the settings for an unsecured token, which Kafka's login module creates itself without a token endpoint
    (KIP-255). Raises ContextError: the options have no subject for the token.
    """
    subject = options.text(_UNSECURED_SUBJECT)
    if not subject:
        given = sorted(key for key in options if not key.startswith("extension_"))
        key = _TOKEN_URL if _TOKEN_URL in values else _JAAS if given else "sasl.mechanism"
        has = f"its login module has {', '.join(given)}, and no address of a token endpoint: " if given else ""
        raise values.error(
            key, f"{has}OAUTHBEARER needs {_TOKEN_URL}, the https address of a token endpoint, or {TOKEN_COMMAND}"
        )
    values.warn(_JAAS, "asks for an unsecured token, which brokers accept for tests only")
    return admin_settings.SaslSettings("OAUTHBEARER", subject, options=extensions)


def _endpoint_tls(options: Values) -> admin_settings.TlsSettings | None:
    """Return the TLS settings of the token endpoint in the options of the login module (JaasOptionsUtils); None without
    such options.
    """
    return tls_settings(options) if any(key.startswith("ssl.") for key in options) else None


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def java_connection(values: Values, bootstrap: Addresses | None = None) -> admin_settings.ConnectionSettings:
    """Return the connection settings that Java's client properties describe (`AdminClientConfig`).

    Args:
        values: the properties. A line is added to its `warnings` for each key that is not applied, misspelt or without
            effect.
        bootstrap: addresses that replace those of the file; None for the file's own.

    Returns:
        Settings with Java's defaults for missing keys; times in seconds, although the file has milliseconds.

    Raises:
        ContextError: a value is invalid or missing; one line with file, line and key.
    """
    protocol = _protocol(values)
    addresses, at_controllers = (bootstrap, False) if bootstrap else _bootstrap(values, protocol)
    settings = admin_settings.ConnectionSettings(
        bootstrap=addresses,
        controllers=at_controllers,
        security_protocol=protocol,
        sasl=sasl_settings(values) if protocol.startswith("SASL_") else None,
        tls=tls_settings(values) if protocol.endswith("SSL") else None,
        client_id=values.text("client.id") or admin_settings.CLIENT_ID,
        # The timeout of kac covers a call with all retries, which is default.api.timeout.ms in Java.
        request_timeout=values.seconds("default.api.timeout.ms")
        or values.seconds("request.timeout.ms")
        or admin_settings.REQUEST_TIMEOUT,
        connect_timeout=values.seconds("socket.connection.setup.timeout.ms") or admin_settings.CONNECT_TIMEOUT,
    )
    _warn_of_the_rest(values, protocol)
    return settings


def _bootstrap(values: Values, protocol: str) -> tuple[Addresses, bool]:
    """Return the addresses, and whether they are those of controllers (AdminBootstrapAddresses). Raises ContextError:
    both ``bootstrap.servers`` and ``bootstrap.controllers`` are set, or neither.
    """
    servers, controllers = "bootstrap.servers", "bootstrap.controllers"
    key = controllers if values.text(controllers) else servers
    if key == controllers and values.text(servers):
        raise values.error(controllers, f"{servers} is set, too: as with Kafka's clients, only one of them may be")
    return addresses_at(values, key, protocol), key == controllers


def addresses_at(values: Values, key: str, protocol: str) -> Addresses:
    """Return the addresses in the value of a key. Raises ContextError: there is no address, or an address is invalid or
    contradicts the security protocol.
    """
    text = values.text(key)
    if not text:
        raise _no_addresses(values)
    try:
        addresses = parse_bootstrap(text)
        check_schemes(text, protocol)
        return addresses
    except ValueError as error:
        raise values.error(key, str(error)) from None


def _no_addresses(values: Values) -> ContextError:
    """Return the error for properties without addresses; it names the key that was probably meant as
    ``bootstrap.servers``.
    """
    meant = next((key for key in values if near_key(key, ("bootstrap.servers",), 0.88)), None)
    if meant is not None and not values.text("bootstrap.servers"):
        return values.error(meant, "it is not a key of Kafka's clients; did you mean bootstrap.servers?")
    return ContextError(f"{values.file}: bootstrap.servers is missing; add it, or give -b HOST:PORT")


def _protocol(values: Values) -> str:
    text = values.text("security.protocol") or "PLAINTEXT"
    if text.upper() not in PROTOCOLS:
        raise values.error("security.protocol", f"it is one of {', '.join(PROTOCOLS)}, not {text!r}")
    return text.upper()


def _warn_of_the_rest(values: Values, protocol: str) -> None:
    """Add a warning for each key that is not applied, misspelt, or without effect."""
    for key in values:
        if reason := _not_applied(values, key):
            values.warn(key, reason)
        elif near := near_java_key(key):
            values.warn(key, f"is not a key of Kafka's clients; did you mean {near}?")
    unused = {"ssl.": not protocol.endswith("SSL"), "sasl.": not protocol.startswith("SASL_")}
    for prefix, has_no_effect in unused.items():
        first = next((key for key in values if key.startswith(prefix)), None)
        if has_no_effect and first is not None:
            values.warn(first, f"has no effect with security.protocol={protocol}")


def _not_applied(values: Values, key: str) -> str | None:
    if key == "ssl.enabled.protocols":
        text = values.text(key) or ""
        return (
            None if "TLSv1.2" in text or "TLSv1.3" in text else "has neither TLSv1.2 nor TLSv1.3; they are used anyway"
        )
    if key == PROVIDERS:
        warning = "names Java code, which kac can't run: ${env:NAME}, ${file:PATH} and ${exec:COMMAND} are resolved"
        return warning if values.foreign_providers() else None
    if key not in NOT_APPLIED:
        return None
    entry = values.raw(key)
    if entry is None or LOCKED.search(entry.text):
        return None
    if not values.text(key) or (values.text(key) or "").endswith(f".{_AWS_HANDLER}"):
        return None
    applied: Mapping[str, str] = NOT_APPLIED
    return applied.get(key)
