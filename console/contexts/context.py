"""A context: a named cluster, the settings to connect to it, its safeguards, and its lake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from console.admin.settings import ConnectionSettings, HttpSettings, show_address
from console.model.config import ConfigPlace
from widgets.cells import clean

if TYPE_CHECKING:
    from console.lint.acceptance import Acceptance
    from console.model.decode_rules import DecodeRule
    from console.model.record_masks import MaskPath

OWN = "kac"
COMMAND_LINE = "command line"
SHOWN, HIDDEN, NEVER = "shown", "hidden", "never"
RECORDS = (SHOWN, HIDDEN, NEVER)
"""The values of `records`: contents of records are shown; masked until the user requests them; or never read."""


class ContextError(Exception):
    """A context can't be used. The message has place, problem and remedy in one line, and never a secret."""

    def __init__(self, text: str) -> None:
        super().__init__(clean(text))


class Surroundings(NamedTuple):
    """The environment, the home folder and the working folder of the process."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def path(self, text: str, bases: tuple[Path, ...]) -> Path:
        """Return the absolute path for a text; ``~`` is expanded. A relative path belongs to the first folder of
        `bases` in which it exists; if it exists in none, to the first folder.
        """
        plain = self.home / text[2:] if text.startswith("~/") else Path(text)
        candidates = [base / plain for base in bases]
        return next((candidate for candidate in candidates if candidate.exists()), candidates[0])

    def config_folder(self) -> Path:
        """Return ``$XDG_CONFIG_HOME`` if it is an absolute path, as its specification requires; else ``~/.config``."""
        named = Path(self.environ.get("XDG_CONFIG_HOME", ""))
        return named if named.is_absolute() else self.home / ".config"

    def shown(self, path: Path) -> str:
        """Return a path with ``~`` for the home folder."""
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)


class Place(NamedTuple):
    """The place of a value: ``file:line``; only the file if the line is unknown."""

    file: Path
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


class Context(Struct, frozen=True):
    """A usable context: a named cluster, how to reach it, and its safeguards."""

    name: str
    origin: str
    """The source of the context, such as a file, as text for users."""
    settings: ConnectionSettings
    color: str | None = None
    read_only: bool = False
    confirm: bool = False
    cluster_id: str | None = None
    """The id that the cluster must have; a cluster with another id is refused. None to accept any id."""
    warnings: tuple[str, ...] = ()
    """Warnings about the file that defines the context, a line each, without secrets. Risks of the settings themselves
    are in `settings.exposures`.
    """
    tool: str = OWN
    """``kac``, ``command line``, or the name of the tool whose file contains the context."""
    journal: bool = True
    """Whether changes are recorded in the journal."""
    lake: str | None = None
    """The path or URI of the lake with the history of the cluster; None without a lake."""
    records: str = SHOWN
    """How contents of records are treated; one of `RECORDS`."""
    throttles: frozenset[ConfigPlace] = frozenset()
    """The replication throttles that the operator keeps on purpose: kac does not report them as left over from
    a move.
    """
    mask: tuple[MaskPath, ...] = ()
    """The paths of fields in records that kac never shows."""
    lint: tuple[Acceptance, ...] = ()
    """The findings of lint that the operator accepts, each with its reason."""
    decode: tuple[DecodeRule, ...] = ()
    """The rules for decoding records that refer to no schema of a registry; the first matching rule applies."""
    watch: Mapping[str, str] = field(default_factory=dict)
    """Name of a set of watched subjects -> the text that the verb ``watch`` parses."""

    @property
    def schemas(self) -> HttpSettings | None:
        """The settings of the schema registry of the cluster's records; None without a registry."""
        return self.settings.schemas

    @property
    def principal(self) -> str:
        """The name by which the client logs in, as far as the settings show it: the user name, else the SASL mechanism;
        ``certificate`` for a client with a key store, whose name brokers take from its certificate; else
        ``ANONYMOUS``.
        """
        settings = self.settings
        if settings.sasl is not None:
            return settings.sasl.username or settings.sasl.mechanism
        if settings.tls is not None and settings.tls.key_store is not None:
            return "certificate"
        return "ANONYMOUS"

    @property
    def kafka_principal(self) -> str:
        """The client's principal as brokers name it, ``User:admin``; ``""`` if the settings do not determine it."""
        sasl, tls = self.settings.sasl, self.settings.tls
        if sasl is not None:
            return f"User:{sasl.username}" if sasl.username else ""
        return "" if tls is not None and tls.key_store is not None else "User:ANONYMOUS"


class BrokenContext(Struct, frozen=True):
    """A configured context that can't be used."""

    name: str
    origin: str
    problem: str
    """The reason why the context can't be used, and the remedy, in one line."""
    tool: str = OWN


class Found(Struct, frozen=True):
    """The contexts in one file, in the order of the file."""

    items: tuple[Context | BrokenContext, ...] = ()
    current: str | None = None
    """The name of the current context in the file; None if it names none."""
    problems: tuple[str, ...] = ()


# Bootstrap addresses: ``host:port,host:port``, with IPv6 addresses in brackets (Kafka's ClientUtils).

Addresses = tuple[tuple[str, int], ...]
"""Addresses, each as host and port."""
DEFAULT_PORT = 9092

_ADDRESS = re.compile(
    r"""(?:[A-Za-z0-9._+-]*://)?                      # a listener's name, as Kafka prints it: `check_schemes`
        (?:\[(?P<six>[0-9A-Fa-f:.]+(?:%[\w.-]+)?)\]|(?P<host>[^\s\[\]:,/@]+))
        (?::(?P<port>[0-9]+))?""",
    re.VERBOSE,
)


def parse_bootstrap(text: str, default_port: int | None = DEFAULT_PORT) -> Addresses:
    """Parse addresses separated by commas, and return them in order, without duplicates.

    Args:
        default_port: the port of addresses without one; None if each address must have a port.

    Raises:
        ValueError: there is no address, or an address is invalid; the message names the problem.
    """
    if "@" in text:
        # The text before the @ may be a password, so the message does not repeat the address.
        raise ValueError("an address has no @; a user and a password go into a file for --command-config")
    addresses = tuple(dict.fromkeys(address_of(part, default_port) for part in text.split(",") if part.strip()))
    if not addresses:
        raise ValueError("no address: give HOST:PORT, or several with commas between")
    return addresses


_SCHEME = re.compile(r"\A\s*([A-Za-z0-9._+-]+)://")
_TLS_WORDS = frozenset({"SSL", "TLS", "HTTPS"})


def check_schemes(text: str, protocol: str) -> None:
    """Check that the schemes before ``://`` in addresses fit the security protocol. A scheme that implies neither
    encryption nor a login is ignored.

    Args:
        text: addresses, as `parse_bootstrap` parses them.
        protocol: security.protocol of the connection to them.

    Raises:
        ValueError: a scheme contradicts the protocol about encryption, or implies a login that the protocol lacks.
    """
    for part in text.split(","):
        match = _SCHEME.match(part)
        said = set(re.split(r"[._+-]", match[1].upper())) if match else set()
        tls = bool(said & _TLS_WORDS)
        if match is None or not said & {*_TLS_WORDS, "PLAINTEXT", "SASL"}:
            continue
        if tls != protocol.endswith("SSL") and (tls or "PLAINTEXT" in said):
            what = "says TLS" if tls else "says no TLS"
        elif "SASL" in said and not protocol.startswith("SASL_"):
            what = "says that clients log in"
        else:
            continue
        raise ValueError(
            f"{part.strip()!r} {what}, and security.protocol is {protocol}: nothing was sent; set security.protocol in "
            "a context or in a file for --command-config, or take the name before :// away"
        )


def format_bootstrap(addresses: Addresses) -> str:
    """Return addresses as a text that `parse_bootstrap` parses."""
    return ",".join(map(show_address, addresses))


def address_of(part: str, default_port: int | None = DEFAULT_PORT) -> tuple[str, int]:
    """Return the host and the port of one address in the notation of `parse_bootstrap`. Raises ValueError: the address
    is invalid. default_port: the port of an address without one; None to refuse such an address.
    """
    text = part.strip()
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not HOST:PORT{_address_hint(text)}")
    host = match["six"] or match["host"]
    if not match["port"] and default_port is None:
        raise ValueError(f"{text!r} has no port: give HOST:PORT")
    port = int(match["port"]) if match["port"] else default_port or DEFAULT_PORT
    if not 0 < port < 65536:
        raise ValueError(f"{text!r}: the port has to be from 1 to 65535")
    if not host.isprintable():
        raise ValueError(f"{text!r}: a host name has no control characters")
    return host, port


def _address_hint(text: str) -> str:
    if text.count(":") > 1 and "[" not in text:
        return "; an IPv6 address goes in brackets: [::1]:9092"
    if text.endswith(":") or re.search(r":[^0-9\]]", text):
        return "; the port is a number"
    return ""


LAKE_VARIABLE = "KAC_LAKE"
"""The environment variable with the path or URI of the lake."""


def lake_place(flag: str | None, environ: Mapping[str, str], setting: str | None, home: Path) -> str:
    """Return the path or URI of the lake: the first that is set of ``--lake`` (`flag`), ``KAC_LAKE`` and the context's
    `lake` (`setting`). If none is set, it is ``kac/lake`` in ``$XDG_DATA_HOME``, or in ``~/.local/share`` if that
    variable has no absolute path.
    """
    named = flag or environ.get(LAKE_VARIABLE) or setting
    if named:
        return str(home / named[2:]) if named.startswith("~/") else named
    data = Path(environ.get("XDG_DATA_HOME", ""))
    # The XDG Base Directory specification requires an absolute path, and has relative ones ignored.
    return str((data if data.is_absolute() else home / ".local" / "share") / "kac" / "lake")
