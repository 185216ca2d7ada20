"""Files of client properties, Java's or librdkafka's, for ``--command-config``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from console.admin.settings import ConnectionSettings
from console.contexts import context
from console.contexts.java_client import java_connection
from console.contexts.librdkafka import is_librdkafka, librdkafka_connection, parse_ini
from console.contexts.properties import Entry, Values
from console.model.java_properties import Property, parse_properties
from widgets.cells import clean

LARGEST = 1 << 20
"""Maximum size in bytes of a properties file; a larger file is refused."""


def read_file(path: Path) -> bytes:
    """Return the content of a configuration file.

    Raises:
        ContextError: it is missing, can't be read, or is larger than `LARGEST` bytes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise context.ContextError(f"{path}: there is no such file") from None
    except OSError as error:
        raise context.ContextError(f"{path}: it can't be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise context.ContextError(f"{path}: it is larger than {LARGEST >> 20} MiB: not a configuration file")
    return data


def read_entries(path: Path) -> tuple[Mapping[str, Entry], bool, tuple[str, ...]]:
    """Return the entries of a file of client properties, Java's or librdkafka's.

    Returns:
        The entries by key, each with its line; whether the file is librdkafka's; and warnings, a line each.

    Raises:
        ContextError: the file can't be read, or is in neither Java's nor librdkafka's form.
    """
    data = read_file(path)
    # java.util.Properties#load(InputStream), which Kafka's tools use, reads only Latin-1.
    text = data.decode("latin-1")
    properties: tuple[Property, ...] = ()
    failure: context.ContextError | None = None
    try:
        properties = parse_properties(text)
    except ValueError as error:
        failure = context.ContextError(f"{path}: {error}")
    if is_librdkafka(text, frozenset(entry.key for entry in properties)):
        return parse_ini(data.decode("utf-8", "replace"), path), True, ()
    if failure is not None:
        raise failure
    warnings: list[str] = []
    entries: dict[str, Entry] = {}
    for key, value, line in properties:
        if key in entries:
            warnings.append(f"{context.Place(path, line)}: {clean(key)} is set twice; this value is used")
        entries[key] = Entry(value, context.Place(path, line))
        if not (key + value).isascii() and any(byte > 127 for byte in data):
            warnings.append(
                f"{context.Place(path, line)}: {key} is read as ISO-8859-1, as Java does; write \\uXXXX to be certain"
            )
    return entries, False, tuple(warnings)


def from_properties(
    path: Path, surroundings: context.Surroundings, *, bootstrap: context.Addresses | None = None
) -> tuple[ConnectionSettings, tuple[str, ...]]:
    """Return the settings in a file of client properties, and warnings about it, a line each.

    Args:
        path: the file. A relative path in it belongs to the working folder, as for Kafka's tools; if it does not exist
            there, to the file's folder.
        bootstrap: addresses that replace those of the file; None for the file's own.

    Raises:
        ContextError: the file can't be read, or a value is missing or invalid; one line with file and line.
    """
    entries, librdkafka, warnings = read_entries(path)
    values = Values(entries, file=path, bases=(surroundings.cwd, path.absolute().parent), surroundings=surroundings)
    settings = (librdkafka_connection if librdkafka else java_connection)(values, bootstrap)
    return settings, (*warnings, *values.warnings, *values.exposure())


def from_command_config(
    path: Path, surroundings: context.Surroundings, bootstrap: context.Addresses | None
) -> context.Context:
    """Return the context of ``--command-config FILE``.

    Args:
        bootstrap: the addresses of ``-b``, which replace those of the file; None for the file's own.

    Raises:
        ContextError: as `from_properties`.
    """
    settings, warnings = from_properties(path, surroundings, bootstrap=bootstrap)
    name = context.format_bootstrap(settings.bootstrap[:1])
    return context.Context(
        name, f"{path} ({context.COMMAND_LINE})", settings, warnings=warnings, tool=context.COMMAND_LINE
    )
