"""What can be wrong with a lake: what, where, and what to do."""

from __future__ import annotations

PACKAGE = "pip install 'kafka-admin-console[history]'"


class LakeError(Exception):
    """A message about a lake for the operator."""


class NoLake(LakeError):
    """There is no lake."""


class StoreError(LakeError):
    """A store of objects that can't be reached, or refuses: why, and what to do."""


class DamagedLake(LakeError):
    """A file that says what is in the lake is missing or can't be read."""


class SparkFailed(Exception):
    """An error of Spark's own, by its name; Spark's log says where."""


class LeaseLost(LakeError):
    """Another took the lock while this run paused: it writes nothing more."""
