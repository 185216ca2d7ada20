"""Receivers of ``kac triage --watch --notify NAME``: ``[notify.NAME]`` of kac's own file.

[notify.chat]                         # a request with POST; ssl.*, username, password, token as of other services
url = "${file:/run/secrets/chat-url}" # a secret as a whole
headers = { X-Team = "kafka" }
json = { text = "{text}" }            # without it: the event itself

[notify.pager]                        # a program: the event as JSON on standard input
command = ["/usr/local/bin/page", "--quiet"]

[notify.mail]                         # a URL of apprise, or a list of them
apprise = "${env:MAIL_URL}"

The file's reader checks the tables; the values are resolved, and secrets fetched, when a receiver is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from console.admin.settings import HttpSettings
from console.contexts.console_settings import unknown_key
from console.contexts.context import ContextError, Place, Surroundings
from console.contexts.http_services import http_settings
from console.contexts.properties import Entry, Values
from console.contexts.secret_sources import Locked, unlocked_secret, unlocked_settings
from console.model.numbers import Data
from console.model.secret import Secret
from console.safe_files import require_own

FIELDS = (
    *("event", "id", "cause", "subject", "severity", "was", "certainty", "title", "since", "at", "context", "cluster"),
    *("evidence", "next", "text"),
)
"""The names of the fields that a template may contain in braces."""
KINDS = ("url", "command", "apprise")
"""The keys that determine the kind of a receiver; each receiver has exactly one of them."""
_FIELD = re.compile(r"\{([A-Za-z_]+)\}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_TAKEN = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"})
"""Headers that kac sets itself, so that a receiver's table can't."""
_LOGINS = ("token", "username", "password", "sasl.oauthbearer.token.endpoint.url")
DEEPEST = 20
"""Maximum levels of nesting in a template."""

PlaceOf = Callable[..., Place]
"""Returns the place in the file of the key with this path."""
Service = Callable[[tuple[str, ...], Mapping[str, Any]], dict[str, Entry]]
"""Returns the entries of the table with this path and these contents."""


class Table(Struct, frozen=True):
    """The table of a receiver as it is written in the file.

    Attributes:
        place: the place of the table.
        entries: the keys of an HTTP service; for apprise, its URLs by number.
        headers: name -> value.
        body: a template of JSON; None without one.
        command: the program and its arguments; empty for other kinds.
    """

    name: str
    place: Place
    entries: Mapping[str, Entry]
    headers: Mapping[str, Entry]
    body: Data = None
    command: tuple[str, ...] = ()


class Webhook(Struct, frozen=True):
    """An HTTP request that kac sends to a receiver for each event."""

    service: HttpSettings
    target: Secret
    """The path and the query of the URL, which may contain a secret."""
    body: Data = None
    """A template: a tree of JSON whose texts may contain fields in braces; None to send the event itself."""


class Command(Struct, frozen=True):
    """A program that kac runs for each event."""

    words: tuple[str, ...]
    place: Place
    """The file and line that name the program; the program runs in the folder of that file."""


class Chats(Struct, frozen=True):
    """Services to which apprise delivers, given by its URLs."""

    urls: tuple[Secret, ...]


class Receiver(Struct, frozen=True):
    """A receiver of messages, with its secrets fetched."""

    name: str
    way: Webhook | Command | Chats
    warnings: tuple[str, ...] = ()
    """Warnings for the operator, a line each."""


# -- the table, without its secrets ------------------------------------------------------------------------------------


def table(name: str, tree: Any, place_of: PlaceOf, service: Service) -> Table:
    """Return the table of a receiver, checked. Its secrets are not fetched.

    Args:
        name: the name of the receiver.
        tree: the parsed TOML value, of any type.
        place_of: returns the place of a key, for errors.
        service: returns the entries of an HTTP service's table, and raises ContextError for other keys.

    Raises:
        ContextError: the table does not describe a receiver; one line with file and line.
    """

    def place(*keys: str) -> Place:
        return place_of("notify", name, *keys)

    if not isinstance(tree, dict):
        raise ContextError(f"{place()}: {name} is a table, [notify.{name}]")
    if not name or not name.isprintable() or name != name.strip():
        raise ContextError(f"{place()}: the name of a receiver is not empty and has no control characters")
    kinds = [each for each in KINDS if each in tree]
    if len(kinds) != 1:
        raise ContextError(f"{place()}: a receiver has one of {', '.join(KINDS)}")
    kind = kinds[0]
    legal = ("headers", "json") if kind == "url" else (kind,)
    rest = {key: each for key, each in tree.items() if key not in legal}
    if kind != "url" and rest:
        raise ContextError(f"{place(min(rest))}: {unknown_key(min(rest), legal)}")
    value, headers = tree[kind], tree.get("headers", {})
    if kind == "command" and not (isinstance(value, list) and _are_texts(value)):
        raise ContextError(f'{place(kind)}: command is a list of texts, as ["/usr/local/bin/page"]')
    urls = value if isinstance(value, list) else [value]
    if kind == "apprise" and not _are_texts(urls):
        raise ContextError(f"{place(kind)}: apprise is a URL of apprise, or a list of them")
    if not isinstance(headers, dict) or ("headers" in tree and not _are_texts([*headers.values()])):
        raise ContextError(f'{place("headers")}: headers is a table of name = "value"')
    entries = service(("notify", name), rest)
    if kind == "apprise":
        entries = {f"apprise.{number}": Entry(url, place(kind)) for number, url in enumerate(urls)}
    made = {header: Entry(text, place("headers", header)) for header, text in headers.items()}
    for header, entry in made.items():
        _check_header(header, entry, entries)
    body = tree.get("json")
    for field in _fields(body, 0, place()) if body is not None else ():
        if field not in FIELDS:
            raise ContextError(
                f"{place('json')}: json: {unknown_key(field, FIELDS)}; a template may have {', '.join(FIELDS)}"
            )
    return Table(name, place(), entries, made, body, tuple(value) if kind == "command" else ())


def _are_texts(values: list[Any]) -> bool:
    """Return whether the list is not empty and all its values are non-empty texts."""
    return bool(values) and all(isinstance(each, str) and each for each in values)


def _check_header(name: str, entry: Entry, entries: Mapping[str, Entry]) -> None:
    """Raise ContextError if a receiver's header has an invalid name, kac sets the header itself, or it is Authorization
    although the table has a login.
    """
    if _HEADER.fullmatch(name) is None or name.lower() in _TAKEN:
        raise ContextError(f"{entry.place}: {name!r} is no header that can be set")
    login = next((each for each in _LOGINS if each in entries), None)
    if name.lower() == "authorization" and login is not None:
        raise ContextError(f"{entry.place}: {name} is given, and {login} too; remove one of them")


def _fields(tree: Any, depth: int, place: Place) -> Iterator[str]:
    """Yield the names of the fields that a template contains. Raises ContextError: the template has a value that JSON
    can't represent, or more than `DEEPEST` (20) levels.
    """
    if depth > DEEPEST:
        raise ContextError(f"{place}: json has more than {DEEPEST} levels")
    if isinstance(tree, str):
        yield from _FIELD.findall(tree)
    elif isinstance(tree, dict | list):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from _fields(each, depth + 1, place)
    elif not isinstance(tree, bool | int | float) or (isinstance(tree, float) and not isfinite(tree)):
        raise ContextError(f"{place}: json has texts, numbers, true, false, lists and tables, not {tree}")


def filled(tree: Data, fields: Mapping[str, str]) -> Data:
    """Return a template with its fields replaced by their texts. Braces in a replaced text are left as they are."""
    if isinstance(tree, str):
        return _FIELD.sub(lambda match: fields[match[1]], tree)
    if isinstance(tree, dict):
        return {key: filled(each, fields) for key, each in tree.items()}
    return [filled(each, fields) for each in tree] if isinstance(tree, list) else tree


# -- the receiver ------------------------------------------------------------------------------------------------------


def receiver(of: Table, surroundings: Surroundings, *, ask: bool) -> Receiver:
    """Return the receiver that a table describes, with its secrets fetched, which may take time.

    Args:
        ask: whether kac can prompt the operator on the terminal now.

    Raises:
        ContextError: a secret can't be fetched, or a value is invalid; one line without the secret.
    """
    if of.command:
        try:
            require_own(of.place.file)
        except OSError as error:
            raise ContextError(f"{of.place}: command: it is not run: {error.strerror}") from None
        return Receiver(of.name, Command(of.command, of.place))
    secrets = _values({**of.entries, **{f"headers.{key}": each for key, each in of.headers.items()}}, surroundings)

    def secret(key: str) -> str:
        found = secrets.secret(key)
        if isinstance(found, Locked):
            found = unlocked_secret(found, of.name, ask=ask)
        return found.reveal() if found is not None else ""

    if "url" not in of.entries:
        return Receiver(of.name, Chats(tuple(Secret(secret(key)) for key in of.entries)), secrets.exposure())
    place = of.entries["url"].place
    base, target = _split(secret("url").strip())
    if not target.isascii() or not target.isprintable() or " " in target or "#" in target or "${" in base:
        raise ContextError(f"{place}: url: it is no address such as https://chat.example/hook")
    headers = tuple((name, Secret(secret(f"headers.{name}").strip())) for name in of.headers)
    for name, value in headers:
        if not value.reveal().isascii() or not value.reveal().isprintable():
            raise ContextError(f"{of.headers[name].place}: {name}: it has characters that no header has")
    # Leave out path and query, as they may be secrets and kac shows settings.
    values = _values({**of.entries, "url": Entry(base, place)}, surroundings)
    service = unlocked_settings(http_settings(values), of.name, ask=ask)
    warnings = dict.fromkeys((*values.warnings, *values.exposure(), *secrets.exposure()))
    return Receiver(of.name, Webhook(replace(service, headers=headers), Secret(target), of.body), (*warnings,))


def _values(entries: Mapping[str, Entry], surroundings: Surroundings) -> Values:
    file = next(iter(entries.values())).place.file
    return Values(entries, file=file, bases=(file.absolute().parent,), surroundings=surroundings)


def _split(url: str) -> tuple[str, str]:
    """Return a URL up to its host and port, and the rest of it: its path with the query."""
    scheme, separator, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    target = rest[len(host) :]
    return f"{scheme}{separator}{host}", target if target.startswith("/") else f"/{target}"
