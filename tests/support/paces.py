"""Shorter intervals for reading a cluster's parts, for tests that would wait for the product's."""

from typing import cast

import pytest

from console.model.parts import PACES, Paces, Part


def poll_often(monkeypatch: pytest.MonkeyPatch, seconds: float, *parts: Part) -> None:
    """Set the interval in seconds at which triage reads these parts."""
    for part in parts:
        monkeypatch.setitem(cast("dict[Part, Paces]", PACES), part, PACES[part]._replace(triage=seconds))
