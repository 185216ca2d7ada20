"""What a scenario is, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from console.embedded.spec import ClusterSpec

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_PORTS_EACH = 100
RACKS = {1: "zone-a", 2: "zone-b", 3: "zone-c"}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster to begin with.

    lay: puts sources under the tables, which are never stored. fill: puts in what is stored. live: what others do in it
    while it runs, until it is cancelled; None for nothing.
    """

    fill: Callable[[EmbeddedCluster], None]
    lay: Callable[[EmbeddedCluster], None] | None = None
    live: Callable[[EmbeddedCluster], Coroutine[None, None, None]] | None = None


NAMES = ("quiet", "incident", "fleet", "large")


def scenario(name: str) -> Scenario:
    """The scenario of one cluster. Raises ValueError for a name that there is not."""
    module = _MODULES.get(name)
    if module is None:
        raise ValueError(f"there is no scenario {name}, only {', '.join(NAMES)}")
    found: Scenario = import_module(f"console.embedded.scenarios.{module}").SCENARIO
    return found


_MODULES: Mapping[str, str] = {
    "quiet": "quiet",
    "incident": "incident",
    "large": "large",
    "fleet-production": "incident",
    "fleet-staging": "quiet",
    "fleet-old": "quiet",
}


def members(name: str, spec: ClusterSpec) -> dict[str, ClusterSpec]:
    """The clusters that a scenario consists of, by name, like this specification. Raises ValueError.

    Of a fleet, each differs: one has an incident, one is quiet and like Kafka 3.9, and the old one has ZooKeeper's
    ways and one broker. Their first ports are 100 apart.
    """
    if name != "fleet":
        scenario(name)
        return {name: replace(spec, scenario=name, racks=spec.racks or RACKS)}
    racks = spec.racks or RACKS
    fleet = {
        "production": replace(spec, scenario="fleet-production", racks=racks),
        "staging": replace(spec, scenario="fleet-staging", racks=racks, versions="3.9"),
        "old": replace(spec, scenario="fleet-old", racks={}, versions="2.8", brokers=1),
    }
    return {name: _apart(member, place, name) for place, (name, member) in enumerate(fleet.items())}


def _apart(spec: ClusterSpec, place: int, name: str) -> ClusterSpec:
    """With ports and a state file of its own."""
    port = spec.port + place * _PORTS_EACH if spec.port else 0
    path = spec.state_file
    return replace(spec, port=port, state_file=path and path.with_name(f"{path.stem}-{name}{path.suffix}"))
