"""The classes of Kafka's requests, by API and version."""

from __future__ import annotations

from typing import Any

from console.wire.schemas import api_key, messages


def request_type(api: str, version: int) -> Any:
    """Return the class of the request of this version."""
    found = messages(api_key(api), version)
    assert found is not None
    return found.request
