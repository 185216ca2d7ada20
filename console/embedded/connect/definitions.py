"""The plugins of Connect's workers and the definitions of their configs, as recorded from real workers of each
release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from console.embedded.config_definitions import release_data
from console.embedded.spec import release_number, since
from console.model.codes import ConfigType

RELEASES_OF_CONNECT = ("3.7", "3.9", "4.0", "4.3", "4.4")
"""The releases whose workers were recorded."""
TRACED_FILE = "/no/such/folder/out"
"""The file, in a missing folder, that is named in the recorded stack trace of a failed sink."""
_SUFFIX = "Connector"
_CONNECTORS = ("sink", "source")
_NOT_TOLD = ("valid", "recommended", "of_worker")


class Key(Struct, frozen=True):
    """The definition of a config key."""

    name: str
    type: ConfigType
    required: bool
    default: str | None
    told: Mapping[str, Any]
    """The definition as the REST API returns it, without the key's name."""
    rules: Sequence[Mapping[str, Any]] = ()
    """The checks of the value beyond that of the type, each with the name of the rule and its parameters."""
    recommended: Sequence[str] = ()
    """The values that a validation recommends."""
    of_worker: bool = False
    """Whether the default comes from the worker's own config; only validations return such a default."""


Keys = Mapping[str, Key]


class Plugin(Struct, frozen=True):
    """A plugin of the workers, with its Java class, its kind and its config keys."""

    name: str
    kind: str
    """``source``, ``sink``, ``transformation``, ``predicate``, ``converter`` or ``header_converter``."""
    version: str | None
    """The version; None if the plugin has none."""
    keys: Keys

    @property
    def is_connector(self) -> bool:
        """Whether the plugin is a connector."""
        return self.kind in _CONNECTORS

    @property
    def aliases(self) -> frozenset[str]:
        """All names by which a config may refer to the plugin."""
        simple = self.name.rpartition(".")[2]
        return frozenset((self.name, simple, simple.removesuffix(_SUFFIX)))


class ConnectRelease(Struct, frozen=True):
    """The plugins of the workers of a release, and the differences in the form of its responses."""

    name: str
    version: str
    commit: str
    plugins: Sequence[Plugin]
    common: Mapping[str, Keys]
    """``source`` or ``sink`` -> the config keys that every connector of this kind has."""
    trace: str
    """The recorded stack trace of a failed sink. It names `TRACED_FILE`."""
    place_field: str
    """The name of the response's field with a key's position in its group."""
    task_fields: frozenset[str]
    """The names of the response's fields in the status of a failed task."""

    @property
    def number(self) -> tuple[int, int]:
        """The release as numbers for comparison, such as (4, 3)."""
        return release_number(self.name)

    def connector(self, name: str) -> Plugin | None:
        """Return the connector plugin with this class name or alias; None if the release has none."""
        return next((each for each in self.plugins if each.is_connector and name in each.aliases), None)

    def plugin(self, name: str) -> Plugin | None:
        """Return the plugin with this class name or alias; None if the release has none."""
        return next((each for each in self.plugins if name in each.aliases), None)

    def of_kind(self, kind: str) -> list[Plugin]:
        """Return the plugins of a kind."""
        return [each for each in self.plugins if each.kind == kind]

    def shown_key(self, key: Key, prefix: str = "", *, plain: bool = False) -> dict[str, Any]:
        """Return the definition of a key in the form of the REST API.

        Args:
            prefix: the text to put before the key's name.
            plain: whether to leave out defaults that come from the worker's own config.
        """
        told = {"name": prefix + key.name, **key.told}
        if plain and key.of_worker:
            told["default_value"] = None
        told[self.place_field] = told.pop("order_in_group")
        return told


@cache
def connect_release(name: str) -> ConnectRelease:
    """Return Connect's plugins in a release. If that release was not recorded, return those of the newest recorded
    release before it.

    Raises ValueError for a release that is older than all `RELEASES_OF_CONNECT`.
    """
    data = release_data(since({each: each for each in RELEASES_OF_CONNECT}, name), "connect")
    return ConnectRelease(
        name,
        data["version"],
        data["commit"],
        [
            Plugin(each["class"], each["type"], each.get("version"), _keys(data[each["class"]]))
            for each in data["plugins"]
        ],
        {kind: _keys(data[kind]) for kind in _CONNECTORS},
        data["trace"],
        data["place_field"],
        frozenset(data["task_fields"]),
    )


def _keys(section: Mapping[str, Mapping[str, Any]]) -> Keys:
    return {
        name: Key(
            name,
            ConfigType.parse(told["type"]),
            told["required"],
            told["default_value"],
            {field: value for field, value in told.items() if field not in _NOT_TOLD},
            told.get("valid", ()),
            told.get("recommended", ()),
            told.get("of_worker", False),
        )
        for name, told in section.items()
    }
