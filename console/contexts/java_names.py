"""The keys of Java's AdminClient, Kafka 4.3 and 3.9 (AdminClientConfig.configNames), and those that we can't honour."""

from __future__ import annotations

_NAMES = """
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

KNOWN = frozenset(_NAMES.split())

GUARDED = tuple(sorted(key for key in KNOWN if key.startswith(("bootstrap.", "sasl.", "security.", "ssl."))))
"""Keys whose misspelling changes who one is or whom one trusts."""

NOT_APPLIED = {
    "bootstrap.controllers": "is not used: kac asks brokers, named in bootstrap.servers",
    "sasl.client.callback.handler.class": "names Java code, which kac can't run; what it would provide is missing",
    "sasl.login.class": "names Java code, which kac can't run; what it would provide is missing",
    "security.providers": "names Java code, which kac can't run; the providers of OpenSSL are used",
    "ssl.cipher.suites": "is not applied: the cipher suites are OpenSSL's own choice",
    "ssl.engine.factory.class": "names Java code, which kac can't run; TLS follows the other ssl.* keys",
    "ssl.provider": "names Java code, which kac can't run; TLS is OpenSSL's",
}
"""Keys that matter and that we can't honour -> what happens instead."""


def near_miss(key: str) -> str | None:
    """The key that this one, which is not Kafka's, looks like; None where it belongs to someone else."""
    if key in KNOWN or not key.startswith(("boot", "sas", "sec", "ss")):
        return None
    from difflib import get_close_matches

    found = get_close_matches(key, GUARDED, n=1, cutoff=0.88)
    return found[0] if found else None
