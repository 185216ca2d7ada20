"""The only output of this process: standard output, standard error, the log and the clipboard.

If a terminal or file can't represent a character, it gets ASCII or an escape sequence.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterable
from io import RawIOBase
from types import MappingProxyType
from typing import TextIO, cast

from widgets.cells import cell_width, clean, wrapped

THEMES = ("dark", "light", "ansi")
"""The names of the screen's themes. They are here because settings, options and the language use them without importing
the screen."""
HANDLER = "kac-plain"
"""The name of kac's error handler for encoding, which exists once `register` has run."""

_IN_ASCII = MappingProxyType(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "·": ".",
        "•": "*",
        "→": "->",
        "←": "<-",
        "≈": "~",
        "×": "x",
        "≥": ">=",
        "≤": "<=",
        "✓": "+",
        "✗": "x",
        "⏎": "\\n",
        "─": "-",
        "│": "|",
        "├": "|",
        "└": "`",
    }
)


def register() -> None:
    """Register `HANDLER` with `codecs`."""
    codecs.register_error(HANDLER, _plain)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (_IN_ASCII.get(char) or char.encode("ascii", "backslashreplace").decode("ascii") for char in text)
    return "".join(escaped), error.end


def never_fail(streams: Iterable[TextIO]) -> None:
    """Set `HANDLER` for these streams: it replaces characters that their encoding lacks, and lone surrogates of
    undecodable names."""
    register()
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def standard_streams() -> tuple[TextIO, ...]:
    """Return standard output and standard error, if this process has them."""
    return tuple(stream for stream in (sys.stdout, sys.stderr) if stream is not None)


# The only output of this process: standard output, standard error, the log and the clipboard.
#
# No text from a cluster, a file or another host may control the terminal or begin a line of its own.
# `tests/unit/test_output_is_written_in_one_place.py` finds other ways of output.

LONGEST_COMPLAINT = 4_000
"""Maximum characters of a message to the operator."""
_HARMLESS = re.compile(r"[\n\x20-\x7e]*")


def harmless(text: str) -> str:
    """Return the same lines with invisible characters made visible (`widgets.cells.clean`)."""
    return text if _HARMLESS.fullmatch(text) else "\n".join(map(clean, text.split("\n")))


class Harmless:
    """A stream that writes `harmless` text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return the length of the original."""
        self._stream.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all lines."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self._stream.fileno()


def stdout() -> TextIO:
    """Return standard output, as a stream that writes harmless text."""
    return cast(TextIO, Harmless(sys.stdout))


def stderr() -> TextIO:
    """Return standard error, as a stream that writes harmless text."""
    return cast(TextIO, Harmless(sys.stderr))


LEAST_WIDTH = 20
"""Width in cells below which kac does not fold lines, as the terminal's own line breaks are as good."""


def width_of(stream: TextIO) -> int | None:
    """Return the width in cells of the terminal that shows a stream: `COLUMNS`, or the width that the terminal reports.
    None for a file or a pipe, which gets whole lines, and for a terminal narrower than LEAST_WIDTH."""
    if not stream.isatty():
        return None
    told = os.environ.get("COLUMNS", "")
    try:
        width = int(told) if told.isascii() and told.isdigit() and len(told) < 5 else 0
        width = width or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return width if width >= LEAST_WIDTH else None


_LABEL = re.compile(r"(?:\S.{0,28}?)?  +(?=\S)|")


def folded(text: str, width: int | None) -> list[str]:
    """Return the lines of a text, broken at blanks so that none is wider than `width` cells; None for no breaks. A
    continuation line is indented to the text behind a label, or by two cells."""
    if width is None:
        return text.split("\n")
    lines: list[str] = []
    for line in text.split("\n"):
        if cell_width(line) <= width:
            lines.append(line)
            continue
        inner = line.lstrip()
        indent = min(len(line) - len(inner), width // 2)
        label = _LABEL.match(inner)
        hang = indent + (label.end() if label is not None and label.end() else 2)
        hang = hang if hang <= width // 2 else indent + 2 if indent + 2 <= width // 2 else 0
        pieces = wrapped([(inner, "")], width - indent, width - hang)
        for number, piece in enumerate(pieces):
            lines.append(" " * (hang if number else indent) + "".join(part for part, _ in piece).rstrip())
    return lines


def write_folded(stream: TextIO, text: str) -> None:
    """Write lines for people to a stream, folded for the terminal that shows it."""
    stream.write("".join(f"{line}\n" for line in folded(text, width_of(stream))))


def put(text: str) -> None:
    """Write lines to standard output and flush it."""
    out = stdout()
    out.write(text)
    out.flush()


def say(text: str) -> None:
    """Write lines for people to standard output, folded for a terminal's width, and flush it."""
    out = stdout()
    write_folded(out, text)
    out.flush()


def put_bytes(data: bytes) -> None:
    """Write bytes to standard output: unchanged to a file or a pipe, as harmless text to a terminal.

    A thread that waits here for a slow reader holds no lock, so the process can end meanwhile.

    Raises:
        OSError: the pipe is closed, or the disk is full; its `written` is the number of bytes that were written.
    """
    buffer = getattr(sys.stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # an unbuffered stream has no `raw`
    if not isinstance(raw, RawIOBase) or sys.stdout.isatty():
        put(data.decode(errors="backslashreplace"))
        return
    sys.stdout.flush()
    write_all(raw, data)


def write_all(raw: RawIOBase, data: bytes) -> None:
    """Write all bytes to an unbuffered file. Raises OSError, with the number of bytes written as `written`."""
    written = 0
    view = memoryview(data)
    try:
        while written < len(view):
            written += raw.write(view[written:]) or 0
    except OSError as error:
        error.written = written  # type: ignore[attr-defined]
        raise


def complain(text: str) -> None:
    """Write a line for the operator to standard error."""
    write_folded(stderr(), f"kac: {clean(text, LONGEST_COMPLAINT)}")


def leave(code: int, text: str) -> int:
    """Write a line for the operator to standard error, and return the exit code of the command that ends by it."""
    complain(text)
    return code


def waiting(text: str) -> None:
    """Write the reason for a wait to standard error, if that is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        complain(text)


def ask(prompt: str) -> None:
    """Write a question to standard error; the cursor stays after it."""
    err = stderr()
    err.write(clean(prompt, LONGEST_COMPLAINT))
    err.flush()


def ask_secret(prompt: str) -> str:
    """Prompt for a line without echo, and return it."""
    from getpass import getpass

    return getpass(clean(prompt, LONGEST_COMPLAINT))


def drawn_on(stream: str) -> TextIO:
    """Return ``stdout`` or ``stderr`` itself, for a library that draws with its own escape sequences (Rich's bars,
    prompt_toolkit). The caller must make the texts harmless first."""
    return cast(TextIO, {"stdout": sys.stdout, "stderr": sys.stderr}[stream])


def for_clipboard(text: str) -> str:
    """Return lines that can be pasted into a terminal: control characters are escaped, final line ends removed."""
    return harmless(text).rstrip("\n")


def indented(text: str) -> str:
    """Return the text of a log record with the lines after the first indented, so that none can be mistaken for a
    record.
    """
    return "\n    ".join(map(clean, text.split("\n")))
