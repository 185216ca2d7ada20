"""Validation of a connector's config (AbstractHerder, ConfigDef.validateAll). Pure functions.

Two kinds of keys are not fully checked here. Overrides of Kafka clients' configs get no check, and have no definition
in the response. For keys of transformations, predicates and converters, only the type is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from console.embedded import config_definitions
from console.embedded.config_definitions import CLASS, LIST, PASSWORD, ConfigDefinition, ConfigValue
from console.embedded.connect.definitions import ConnectRelease, Key, Plugin
from console.embedded.connect.state import Refused
from console.embedded.java import hash_order
from console.model.codes import ConfigType

Config = Mapping[str, str | None]
"""Config key -> value as in a request; None for null."""
CLASS_KEY, NAME = "connector.class", "name"
_CLASS_IS_ASKED = (4, 1)
"""The first release that answers a config with an unknown connector class by an error response."""
_CONFIG_NOT_SHOWN = (4, 4)
"""The first release whose error messages do not repeat the config, which may contain secrets."""
_VERSIONED = ".plugin.version"
_CONVERTERS = {"key.converter": "converter", "value.converter": "converter", "header.converter": "header_converter"}
"""Config key that names a converter -> the kind of plugin that it may name."""
_CONVERTER_TYPES = {"key.converter": "key", "value.converter": "value", "header.converter": "header"}
_OVERRIDES = {"source": ("producer.override.",), "sink": ("consumer.override.",)}
_IMPORTANCE = ("HIGH", "MEDIUM", "LOW")
_HIDDEN = "[hidden]"
_GROUP_OVERRIDE = "consumer.override.group.id"


class Checked(NamedTuple):
    """The result of validating one key."""

    name: str
    key: Key | None
    """The definition of the key; None if it has none."""
    value: ConfigValue | None
    errors: tuple[str, ...] = ()
    prefix: str = ""
    visible: bool = True

    def with_errors(self, *errors: str) -> Checked:
        """Return the result with these errors added."""
        return self._replace(errors=(*self.errors, *errors))


def plugin_of(release: ConnectRelease, config: Config) -> Plugin:
    """Return the connector plugin that a config names. Raises Refused if it names none, or an unknown one."""
    name = config.get(CLASS_KEY)
    if name is None:
        shown = ", ".join(f"{key}={'null' if value is None else value}" for key, value in config.items())
        shown = "" if release.number >= _CONFIG_NOT_SHOWN else f" {{{shown}}}"
        raise Refused(400, f"Connector config{shown} contains no connector type")
    if (found := release.connector(name)) is None:
        known = ", ".join(map(_described, sorted(filter(lambda each: each.is_connector, release.plugins), key=_name)))
        raise Refused(
            400 if release.number >= _CLASS_IS_ASKED else 500,
            "Failed to find any class that implements Connector and which name matches "
            f"{name}, available connectors are: {known}",
        )
    return found


def _name(plugin: Plugin) -> str:
    return plugin.name


def _described(plugin: Plugin) -> str:
    """Return a plugin in the text form of Java's PluginDesc.toString."""
    version, kind = plugin.version or "undefined", plugin.kind
    return (
        f"PluginDesc{{klass=class {plugin.name}, name='{plugin.name}', version='{version}', encodedVersion={version}, "
        f"type={kind}, typeName='{kind}', location='classpath'}}"
    )


def validated(release: ConnectRelease, config: Config, group: str) -> dict[str, Any]:
    """Return a worker's response to the request to validate a config.

    Args:
        group: the group.id of the workers.

    Raises:
        Refused: the config names no connector class, or one that no worker has.
    """
    plugin = plugin_of(release, config)
    keys = {**_common(release, plugin, config), **_of_aliases(release, config), **plugin.keys}
    checked = {name: _checked(name, key, config, release) for name, key in keys.items()}
    _check_negations(checked, config)
    if plugin.kind == "sink":
        _check_sink(checked, config, group)
    else:
        _check_source(checked, config)
    for name, value in config.items():
        if value is None and name not in plugin.keys:
            null = checked.get(name) or Checked(name, None, None)
            checked[name] = null.with_errors("Null value can not be supplied as the configuration value.")
    unknown = [each for each in checked.values() if each.key is None]
    results = [*unknown, *(checked[name] for name in keys)]
    results += _overrides(plugin, config)
    groups = _groups(results)
    for name in _CONVERTERS:
        converter = list(_converter_keys(release, name, config, checked))
        results += converter
        groups += [each for each in _groups(converter) if each not in groups]
    return {
        "name": config[CLASS_KEY],
        "error_count": sum(len(each.errors) for each in results),
        "groups": groups,
        "configs": [_shown(release, each) for each in results],
    }


def errors_of(validation: Mapping[str, Any]) -> str:
    """Return the message with the errors in a validation's response; ``""`` if the config is valid."""
    if not validation["error_count"]:
        return ""
    texts = [text for each in validation["configs"] for text in each["value"]["errors"]]
    return "\n".join(
        (
            f"Connector configuration is invalid and contains the following {validation['error_count']} error(s):",
            *texts,
            "You can also find the above list of errors at the endpoint "
            "`/connector-plugins/{connectorType}/config/validate`",
        )
    )


def _groups(results: Sequence[Checked]) -> list[str]:
    found = (each.key.told["group"] for each in results if each.key is not None)
    return list(dict.fromkeys(group for group in found if group is not None))


def _shown(release: ConnectRelease, checked: Checked) -> dict[str, Any]:
    key = checked.key
    value = None if checked.value is None else config_definitions.shown_value(checked.value)
    if key is not None and key.type == PASSWORD and value is not None:
        value = _HIDDEN
    return {
        "definition": None if key is None else release.shown_key(key, checked.prefix),
        "value": {
            "name": checked.prefix + checked.name,
            "value": value,
            "recommended_values": [] if key is None else list(key.recommended),
            "errors": list(checked.errors),
            "visible": checked.visible,
        },
    }


# -- the keys that a config has --------------------------------------------------------------------------------------


def _common(release: ConnectRelease, plugin: Plugin, config: Config) -> dict[str, Key]:
    """Return key -> definition for the keys that every source, or every sink, has. If the config names a converter that
    the release lacks, the key for the converter's version has no default.
    """
    found = dict(release.common[plugin.kind])
    for name, kind in _CONVERTERS.items():
        versioned = found.get(name + _VERSIONED)
        if versioned is not None and _plugin_of_kind(release, config.get(name), kind, found[name].default) is None:
            told = {**versioned.told, "default_value": None}
            found[name + _VERSIONED] = msgspec.structs.replace(versioned, default=None, told=told, recommended=())
    return found


def _plugin_of_kind(release: ConnectRelease, name: str | None, kind: str, default: str | None = None) -> Plugin | None:
    wanted = name if name is not None else default
    return next((each for each in release.of_kind(kind) if each.name == wanted), None)


_ALIASED = (("transforms", "transformation", "Transforms"), ("predicates", "predicate", "Predicates"))
"""For each key that lists aliases of plugins: the key, the kind of plugin, and the name of the group that their keys
form.
"""
_IMPLICIT = {
    "predicate": (
        "STRING",
        None,
        "The alias of a predicate used to determine whether to apply this transformation.",
    ),
    "negate": ("BOOLEAN", "false", "Whether the configured predicate should be negated."),
}
"""Config key that every transformation has -> its type, default and documentation."""


def _of_aliases(release: ConnectRelease, config: Config) -> dict[str, Key]:
    """Return key -> definition for the transformations and predicates that a config names."""
    found: dict[str, Key] = {}
    for list_key, kind, group in _ALIASED:
        for alias in dict.fromkeys(_parts(config.get(list_key))):
            for key in _of_alias(release, config, f"{list_key}.{alias}.", alias, kind, f"{group}: {alias}"):
                found[key.name] = key
    return found


def _of_alias(release: ConnectRelease, config: Config, prefix: str, alias: str, kind: str, group: str) -> Iterator[Key]:
    plugin = _plugin_of_kind(release, config.get(f"{prefix}type"), kind)
    title = kind.capitalize()
    recommended = sorted(each.name for each in release.of_kind(kind))
    yield _made(
        f"{prefix}type",
        "CLASS",
        f"Class for the '{alias}' {kind}.",
        f"{title} type for {alias}",
        (group, 0),
        required=True,
        recommended=recommended,
    )
    place = 1
    if any(name.endswith(_VERSIONED) for name in release.common["source"]):
        yield _made(
            f"{prefix}plugin.version",
            "STRING",
            f"Version of the '{alias}' {kind}.",
            f"{title} version for {alias}",
            (group, place),
            default=plugin.version if plugin else None,
            recommended=[plugin.version] if plugin and plugin.version else [],
        )
        place += 1
    if plugin is None:
        return
    keys = dict(plugin.keys)
    if kind == "transformation":
        keys |= {
            name: _made(name, type_, text, name, (None, -1), default=default, importance="MEDIUM", width="NONE")
            for name, (type_, default, text) in _IMPLICIT.items()
        }
    for own in sorted(keys.values(), key=_place):
        told = {**own.told, "group": group, "order_in_group": place, "display_name": own.told["display_name"]}
        yield msgspec.structs.replace(own, name=prefix + own.name, told=told)
        place += 1


def _place(key: Key) -> tuple[bool, int, str]:
    """Return the sort key by which responses order config keys that have no group (ConfigDef.sortedConfigs)."""
    return not key.required, _IMPORTANCE.index(key.told["importance"]), key.name


def _made(
    name: str,
    type_: str,
    documentation: str,
    display_name: str,
    place: tuple[str | None, int],
    *,
    required: bool = False,
    default: str | None = None,
    importance: str = "HIGH",
    width: str = "LONG",
    recommended: Sequence[str] = (),
) -> Key:
    group, order = place
    told = {
        "type": type_,
        "required": required,
        "default_value": default,
        "importance": importance,
        "documentation": documentation,
        "group": group,
        "order_in_group": order,
        "width": width,
        "display_name": display_name,
        "dependents": [],
    }
    return Key(name, ConfigType.parse(type_), required, default, told, (), recommended)


def _overrides(plugin: Plugin, config: Config) -> list[Checked]:
    """Return the results for the config's overrides of the Kafka clients that a connector uses. The results have no
    definitions, because the clients define these keys.
    """
    used = _OVERRIDES[plugin.kind]
    return [Checked(name, None, value) for name, value in config.items() if name.startswith(used)]


def _converter_keys(
    release: ConnectRelease, name: str, config: Config, checked: Mapping[str, Checked]
) -> Iterator[Checked]:
    """Yield the results for the keys of a converter that the config names, if the converter's own key passed its
    checks. name: the key that names the converter.
    """
    plugin = _plugin_of_kind(release, config.get(name), _CONVERTERS[name])
    if plugin is None or checked[name].errors:
        return
    prefix = f"{name}."
    own = {"converter.type": _CONVERTER_TYPES[name]}
    own |= {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix) and value}
    for key in hash_order(plugin.keys):
        yield _checked(key, plugin.keys[key], own, release)._replace(prefix=prefix)


# -- the checks of a key ---------------------------------------------------------------------------------------------


def _parts(text: str | None) -> tuple[str, ...]:
    stripped = (text or "").strip()
    return tuple(part.strip() for part in stripped.split(",")) if stripped else ()


def _checked(name: str, key: Key, config: Config, release: ConnectRelease) -> Checked:
    """Check the value of a key by its type, and then by its rules. If it does not have the type, the rules are applied
    to null, as in Kafka.
    """
    errors: list[str] = []
    value: ConfigValue | None = None
    text = config.get(name) if name in config else key.default
    if name not in config and key.required:
        errors.append(f'Missing required configuration "{name}" which has no default value.')
    elif text is not None:
        try:
            value = _parsed(key, text, release)
        except ValueError as refused:
            errors.append(str(refused))
    for rule in key.rules:
        try:
            _check(key, value, rule, release)
        except ValueError as refused:
            errors.append(str(refused))
            break
    visible = not (
        name.endswith(_VERSIONED)
        and (converter := name.removesuffix(_VERSIONED)) in _CONVERTERS
        and converter in config
        and not _is_class(config[converter], release)
    )
    return Checked(name, key, value, tuple(errors), visible=visible)


def _parsed(key: Key, text: str, release: ConnectRelease) -> ConfigValue:
    if key.type == CLASS:
        stripped = text.strip()
        if not _is_class(stripped, release):
            raise config_definitions.InvalidValue(key.name, text, f"Class {text} could not be found.")
        return stripped
    if key.type == LIST:
        return _parts(text)
    return config_definitions.parsed_value(ConfigDefinition(key.name, key.type), text)


def _is_class(name: str | None, release: ConnectRelease) -> bool:
    return name is not None and (name.startswith("java.") or any(each.name == name for each in release.plugins))


def _check(key: Key, value: ConfigValue | None, rule: Mapping[str, Any], release: ConnectRelease) -> None:
    """Check a value by a rule of its key; None is null. Raises InvalidValue or InvalidConfig, which are ValueErrors."""
    match rule["rule"], value:
        case "subclass", str():
            kind = "header_converter" if rule["of"] == "HeaderConverter" else "converter"
            if _plugin_of_kind(release, value, kind) is None:
                text = f"Class class {value} does not implement the {rule['of']} interface"
                raise config_definitions.InvalidConfig(text)
        case "pattern", str():
            _check_pattern(key.name, value)
        case "no_control_characters", str():
            _check_control_characters(key.name, value)
        case "unique", tuple() if len(set(value)) < len(value):
            raise config_definitions.InvalidValue(key.name, f"[{', '.join(value)}]", "Duplicate alias provided.")
        case "distinct", tuple() if len(set(value)) < len(value):
            raise config_definitions.InvalidConfig(f"Configuration '{key.name}' values must not be duplicated.")
        case "distinct", tuple() if "" in value:
            raise config_definitions.InvalidConfig(f"Configuration '{key.name}' values must not be empty.")
        case "distinct", None:
            raise config_definitions.InvalidConfig(f"Configuration '{key.name}' values must not be null.")
        case "unique", None:
            raise config_definitions.InvalidValue(key.name, "null", "entry must be non null")
        case ("range" | "one_of" | "one_of_any_case") as name, None if key.default is not None:
            raise config_definitions.InvalidValue(key.name, "null", _WITHOUT[name].format(_options(rule)))
        case (("range" | "one_of" | "one_of_any_case" | "not_empty"), str() | int() | float()):
            config_definitions.check_rule(key.name, value, rule)


_WITHOUT = {
    "range": "Value must be non-null",
    "one_of": "String must be one of: {}",
    "one_of_any_case": "String must be one of (case insensitive): {}",
}
"""Name of a rule -> Kafka's message if the value is null."""


def _options(rule: Mapping[str, Any]) -> str:
    return ", ".join(rule.get("values", ()))


def _check_control_characters(name: str, text: str) -> None:
    if not text:
        raise config_definitions.InvalidValue(name, text, "String may not be empty")
    if odd := [str(ord(each)) for each in text if ord(each) < 0x20 or 0x7F <= ord(each) <= 0x9F]:
        reason = "String may not contain control sequences but had the following ASCII chars: " + ", ".join(odd)
        raise config_definitions.InvalidValue(name, text, reason)


def _check_pattern(name: str, text: str) -> None:
    """Raise InvalidValue unless Python can compile the pattern. The reason in Java's message has other words."""
    try:
        re.compile(text)
    except re.error as odd:
        raise config_definitions.InvalidValue(name, text, f"Invalid regex: {odd}") from None


# -- the checks of several keys --------------------------------------------------------------------------------------


def _add(checked: dict[str, Checked], name: str, *errors: str) -> None:
    checked[name] = checked[name].with_errors(*errors)


def _check_negations(checked: dict[str, Checked], config: Config) -> None:
    """Add an error for each transformation that negates a predicate without naming one."""
    for alias in dict.fromkeys(_parts(config.get("transforms"))):
        prefix = f"transforms.{alias}."
        if f"{prefix}negate" in config and f"{prefix}predicate" not in config:
            _add(
                checked,
                f"{prefix}type",
                f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' defining a "
                "predicate to be negated.",
            )


def _check_sink(checked: dict[str, Checked], config: Config, group: str) -> None:
    topics, pattern = config.get("topics"), config.get("topics.regex")
    dead_letters = (config.get("errors.deadletterqueue.topic.name") or "").strip()
    has_topics, has_pattern = bool((topics or "").strip()), bool((pattern or "").strip())
    if has_topics == has_pattern:
        text = "topics and topics.regex are mutually exclusive options, but both are set."
        text = text if has_topics else "Must configure one of topics or topics.regex"
        for name in ("topics", "topics.regex"):
            _add(checked, name, text)
    names = [each for each in dict.fromkeys(_parts(topics)) if each]
    if dead_letters and dead_letters in names:
        _add(
            checked,
            "topics",
            f"The DLQ topic '{dead_letters}' may not be included in the list of topics "
            f"('topics=[{', '.join(names)}]') consumed by the connector",
        )
    own = config.get(_GROUP_OVERRIDE) or f"connect-{config.get(NAME)}"
    if own == group and _GROUP_OVERRIDE not in config:
        text = f"Consumer group for sink connector named {config.get(NAME)} conflicts with Connect worker group {group}"
        _add(checked, NAME, text)


def _check_source(checked: dict[str, Checked], config: Config) -> None:
    support, boundary = checked["exactly.once.support"], checked["transaction.boundary"]
    if not support.errors and str(support.value).lower() == "required":
        _add(checked, support.name, "This worker does not have exactly-once source support enabled.")
        if checked.get("topic") is not None and checked["topic"].errors:
            why = checked["topic"].errors[0]
            _add(checked, support.name, f"An unexpected error occurred during validation: {why}")
        elif not config.get("file"):
            text = "The connector does not support exactly-once semantics with the provided configuration."
            _add(checked, support.name, text)
    if not boundary.errors and str(boundary.value).lower() == "connector":
        _add(
            checked,
            boundary.name,
            "The connector does not support connector-defined transaction boundaries with the given configuration. "
            "Please reconfigure it to use a different transaction boundary definition.",
        )
