"""The options of Strimzi's login module for OAuth (kafka-oauth-client), ``oauth.*`` in ``sasl.jaas.config``, translated
to the equivalent options of Kafka's own login module.
"""

from __future__ import annotations

from collections.abc import Mapping

HANDLER = "JaasClientOauthLoginCallbackHandler"
TOKEN_URL, TOKEN, TOKEN_FILE = "token.endpoint.uri", "access.token", "access.token.location"
_PREFIX = "oauth."
_EXTENSION = "sasl.extension."
_RENAMED = {"client.id": "clientId", "client.secret": "clientSecret"}
_SAME = frozenset(
    {
        TOKEN_URL,
        TOKEN,
        TOKEN_FILE,
        "scope",
        "audience",
        "connect.timeout.seconds",
        "read.timeout.seconds",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
        "ssl.truststore.certificates",
        "ssl.endpoint.identification.algorithm",
    }
)
_WITHOUT_EFFECT = frozenset(
    {
        "access.token.is.jwt",
        "client.assertion.type",
        "enable.metrics",
        "fallback.username.claim",
        "fallback.username.prefix",
        "http.retries",
        "http.retry.pause.millis",
        "include.accept.header",
        "max.token.expiry.seconds",
        "ssl.secure.random.implementation",
        "username.claim",
        "username.prefix",
    }
)
"""Options without effect for kac: they concern the library's internals, or decisions of brokers."""
_INSTEAD = {
    "client.assertion.location": "write sasl.oauthbearer.assertion.file=PATH",
    "client.assertion": "write it into a file, and sasl.oauthbearer.assertion.file=PATH",
    "refresh.token": "write sasl.oauthbearer.token.command=COMMAND, which writes a token",
    "refresh.token.location": "write sasl.oauthbearer.token.command=COMMAND, which writes a token",
    "password.grant.username": "write sasl.oauthbearer.token.command=COMMAND, which writes a token",
    "password.grant.password": "write sasl.oauthbearer.token.command=COMMAND, which writes a token",
}


def renamed(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options of Strimzi's module under the names of Kafka's own module, without those that have no effect
    on kac; other options are unchanged.

    Raises:
        ValueError: an option has no counterpart; the message names the option and its replacement.
    """
    found: dict[str, str] = {}
    for name, text in options.items():
        own = name.removeprefix(_PREFIX)
        if own == name:
            found[name] = text
        elif own in _RENAMED or own in _SAME:
            found[_RENAMED.get(own, own)] = text
        elif own.startswith(_EXTENSION):
            found[f"extension_{own.removeprefix(_EXTENSION)}"] = text
        elif own not in _WITHOUT_EFFECT:
            instead = _INSTEAD.get(own, "take it out, or write sasl.oauthbearer.token.command=COMMAND in its place")
            raise ValueError(f"{name} is an option of Strimzi's library that kac does not read; {instead}")
    return found
