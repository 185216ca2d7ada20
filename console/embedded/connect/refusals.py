"""The refusal of a request by a worker."""

from __future__ import annotations


class Refused(Exception):
    """A request that a worker refuses. status: of HTTP, which is also the error code. text: the message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
