"""birdayz/kaf: ``~/.kaf/config`` with ``clusters[]``: ``brokers``, ``SASL``, ``TLS``, ``security-protocol``."""

from __future__ import annotations

from console.admin.settings import ConnectionSettings, SaslSettings, TlsSettings
from console.contexts.context import Context, Found, Surroundings
from console.contexts.foreign.tool_file import Part, gather, named_items, parse_yaml, protocol

TOOL = "kaf"


def read(surroundings: Surroundings) -> Found:
    """Its clusters. Raises ContextError."""
    path = surroundings.home / ".kaf" / "config"
    if not path.is_file():
        return Found()
    table = parse_yaml(path)
    clusters = named_items(TOOL, "clusters", table.get("clusters"), path)
    return gather(TOOL, path, clusters, _context, str(table.get("current-cluster") or ""), surroundings)


def _context(name: str, origin: str, part: Part) -> Context:
    named = part.text("security-protocol").upper()
    tls_part, sasl_part = part.part("TLS"), part.part("SASL")
    tls: TlsSettings | None = None
    if tls_part is not None:
        tls = tls_part.tls(ca="cafile", cert="clientfile", key="clientkeyfile", insecure="insecure")
    elif named.endswith("SSL"):
        tls = TlsSettings()
    if named.startswith("SASL_") and sasl_part is None:
        raise part.error(f"security-protocol is {named}, and SASL is missing")
    sasl = None if sasl_part is None else _sasl(sasl_part, has_protocol=named.startswith("SASL_"))
    settings = ConnectionSettings(
        bootstrap=part.addresses("brokers"), security_protocol=protocol(tls, sasl), sasl=sasl, tls=tls
    )
    return Context(name, origin, settings, warnings=tuple(part.warnings), tool=TOOL)


def _sasl(part: Part, *, has_protocol: bool) -> SaslSettings:
    """kaf takes PLAIN, whatever the mechanism says, unless security-protocol is one of SASL's."""
    mechanism = part.text("mechanism").upper() if has_protocol else ""
    if mechanism != "OAUTHBEARER":
        return part.sasl(mechanism or "PLAIN", user="username", password="password")  # noqa: S106
    if token := part.secret("token"):
        return SaslSettings("OAUTHBEARER", password=token)
    client_id, url = part.text("clientID"), part.text("tokenURL")
    client_secret = part.secret("clientSecret")
    if not client_id or client_secret is None or not url:
        raise part.error("OAUTHBEARER wants clientID, clientSecret and tokenURL, or a token")
    options = {"token.endpoint.url": url}
    if scopes := " ".join(part.texts("scopes")):
        options["scope"] = scopes
    return SaslSettings("OAUTHBEARER", client_id, client_secret, options=options)
