"""Finds the class of a Kafka request by API and version."""

from typing import Any

from console.wire.schemas import api_key, api_name, messages, version_range


def request_type(api: str, version: int) -> Any:
    """Return the class of an API's request in a version."""
    found = messages(api_key(api), version)
    assert found is not None
    return found.request


def readable_versions(key: int) -> tuple[int, int] | None:
    """Return the lowest and highest version of an API that kac can decode; None for an unknown API key."""
    api = api_name(key)
    return None if api is None else version_range(api)
