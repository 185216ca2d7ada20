"""Computes the rate at which producers write to topics, by leader. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from console.model.cluster import Topic
from console.model.rates import WINDOW, Rates
from console.triage.remembered import remembered

Written = Mapping[tuple[str, int], float]
"""(topic, leader) -> bytes per second that producers write to the topic's partitions on that leader."""


@remembered
def written(rates: Rates, topics: Mapping[str, Topic]) -> Written:
    """Return (topic, leader) -> bytes per second that producers write there. Partitions without a rate over a long
    enough time (`WINDOW`) are left out.
    """
    found: dict[tuple[str, int], float] = {}
    for name, topic in topics.items():
        for partition in topic.partitions:
            size = rates.sizes.get((name, partition.number))
            # A rate over a shorter time depends more on the times of the polls than on a limit.
            if size is not None and size.rate and size.at - size.base_at >= WINDOW:
                key = name, partition.leader
                found[key] = found.get(key, 0.0) + size.rate
    return found
