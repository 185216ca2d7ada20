"""What a command can get wrong, in words for the operator, with its place in the text.

LanguageError
├── ParseError      the text is no statement of the language; nothing was done
└── CommandError    the statement is well formed and can't be carried out here
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.language.tokenizer import Span


class LanguageError(Exception):
    """Message, hint (possibly empty: what to do now) and where in the script, line and column from 1.

    A hint that takes a search is given as a function, and looked for when it is first read.
    """

    def __init__(self, message: str, hint: str | Callable[[], str] = "", span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self._hint = hint
        self.span = span

    @property
    def hint(self) -> str:
        """What to do now, or ``""``."""
        if not isinstance(self._hint, str):
            self._hint = self._hint()
        return self._hint

    @property
    def line(self) -> int | None:
        """The line in the script, from 1."""
        return self.span.line if self.span else None

    @property
    def column(self) -> int | None:
        """The column in that line, in characters from 1."""
        return self.span.column if self.span else None

    @property
    def searches(self) -> bool:
        """Whether the hint is yet to be looked for."""
        return not isinstance(self._hint, str)

    @property
    def placed(self) -> str:
        """The message with its place, without the hint."""
        where = f"line {self.span.line}, column {self.span.column}: " if self.span else ""
        return f"{where}{self.message}"

    def __str__(self) -> str:
        return self.placed + (f"; {self.hint}" if self.hint else "")


class ParseError(LanguageError):
    """The text is not of the language. expected: what could have stood there, in the words of the help."""

    def __init__(self, message: str, span: Span, hint: str = "", expected: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint, span)
        self.expected = expected


class CommandError(LanguageError):
    """A well-formed statement that can't be carried out: an unknown key, a value of the wrong type, no such entity."""


def is_one_slip(wrong: str, right: str) -> bool:
    """Whether one letter too many, too few or another, or two in the wrong order, are all that differs."""
    if abs(len(wrong) - len(right)) > 1 or wrong == right:
        return wrong == right
    start = next((i for i, (a, b) in enumerate(zip(wrong, right, strict=False)) if a != b), min(len(wrong), len(right)))
    a, b = wrong[start:], right[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])


def did_you_mean(wrong: str, right: Iterable[str], cutoff: float = 0.6) -> str:
    """``did you mean 'set'?`` for the nearest of the right words, or ``""``."""
    import difflib

    near = difflib.get_close_matches(wrong[:200], list(right), n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'?" if near else ""
