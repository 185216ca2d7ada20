"""The one way of text out of this process: standard output, standard error, the log and the clipboard.

Where a terminal or file can't hold every character, text is written in ASCII and the rest escaped.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterable
from types import MappingProxyType
from typing import TextIO, cast

from widgets.cells import clean

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
    """Make `HANDLER` known to `codecs`."""
    codecs.register_error(HANDLER, _plain)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    escaped = (_IN_ASCII.get(char) or char.encode("ascii", "backslashreplace").decode("ascii") for char in text)
    return "".join(escaped), error.end


def never_fail(streams: Iterable[TextIO]) -> None:
    """Have these streams write what their encoding lacks by `HANDLER`; an undecodable name too (a lone surrogate)."""
    register()
    for stream in streams:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def standard_streams() -> tuple[TextIO, ...]:
    """Standard output and error, as far as this process has them."""
    return tuple(stream for stream in (sys.stdout, sys.stderr) if stream is not None)


# The one way of text out of this process: standard output, standard error, the log and the clipboard.
#
# Whatever a cluster, a file or another host put into a line, it neither drives the terminal nor begins a line of its
# own where it was not meant to. `tests/unit/test_output_is_written_in_one_place.py` refuses other ways.

LONGEST_COMPLAINT = 4_000
"""Characters of a line for the operator."""
_HARMLESS = re.compile(r"[\n\x20-\x7e]*")


def harmless(text: str) -> str:
    """The same lines, in each of them everything invisible made visible (`widgets.cells.clean`)."""
    return text if _HARMLESS.fullmatch(text) else "\n".join(map(clean, text.split("\n")))


class Harmless:
    """A stream that writes `harmless` text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it; the number of characters that were given."""
        self._stream.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them all."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand on what is kept back."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether a terminal shows it."""
        return self._stream.isatty()


def stdout() -> TextIO:
    """Standard output."""
    return cast(TextIO, Harmless(sys.stdout))


def stderr() -> TextIO:
    """Standard error."""
    return cast(TextIO, Harmless(sys.stderr))


def write_tabbed(out: TextIO, line: str) -> None:
    """Write a line to one of these streams, or another one, with its tabs: they are ours, and stand between columns."""
    stream = out._stream if isinstance(out, Harmless) else out
    stream.write("\t".join(map(harmless, line.split("\t"))) + "\n")


def put(text: str) -> None:
    """Write lines to standard output, at once."""
    out = stdout()
    out.write(text)
    out.flush()


def complain(text: str) -> None:
    """One line for the operator, on standard error."""
    stderr().write(f"kac: {clean(text, LONGEST_COMPLAINT)}\n")


def ask(prompt: str) -> None:
    """A question on standard error; the cursor stays behind it."""
    err = stderr()
    err.write(clean(prompt, LONGEST_COMPLAINT))
    err.flush()


def ask_secret(prompt: str) -> str:
    """A line that is typed unseen."""
    from getpass import getpass

    return getpass(clean(prompt, LONGEST_COMPLAINT))


def drawn_on(stream: str) -> TextIO:
    """``stdout`` or ``stderr`` for a library that draws with escape sequences of its own (Rich's bars, prompt_toolkit).
    The texts that it draws have to be harmless before."""
    return cast(TextIO, {"stdout": sys.stdout, "stderr": sys.stderr}[stream])


def for_clipboard(text: str) -> str:
    """Lines as they may be pasted into a terminal: what would act there is an escape, and no line ends are added."""
    return harmless(text).rstrip("\n")


def indented(text: str) -> str:
    """The text of a log record: lines after the first are indented, so that no text in it can look like a record."""
    return "\n    ".join(map(clean, text.split("\n")))
