"""The one way of text out of this process: standard output, standard error, the log and the clipboard.

Where a terminal or file can't hold every character, text is written in ASCII and the rest escaped.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterable
from types import MappingProxyType
from typing import TextIO, cast

from widgets.cells import cell_width, clean, wrapped

THEMES = ("dark", "light", "ansi")
"""The names of the screen's themes: settings, options and the language know them without a screen."""
HANDLER = "kac-plain"
"""The name of the error handler for encoding, once `register` has run."""

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
    """Set `HANDLER` for these streams: it writes what their encoding lacks, and undecodable names (lone surrogates)."""
    register()
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def standard_streams() -> tuple[TextIO, ...]:
    """Return standard output and standard error, as far as this process has them."""
    return tuple(stream for stream in (sys.stdout, sys.stderr) if stream is not None)


# The one way of text out of this process: standard output, standard error, the log and the clipboard.
#
# Whatever a cluster, a file or another host put into a line, it neither drives the terminal nor begins a line of its
# own where it was not meant to. `tests/unit/test_output_is_written_in_one_place.py` refuses other ways.

LONGEST_COMPLAINT = 4_000
"""Characters of a line for the operator."""
_HARMLESS = re.compile(r"[\n\x20-\x7e]*")


def harmless(text: str) -> str:
    """Return the same lines with everything invisible made visible (`widgets.cells.clean`)."""
    return text if _HARMLESS.fullmatch(text) else "\n".join(map(clean, text.split("\n")))


class Harmless:
    """A stream that writes `harmless` text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text. Returns its length as given."""
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
"""Cells below which a terminal's own line breaks are no worse."""


def width_of(stream: TextIO) -> int | None:
    """Return the width in cells of the terminal that shows a stream: `COLUMNS`, or what the terminal reports. None for
    a file or a pipe, which gets whole lines, and for a terminal narrower than LEAST_WIDTH."""
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
    """Return the lines of a text, broken at blanks so that none is wider than `width` cells; None keeps them whole. A
    continued line begins below the text behind a label, or two cells further in."""
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
    """Write lines to standard output, at once."""
    out = stdout()
    out.write(text)
    out.flush()


def say(text: str) -> None:
    """Write lines for people to standard output, at once, folded for a terminal's width."""
    out = stdout()
    write_folded(out, text)
    out.flush()


def complain(text: str) -> None:
    """Write a line for the operator to standard error."""
    write_folded(stderr(), f"kac: {clean(text, LONGEST_COMPLAINT)}")


def waiting(text: str) -> None:
    """Write what is being waited for to standard error, if that is a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        complain(text)


def ask(prompt: str) -> None:
    """Write a question to standard error; the cursor stays behind it."""
    err = stderr()
    err.write(clean(prompt, LONGEST_COMPLAINT))
    err.flush()


def ask_secret(prompt: str) -> str:
    """Prompt for a line that is typed without echo, and return it."""
    from getpass import getpass

    return getpass(clean(prompt, LONGEST_COMPLAINT))


def drawn_on(stream: str) -> TextIO:
    """Return ``stdout`` or ``stderr`` itself, for a library that draws with its own escape sequences (Rich's bars,
    prompt_toolkit). The texts that it draws have to be harmless before."""
    return cast(TextIO, {"stdout": sys.stdout, "stderr": sys.stderr}[stream])


def for_clipboard(text: str) -> str:
    """Return lines that can be pasted into a terminal: characters that would act there are escaped, final line ends
    dropped."""
    return harmless(text).rstrip("\n")


def indented(text: str) -> str:
    """Return the text of a log record with the lines after the first indented, so that none of them can pass for a
    record."""
    return "\n    ".join(map(clean, text.split("\n")))
