"""Whether brokers take a value of a config key."""

from __future__ import annotations

from console.embedded.config_definitions import ConfigDefinition, checked_value


def value_error(definition: ConfigDefinition, text: str) -> str | None:
    """Return why the key can't have this value, None if it can."""
    try:
        checked_value(definition, text)
    except ValueError as error:
        return str(error)
    return None
