"""What can be wrong with a lake: what, where, and what to do."""

from __future__ import annotations

PACKAGE = "pip install 'kafka-admin-console[history]'"


class LakeError(Exception):
    """A message about a lake for the operator."""


class NoLake(LakeError):
    """There is no lake."""


class NewerLake(LakeError):
    """The lake was written by a newer version."""


class OlderLake(LakeError):
    """The lake has the format before Delta."""


class NoDuckDB(LakeError):
    """DuckDB is not installed."""

    def __init__(self) -> None:
        super().__init__(f"Reading a lake needs DuckDB, which is not installed: {PACKAGE}")


class NoDeltaRs(LakeError):
    """deltalake is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "deltalake (delta-rs), which commits what runs write, is not installed here: pip install deltalake; on a "
            "cluster in the environment of the driver. Nothing was written."
        )


class StoreError(LakeError):
    """A store of objects that can't be reached, or refuses: why, and what to do."""


class DamagedLake(LakeError):
    """A file that says what is in the lake is missing or can't be read."""


class LeaseLost(LakeError):
    """Another took the lock while this run paused: nothing was committed."""
