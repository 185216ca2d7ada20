"""Why a config change is refused: with a code of its own, or as a value that can't be.

Kafka tells the two apart: an ApiException keeps its code, and a ConfigException gets the code of whoever asked
(INVALID_CONFIG from a controller, INVALID_REQUEST from a broker). A value that can't be is a ValueError here.
"""

from __future__ import annotations


class ConfigProblem(Exception):
    """A refusal with its code; message None where Kafka tells none."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or f"error {code}")
        self.code = code
        self.message = message
