"""Shortens the intervals at which triage reads a cluster, for tests that would otherwise wait for the usual
intervals.
"""

from typing import cast

import pytest

from console.model.parts import PACES, Paces, Part


def poll_often(monkeypatch: pytest.MonkeyPatch, seconds: float, *parts: Part) -> None:
    """Set the interval at which triage reads these parts of the snapshot to `seconds` seconds, for the test."""
    for part in parts:
        monkeypatch.setitem(cast("dict[Part, Paces]", PACES), part, PACES[part]._replace(triage=seconds))
