"""``[contexts.NAME.decode]``: decoders for topics whose keys and values refer to no schema of a registry.

[contexts.prod.decode]
"orders-*" = { key = "int64", value = { protobuf = { file = "orders.proto", message = "shop.Order" } } }
payments.value = { avro = "payment.avsc" }
legacy.value = { command = ["/usr/local/bin/legacy-to-json", "--strict"] }

For a key or a value, kac uses the first entry whose pattern matches the topic. Files are relative to the folder of the
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from console.contexts import context
from console.contexts.console_settings import unknown_key
from console.model.decode_rules import AVRO, COMMAND, NUMBER_TYPES, PROTOBUF, DecodeRule
from console.safe_files import require_own

_PARTS = ("key", "value")
_FORMS = (PROTOBUF, AVRO, COMMAND)
_LEGAL = f"a number ({', '.join(NUMBER_TYPES)}), or a table with one of {', '.join(_FORMS)}"
PlaceOf = Callable[..., context.Place]
"""Returns the file and line of the key with this path below the table."""


def decode_rules(
    table: Any, place_of: PlaceOf, file: Path, surroundings: context.Surroundings
) -> tuple[DecodeRule, ...]:
    """Return the decoding rules of a context, in the order of the file.

    Args:
        table: the value of its key ``decode``, of any type.
        place_of: returns the place of a key, for errors.
        file: the configuration file, for the texts of errors.

    Raises:
        ContextError: a rule is invalid, or names a program in a file that another user may have written; one line with
            file, line and the remedy.
    """
    if not isinstance(table, dict):
        raise context.ContextError(f'{place_of()}: decode is a table of topics, as "orders-*".value = "int64"')
    return tuple(_rules(table, place_of, file, surroundings))


def _rules(
    table: Mapping[str, Any], place_of: PlaceOf, file: Path, surroundings: context.Surroundings
) -> Iterator[DecodeRule]:
    for topic, parts in table.items():
        if not isinstance(parts, dict) or not parts:
            raise context.ContextError(f"{place_of(topic)}: {topic} is a table with key, value or both")
        for part, form in parts.items():
            place = place_of(topic, part)
            if part not in _PARTS:
                raise context.ContextError(f"{place}: {unknown_key(part, _PARTS)}")
            yield _Reader(topic, part, place, file, surroundings).rule(form)


class _Reader:
    """A parser of one decoding rule."""

    def __init__(
        self, topic: str, part: str, place: context.Place, file: Path, surroundings: context.Surroundings
    ) -> None:
        self._topic, self._part, self._place = topic, part, place
        self._file, self._surroundings = file, surroundings

    def rule(self, form: Any) -> DecodeRule:
        """Return the rule that a value of TOML describes. Raises ContextError: the value describes no rule."""
        if isinstance(form, str) and form in NUMBER_TYPES:
            return self._made(form)
        if not isinstance(form, dict) or len(form) != 1 or not form.keys() <= {*_FORMS}:
            raise self._error(f"is {_LEGAL}, not {form!r}")
        ((kind, given),) = form.items()
        if kind == AVRO:
            return self._made(AVRO, file=self._path(given, 'avro is a file in quotes, as "payment.avsc"'))
        if kind == PROTOBUF:
            legal = 'protobuf is as { file = "orders.proto", message = "shop.Order" }'
            if not isinstance(given, dict) or given.keys() != {"file", "message"} or not _is_text(given["message"]):
                raise self._error(f"{legal}, not {given!r}", is_whole=True)
            return self._made(PROTOBUF, file=self._path(given["file"], legal), message=given["message"])
        return self._command(given)

    def _command(self, given: Any) -> DecodeRule:
        if not isinstance(given, list) or not given or not all(map(_is_text, given)):
            legal = 'command is a list of texts, the program first, as ["/usr/local/bin/legacy-to-json", "--strict"]'
            raise self._error(f"{legal}, not {given!r}", is_whole=True)
        try:
            require_own(self._file)
        except OSError as error:
            raise self._error(f"command: it is not run: {error.strerror}", is_whole=True) from None
        return self._made(COMMAND, file=str(self._file.absolute().parent), command=tuple(given))

    def _path(self, given: Any, legal: str) -> str:
        if not _is_text(given):
            raise self._error(f"{legal}, not {given!r}", is_whole=True)
        return str(self._surroundings.path(given, (self._file.absolute().parent,)))

    def _made(self, kind: str, **others: Any) -> DecodeRule:
        return DecodeRule(self._topic, self._part, kind, str(self._place), **others)

    def _error(self, text: str, *, is_whole: bool = False) -> context.ContextError:
        what = "" if is_whole else f"{self._part} "
        return context.ContextError(f"{self._place}: {what}{text}")


def _is_text(given: Any) -> bool:
    return isinstance(given, str) and bool(given) and given.isprintable()
