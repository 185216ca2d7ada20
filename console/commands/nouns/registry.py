"""The nouns by name. Each stands in a module of its own, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from console.commands.nouns.noun import Noun

NAMES = ("topics", "quotas", "acls", "brokers", "groups", "scram")


def noun(name: str) -> Noun:
    """The noun of this name."""
    found = import_module(f"console.commands.nouns.{name}").NOUN
    assert isinstance(found, Noun)
    return found
