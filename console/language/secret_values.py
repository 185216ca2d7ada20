"""The secrets of statements: reading them from files or asking the operator, and removing them from text.

No error message contains a secret.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from console.language.errors import CommandError
from console.language.quoting import ENTITY_WORDS, quote_beside_equals
from console.language.reader import is_secret_source
from console.language.statements import EditStatement, FromFile, SecretSlot
from console.language.tokenizer import Span, Word, scan
from console.language.verbs import kind_of
from console.model.secret import Secret
from console.present.names import HIDDEN
from console.present.text import clean
from console.sensitive import names_a_secret, seems_sensitive, without_secrets

FILE_LIMIT = 1 << 20
"""Maximum size in bytes of a file with a secret; a config value has at most 32,767 characters."""


async def resolve_secrets(
    statement: EditStatement, ask: Callable[[SecretSlot], Awaitable[Secret]]
) -> dict[str, Secret]:
    """Return key -> secret, for each secret that a statement needs, from files or from the operator.

    Args:
        ask: asks the operator for one secret.

    Raises:
        CommandError: a file can't be read, or there is no terminal for the question.
    """
    return {
        slot.key: read_secret_file(slot.source, slot.span) if isinstance(slot.source, FromFile) else await ask(slot)
        for slot in kind_of(statement).secrets(statement)
    }


def nobody_to_ask(slot: SecretSlot) -> CommandError:
    """Return the error that a secret has to be asked for, but there is no terminal."""
    hint = f"write {quote_beside_equals(slot.key)}=@FILE"
    return CommandError(f"{slot.prompt}: there is no terminal to ask on", hint, slot.span)


def read_secret_file(source: FromFile, span: Span | None = None) -> Secret:
    """Return the text of a file without one newline at its end, as a secret. Raises CommandError: it can't be read.
    span: the place of the path in the script; None if it is not from a script.
    """
    path = Path(source.path)
    shown = f"'{clean(source.path, 200)}'"
    try:
        with path.expanduser().open("rb") as file:
            content = file.read(FILE_LIMIT + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
        raise CommandError(f"the secret in {shown} can't be read: {why}", "", span) from None
    if len(content) > FILE_LIMIT:
        raise CommandError(f"the secret in {shown} is too long: more than {FILE_LIMIT:,} bytes", "", span)
    return Secret(text.removesuffix("\n").removesuffix("\r"))


# -- a command for the history, without secrets that were typed into it ------------------------------------------------

_SEPARATORS = ("=", ":", ":=")


def redact(text: str) -> str:
    """Return the text with dots in place of every value of a key that looks sensitive; the text need not be a valid
    script.

    Recognizes ``KEY=VALUE``, ``KEY = VALUE``, ``KEY: VALUE`` and ``password VALUE``, and the forms that
    `without_secrets` finds. ``@FILE`` and ``?`` are left, since they are no secrets.
    """
    cuts = sorted({cut for statement in scan(text).statements for cut in _cuts(statement.words)})
    shown = text
    # Cut from the end, so that the earlier offsets stay valid.
    for start, end in reversed(cuts):
        shown = shown[:start] + HIDDEN + shown[end:]
    return without_secrets(shown, HIDDEN)


_WRITES, _PARTS = ("produce", "tombstone"), ("key", "value")


def _contents(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of the keys and values of new records in a statement that writes records."""
    if not words or not words[0].bare or words[0].text not in _WRITES:
        return
    for before, word in pairwise(words[3:]):
        if before.bare and before.text in _PARTS and not is_secret_source(word):
            yield word.start, word.end


def _cuts(words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of secret values, and of the keys and values of new records."""
    yield from _contents(words)
    place = 0
    while place < len(words):
        word, before = words[place], words[place - 1].text if place else ""
        place += 1
        pair = word.split("=")
        if pair is not None and pair[0].end > pair[0].start:
            if not seems_sensitive(pair[0].text):
                continue
            if pair[1].end > pair[1].start:
                if not is_secret_source(pair[1]):
                    yield pair[1].start, pair[1].end
                continue
        elif before in ENTITY_WORDS or not names_a_secret(word.text):
            continue
        while place < len(words) and words[place].text in _SEPARATORS:
            place += 1
        if place < len(words):
            value = words[place].without_first() if words[place].first_bare == "=" else words[place]
            if not is_secret_source(value):
                yield value.start, value.end
            place += 1
