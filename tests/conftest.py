"""For every test: a home of its own, and property tests that give the same answer each time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.cached_folder import cache_home

# Reproducible by default; `pytest --hypothesis-profile explore` looks for new counterexamples.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("same")

_FOREIGN = ("KAC_", "KCL_", "KAFKA_", "TEXTUAL", "XDG_", "NO_COLOR", "FORCE_COLOR", "COLORTERM")
_KEPT = ("KAC_REQUIRE_BROKERS",)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory: no test reads or writes the developer's own contexts, history or journal."""
    cache = cache_home().parent
    for name in [name for name in os.environ if name.startswith(_FOREIGN) and name not in _KEPT]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return home
