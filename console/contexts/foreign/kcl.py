"""twmb/kcl: ``config.toml`` with ``[profiles.<name>]``, or one unnamed profile at the top; ``KCL_*`` over it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.admin.settings import CONNECT_TIMEOUT, ConnectionSettings
from console.contexts.client_files import read_file
from console.contexts.context import Context, ContextError, Found, Surroundings
from console.contexts.foreign.tool_file import Part, Table, gather, protocol

TOOL = "kcl"
DEFAULT_SEEDS = "localhost:9092"
UNNAMED = "kcl"
"""The name of a profile that has none."""

_OVERRIDES = {
    "KCL_SEED_BROKERS": ("seed_brokers",),
    "KCL_DIAL_TIMEOUT": ("dial_timeout",),
    "KCL_TLS_CA_CERT_PATH": ("tls", "ca_cert_path"),
    "KCL_TLS_CLIENT_CERT_PATH": ("tls", "client_cert_path"),
    "KCL_TLS_CLIENT_KEY_PATH": ("tls", "client_key_path"),
    "KCL_TLS_SERVER_NAME": ("tls", "server_name"),
    "KCL_SASL_METHOD": ("sasl", "method"),
    "KCL_SASL_USER": ("sasl", "user"),
    "KCL_SASL_PASS": ("sasl", "pass"),
}
_SWITCHES = {
    "KCL_USE_TLS": ("tls", "used"),
    "KCL_TLS_INSECURE": ("tls", "insecure"),
    "KCL_SASL_IS_TOKEN": ("sasl", "is_token"),
}
"""On by being there, whatever their value."""


def read(surroundings: Surroundings) -> Found:
    """Its profiles; environment variables change the one that is current. Raises ContextError."""
    path = _config(surroundings)
    environ = surroundings.environ
    has_file = path.is_file() and not environ.get("KCL_NO_CONFIG_FILE")
    if not has_file and "KCL_SEED_BROKERS" not in environ:
        return Found()
    table = _parsed(path) if has_file else {}
    profiles = table.get("profiles") or {}
    if not isinstance(profiles, dict):
        raise ContextError(f"{path}: profiles is no table")
    current = str(table.get("current_profile") or "") if profiles else UNNAMED
    named = dict(profiles or {UNNAMED: table})
    if isinstance(named.get(current), dict):
        named[current] = _overridden(named[current], environ)
    values = [(name, f"profiles.{name}" if profiles else "profile", value) for name, value in named.items()]
    return gather(TOOL, path, values, _context, current, surroundings, None if has_file else "environment")


def _config(surroundings: Surroundings) -> Path:
    environ = surroundings.environ
    if named := environ.get("KCL_CONFIG_PATH"):
        return surroundings.path(named, (surroundings.cwd,))
    folder = surroundings.config_folder()
    if sys.platform == "darwin":
        folder = surroundings.home / "Library" / "Application Support"
    folder = Path(environ["KCL_CONFIG_DIR"]) if environ.get("KCL_CONFIG_DIR") else folder / "kcl"
    return folder / (environ.get("KCL_CONFIG_FILE") or "config.toml")


def _parsed(path: Path) -> Table:
    import tomllib

    try:
        return tomllib.loads(read_file(path).decode("utf-8"))
    except UnicodeDecodeError:
        raise ContextError(f"{path}: it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ContextError(f"{path}: not TOML: {error}") from None


def _overridden(profile: Table, environ: Mapping[str, str]) -> Table:
    """The profile with what the environment puts over it."""
    result: dict[str, Any] = {key: dict(value) if isinstance(value, dict) else value for key, value in profile.items()}
    texts = {name: keys for name, keys in _OVERRIDES.items() if name in environ}
    switches = {name: keys for name, keys in _SWITCHES.items() if name in environ}
    for name, keys in (texts | switches).items():
        value: Any = environ[name] if name in texts else True
        if len(keys) == 1:
            result[keys[0]] = value
        else:
            inner = result.get(keys[0])
            result[keys[0]] = {**(inner if isinstance(inner, dict) else {}), keys[1]: value}
    return result


def _context(name: str, origin: str, part: Part) -> Context:
    tls_part, sasl_part = part.part("tls"), part.part("sasl")
    tls = sasl = None
    if tls_part is not None:
        tls = tls_part.tls(ca="ca_cert_path", cert="client_cert_path", key="client_key_path", insecure="insecure")
        if tls_part.text("server_name"):
            tls_part.warn("server_name is not applied: certificates have to name the host that is connected to")
    if sasl_part is not None and sasl_part.text("method"):
        if sasl_part.flag("is_token"):
            raise sasl_part.error("delegation tokens (is_token) are not supported")
        sasl = sasl_part.sasl(sasl_part.text("method"), user="user", password="pass")  # noqa: S106
    settings = ConnectionSettings(
        bootstrap=part.addresses("seed_brokers", DEFAULT_SEEDS),
        security_protocol=protocol(tls, sasl),
        sasl=sasl,
        tls=tls,
        connect_timeout=part.seconds("dial_timeout", CONNECT_TIMEOUT),
    )
    return Context(name, origin, settings, warnings=tuple(part.warnings), tool=TOOL)
