"""How brokers treat resources that have configs and nothing else: what differs by type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from console.embedded.config_definitions import BrokerLayers
from console.embedded.config_rules import check_client_metrics, check_own
from console.embedded.spec import Release
from console.model.codes import CLIENT_METRICS, ResourceType

_TYPES_FROM = (4, 0)


class OwnResource(NamedTuple):
    """check: raises ConfigProblem or ValueError for the first error in what a resource sets.

    misnamed, misnamed_altered: the messages for a name that can't be, where it is described and where it is altered.
    defaults_from: the release since which brokers describe keys that are not set.
    """

    check: Callable[[BrokerLayers, Mapping[str, str], Release], None]
    misnamed: str
    misnamed_altered: str
    defaults_from: tuple[int, int] = (0, 0)


_DIFFERENT: Mapping[ResourceType, OwnResource] = {
    CLIENT_METRICS: OwnResource(
        lambda layers, own, release: check_client_metrics(layers, own, modern=release.number >= _TYPES_FROM),
        "Client metrics subscription name must not be empty",
        "Subscription name can't be empty",
        (4, 1),
    )
}


def own_resource(type_: ResourceType) -> OwnResource:
    """Return how brokers treat a type; one without rules of its own by the definitions of its keys alone."""
    wrong = f"This can't be {type_.entity.one}'s name"
    return _DIFFERENT.get(type_) or OwnResource(
        lambda layers, own, _release: check_own(layers, type_, own), wrong, wrong
    )
