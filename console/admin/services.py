"""The HTTP services next to the brokers: the function that reads the configs of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from console.admin import connect, schemas
from console.admin.link import Link
from console.model.config import ConfigListing, ConfigResource
from console.model.entity_types import Route

DESCRIBERS: Mapping[Route, Callable[[Link, Sequence[ConfigResource]], Awaitable[ConfigListing]]] = {
    Route.CONNECT: connect.describe_configs,
    Route.SCHEMAS: schemas.describe_schema_configs,
}
