"""Quoting of text: as words of the command language that parse back to the same text, and as words of a POSIX shell.

The quoted text is printable: scripts are shown on terminals and go through pipes and files, which must not change them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from console.model.codes import ACL_TYPES
from console.model.entity_types import ENTITY_TYPES
from console.present.text import clean, is_harmless

if TYPE_CHECKING:
    from console.plan.kafka_tools import Command


DEFAULT_NAME = "<default>"
ENTITY_WORDS = tuple(
    each.word for each in sorted(ENTITY_TYPES, key=lambda each: each.at_broker) if " " not in each.word
)

ESCAPES: Mapping[str, str] = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
r"""Character after a backslash within double quotes -> the character that both denote together. In addition,
``\u{HEX}`` denotes any code point.
"""

# Words that need no quotes. `@` and `?` are left out, as they begin the source of a secret, and `!`, `~`, `<` and `>`,
# as they are operators in the filters of `list`.
_SAFE = re.compile(r"[\w.:/+%,*\-\[\]{}()$&^|]+", re.ASCII)
RESERVED = frozenset((*ENTITY_WORDS, *ACL_TYPES, "prefixed", "from", "for", "on", DEFAULT_NAME))
_ESCAPED = {char: f"\\{letter}" for letter, char in ESCAPES.items()}
_GLOB = re.compile(r"([*?\[])")


def quote(text: str) -> str:
    """Return the text as one word of the language that denotes exactly this text, as a name, key or value.

    The word has no quotes if that is safe. Otherwise it has single quotes, or double quotes if the text contains a
    single quote or a character that a terminal, a pipe or a file could change. Reserved words are quoted, so the result
    is data in every position.
    """
    if _SAFE.fullmatch(text) and text not in RESERVED:
        return text
    return quoted(text)


def quote_beside_equals(text: str) -> str:
    """Return the text as the key or the value of a ``KEY=VALUE``, quoted if necessary; of the reserved words, only
    ``<default>`` has to be quoted there.
    """
    return text if text in RESERVED and text != DEFAULT_NAME else quote(text)


def quote_pattern(pattern: str) -> str:
    """Return a glob as one word of the language: ``*``, ``?`` and ``[`` are not quoted and keep their meaning, all
    other characters denote themselves.
    """
    parts = _GLOB.split(pattern) if pattern else [""]
    return "".join(part if part in ("*", "?", "[") else quote(part) for part in parts if part or not pattern)


def can_stand_bare(key: str) -> bool:
    """Return whether a key without quotes parses back to itself, wherever a key may be."""
    if not key or key in RESERVED or not is_harmless(key):
        return False
    return not any(char.isspace() or char in ";'\"=" for char in key)


def as_typed(word: str) -> str:
    """Return an argument of a command line, from which the shell has removed the quotes, as one word of kac's language.

    An argument is quoted only if it is empty or contains characters that would end or change the word. So a keyword
    stays a keyword, and the ``=`` of ``KEY=VALUE`` keeps its meaning: ``a=b c`` becomes ``a='b c'``.
    """
    if word and is_harmless(word) and not any(char.isspace() or char in ";#'\"\\" for char in word):
        return word
    key, equals, value = word.partition("=")
    return f"{key}={quoted(value)}" if equals and can_stand_bare(key) else quoted(word)


def quoted(text: str) -> str:
    """Return the text in quotes, even if it needs none."""
    harmless = is_harmless(text)
    if harmless and "'" not in text:
        return f"'{text}'"
    return f'"{"".join(_escape(char, harmless) for char in text)}"'


def _escape(char: str, harmless: bool) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    return char if harmless or is_harmless(char) else f"\\u{{{ord(char):x}}}"


# -- a POSIX shell: words, comments, and Kafka's own commands as lines that are safe to paste --------------------------
# The lines mean the same in dash, bash and zsh, in a script and at a prompt, and they are printable: characters that a
# terminal interprets (an escape sequence, a newline, a bidirectional override) are written as octal, for printf.

WIDTH = 78
GOES_ON = " \\"
# An `=` is safe without quotes only inside a word: zsh replaces a word that begins with `=` by the path of a command.
_BARE = re.compile(r"[A-Za-z0-9_./:,@%+-]+(?:=[A-Za-z0-9_./:,@%+-]+)*")
_BARE_COMMENT = re.compile(r"(?:[A-Za-z0-9_./:,%+ …-]|(?<=[A-Za-z0-9])=(?=[A-Za-z0-9…]))*")
_QUOTES = re.compile("('+)")
_LONGEST_COMMENT = 400


def shell_word(text: str) -> str:
    """Return the text as one word of a shell command.

    Raises ValueError, with the reason, for a text that no word can contain: a NUL, half of a surrogate pair, or a
    newline at the end, which a command substitution removes.
    """
    if _BARE.fullmatch(text):
        return text
    if is_harmless(text):
        return "".join(_quoted_piece(piece) for piece in _QUOTES.split(text) if piece) or "''"
    if "\0" in text:
        raise ValueError("a shell's word can't contain a NUL character")
    if text.endswith("\n"):
        raise ValueError("a shell removes a newline at its end")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ValueError("it contains half of a surrogate pair, which has no bytes") from None
    return f"\"$(printf %b '{''.join(map(_octal, data))}')\""


def _quoted_piece(piece: str) -> str:
    # Alternate the kinds of quotes: zsh with RC_QUOTES would read two adjacent single quotes as a literal one.
    return f'"{piece}"' if piece[0] == "'" else f"'{piece}'"


def _octal(byte: int) -> str:
    char = chr(byte)
    return char if char.isascii() and (char.isalnum() or char in " _./:,@=+-") else f"\\0{byte:03o}"


def shell_comment(text: str) -> str:
    """Return a comment line for a shell. Its special characters are quoted, because an interactive zsh runs comments as
    commands.
    """
    shown = clean(text, _LONGEST_COMMENT)
    return f"# {shown if _BARE_COMMENT.fullmatch(shown) else shell_word(shown)}"


def shell_line(*words: str) -> str:
    """Return a shell command with these words, for a hint; if a word can't be written for a shell, a comment with the
    reason.
    """
    try:
        return " ".join(map(shell_word, words))
    except ValueError as error:
        return shell_comment(f"not for a shell, {error}: {' '.join(words)}")


def shell_text(commands: Iterable[Command]) -> str:
    """Return shell commands as lines. A command with a word that can't be written for a shell becomes a comment with
    its words and the reason.
    """
    return "\n".join(line for command in commands for line in _lines(command))


def _lines(command: Command) -> Iterator[str]:
    if command.note:
        yield shell_comment(command.note)
    if not command.words:
        return
    try:
        words = list(_options(command.words))
    except ValueError as error:
        yield shell_comment(f"not for a shell, {error}: {' '.join(command.words)}")
        return
    if command.stdin:
        words.append("<<'EOF'")
    yield from _folded(words)
    if command.stdin:
        yield f"{command.stdin}EOF"


def _options(words: Sequence[str]) -> Iterator[str]:
    """Yield the words quoted for a shell. An option and its value are one text with a space between them, so that
    they stay on one line.
    """
    start = 0
    for place in range(1, len(words) + 1):
        if place == len(words) or words[place].startswith("--"):
            yield " ".join(map(shell_word, words[start:place]))
            start = place


def _folded(pieces: Iterable[str]) -> Iterator[str]:
    """Yield lines with these words, short enough for a terminal if possible; a line that continues ends with a
    backslash.
    """
    line = ""
    for piece in pieces:
        if line and len(line) + 1 + len(piece) + len(GOES_ON) > WIDTH:
            yield line + GOES_ON
            line = f"  {piece}"
        else:
            line = f"{line} {piece}" if line else piece
    yield line
