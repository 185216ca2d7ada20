"""The scenario `quiet` with separate controllers: one voter lags, and one controller is an observer that may become a
voter.
"""

from __future__ import annotations

from dataclasses import replace

from console.embedded.context import Cluster
from console.embedded.scenarios import quiet
from console.embedded.scenarios.seed import Scenario
from console.embedded.spec import FIRST_CONTROLLER
from console.embedded.tables import ChangeLog

LAGS = FIRST_CONTROLLER + 2
"""The id of the voter that lags."""
_BEHIND, _SECONDS = 18_240, 240.0
"""Number of records that the voter lacks, and the seconds for which it has lagged."""
_WRITTEN = 4_180_000
"""Number of records in the metadata log at the beginning: controllers write several per second, even in an idle
cluster.
"""


def seed(cluster: Cluster) -> None:
    """Fill the cluster as the scenario `quiet` does, and make one voter lag."""
    state = cluster.state
    state.log = ChangeLog(_WRITTEN)
    quiet.seed(cluster)
    state.controllers[LAGS] = replace(
        state.controllers[LAGS], behind=_BEHIND, behind_since=state.clock.time() - _SECONDS
    )


SCENARIO = Scenario(seed, live=quiet.live)
