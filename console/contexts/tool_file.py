"""Parsing of other tools' configuration files. It is lenient, because users write values of any type there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.admin.settings import ConnectionSettings, SaslSettings, Store, TlsSettings
from console.contexts import context
from console.contexts.client_files import read_file
from console.contexts.config_providers import placeholder
from console.contexts.java_client import DEFAULT_SERVICE, TOKEN_COMMAND
from console.contexts.properties import open_to_others
from console.model.secret import Secret
from console.model.yaml_places import UnsafeYaml, events, expanded
from widgets.cells import clean

_SCRAM = {"plain": "PLAIN", "plaintext": "PLAIN", "scramsha256": "SCRAM-SHA-256", "scramsha512": "SCRAM-SHA-512"}
TOKEN_LINES = (
    f'; a context of kac\'s own file can: sasl.mechanism = "OAUTHBEARER" with {TOKEN_COMMAND} = "COMMAND", which '
    "writes a token, or sasl.oauthbearer.token.endpoint.url"
)
_DURATION = re.compile(r"([0-9]{1,18}+(?:\.[0-9]{1,18}+)?)(ms|s|m|h)")
_NULL = (None, "", "~", "null", "Null", "NULL")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

Table = Mapping[str, Any]


def parse_yaml(path: Path) -> Table:
    """Return the mapping in a YAML file; empty for an empty file.

    Raises:
        ContextError: the file can't be read, is not YAML (with the line of the error), or has no mapping at the top.
    """
    import yaml

    # Keep all scalars as texts, as the tools written in Go do: a password 0123 is not a number, and a context `off` not
    # a boolean.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        text = read_file(path)
        for _ in events(text, anchors=True):
            pass
        node = yaml.compose(text, Loader=loader)
        if node is not None:
            expanded(node)
        value = yaml.load(text, Loader=loader)  # noqa: S506
    except UnsafeYaml as error:
        raise context.ContextError(f"{context.Place(path, error.line)}: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or "it can't be read"
        raise context.ContextError(f"{context.Place(path, mark.line + 1 if mark else None)}: not YAML: {why}") from None
    except UnicodeDecodeError:
        raise context.ContextError(f"{path}: it is not text in UTF-8") from None
    except RecursionError:
        raise context.ContextError(f"{path}: it is nested too deep") from None
    except ValueError:
        raise context.ContextError(f"{path}: not YAML") from None
    if value in _NULL:
        return {}
    if not isinstance(value, dict):
        raise context.ContextError(f"{path}: a mapping of keys to values is expected at the top")
    return value


@dataclass(slots=True)
class Part:
    """One table of a tool's file, with lookups by key. Lookups ignore the case of keys, as kafkactl and kaf do."""

    file: Path
    name: str
    """The path of the table, for messages."""
    table: Table
    surroundings: context.Surroundings
    warnings: list[str] = field(default_factory=list)
    """Warnings about settings that kac does not apply."""

    def __post_init__(self) -> None:
        self.table = {str(key).lower(): value for key, value in self.table.items()}

    def error(self, text: str) -> context.ContextError:
        """Return an error about this table, in one line."""
        return context.ContextError(f"{self.file}: {self.name}: {text}")

    def warn(self, text: str) -> None:
        """Add a warning about this table."""
        self.warnings.append(clean(f"{self.file}: {self.name}: {text}"))

    def part(self, key: str) -> Part | None:
        """Return the table at a key; None if the key is missing or null. Raises ContextError: the value is not a
        table.
        """
        value = self.table.get(key.lower())
        if value in _NULL:
            return None
        if not isinstance(value, dict):
            raise self.error(f"{key} is not a table")
        return Part(self.file, f"{self.name}.{key}", value, self.surroundings, self.warnings)

    def part_or_empty(self, key: str) -> Part:
        """Return the table at a key; an empty table if the key is missing or null. Raises ContextError: the value is
        not a table.
        """
        return self.part(key) or Part(self.file, f"{self.name}.{key}", {}, self.surroundings, self.warnings)

    def text(self, key: str) -> str:
        """Return the text at a key; ``""`` if the key is missing or null. A number becomes text. Raises
        ContextError: the value is a table or a list, or contains a placeholder.
        """
        value = self.table.get(key.lower())
        if value in _NULL:
            return ""
        if isinstance(value, dict | list):
            raise self.error(f"{key} is not a text")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self._check(key, text)
        return text

    def _check(self, key: str, text: str) -> None:
        """Raise ContextError if the text contains a placeholder such as ``${NAME}``: these tools replace none, so it
        would be sent unchanged.
        """
        if (left := placeholder(text)) is not None:
            place = context.Place(self.file, self._line_of(text))
            raise context.ContextError(
                f"{place}: {self.name}: {key}: nothing resolves {left} here; write the value, or a context in kac's "
                "own file, where ${env:NAME}, ${file:PATH} and ${exec:COMMAND} are resolved"
            )

    def _line_of(self, text: str) -> int | None:
        """Return the number of the first line of the file that contains the text; the parsers of these files keep no
        line numbers. None if no line contains the text, because it is escaped there or from the environment.
        """
        if not self.file.is_file():
            return None
        lines = read_file(self.file).decode("utf-8", "replace").split("\n")
        return next((number for number, line in enumerate(lines, start=1) if text in line), None)

    def flag(self, key: str) -> bool:
        """Return the boolean at a key, also if it is written as a text; False if the key is missing. Raises
        ContextError: it is not a boolean.
        """
        text = self.text(key).lower()
        if text in ("", "false", "0", "no", "off"):
            return False
        if text in ("true", "1", "yes", "on"):
            return True
        raise self.error(f"{key} is true or false, not {text!r}")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the list of texts at a key; a single text is split at commas or blanks. Empty if the key is
        missing.
        """
        value = self.table.get(key.lower())
        if isinstance(value, list):
            found = tuple(str(item) for item in value if item not in _NULL)
            for text in found:
                self._check(key, text)
            return found
        return tuple(re.split(r"[,\s]+", self.text(key).strip())) if self.text(key).strip() else ()

    def secret(self, key: str) -> Secret | None:
        """Return the secret at a key; None if it is missing or empty. Adds a warning if other users may read
        the file.
        """
        text = self.text(key)
        if not text:
            return None
        exposed = f"{self.file} holds secrets and others may read it; chmod 600 {shlex.quote(str(self.file))}"
        if exposed not in self.warnings and open_to_others(self.file):
            self.warnings.append(exposed)
        return Secret(text)

    def seconds(self, key: str, default: float) -> float:
        """Return the duration at a key in seconds; the file has it in Go's format, ``1m30s``. Return `default` if
        the key is missing or its value is 0. Raises ContextError: the text has another format.
        """
        text = self.text(key)
        found = _DURATION.findall(text)
        if text and "".join(number + unit for number, unit in found) != text:
            raise self.error(f"{key} is a duration as 10s, not {text!r}")
        return sum(float(number) * _UNITS[unit] for number, unit in found) or default

    def connection(
        self, addresses: str, tls: TlsSettings | None, sasl: SaslSettings | None, default: str = ""
    ) -> ConnectionSettings:
        """Return connection settings with the security protocol that follows from TLS and SASL.

        Args:
            addresses: the key that has the addresses.
            tls: the TLS settings; None for a connection without encryption.
            sasl: the SASL settings; None for a connection without a login.
            default: the addresses if that key is missing.
        """
        protocol = ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT")
        return ConnectionSettings(self.addresses(addresses, protocol, default), protocol, sasl=sasl, tls=tls)

    def addresses(self, key: str, security_protocol: str, default: str = "") -> tuple[tuple[str, int], ...]:
        """Return the bootstrap addresses at a key, or those in `default` if it is missing. Raises ContextError: an
        address is invalid or contradicts the security protocol.
        """
        text = ",".join(self.texts(key)) or default
        try:
            addresses = context.parse_bootstrap(text)
            context.check_schemes(text, security_protocol)
            return addresses
        except ValueError as error:
            raise self.error(f"{key}: {error}") from None

    def pem(self, key: str) -> Store | None:
        """Return the PEM file at a key; None if the key is missing. A relative path belongs to the working folder, or
        to the folder of the tool's file if it exists only there.
        """
        text = self.text(key)
        if not text:
            return None
        return Store("PEM", path=self.surroundings.path(text, (self.surroundings.cwd, self.file.parent)))

    def tls(self, *, ca: str, cert: str, key: str, insecure: str, password: str = "") -> TlsSettings:
        """Return TLS settings from PEM files. Raises ContextError: a certificate is given without its key, or a key
        without its certificate.

        Args:
            ca, cert, key, insecure, password: the names of the keys in the tool's file.
        """
        chain, private = self.pem(cert), self.pem(key)
        if (chain is None) != (private is None):
            given, missing = (cert, key) if chain else (key, cert)
            raise self.error(f"{given} is given without {missing}")
        unverified = self.flag(insecure)
        if unverified:
            self.warn(f"{insecure} is true: any server is accepted as the broker")
        return TlsSettings(
            trust=self.pem(ca),
            key_store=chain,
            key_file=private,
            key_password=self.secret(password) if password else None,
            verify_host=not unverified,
            verify_chain=not unverified,
        )

    def sasl(self, mechanism: str, *, user: str, password: str) -> SaslSettings:
        """Return the SASL settings of a mechanism: AWS IAM for Amazon MSK, Kerberos, or PLAIN or SCRAM with a user and
        a password.

        Args:
            mechanism: the mechanism in any tool's spelling.
            user, password: the names of the keys in the tool's file.

        Raises:
            ContextError: the mechanism is not supported, or the file lacks the user or the password.
        """
        plain = re.sub(r"[-_\s]", "", mechanism.lower())
        if plain == "awsmskiam":
            return self._aws(user, password)
        if plain in ("gssapi", "kerberos"):
            return self._kerberos(user, password)
        name = _SCRAM.get(plain)
        if name is None:
            lines = TOKEN_LINES if plain in ("oauth", "oauthbearer") else ""
            raise self.error(f"the mechanism {mechanism!r} can't be taken from here{lines}")
        username, secret = self.text(user), self.secret(password)
        if not username or secret is None:
            missing = password if username else user
            raise self.error(
                f"{missing} is not in the file (a keyring or a prompt has it); write a context in kac's own file"
            )
        return SaslSettings(name, username, secret)

    def _aws(self, user: str, password: str) -> SaslSettings:
        """Return settings for AWS IAM for Amazon MSK, with the credentials of AWS' own sources: environment, profile,
        instance. Raises ContextError: the file itself contains AWS keys, which kac does not use.
        """
        if self.text(user) or self.text(password):
            raise self.error(
                f"{user} and {password} are not taken for AWS keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                "or AWS_PROFILE, and take them out of the file"
            )
        return SaslSettings("AWS_MSK_IAM", options={"aws": "iam"})

    def _kerberos(self, user: str, password: str) -> SaslSettings:
        """Return Kerberos settings with the tickets of the default cache. Raises ContextError: the file has a
        password.
        """
        if self.text(password):
            raise self.error(f"{password} is not used for Kerberos: run kinit {self.text(user)}, and take it out")
        service = self.text("serviceName") or DEFAULT_SERVICE
        return SaslSettings("GSSAPI", self.text(user) or None, options={"kerberos.service.name": service})


def gather(
    tool: str,
    path: Path,
    values: Iterable[tuple[str, str, Any]],
    make: Callable[[Part], ConnectionSettings],
    current: str,
    surroundings: context.Surroundings,
    origin: str | None = None,
) -> context.Found:
    """Return a context for each entry of a tool's file; a BrokenContext for an unusable entry.

    Args:
        values: for each entry its name, its path in the file, for messages, and its table, a value of any type.
        make: returns the settings of a table; if it raises ContextError, the context is broken.
        current: the name of the tool's current context, in upper or lower case.
        origin: the source of the contexts, for display; None for the file's path.
    """
    shown = f"{tool}, {origin or surroundings.shown(path)}"
    items: list[context.Context | context.BrokenContext] = []
    for written, where, value in values:
        name = clean(written)
        part = Part(path, where, value if isinstance(value, dict) else {}, surroundings)
        try:
            if not isinstance(value, dict):
                raise part.error("a table is expected here")
            settings = make(part)
            items.append(context.Context(name, shown, settings, warnings=tuple(part.warnings), tool=tool))
        except context.ContextError as error:
            items.append(context.BrokenContext(name, shown, str(error), tool))
    names = {item.name.lower(): item.name for item in items}
    return context.Found(tuple(items), names.get(current.lower()))


def named_items(tool: str, key: str, items: Any, path: Path) -> list[tuple[str, str, Any]]:
    """Return (name, path, table) of each item of a list; empty if the list is missing. An item without a name gets a
    name from its index. Raises ContextError: it is not a list.
    """
    if items in _NULL:
        return []
    if not isinstance(items, list):
        raise context.ContextError(f"{path}: {key} is not a list")
    found: list[tuple[str, str, Any]] = []
    for number, value in enumerate(items):
        name = value.get("name") if isinstance(value, dict) else None
        named = str(name) if isinstance(name, str | int) and str(name) else f"{tool}-{number}"
        if any(named == other for other, _, _ in found):
            named = f"{named}-{number}"
        found.append((named, f"{key}[{number}]", value))
    return found
