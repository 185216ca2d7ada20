"""deviceinsight/kafkactl: ``config.yml`` with ``contexts.<name>.{brokers,tls,sasl}``.

Its project files in working folders are not read: whoever made a folder should not name one's clusters.
"""

from __future__ import annotations

from pathlib import Path

from console.admin.settings import CLIENT_ID, REQUEST_TIMEOUT, ConnectionSettings
from console.contexts.context import Context, ContextError, Found, Surroundings
from console.contexts.foreign.tool_file import Part, Table, gather, parse_yaml, protocol

TOOL = "kafkactl"
CONFIG = "KAFKA_CTL_CONFIG"
WRITABLE = "KAFKA_CTL_WRITABLE_CONFIG"


def read(surroundings: Surroundings) -> Found:
    """Its contexts; the first of its files that is there counts. Raises ContextError."""
    path = _config(surroundings)
    if path is None:
        return Found()
    table = {str(key).lower(): value for key, value in parse_yaml(path).items()}
    named = table.get("contexts") or {}
    if not isinstance(named, dict):
        raise ContextError(f"{path}: contexts is no table")
    contexts = [(name, f"contexts.{name}", value) for name, value in named.items()]
    return gather(TOOL, path, contexts, _context, _current(surroundings, path, table), surroundings)


def _config(surroundings: Surroundings) -> Path | None:
    named = surroundings.environ.get(CONFIG)
    if named:
        return surroundings.path(named, (surroundings.cwd,))
    names = ("config.yml", "config.yaml")
    return next(
        (path for folder in _folders(surroundings) for name in names if (path := folder / name).is_file()), None
    )


def _folders(surroundings: Surroundings) -> tuple[Path, ...]:
    home = surroundings.home
    return home / ".config" / "kafkactl", home / ".kafkactl", Path("/etc/kafkactl")


def _current(surroundings: Surroundings, config: Path, table: Table) -> str:
    """From the environment, else the file ``current-context.yml``, else the old place in the config itself."""
    if named := surroundings.environ.get("CURRENT_CONTEXT"):
        return named
    candidates = [folder / "current-context.yml" for folder in _folders(surroundings)]
    if CONFIG in surroundings.environ:
        candidates = [config.parent / "current-context.yml"]
    if WRITABLE in surroundings.environ:
        candidates = [surroundings.path(surroundings.environ[WRITABLE], (surroundings.cwd,))]
    for path in candidates:
        if path.is_file():
            return str(parse_yaml(path).get("current-context") or "")
    return str(table.get("current-context") or "")


def _context(name: str, origin: str, part: Part) -> Context:
    kubernetes = part.part("kubernetes")
    if kubernetes is not None and kubernetes.flag("enabled"):
        raise part.error("kafkactl reaches it through kubectl, which kac does not do; forward a port and use -b")
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls = sasl = None
    if tls_part is not None and tls_part.flag("enabled"):
        tls = tls_part.tls(ca="ca", cert="cert", key="certKey", insecure="insecure", password="certKeyPassphrase")  # noqa: S106
    if sasl_part is not None and sasl_part.flag("enabled"):
        mechanism = sasl_part.text("mechanism") or "plaintext"
        sasl = sasl_part.sasl(mechanism, user="username", password="password")  # noqa: S106
    settings = ConnectionSettings(
        bootstrap=part.addresses("brokers"),
        security_protocol=protocol(tls, sasl),
        sasl=sasl,
        tls=tls,
        client_id=part.text("clientID") or CLIENT_ID,
        request_timeout=part.seconds("requestTimeout", REQUEST_TIMEOUT),
    )
    return Context(name, origin, settings, warnings=tuple(part.warnings), tool=TOOL)
