"""What is wrong in a file, and where."""

from __future__ import annotations

from collections.abc import Iterable


class FileProblem(ValueError):
    """One line: ``FILE:LINE: what; what to do``."""

    def __init__(self, source: str, line: int | None, message: str, hint: str = "") -> None:
        self.source, self.line, self.message, self.hint = source, line, message, hint
        place = f"{source}:{line}" if line else source
        super().__init__(f"{place}: {message}" + (f"; {hint}" if hint else ""))


class FileProblems(Exception):
    """All that is wrong, in the order of the files. problems: a line each."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))
