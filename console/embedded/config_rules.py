"""Checks of all configs of a broker, topic or group together, beyond the checks of single values."""

from __future__ import annotations

from collections.abc import Container, Mapping

from console.embedded import config_definitions
from console.embedded.config_changes import ConfigMessages, ConfigProblem, invalid_config
from console.embedded.context import Cluster
from console.embedded.spec import Release
from console.model.config import topic_resource

THREAD_POOLS = (
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "num.network.threads",
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
)
_MIB = 1024 * 1024
_WITHOUT_END, _LIKE_THE_WHOLE = -1, -2
_WRAPPED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: {reason} for configuration Invalid dynamic "
    "configuration"
)
_NO_CONTROLLER_LISTENER = (
    "requirement failed: controller.listener.names must contain at least one value appearing in the 'listeners' "
    "configuration when running the KRaft controller role"
)


class NotReconfigurable(ValueError):
    """The running broker can't apply a change of its configs. The exception's text is Kafka's message."""

    def __init__(self, reason: object) -> None:
        super().__init__(_WRAPPED.format(reason=reason))


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def check_broker_values(
    layers: config_definitions.BrokerLayers, values: Mapping[str, str], texts: ConfigMessages, *, own: bool
) -> None:
    """Check all overrides of a broker together (DynamicBrokerConfig). Raises ValueError with Kafka's message.

    Args:
        layers: the broker's layers before the change.
        values: key -> value of the overrides after the change.
        own: whether these are the broker's own, or the cluster default.
    """
    configs = layers.configs
    fixed = configs.not_dynamic.intersection(values)
    if fixed:
        raise ValueError(f"Cannot update these configs dynamically: {texts.keys(fixed)}")
    bare = configs.per_listener.intersection(values)
    if bare:
        raise ValueError(
            "These security configs can be dynamically updated only per-listener using the listener prefix: "
            + texts.security_keys(bare)
        )
    _check_types(configs, values)
    # A listener belongs to one broker, so keys of a listener can't be set for all brokers.
    if not own:
        per_broker = configs.per_broker.intersection(values)
        per_listener = [name for name in values if _is_of_one_listener(configs, name)]
        if per_broker or per_listener:
            raise ValueError(
                "Cannot update these configs at default cluster level, broker id must be specified: "
                + texts.keys(per_broker, per_listener)
            )
    after = layers.with_values(values, own=own)
    _check_together(layers, after)
    _check_running(layers, after)
    _check_hidden(configs, values, _listener_names(after))


def _check_types(configs: config_definitions.ReleaseConfigs, values: Mapping[str, str]) -> None:
    """Check the values of dynamic keys by their definitions. A key with a listener's prefix is checked under its name
    without the prefix, but only if there is no value under that name. Raises InvalidValue or InvalidConfig.
    """
    of_listeners = {config_definitions.without_listener(name) or name: text for name, text in values.items()}
    bare = {**of_listeners, **values}
    for name in configs.checked:
        if name in bare:
            config_definitions.checked_value(configs.broker.get(name) or configs.broker_dynamic_only[name], bare[name])


def _check_hidden(configs: config_definitions.ReleaseConfigs, values: Mapping[str, str], names: Container[str]) -> None:
    """Check the values with the prefix of an existing listener, as SocketServer.validateReconfiguration does. Among
    them are values that `_check_types` skips, because the key also has a value without the prefix. Raises
    NotReconfigurable. names: the names of the listeners.
    """
    for key, text in values.items():
        base = config_definitions.without_listener(key)
        definition = configs.broker.get(base or "")
        if definition is not None and key.split(".")[2].upper() in names:
            try:
                config_definitions.checked_value(definition, text)
            except config_definitions.InvalidValue as wrong:
                raise NotReconfigurable(wrong) from wrong


def _is_of_one_listener(configs: config_definitions.ReleaseConfigs, name: str) -> bool:
    base = config_definitions.without_listener(name)
    return base is not None and base not in configs.cluster_level_listener


def _check_together(before: config_definitions.BrokerLayers, after: config_definitions.BrokerLayers) -> None:
    """Check the requirements that values have to meet together (KafkaConfig.validateValues). Raises ValueError with
    Kafka's message.
    """
    if after.value("log.retention.ms") == "0":
        raise ValueError("requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    if not _number(after, "log.cleaner.threads"):
        raise ValueError("/ by zero")
    if _number(after, "log.cleaner.dedupe.buffer.size") // _number(after, "log.cleaner.threads") <= _MIB:
        raise ValueError("requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")
    for name, text in (("log.roll.ms", "1"), ("log.roll.jitter.ms", "0")):
        if _number(after, name, text) < int(text):
            raise ValueError(f"requirement failed: {name} must be greater than or equal to {text}")
    _check_groups(after)
    _check_connections(after)
    _check_listeners(before, after)
    cordoned = _list(after, "cordoned.log.dirs") if "cordoned.log.dirs" in after.configs.broker else []
    missing = [folder for folder in cordoned if folder not in _list(after, "log.dirs")]
    if missing:
        raise ValueError(
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}"
        )


def _check_groups(after: config_definitions.BrokerLayers) -> None:
    """Raise ValueError if an assignment interval of groups is out of its bounds (GroupCoordinatorConfig)."""
    for kind in ("consumer", "share", "streams"):
        name, least, most = (f"group.{kind}.{side}assignment.interval.ms" for side in ("", "min.", "max."))
        if name not in after.configs.broker:
            continue
        if _number(after, name) > _number(after, most):
            raise ValueError(f"{name} must be less than or equal to {most}")
        if _number(after, name) < _number(after, least):
            raise ValueError(f"{name} must be greater than or equal to {least}")


def _check_connections(after: config_definitions.BrokerLayers) -> None:
    overrides = after.value("max.connections.per.ip.overrides") or ""
    for part in filter(None, (piece.strip() for piece in overrides.split(","))):
        if ":" not in part:
            raise ValueError(
                "Error parsing configuration property 'max.connections.per.ip.overrides': "
                f"begin 0, end -1, length {len(part)}"
            )
        count = part.rpartition(":")[2].strip()
        if not count.isdecimal():
            raise ValueError(f'For input string: "{count}"')
    if after.value("max.connections.per.ip") == "0" and not overrides:
        raise ValueError(
            "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
            "property is set."
        )


def _check_listeners(before: config_definitions.BrokerLayers, after: config_definitions.BrokerLayers) -> None:
    protocols = after.value("listener.security.protocol.map") or ""
    if protocols != before.value("listener.security.protocol.map"):
        for pair in protocols.split(","):
            protocol = pair.rpartition(":")[2].strip()
            if protocol.upper() not in _PROTOCOLS:
                raise ValueError(f"Invalid security protocol `{protocol}` defined in listener.security.protocol.map")
    is_controller = "controller" in (after.value("process.roles") or "")
    if is_controller and _listener_names(after).isdisjoint(_list(after, "controller.listener.names")):
        raise ValueError(_NO_CONTROLLER_LISTENER)


def _listener_names(layers: config_definitions.BrokerLayers) -> set[str]:
    return {listener.partition("://")[0].strip().upper() for listener in _list(layers, "listeners")}


def _check_running(before: config_definitions.BrokerLayers, after: config_definitions.BrokerLayers) -> None:
    """Check that a running broker can apply the change (BrokerReconfigurable.validateReconfiguration,
    DynamicThreadPool). Raises NotReconfigurable.
    """
    for name in before.configs.dynamic.intersection(THREAD_POOLS):
        old, new = _number(before, name), _number(after, name)
        if new != old:
            _check_threads(f"Dynamic thread count update validation failed for {name}={new}, value should", old, new)
    old, new = _number(before, "log.cleaner.threads"), _number(after, "log.cleaner.threads")
    if new < old // 2:
        raise NotReconfigurable(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if new > old * 2:
        raise NotReconfigurable(f"Log cleaner threads cannot be increased to more than double the current value {old}")
    for key in ("max.connections", "max.connection.creation.rate"):
        if key in after.configs.broker and after.value(key) == "0" != before.value(key):
            raise NotReconfigurable(f"Invalid {key} 0")
    for key in ("log.retention.ms", "log.retention.bytes"):
        _check_local_retention(before, after, key)
    reporters = _list(after, "metric.reporters")
    if any("." not in name or not name.startswith("org.apache.kafka.") for name in reporters):
        raise NotReconfigurable(
            "Validation of dynamic config update of Set(metric.reporters) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )
    listeners = after.value("advertised.listeners")
    # Refuse new addresses: they are in the broker's registration, which the broker writes only when it starts.
    if after.value("process.roles") and listeners != before.value("advertised.listeners"):
        raise NotReconfigurable("Advertised listeners cannot be altered when using a Raft-based metadata quorum.")


def _check_local_retention(
    before: config_definitions.BrokerLayers, after: config_definitions.BrokerLayers, key: str
) -> None:
    """Raise NotReconfigurable if the local retention of tiered topics would exceed their retention (DynamicLogConfig).
    Check nothing if neither value changes, if the retention has no limit, or if the local retention is not set. key:
    the broker key of the retention.
    """
    local = key.replace("log.", "log.local.")
    if local not in after.configs.broker or (before.value(local), before.value(key)) == (
        after.value(local),
        after.value(key),
    ):
        return
    whole = after.inherited(after.configs.topic[key.removeprefix("log.")])
    most, kept = int(whole or _WITHOUT_END), int(after.value(local) or _LIKE_THE_WHOLE)
    if most == _WITHOUT_END or kept == _LIKE_THE_WHOLE:
        return
    if kept == _WITHOUT_END:
        reason = f"Value must not be -1 as {key} value is set as {most}."
    elif kept > most:
        reason = f"Value must not be more than {key} property value: {most}"
    else:
        return
    raise NotReconfigurable(str(config_definitions.InvalidValue(local, str(kept), reason)))


def _check_threads(begin: str, old: int, new: int) -> None:
    if new <= 0:
        raise NotReconfigurable(f"{begin} be at least 1")
    # Kafka's rule for all thread pools: one change may at most halve or double the size.
    if new < old // 2:
        raise NotReconfigurable(f"{begin} be at least half the current value {old}")
    if new > old * 2:
        raise NotReconfigurable(f"{begin} not be greater than double the current value {old}")


def _number(layers: config_definitions.BrokerLayers, key: str, default: str = "0") -> int:
    return int(layers.value(key) or default)


def _list(layers: config_definitions.BrokerLayers, key: str) -> list[str]:
    return [part.strip() for part in (layers.value(key) or "").split(",") if part.strip()]


_COMPACTION_LAGS = ("min.compaction.lag.ms", "max.compaction.lag.ms")
_NO_TIERED_STORAGE = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)


def topic_config_error(
    release: Release, configs: Mapping[str, str | None], inherited: Mapping[str, str] = config_definitions.NOTHING
) -> str | None:
    """Return Kafka's message for the first error in a new topic's configs (INVALID_CONFIG); None if they are valid.

    Args:
        inherited: key -> the value that the topic inherits; a missing key has Kafka's default.
    """
    empty = [key for key, value in configs.items() if value is None]
    if empty:
        return f"Null value not supported for topic configs: {','.join(empty)}"
    given = {key: value for key, value in configs.items() if value is not None}
    try:
        check_topic(config_definitions.release_configs(release.name), given, inherited)
    except (ConfigProblem, ValueError) as refused:
        return str(refused)
    return None


def check_topic(
    configs: config_definitions.ReleaseConfigs, own: Mapping[str, str], inherited: Mapping[str, str]
) -> None:
    """Check a topic's overrides (LogConfig). Raises ConfigProblem or ValueError for the first error.

    Args:
        own: the topic's overrides.
        inherited: the values that the topic has without overrides.
    """
    unknown = next((key for key in own if key not in configs.topic), None)
    if unknown is not None:
        raise invalid_config(f"Unknown topic config name: {unknown}")
    values: dict[str, config_definitions.ConfigValue] = {}
    for name, definition in configs.topic.items():
        if name in own:
            values[name] = config_definitions.checked_value(definition, own[name])
    least, most = (
        int(str(values.get(name, inherited.get(name, configs.topic[name].default)))) for name in _COMPACTION_LAGS
    )
    if least > most:
        raise invalid_config(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )
    # No broker of an embedded cluster has a plugin for remote storage.
    if values.get("remote.storage.enable"):
        raise ValueError(_NO_TIERED_STORAGE)


def inherited_configs(
    configs: config_definitions.ReleaseConfigs, layers: config_definitions.BrokerLayers
) -> dict[str, str]:
    """Return key -> value of a topic without overrides, as a broker with these layers computes it."""
    values = {name: layers.inherited(definition) for name, definition in configs.topic.items()}
    return {name: value for name, value in values.items() if value is not None}


def topic_config(cluster: Cluster, broker_id: int, name: str, key: str) -> str:
    """Return the effective value of a topic's key at a broker: the topic's own value, otherwise the inherited one;
    ``""`` if there is neither.

    Raises KeyError for a key that topics of this release don't have.
    """
    configs = config_definitions.release_configs(cluster.release.name)
    definition, view = configs.topic[key], cluster.view_of(broker_id)
    own = view.configs.get(topic_resource(name), config_definitions.NOTHING).get(key)
    if own is not None:
        return config_definitions.canonical_value(definition, own)
    return (
        config_definitions.BrokerLayers.of(configs, view, broker_id, cluster.spec.static_configs).inherited(definition)
        or ""
    )


_GROUP_KINDS = ("consumer", "share", "streams")
_SIDES = ("min", "max")


_TAGS, _ASSIGNOR, _ASSIGNORS = (
    "streams.rack.aware.assignment.tags",
    "streams.assignor.name",
    "group.streams.assignors",
)


def check_group(layers: config_definitions.BrokerLayers, own: Mapping[str, str], *, since_44: bool = False) -> None:
    """Check a group's own configs (GroupConfig). Raises ConfigProblem or ValueError for the first error.

    Args:
        since_44: whether to check as Kafka 4.4 does: an error names the value of a bound instead of its key, rack-aware
            tags must be distinct, and the assignor must be registered.
    """
    definitions = layers.configs.group
    unknown = next((key for key in own if key not in definitions), None)
    if unknown is not None:
        raise invalid_config(f"Unknown group config name: {unknown}")
    if since_44:
        _check_streams(layers, own)
    values: dict[str, int | str] = {}
    for name, definition in definitions.items():
        text = own.get(name, definition.default)
        if text is not None:
            value = config_definitions.checked_value(definition, text)
            values[name] = value if isinstance(value, int) else str(value)
    for name in _bounded_keys(layers):
        _check_bounds(layers, name, int(values[name]), since_44=since_44)
    for kind in _GROUP_KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if session in values and int(values[session]) <= int(values[heartbeat]):
            raise invalid_config(f"{session} must be greater than {heartbeat}")


def _check_streams(layers: config_definitions.BrokerLayers, own: Mapping[str, str]) -> None:
    tags = [tag.strip() for tag in own.get(_TAGS, "").split(",")]
    if len(tags) > len(set(tags)):
        raise invalid_config(f"{_TAGS} must not contain duplicate tag keys.")
    registered = [name.strip() for name in (layers.value(_ASSIGNORS) or "").split(",")]
    if _ASSIGNOR in own and (wanted := own[_ASSIGNOR].strip()) not in registered:
        message = f"{_ASSIGNOR} '{wanted}' is not a registered task assignor. Registered assignors are: "
        raise invalid_config(f"{message}[{', '.join(registered)}].")


def _bounded_keys(layers: config_definitions.BrokerLayers) -> list[str]:
    """Return the group keys that have bounds at a broker. For each type of group, the heartbeat interval is first."""
    bounded = [
        name for name in layers.configs.group if any(_bound_key(layers, name, side) is not None for side in _SIDES)
    ]
    return sorted(bounded, key=lambda name: (name.partition(".")[0], "heartbeat" not in name))


def _bound_key(layers: config_definitions.BrokerLayers, name: str, side: str) -> str | None:
    """Return the broker's key of the bound of a group key, such as ``group.consumer.max.session.timeout.ms``; None if
    there is no such key. side: ``min`` or ``max``.
    """
    kind, _, rest = name.partition(".")
    # The names of these bounds in Kafka are irregular: the upper bound omits ``num``.
    rest = rest.removeprefix("num.") if side == "max" else rest
    key = f"group.{kind}.{side}.{rest}"
    return key if key in layers.configs.broker else None


def _check_bounds(layers: config_definitions.BrokerLayers, name: str, value: int, *, since_44: bool) -> None:
    least, most = (_bound_key(layers, name, side) for side in _SIDES)
    low, high = (int(layers.value(key) or 0) if key is not None else 0 for key in (least, most))
    if since_44 and least is not None and most is not None and not low <= value <= high:
        message = f"{name} must be in the range {low} to {high} inclusive."
        raise invalid_config(message)
    if least is not None and value < low:
        bound = low if since_44 else least
        raise invalid_config(f"{name} must be greater than or equal to {bound}")
    if most is not None and value > high:
        bound = high if since_44 else most
        raise invalid_config(f"{name} must be less than or equal to {bound}")
