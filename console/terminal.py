"""The only place from which this process writes: to standard output, standard error, the log and the clipboard.

A character that the output's encoding lacks becomes ASCII or an escape sequence.
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
"""The name of kac's error handler for encoding, which `register` adds to `codecs`."""

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
    """Register the error handler `HANDLER` with `codecs`."""
    codecs.register_error(HANDLER, _plain)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (_IN_ASCII.get(char) or char.encode("ascii", "backslashreplace").decode("ascii") for char in text)
    return "".join(escaped), error.end


def never_fail(streams: Iterable[TextIO]) -> None:
    """Set `HANDLER` as the error handler of these streams: it replaces characters that their encoding lacks, and lone
    surrogates, which represent undecodable bytes.
    """
    register()
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def standard_streams() -> tuple[TextIO, ...]:
    """Return standard output and standard error, without those that this process lacks."""
    return tuple(stream for stream in (sys.stdout, sys.stderr) if stream is not None)


# The only output of this process: standard output, standard error, the log and the clipboard.
#
# No text from a cluster, a file or another host may control the terminal or begin a line of its own.
# `tests/unit/test_output_is_written_in_one_place.py` finds other ways of output.

LONGEST_COMPLAINT = 4_000
"""Maximum characters of a message to the operator."""
_HARMLESS = re.compile(r"[\n\x20-\x7e]*")


def harmless(text: str) -> str:
    """Return the same lines with invisible characters escaped (`widgets.cells.clean`)."""
    return text if _HARMLESS.fullmatch(text) else "\n".join(map(clean, text.split("\n")))


class Harmless:
    """A stream that writes `harmless` text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text and return the length of the original in characters."""
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
"""Width in cells below which kac does not fold lines, because the terminal's own line breaks read as well."""


def width_of(stream: TextIO) -> int | None:
    """Return the width in cells of the terminal that a stream writes to: `COLUMNS`, or the width that the terminal
    reports. None for a file or a pipe, and for a terminal narrower than LEAST_WIDTH: their lines are not folded.
    """
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
    """Return the lines of a text, broken at blanks so that none is wider than `width` cells; None for no breaks. The
    rest of a broken line is indented to the text behind its label, or by two cells if it has no label.
    """
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
    """Write lines for people to a stream, folded to the width of the terminal that shows it; unfolded to a file or a
    pipe.
    """
    stream.write("".join(f"{line}\n" for line in folded(text, width_of(stream))))


def put(text: str) -> None:
    """Write lines to standard output, unfolded, and flush it."""
    out = stdout()
    out.write(text)
    out.flush()


def say(text: str) -> None:
    """Write lines for people to standard output, folded to a terminal's width, and flush it."""
    out = stdout()
    write_folded(out, text)
    out.flush()


def put_bytes(data: bytes) -> None:
    """Write bytes to standard output: unchanged to a file or a pipe, as harmless text to a terminal.

    A thread that waits here for a slow reader holds no lock, so the process can exit meanwhile.

    Raises:
        OSError: the pipe is closed, or the disk is full; its attribute `written` is the number of bytes that were
            written.
    """
    buffer = getattr(sys.stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # an unbuffered stream has no `raw`
    if not isinstance(raw, RawIOBase) or sys.stdout.isatty():
        put(data.decode(errors="backslashreplace"))
        return
    sys.stdout.flush()
    write_all(raw, data)


def write_all(raw: RawIOBase, data: bytes) -> None:
    """Write all bytes to an unbuffered file. Raises OSError, with the number of bytes written in its attribute
    `written`.
    """
    written = 0
    view = memoryview(data)
    try:
        while written < len(view):
            written += raw.write(view[written:]) or 0
    except OSError as error:
        error.written = written  # type: ignore[attr-defined]
        raise


def complain(text: str) -> None:
    """Write a message for the user to standard error."""
    write_folded(stderr(), f"kac: {clean(text, LONGEST_COMPLAINT)}")


def leave(code: int, text: str) -> int:
    """Write the reason why a command ends to standard error, and return `code`, its exit code."""
    complain(text)
    return code


def waiting(text: str) -> None:
    """Write the reason for a wait to standard error, if that is a terminal; otherwise do nothing."""
    if sys.stderr is not None and sys.stderr.isatty():
        complain(text)


def ask(prompt: str) -> None:
    """Write a question to standard error, without a line end."""
    err = stderr()
    err.write(clean(prompt, LONGEST_COMPLAINT))
    err.flush()


def ask_secret(prompt: str) -> str:
    """Prompt for a line without echo, and return it."""
    from getpass import getpass

    return getpass(clean(prompt, LONGEST_COMPLAINT))


def drawn_on(stream: str) -> TextIO:
    """Return the real stream ``stdout`` or ``stderr``, for a library that writes its own escape sequences (Rich's
    progress bars, prompt_toolkit). The caller must make the texts harmless first.
    """
    return cast(TextIO, {"stdout": sys.stdout, "stderr": sys.stderr}[stream])


def for_clipboard(text: str) -> str:
    """Return lines that the user can paste into a terminal: control characters are escaped, line ends at the end
    removed.
    """
    return harmless(text).rstrip("\n")


def indented(text: str) -> str:
    """Return the text of a log record with all lines after the first indented, so that none can be mistaken for the
    beginning of a record.
    """
    return "\n    ".join(map(clean, text.split("\n")))
