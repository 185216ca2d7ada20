"""The keys ``ssl.*`` of Java's clients (SslConfigs, DefaultSslEngineFactory)."""

from __future__ import annotations

from console.admin.settings import Store, TlsSettings
from console.contexts.values import Values
from console.model.secret import Secret

STORE_TYPES = ("PEM", "JKS", "PKCS12")
DEFAULT_STORE_TYPE = "JKS"


def tls_settings(values: Values) -> TlsSettings:
    """Stores and checks as the keys say. Raises ContextError."""
    if values.text("ssl.keystore.key") and not values.text("ssl.keystore.certificate.chain"):
        raise values.error("ssl.keystore.key", "it comes with ssl.keystore.certificate.chain, which is missing")
    if values.text("ssl.keystore.certificate.chain") and not values.text("ssl.keystore.key"):
        raise values.error("ssl.keystore.certificate.chain", "it comes with ssl.keystore.key, which is missing")
    inline_key = values.secret("ssl.keystore.key")
    return TlsSettings(
        trust=_store(values, "truststore", "ssl.truststore.certificates"),
        key_store=_store(values, "keystore", "ssl.keystore.certificate.chain"),
        key_file=Store("PEM", inline=inline_key) if inline_key else None,
        key_password=values.secret("ssl.key.password"),
        verify_host=_verify_host(values),
    )


def _store(values: Values, which: str, inline_key: str) -> Store | None:
    """The store at ``ssl.<which>.location``, or the one given inline."""
    location, certificates = f"ssl.{which}.location", values.text(inline_key)
    path = values.path(location)
    if certificates:
        if path is not None:
            raise values.error(location, f"it is given, and {inline_key} too; one of them has to go")
        return Store("PEM", inline=Secret(certificates))
    if path is None:
        return None
    kind = (values.text(f"ssl.{which}.type") or DEFAULT_STORE_TYPE).upper()
    if kind not in STORE_TYPES:
        raise values.error(
            f"ssl.{which}.type",
            f"{kind} stores can't be read, only {', '.join(STORE_TYPES)}; "
            "convert it with keytool -importkeystore -deststoretype PKCS12",
        )
    return Store(kind, path=path, password=values.secret(f"ssl.{which}.password"))


def _verify_host(values: Values) -> bool:
    algorithm = values.text("ssl.endpoint.identification.algorithm")
    if algorithm and algorithm.lower() != "https":
        raise values.error(
            "ssl.endpoint.identification.algorithm",
            f"it is https, or empty for no check of host names, not {algorithm!r}",
        )
    return algorithm != ""
