"""Other paces for the parts of a cluster, where a test would wait for the product's."""

from typing import cast

import pytest

from console.model.parts import Part
from console.session.parts import PACES, Paces


def poll_often(monkeypatch: pytest.MonkeyPatch, seconds: float, *parts: Part) -> None:
    """Have triage read parts after so many seconds each."""
    for part in parts:
        monkeypatch.setitem(cast("dict[Part, Paces]", PACES), part, PACES[part]._replace(triage=seconds))
