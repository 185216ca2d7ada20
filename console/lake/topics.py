"""How Spark's Kafka source logs in where a context does: its options, and a login file of Java. A login that it can't
do is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from console.admin.settings import ConnectionSettings, show_address
from console.contexts import load, resolve
from console.history.errors import LakeError
from console.history.inputs import RequestTopic
from console.history.topics import Topic

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def topics_of(topics: Sequence[RequestTopic], environ: Mapping[str, str]) -> tuple[tuple[Topic, ...], str]:
    """The topics as Spark reads them, and the text of the login file (empty: none is needed). LakeError: a login that
    Spark's source can't do; ContextError."""
    made, logins = [], set()
    for each in topics:
        context = resolve(load(environ, Path.home()), name=each.context, environ=environ)
        options, login = options_of(context.settings, context.name)
        made.append(Topic(each.topic, options, each.cluster_id, each.time_zone))
        logins.add(login)
    if len(logins - {""}) > 1:
        raise LakeError(
            "The topics of request logs need several logins, and Java takes one for all: give them a context with one "
            "login, or read them into lakes of their own."
        )
    return tuple(made), max(logins, default="")


def options_of(settings: ConnectionSettings, name: str) -> tuple[dict[str, str], str]:
    """The options of Spark's Kafka source, and the text of the login file. LakeError: it can't do that."""

    def refused(what: str) -> LakeError:
        return LakeError(
            f"The context {name} {what}, which Spark's Kafka source can't do: name another context for the "
            "request-topic in sources.yaml, one with PLAIN, SCRAM or TLS with PEM files, and without --via."
        )

    if settings.via is not None:
        raise refused("goes by SSH")
    options = {
        "kafka.bootstrap.servers": ",".join(map(show_address, settings.bootstrap)),
        "kafka.security.protocol": settings.security_protocol,
        "kafka.client.id": settings.client_id,
    }
    login = ""
    if settings.security_protocol.startswith("SASL"):
        sasl = settings.sasl
        if sasl is None or sasl.mechanism not in _MODULES or sasl.username is None or sasl.password is None:
            raise refused(f"logs in by {'nothing' if sasl is None else sasl.mechanism}")
        options["kafka.sasl.mechanism"] = sasl.mechanism
        words = {"username": sasl.username, "password": sasl.password.reveal()}
        if sasl.options.get("tokenauth") == "true":
            words["tokenauth"] = "true"
        given = " ".join(f"{name}={_quoted(text)}" for name, text in words.items())
        login = f"KafkaClient {{\n  {_MODULES[sasl.mechanism]} required {given};\n}};\n"
    tls = settings.tls
    if settings.security_protocol.endswith("SSL") and tls is not None:
        if not tls.verify_chain:
            raise refused("trusts any certificate")
        if tls.key_file is not None:
            raise refused("has a private key in a file of its own")
        for kind, store in (("truststore", tls.trust), ("keystore", tls.key_store)):
            if store is None:
                continue
            if store.kind != "PEM" or store.path is None or store.password is not None or tls.key_password is not None:
                raise refused(f"has a {kind} that is no PEM file, or is locked")
            options |= {f"kafka.ssl.{kind}.type": "PEM", f"kafka.ssl.{kind}.location": str(store.path)}
        if not tls.verify_host:
            options["kafka.ssl.endpoint.identification.algorithm"] = ""
    return options, login


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
