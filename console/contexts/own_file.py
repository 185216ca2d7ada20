"""kac's own file, ``$XDG_CONFIG_HOME/kac/config.toml``: contexts under Java's property names, and ``[settings]``.

current_context = "prod"

[contexts.prod]
properties = "prod.properties"        # a file to start from; the keys here override it
bootstrap.servers = "b1:9092,b2:9092"
security.protocol = "SASL_SSL"
color = "red"
read_only = true
confirm = true
cluster_id = "MkU3OEVBNTcwNTJENDM2Qk"
lake = "~/lake"
via = "ssh:ops@bastion"               # the way of all connections: console/contexts/routes
records = "hidden"                    # contents of records: shown, hidden until requested, or never
mask = ["$.card", "$.**.email"]       # fields of records that are never shown
throttles = ["broker <default> leader.replication.throttled.rate"]  # intended: never reported as left over

[contexts.prod.addresses]             # places to connect to in place of advertised addresses
"b1.internal:9092" = "127.0.0.1:19092"

[contexts.prod.schemas]               # the registry of the records' schemas
url = "https://registry:8081"
username = "kac"
password = "${env:REGISTRY_PASSWORD}"

[contexts.prod.connect.main]          # a Connect cluster: its workers
url = ["https://w1:8083", "https://w2:8083"]

[contexts.prod.decode]                # topics whose records refer to no schema: console/contexts/decoding
"orders-*" = { key = "int64", value = { protobuf = { file = "orders.proto", message = "shop.Order" } } }

[contexts.prod.watch]                 # sets of what is watched together: watch checkout, kac --watch checkout
checkout = "topic orders.*, group billing, connector pg"

[[contexts.prod.lint]]                # a finding of lint that stays; the reason is required
rule = "single-replica"
subject = "topic scratch-*"           # a glob of what lint prints
reason = "rebuilt every night"

[notify.chat]                         # a receiver of triage's causes: console/contexts/receivers
url = "${file:/run/secrets/chat-url}"
json = { text = "{text}" }
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from console.admin.settings import AddressRule, ConnectSettings, HttpSettings, Proxy, Via
from console.contexts import context
from console.contexts.console_settings import ConsoleSettings, read_settings, unknown_key
from console.model.config import CLUSTER_DEFAULT, ConfigPlace, broker_resource, topic_resource
from console.model.numbers import is_natural
from widgets.cells import clean

if TYPE_CHECKING:
    from console.contexts.properties import Entry
    from console.contexts.receivers import Table
    from console.lint.acceptance import Acceptance
    from console.model.decode_rules import DecodeRule
    from console.model.record_masks import MaskPath

Receiver: TypeAlias = "Table | str"
"""The table of a receiver of messages; or, if the table is invalid, the problem as text."""

# The line numbers of keys, which tomllib does not provide.

KeyPath = tuple[str, ...]


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Return the path of every table and key of a TOML text -> its line, from 1. The text must be valid TOML."""
    lines = text.split("\n")
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    at = 0
    while at < len(lines):
        statement, size = _statement(lines, at)
        paths = list(_paths(statement))
        if lines[at].lstrip().startswith("["):
            table = paths[-1] if paths else ()
            paths = [path for path in paths if path]
        else:
            paths = [table + path for path in paths]
        for path in paths:
            found.setdefault(path, at + 1)
        at += size
    return found


def line_of(path: KeyPath, lines: Mapping[KeyPath, int]) -> int | None:
    """Return the line of a key, or of the nearest table that contains it; None if the path has no table with a line."""
    for size in range(len(path), 0, -1):
        if path[:size] in lines:
            return lines[path[:size]]
    return None


def _statement(lines: list[str], start: int) -> tuple[Mapping[str, Any], int]:
    """Return the value of the statement that begins at a line, and its number of lines: the fewest lines that are valid
    TOML. Return ({}, 1) if no number of lines is valid.
    """
    import tomllib

    for size in range(1, len(lines) - start + 1):
        try:
            return tomllib.loads("\n".join(lines[start : start + size])), size
        except tomllib.TOMLDecodeError:
            continue
    return {}, 1


def _paths(value: Any) -> Iterator[KeyPath]:
    """Yield the paths of all tables and keys in a tree of tables, each table before its keys."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (key,)
            for path in _paths(inner):
                yield (key, *path)


CONFIG = "KAC_CONFIG"
"""The environment variable with the path of a configuration file to use in place of the default one."""
COLORS = ("red", "green", "yellow", "blue", "magenta", "cyan", "white")

_HEX_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")
_TOP = ("current_context", "contexts", "settings", "notify")
_OWN_KEYS = (
    "properties",
    "color",
    "read_only",
    "confirm",
    "cluster_id",
    "lake",
    "records",
    "mask",
    "schemas",
    "connect",
    "decode",
    "throttles",
    "via",
    "addresses",
    "lint",
    "watch",
)
_SET_NAME = re.compile(r"[\w-]+")
_VIA_KEYS = {"url", "username", "password"}
_LINT_KEYS = ("rule", "subject", "reason")


class OwnFile(Struct, frozen=True):
    """The contents of kac's own file; empty if there is no file."""

    found: context.Found = field(default_factory=context.Found)
    settings: ConsoleSettings = field(default_factory=ConsoleSettings)
    receivers: Mapping[str, Receiver] = field(default_factory=dict)
    """Name of a receiver -> its table, or the reason why the table is unusable."""


def own_path(surroundings: context.Surroundings) -> Path:
    """Return the path of kac's own file: the one that ``KAC_CONFIG`` names, else ``config.toml`` in kac's configuration
    folder.
    """
    named = surroundings.environ.get(CONFIG)
    if named:
        return surroundings.path(named, (surroundings.cwd,))
    return surroundings.config_folder() / "kac" / "config.toml"


def read_own_file(surroundings: context.Surroundings) -> OwnFile:
    """Read kac's own file and return its contents; empty if there is no file. Unusable contexts become BrokenContexts;
    other problems become lines in `problems`.
    """
    path = own_path(surroundings)
    if not path.exists() and CONFIG not in surroundings.environ:
        return OwnFile()
    # Import the reader of properties only if the file exists, as every start looks for this file.
    from console.contexts.client_files import read_file

    try:
        return own_text(read_file(path).decode("utf-8"), path, surroundings)
    except UnicodeDecodeError:
        return OwnFile(context.Found(problems=(f"{path}: it is not text in UTF-8",)))
    except context.ContextError as error:
        return OwnFile(context.Found(problems=(str(error),)))


def own_text(text: str, path: Path, surroundings: context.Surroundings) -> OwnFile:
    """Return the contents of a text of kac's own file. Raises ContextError: the text is not TOML."""
    return _OwnFileReader(path, _parsed(text, path), key_lines(text), surroundings).read()


def _parsed(text: str, path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column \d+\)", str(error))
        why = str(error)[: at.start()].strip() if at else str(error)
        raise context.ContextError(
            f"{context.Place(path, int(at[1]) if at else None)}: not TOML: {why}; nothing of it is used"
        ) from None


class _OwnFileReader:
    """A parser of one file. Its methods raise ContextError for an invalid value; the message names the line."""

    def __init__(
        self, path: Path, table: Mapping[str, Any], lines: Mapping[KeyPath, int], surroundings: context.Surroundings
    ) -> None:
        self._path = path
        self._table = table
        self._lines = lines
        self._surroundings = surroundings
        self._problems: list[str] = []

    def read(self) -> OwnFile:
        for key in self._table:
            if key not in _TOP:
                self._problems.append(f"{self._place(key)}: {unknown_key(key, _TOP)}")
        settings, problems = read_settings(
            self._table_of("settings"), lambda *keys: str(self._place("settings", *keys))
        )
        self._problems += problems
        items: list[context.Context | context.BrokenContext] = []
        for name, table in self._table_of("contexts").items():
            try:
                items.append(self._context(name, table))
            except context.ContextError as error:
                items.append(context.BrokenContext(name, self._origin(), str(error)))
        receivers: dict[str, Receiver] = {}
        for name, tree in self._table_of("notify").items():
            from console.contexts.receivers import table

            try:
                receivers[name] = table(name, tree, self._place, lambda path, rest: self._service(path, rest, {}))
            except context.ContextError as error:
                receivers[name] = str(error)
                self._problems.append(str(error))
        current = self._current(items)
        return OwnFile(context.Found(tuple(items), current, tuple(self._problems)), settings, receivers)

    def _place(self, *keys: str) -> context.Place:
        return context.Place(self._path, line_of(keys, self._lines))

    def _origin(self) -> str:
        return self._surroundings.shown(self._path)

    def _table_of(self, key: str) -> Mapping[str, Any]:
        value = self._table.get(key, {})
        if isinstance(value, dict):
            return value
        self._problems.append(f"{self._place(key)}: {key} is a table, [{key}]")
        return {}

    def _current(self, known: list[context.Context | context.BrokenContext]) -> str | None:
        name = self._table.get("current_context")
        if name is None:
            return known[0].name if len(known) == 1 else None
        if not isinstance(name, str):
            self._problems.append(
                f"{self._place('current_context')}: current_context is the name of a context, in quotes"
            )
            return None
        return name

    def _context(self, name: str, table: Any) -> context.Context:
        place = self._place("contexts", name)
        if not isinstance(table, dict):
            raise context.ContextError(f"{place}: {name} is a table, [contexts.{name}]")
        if not name or not name.isprintable() or name != name.strip():
            raise context.ContextError(f"{place}: the name of a context is not empty and has no control characters")
        from console.contexts.java_client import java_connection
        from console.contexts.librdkafka import librdkafka_connection
        from console.contexts.properties import Values

        entries, librdkafka, warnings = self._included(name, table)
        own = {key: value for key, value in table.items() if key in _OWN_KEYS}
        mine, unknown = self._properties(name, {key: table[key] for key in table if key not in _OWN_KEYS})
        entries = {**entries, **mine}
        values = Values(
            entries, file=self._path, bases=(self._path.absolute().parent,), surroundings=self._surroundings
        )
        settings = (librdkafka_connection if librdkafka else java_connection)(values)
        connect, worries = self._connect(name, own, entries)
        registry, concerns = self._schemas(name, own, entries)
        settings = replace(
            settings,
            via=self._via(name, own, entries),
            addresses=self._addresses(name, own),
            connect=connect,
            schemas=registry,
        )
        concerns = (*values.exposure(), *concerns, *worries)
        return context.Context(
            name,
            self._origin(),
            settings,
            color=self._color(name, own.get("color")),
            read_only=self._flag(name, "read_only", own),
            confirm=self._flag(name, "confirm", own),
            cluster_id=self._text(name, "cluster_id", own),
            warnings=tuple(dict.fromkeys((*warnings, *unknown, *values.warnings, *concerns))),
            tool=context.OWN,
            lake=self._lake(name, own),
            records=self._records(name, own),
            throttles=self._throttles(name, own),
            mask=self._mask(name, own),
            decode=self._decode(name, own),
            lint=self._lint(name, own),
            watch=self._watch(name, own),
        )

    def _lake(self, name: str, table: Mapping[str, Any]) -> str | None:
        """Return the lake of a context as an absolute path or a URI; None if it is not set. A relative path belongs to
        the file's folder.
        """
        text = self._text(name, "lake", table)
        if text is None or "://" in text:
            return text
        return str(self._surroundings.path(text, (self._path.absolute().parent,)))

    def _via(self, name: str, table: Mapping[str, Any], of_context: Mapping[str, Entry]) -> Via | None:
        """Return the way by which a context connects (``via``), from a text or from a table that also has a proxy's
        login; None if it is not set. Raises ContextError.
        """
        value = table.get("via")
        if value is None:
            return None
        from console.contexts.properties import Values
        from console.contexts.routes import parse_via

        place = self._place("contexts", name, "via")
        try:
            if not isinstance(value, dict):
                return parse_via(self._text(name, "via", table) or "")
            entries = self._service(("contexts", name, "via"), value, of_context)
            folder = self._path.absolute().parent
            values = Values(entries, file=self._path, bases=(folder,), surroundings=self._surroundings)
            found = parse_via(values.text("url") or "")
        except ValueError as error:
            raise context.ContextError(f"{place}: via: {error}") from None
        username, password = values.untrimmed("username"), values.secret("password")
        if not isinstance(found, Proxy) or username is None or password is None or value.keys() - _VIA_KEYS:
            raise context.ContextError(
                f"{place}: via is a text, or url, username and password of a proxy, socks5:// or http://"
            )
        return replace(found, username=username, password=password)

    def _addresses(self, name: str, table: Mapping[str, Any]) -> tuple[AddressRule, ...]:
        """Return the rules by which other addresses replace those that brokers advertise. Raises ContextError."""
        value = table.get("addresses")
        if value is None:
            return ()
        from console.contexts.routes import address_rules

        place = self._place("contexts", name, "addresses")
        if not isinstance(value, dict):
            raise context.ContextError(f"{place}: addresses is a table, [contexts.{name}.addresses]")
        try:
            return address_rules(value)
        except ValueError as error:
            raise context.ContextError(f"{place}: addresses: {error}") from None

    def _records(self, name: str, table: Mapping[str, Any]) -> str:
        value = table.get("records", context.SHOWN)
        if value in context.RECORDS:
            return str(value)
        legal = f"one of {', '.join(context.RECORDS)}, in quotes"
        raise context.ContextError(f"{self._place('contexts', name, 'records')}: records is {legal}, not {value!r}")

    def _mask(self, name: str, table: Mapping[str, Any]) -> tuple[MaskPath, ...]:
        """Return the paths of masked fields. Raises ContextError for an invalid path: the context is then unusable,
        because the field must not be shown.
        """
        value = table.get("mask", [])
        if value == []:
            return ()
        # Import the parser only for a context that has masks, as every start reads this file.
        from console.model.record_masks import mask_path

        place = self._place("contexts", name, "mask")
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise context.ContextError(f'{place}: mask is a list of paths, as ["$.card", "$.**.email"], not {value!r}')
        if not value:
            return ()
        try:
            return tuple(map(mask_path, value))
        except ValueError as error:
            raise context.ContextError(f"{place}: mask: {error}") from None

    def _schemas(
        self, name: str, table: Mapping[str, Any], of_context: Mapping[str, Entry]
    ) -> tuple[HttpSettings | None, tuple[str, ...]]:
        """Return the settings of the schema registry, None without one, and warnings. Raises ContextError.

        Args:
            of_context: the context's properties, which may declare providers of secrets.
        """
        tree = table.get("schemas")
        if tree is None:
            return None, ()
        entries = self._service(("contexts", name, "schemas"), tree, of_context)
        return self._http(entries)

    def _connect(
        self, name: str, table: Mapping[str, Any], of_context: Mapping[str, Entry]
    ) -> tuple[tuple[ConnectSettings, ...], tuple[str, ...]]:
        """Return the Connect clusters of a context, each with the URLs of its workers, and warnings. Raises
        ContextError.
        """
        path = ("contexts", name, "connect")
        trees = table.get("connect", {})
        if not isinstance(trees, dict) or not all(isinstance(each, dict) for each in trees.values()):
            raise context.ContextError(
                f"{self._place(*path)}: connect has a table for each cluster, [{'.'.join(path)}.NAME]"
            )
        from console.contexts.properties import Entry

        found: list[ConnectSettings] = []
        warnings: list[str] = []
        for cluster, tree in trees.items():
            place = self._place(*path, cluster, "url")
            if not cluster or "/" in cluster or not cluster.isprintable() or cluster != cluster.strip():
                raise context.ContextError(
                    f"{place}: the name of a Connect cluster is not empty and has no slash, no blank at an end and no "
                    "control characters"
                )
            urls = tree.get("url", "")
            urls = urls if isinstance(urls, list) else [urls]
            if not urls:
                raise context.ContextError(f"{place}: url is empty: give the address of a worker")
            entries = self._service(
                (*path, cluster), {key: each for key, each in tree.items() if key != "url"}, of_context
            )
            workers = []
            for url in urls:
                worker, concerns = self._http({**entries, "url": Entry(_property_text("url", url, place), place)})
                workers.append(worker)
                warnings += concerns
            found.append(ConnectSettings(cluster, tuple(workers)))
        return tuple(found), tuple(warnings)

    def _service(self, path: KeyPath, tree: Any, of_context: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return the properties of an HTTP service. Raises ContextError.

        Args:
            path: the path of its table.
            tree: the table.
            of_context: the context's properties, which may declare providers of secrets.
        """
        from console.contexts.config_providers import is_provider_key
        from console.contexts.http_services import JAVA_SERVICE_KEYS, OWN_KEYS
        from console.contexts.properties import Entry

        if not isinstance(tree, dict):
            raise context.ContextError(f"{self._place(*path)}: {path[-1]} is a table, [{'.'.join(path)}]")
        entries = {key: entry for key, entry in of_context.items() if is_provider_key(key)}
        for below, value in _leaves(tree):
            key, place = ".".join(below), self._place(*path, *below)
            if key not in (*OWN_KEYS, *JAVA_SERVICE_KEYS):
                raise context.ContextError(f"{place}: {unknown_key(key, (*OWN_KEYS, *sorted(JAVA_SERVICE_KEYS)))}")
            entries[key] = Entry(_property_text(key, value, place), place)
        return entries

    def _http(self, entries: Mapping[str, Entry]) -> tuple[HttpSettings, tuple[str, ...]]:
        """Return the settings of an HTTP service at one URL, and warnings."""
        from console.contexts.http_services import http_settings
        from console.contexts.properties import Values

        folder = self._path.absolute().parent
        values = Values(entries, file=self._path, bases=(folder,), surroundings=self._surroundings)
        settings = http_settings(values)
        return settings, (*values.warnings, *values.exposure())

    def _decode(self, name: str, table: Mapping[str, Any]) -> tuple[DecodeRule, ...]:
        """Return the rules by which records are decoded. Raises ContextError."""
        if "decode" not in table:
            return ()
        from console.contexts.decoding import decode_rules

        def place_of(*keys: str) -> context.Place:
            return self._place("contexts", name, "decode", *keys)

        return decode_rules(table["decode"], place_of, self._path, self._surroundings)

    def _throttles(self, name: str, table: Mapping[str, Any]) -> frozenset[ConfigPlace]:
        """Return the throttles that the operator keeps on purpose, from texts ``broker ID KEY``, ``broker <default>
        KEY`` and ``topic NAME KEY``. Raises ContextError: a text has another form.
        """
        value = table.get("throttles", [])
        texts = value if isinstance(value, list) else [value]
        found = [_throttle(each) if isinstance(each, str) else None for each in texts]
        if not isinstance(value, list) or None in found:
            wrong = next((each for each, place in zip(texts, found, strict=True) if place is None), value)
            legal = '["broker <default> leader.replication.throttled.rate", "topic orders KEY"]'
            raise context.ContextError(
                f"{self._place('contexts', name, 'throttles')}: throttles is as {legal}, not {wrong!r}"
            )
        return frozenset(place for place in found if place is not None)

    def _lint(self, name: str, table: Mapping[str, Any]) -> tuple[Acceptance, ...]:
        """Return the findings of lint that a context accepts, each with its rule, its subjects and its reason. Raises
        ContextError.
        """
        value = table.get("lint", [])
        if value == []:
            return ()
        from console.lint.acceptance import Acceptance

        place = self._place("contexts", name, "lint")
        found = value if isinstance(value, list) else [value]
        for each in found:
            given = each if isinstance(each, dict) else {}
            right = given.keys() == {*_LINT_KEYS} and all(isinstance(v, str) and v.strip() for v in given.values())
            if not isinstance(value, list) or not right:
                legal = f"[[contexts.{name}.lint]] has {', '.join(_LINT_KEYS)}, each a text that is not empty"
                raise context.ContextError(f"{place}: {legal}, not {each!r}")
        return tuple(Acceptance(**each, place=str(place)) for each in found)

    def _watch(self, name: str, table: Mapping[str, Any]) -> Mapping[str, str]:
        """Return name -> the set of watched subjects, as text that the verb ``watch`` parses later. Raises
        ContextError.
        """
        value = table.get("watch", {})
        place = self._place("contexts", name, "watch")
        if not value:
            return {}
        from console.model.watched import KINDS

        legal = f'[contexts.{name}.watch] has NAME = "topic orders, group billing"'
        if not isinstance(value, dict):
            raise context.ContextError(f"{place}: {legal}, not {value!r}")
        for each, text in value.items():
            if not _SET_NAME.fullmatch(each) or each in KINDS:
                raise context.ContextError(
                    f"{place}: the name of a set has letters, digits, - and _, and is no kind of subject, not {each!r}"
                )
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                raise context.ContextError(f"{self._place('contexts', name, 'watch', each)}: {legal}, not {text!r}")
        return value

    def _included(self, name: str, table: Mapping[str, Any]) -> tuple[Mapping[str, Entry], bool, tuple[str, ...]]:
        path = self._text(name, "properties", table)
        if path is None:
            return {}, False, ()
        from console.contexts.client_files import read_entries

        return read_entries(self._surroundings.path(path, (self._path.absolute().parent,)))

    def _properties(self, name: str, tree: Mapping[str, Any]) -> tuple[Mapping[str, Entry], tuple[str, ...]]:
        """Return the Java properties of a context, and warnings. In TOML ``a.b = 1`` is a table and ``"a.b" = 1`` a
        key; both become the property a.b. Raises ContextError for an unknown key without a dot, which may be a
        misspelt safeguard.
        """
        from console.contexts.config_providers import is_provider_key
        from console.contexts.java_client import JAVA_KEYS, TOKEN_COMMAND
        from console.contexts.properties import Entry

        found: dict[str, Entry] = {}
        warnings: list[str] = []
        for path, value in _leaves(tree):
            key, place = ".".join(path), self._place("contexts", name, *path)
            if "." not in key and key not in JAVA_KEYS:
                # Refuse the context: a misspelt safeguard would be off.
                raise context.ContextError(f"{place}: {unknown_key(key, (*_OWN_KEYS, *sorted(JAVA_KEYS)))}")
            if key not in JAVA_KEYS and key != TOKEN_COMMAND and not is_provider_key(key):
                warnings.append(clean(f"{place}: {unknown_key(key, tuple(sorted(JAVA_KEYS)))}"))
                continue
            found[key] = Entry(_property_text(key, value, place), place)
        return found, tuple(warnings)

    def _flag(self, name: str, key: str, table: Mapping[str, Any]) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            raise context.ContextError(f"{self._place('contexts', name, key)}: {key} is true or false, without quotes")
        return value

    def _text(self, name: str, key: str, table: Mapping[str, Any]) -> str | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value:
            return value
        raise context.ContextError(f"{self._place('contexts', name, key)}: {key} is a text in quotes, not {value!r}")

    def _color(self, name: str, value: Any) -> str | None:
        if value is None:
            return None
        if isinstance(value, str) and (value in COLORS or _HEX_COLOR.fullmatch(value)):
            return value
        legal = f"one of {', '.join(COLORS)}, or as #d70000"
        raise context.ContextError(f"{self._place('contexts', name, 'color')}: color is {legal}, not {value!r}")


def _throttle(text: str) -> ConfigPlace | None:
    kind, _, rest = text.partition(" ")
    named, _, key = rest.strip().rpartition(" ")
    named = named.strip()
    if not named or ("throttled" not in key and key != "replica.alter.log.dirs.io.max.bytes.per.second"):
        return None
    if kind == "topic":
        return topic_resource(named), key
    if kind == "broker" and (named == "<default>" or is_natural(named)):
        return (CLUSTER_DEFAULT if named == "<default>" else broker_resource(int(named))), key
    return None


def _leaves(tree: Mapping[str, Any], above: KeyPath = ()) -> list[tuple[KeyPath, Any]]:
    """Return every value in nested tables that is not a table, with the path of its keys. above: the path of the tree
    itself.
    """
    found: list[tuple[KeyPath, Any]] = []
    for key, value in tree.items():
        path = (*above, key)
        found += _leaves(value, path) if isinstance(value, dict) else [(path, value)]
    return found


def _property_text(key: str, value: Any, place: context.Place) -> str:
    """Return a value as it is written in a properties file: lists with commas, booleans as ``true`` and ``false``.
    Raises ContextError: it is neither a text, a number, a boolean nor a list of texts.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise context.ContextError(f"{place}: {key} is a text, a number or a list of texts")
