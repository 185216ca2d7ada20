"""How plans treat configs of services next to the brokers: Connect's workers, and the schema registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from console.model import connect
from console.model.changes import ChangeRequest, ConfigOp
from console.model.codes import CONNECT_LOGGER, CONNECTOR, SCHEMA, ResourceType
from console.model.config import ConfigEntry, ConfigResource, ConfigSet
from console.model.secret import MaybeSecret
from console.model.subjects import AlterSchemaConfigs
from console.plan import connector_forecast, connector_rules
from console.plan.edits import ConfigEdit
from console.plan.staged import Draft


class ServiceConfigs(NamedTuple):
    """How a plan treats a type of config resource that belongs to a service, not to brokers."""

    request: Callable[[Mapping[ConfigResource, tuple[ConfigOp, ...]]], ChangeRequest]
    note: str
    """The receiver of the request, for the operator."""
    by_hand: str = ""
    """A format string for the request that makes the change without kac, with ``{cluster}`` and ``{name}``, the parts
    of the resource's name; ``""`` if there is none.
    """
    is_apart: bool = False
    """Whether each key is changed by a request of its own."""
    check: Callable[[ConfigEdit, Draft], None] = lambda *_: None
    """A function that raises Refused for an edit that can't be staged."""
    check_value: Callable[[str, MaybeSecret, ConfigEntry | None], None] | None = None
    """A function that raises Refused for an invalid value; None to check values as those of brokers' keys."""
    effects: Callable[[ConfigEdit, Draft], tuple[str, ...]] = lambda *_: ()
    entry: Callable[[ConfigSet, str], ConfigEntry | None] = ConfigSet.get
    """A function from configs and a key to the entry before an edit; None if there is no entry."""


BY_TYPE: Mapping[ResourceType, ServiceConfigs] = {
    CONNECTOR: ServiceConfigs(
        connect.AlterConnectors,
        "workers of Connect take these",
        "PATCH /connectors/{name}/config, at a worker of Connect {cluster}",
        check=connector_rules.check_config,
        check_value=connector_rules.check_value,
        effects=connector_forecast.config_effects,
    ),
    CONNECT_LOGGER: ServiceConfigs(
        connect.AlterConnectLoggers,
        "workers of Connect take this",
        "PUT /admin/loggers/LOGGER?scope=cluster, at a worker of Connect {cluster}",
        is_apart=True,
        check=connector_rules.check_logger,
        effects=connector_forecast.logger_effects,
        entry=connect.logger_entry,
    ),
    SCHEMA: ServiceConfigs(AlterSchemaConfigs, "the schema registry takes these"),
}


def entry_before(configs: ConfigSet, resource: ConfigResource, key: str) -> ConfigEntry | None:
    """Return the entry of a key before an edit, as the service of the resource defines it; None if there is none.
    configs: the configs of the resource.
    """
    service = BY_TYPE.get(resource.type)
    return configs.get(key) if service is None else service.entry(configs, key)
