"""Errors of commands: messages for the operator with a place in the text.

LanguageError
├── ParseError      the text is not valid in the language; nothing was done
└── CommandError    the statement is valid, but can't be carried out here
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.language.tokenizer import Span


class LanguageError(Exception):
    """An error of a command: a message, a hint (the next step for the operator, ``""`` without one), and the place in
    the script.

    If finding the hint takes time, it may be given as a function, which is called when the hint is first read.
    """

    def __init__(self, message: str, hint: str | Callable[[], str] = "", span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self._hint = hint
        self.span = span

    @property
    def hint(self) -> str:
        """The next step for the operator; ``""`` if there is no hint."""
        if not isinstance(self._hint, str):
            self._hint = self._hint()
        return self._hint

    @property
    def line(self) -> int | None:
        """The line in the script, from 1; None if the error has no location."""
        return self.span.line if self.span else None

    @property
    def column(self) -> int | None:
        """The column in that line, in characters from 1; None if the error has no location."""
        return self.span.column if self.span else None

    @property
    def searches(self) -> bool:
        """Whether the hint was given as a function that was not called yet."""
        return not isinstance(self._hint, str)

    @property
    def placed(self) -> str:
        """The message with its line and column, without the hint."""
        where = f"line {self.span.line}, column {self.span.column}: " if self.span else ""
        return f"{where}{self.message}"

    def __str__(self) -> str:
        return self.placed + (f"; {self.hint}" if self.hint else "")


class ParseError(LanguageError):
    """The text is not valid in the language. expected: the valid continuations, as in the help."""

    def __init__(self, message: str, span: Span, hint: str = "", expected: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint, span)
        self.expected = expected


class CommandError(LanguageError):
    """A valid statement can't be carried out: it has an unknown key, a value of the wrong type, an unknown entity …"""


def is_one_slip(wrong: str, right: str) -> bool:
    """Return whether the words are equal, or differ by one inserted, missing or wrong letter, or by two adjacent
    letters that are swapped.
    """
    if abs(len(wrong) - len(right)) > 1 or wrong == right:
        return wrong == right
    # After the first difference, the rest has to be equal, shifted by the typo.
    start = next((i for i, (a, b) in enumerate(zip(wrong, right, strict=False)) if a != b), min(len(wrong), len(right)))
    a, b = wrong[start:], right[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[:2][::-1] and a[2:] == b[2:])


def did_you_mean(wrong: str, right: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``did you mean 'set'?`` with the most similar of the right words; ``""`` if none is similar. cutoff: the
    minimum similarity, 0 to 1.
    """
    import difflib

    near = difflib.get_close_matches(wrong[:200], list(right), n=1, cutoff=cutoff)
    return f"did you mean '{near[0]}'?" if near else ""
