"""redpanda-data/redpanda's rpk: ``rpk.yaml`` with ``profiles[].kafka_api.{brokers,tls,sasl}``."""

from __future__ import annotations

import sys

from console.admin.settings import ConnectionSettings, TlsSettings
from console.contexts.context import Context, Found, Surroundings
from console.contexts.foreign.tool_file import Part, gather, named_items, parse_yaml, protocol

TOOL = "rpk"
DEFAULT_BROKERS = "127.0.0.1:9092"
DEFAULT_MECHANISM = "SCRAM-SHA-256"


def read(surroundings: Surroundings) -> Found:
    """Its profiles. Raises ContextError."""
    folder = surroundings.config_folder()
    if sys.platform == "darwin":
        folder = surroundings.home / "Library" / "Application Support"
    path = folder / "rpk" / "rpk.yaml"
    if not path.is_file():
        return Found()
    table = parse_yaml(path)
    profiles = named_items(TOOL, "profiles", table.get("profiles"), path)
    return gather(TOOL, path, profiles, _context, str(table.get("current_profile") or ""), surroundings)


def _context(name: str, origin: str, profile: Part) -> Context:
    part = profile.part("kafka_api") or Part(profile.file, f"{profile.name}.kafka_api", {}, profile.surroundings)
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls: TlsSettings | None = None
    if tls_part is not None:
        if not tls_part.text("ca_file"):
            # Its name before May 2023.
            tls_part.table = {**tls_part.table, "ca_file": tls_part.text("truststore_file")}
        tls = tls_part.tls(ca="ca_file", cert="cert_file", key="key_file", insecure="insecure_skip_verify")
    sasl = None
    if sasl_part is not None:
        mechanism = sasl_part.text("mechanism") or sasl_part.text("type") or DEFAULT_MECHANISM
        sasl = sasl_part.sasl(mechanism, user="user", password="password")  # noqa: S106
    settings = ConnectionSettings(
        bootstrap=part.addresses("brokers", DEFAULT_BROKERS), security_protocol=protocol(tls, sasl), sasl=sasl, tls=tls
    )
    return Context(name, origin, settings, warnings=tuple(part.warnings), tool=TOOL)
