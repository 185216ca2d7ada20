"""Decoders of keys and values by a context's rules: as numbers, by schemas in files, or by programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from console.admin.command_decoder import CommandDecoder
from console.admin.decoding_process import decoding_process
from console.model.decode_rules import AVRO, COMMAND, PROTOBUF, DecodeRule, number_json
from console.model.record_decoding import KEY, LARGEST_PAYLOAD, Decoded, OwnDecoder
from console.model.record_masks import NO_ALIASES, Aliases
from console.model.records import Record
from console.model.schemas import Allowance, NotDecoded, SchemaText
from console.safe_files import read_regular, why_unread

LARGEST_SCHEMA = 2 << 20
"""Maximum size in bytes of a schema's file."""


class _Ready(NamedTuple):
    """A rule whose schema is loaded or whose program is known."""

    decode: Callable[[Record, bytes, Allowance], bytes]
    """Function of (record, bytes of its key or value, allowance) that returns JSON."""
    aliases: Aliases = NO_ALIASES


def rule_decoder(rules: Sequence[DecodeRule]) -> OwnDecoder:
    """Return a decoder that applies the first rule that fits a record. A rule's file is read, and its program started,
    when the rule is first used.
    """
    known = _Known()

    def rule_of(record: Record, part: str) -> DecodeRule | None:
        return next((each for each in rules if each.fits(record.topic, part)), None)

    def claims(record: Record, part: str) -> bool:
        return rule_of(record, part) is not None

    def decode(record: Record, part: str, allowance: Allowance) -> Decoded:
        rule = rule_of(record, part)
        data = record.key if part == KEY else record.value
        assert rule is not None
        assert data is not None
        try:
            if allowance.spent():
                raise allowance.refusal()
            if len(data) > LARGEST_PAYLOAD:
                raise NotDecoded(f"more than {LARGEST_PAYLOAD >> 20} MiB are not decoded")
            ready = known.ready(rule)
            made = ready.decode(record, data, allowance)
        except NotDecoded as problem:
            raise NotDecoded(f"{rule.place}: {problem}") from None
        return Decoded(_form(rule), _name(rule), made, aliases=ready.aliases)

    def is_ruled(topic: str) -> bool:
        return any(each.fits(topic, each.part) for each in rules)

    return OwnDecoder(claims, decode, is_ruled, is_ruled)


def _form(rule: DecodeRule) -> str:
    return rule.kind if rule.kind in (AVRO, PROTOBUF, COMMAND) else "number"


def _name(rule: DecodeRule) -> str:
    if rule.kind == COMMAND:
        return Path(rule.command[0]).name
    return f"{Path(rule.file).name} {rule.message}".strip() if rule.file else rule.kind


class _Known:
    """The rules that were used so far. Each is made ready once; if that fails, the reason is kept. Any thread may use
    it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[DecodeRule, _Ready | NotDecoded] = {}

    def ready(self, rule: DecodeRule) -> _Ready:
        """Return a rule that is ready for use. Raises NotDecoded if its file is unusable."""
        with self._lock:
            if rule not in self._made:
                try:
                    self._made[rule] = _made_ready(rule)
                except NotDecoded as problem:
                    self._made[rule] = problem
        found = self._made[rule]
        if isinstance(found, NotDecoded):
            raise found
        return found


def _made_ready(rule: DecodeRule) -> _Ready:
    if rule.kind == COMMAND:
        program = CommandDecoder(rule.command, Path(rule.file))
        return _Ready(lambda record, data, allowance: program.decoded(record.topic, rule.part, data, allowance))
    if rule.kind == AVRO:
        from console.wire.avro import names_of

        schema = SchemaText("AVRO", _text_of(Path(rule.file)))
        decode = decoding_process().decoder(schema)
        return _Ready(lambda _record, data, allowance: decode(data, None, allowance), names_of(schema)[1])
    if rule.kind == PROTOBUF:
        from console.admin.protobuf_compiler import MAIN, compiled

        path = Path(rule.file)
        text = _text_of(path)
        schema = SchemaText("PROTOBUF", text, references=_imported(text, path.parent))
        decode = decoding_process().decoder(schema, compiled(schema), MAIN)
        message = rule.message.encode()
        return _Ready(lambda _record, data, allowance: decode(data, message, allowance))
    return _Ready(lambda _record, data, _allowance: number_json(rule.kind, data))


def _text_of(path: Path) -> str:
    """Return the text of a schema's file. Raises NotDecoded."""
    try:
        return read_regular(path, LARGEST_SCHEMA).decode()
    except (OSError, ValueError) as error:
        why = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else why_unread(error)
        raise NotDecoded(f"{path}: {why}; mend the path or the file, and start kac again") from None


def _imported(text: str, folder: Path) -> tuple[SchemaText, ...]:
    """Return the files in the same folder that a Protobuf file imports, directly or indirectly, at most
    `MOST_IMPORTS`.
    """
    from console.admin.protobuf_compiler import imports_of

    found: dict[str, SchemaText] = {}
    waiting = list(imports_of(text))
    while waiting and len(found) < MOST_IMPORTS:
        name = waiting.pop()
        path = folder / name
        # Skip Google's own files, which are not in the folder: the compiler has them.
        if name not in found and path.is_file():
            found[name] = SchemaText("PROTOBUF", _text_of(path), name)
            waiting += imports_of(found[name].text)
    return tuple(found.values())


MOST_IMPORTS = 100
