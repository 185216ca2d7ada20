"""What a broker remembers of one connection."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from console.embedded.context import ANONYMOUS

_numbers = count(1)


@dataclass(slots=True, eq=False)
class Session:
    """One connection to one broker.

    principal: who it is, None until it has authenticated where that is needed. mechanism: what a handshake chose.
    exchange: the SASL exchange under way. raw_tokens: the next frame is a token without a header (SaslHandshake v0).
    ending: why the connection closes once the answer in hand is out, ``""`` while it stays.
    mute: seconds to take no more requests.
    software: name and version that the client gave in ApiVersions.
    """

    broker_id: int
    host: str
    port: int
    principal: str | None = ANONYMOUS
    mechanism: str | None = None
    exchange: Any = None
    raw_tokens: bool = False
    ending: str = ""
    mute: float = 0.0
    software: tuple[str, str] = ("", "")
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def authenticated(self) -> bool:
        """Whether it may send ordinary requests."""
        return self.principal is not None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} to broker {self.broker_id}"
