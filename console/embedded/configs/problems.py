"""Why a config change is refused: with a code of its own, or as a value that can't be.

Kafka tells the two apart: an ApiException keeps its code, and a ConfigException gets the code of whoever asked
(INVALID_CONFIG from a controller, INVALID_REQUEST from a broker). A value that can't be is a ValueError here.
"""

from __future__ import annotations

UNKNOWN_SERVER_ERROR = -1
NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
INVALID_CONFIG = 40
INVALID_REQUEST = 42
POLICY_VIOLATION = 44


class ConfigProblem(Exception):
    """A refusal with its code; message None where Kafka tells none."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(message or f"error {code}")
        self.code = code
        self.message = message
