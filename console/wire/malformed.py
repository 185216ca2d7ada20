"""The error of bytes that can't be read."""

from __future__ import annotations


class MalformedFrame(ValueError):
    """Bytes that are not what the protocol has at this place."""
