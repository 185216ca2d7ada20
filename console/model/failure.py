"""The failure of an operation on one entity, as plain data."""

from __future__ import annotations

import re

from msgspec import Struct

WRONG_BROKER, WRONG_CLUSTER = "WRONG_BROKER", "WRONG_CLUSTER"
"""The names of failures of requests that reached another broker than the intended one, or another cluster."""


class Failure(Struct, frozen=True):
    """An error of a broker or of the connection to it: its name, its message, and a remedy."""

    name: str
    """The name: Kafka's (``UNKNOWN_TOPIC_OR_PARTITION``, ``UNKNOWN(999)``), or kac's for an error before a broker
    responds (``UNREACHABLE``, ``TIMED_OUT``, ``UNSUPPORTED``…)."""
    message: str = ""
    """The message of the broker, or kac's own; ``""`` if there is none. It may contain untrusted text."""
    remedy: str = ""
    """What the operator can do; ``""`` if nothing is known."""

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name

    @property
    def told(self) -> str:
        """The name and message of the error, then its remedy, as sentences."""
        return sentences(str(self), self.remedy)


def sentences(text: str, remedy: str) -> str:
    """Return a text followed by its remedy as sentences; a text that ends with a full stop does not get another one."""
    text, remedy = text.strip(), remedy.strip()
    if not remedy:
        return text
    return f"{text} {remedy}" if text.endswith((".", "!", "?")) else f"{text}. {remedy}"


_OBJECT = re.compile(r"\b[A-Za-z0-9]{0,60}(?:Request|Response)(?:Data)?\(")
_A_REQUEST = "Request Request(…)"
"""The shortened form of a request in an authorizer's refusal (AuthHelper.authorizeClusterOperation), which
`without_objects` replaces by "the request".
"""


def without_objects(text: str) -> str:
    """Return a broker's message without the contents of Java's request and response objects: each object is
    shortened to its class name and ``(…)``.
    """
    parts: list[str] = []
    at = 0
    for found in _OBJECT.finditer(text):
        if found.start() < at:
            continue
        end, depth = found.end(), 1
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        parts += [text[at : found.end()], "…)"]
        at = end
    return "".join((*parts, text[at:])).replace(_A_REQUEST, "the request")
