"""The quiet cluster with controllers of their own: one voter lags, and a controller follows that may be added."""

from __future__ import annotations

from dataclasses import replace

from console.embedded.context import Cluster
from console.embedded.scenarios import quiet
from console.embedded.scenarios.seed import Scenario
from console.embedded.spec import FIRST_CONTROLLER
from console.embedded.tables import ChangeLog

LAGS = FIRST_CONTROLLER + 2
"""The voter that lags."""
_BEHIND, _SECONDS = 18_240, 240.0
"""Records that it lacks, and for how many seconds it has."""
_WRITTEN = 4_180_000
"""Records of the metadata log before: controllers write several a second, also where nothing happens."""


def seed(cluster: Cluster) -> None:
    """Fill the quiet cluster, and let a voter lag."""
    state = cluster.state
    state.log = ChangeLog(_WRITTEN)
    quiet.seed(cluster)
    state.controllers[LAGS] = replace(
        state.controllers[LAGS], behind=_BEHIND, behind_since=state.clock.time() - _SECONDS
    )


SCENARIO = Scenario(seed, live=quiet.live)
