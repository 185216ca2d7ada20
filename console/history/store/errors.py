"""What can be wrong with a lake: what, where, and what to do."""

from __future__ import annotations

from console.history.store.lock import Holder

PACKAGE = "pip install 'kafka-admin-console[history]'"


class LakeError(Exception):
    """A message about a lake for the operator."""


class NoLake(LakeError):
    """There is no lake."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"There is no lake at {where}: lake.json is missing. `kac lake collect` makes one; --lake names another."
        )


class NewerLake(LakeError):
    """The lake was written by a newer version."""

    def __init__(self, where: str, found: object, known: int) -> None:
        super().__init__(
            f"The lake at {where} has the format {found}, and this version of kac knows {known}: use a newer kac."
        )


class OlderLake(LakeError):
    """The lake has the format before Delta."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"The lake at {where} was written by an older version of kac: `kac lake migrate --lake {where}` takes it "
            "along. It copies no rows."
        )


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


class LakeBusy(LakeError):
    """Another run writes to the lake. holder: who."""

    def __init__(self, where: str, holder: Holder | None) -> None:
        self.holder = holder
        by = str(holder) if holder is not None else "a run that has not said who it is yet"
        super().__init__(f"The lake at {where} is being written by {by}. Wait for it to end, then run this again.")

    @property
    def who(self) -> str:
        """The one who holds the lock: ``alice on host-1``; empty where it is not known."""
        return "" if self.holder is None else f"{self.holder.user} on {self.holder.host}"

    @property
    def pid(self) -> int | None:
        """Its process there."""
        return None if self.holder is None else self.holder.pid

    @property
    def since(self) -> str:
        """Since when, as ISO 8601 in UTC."""
        return "" if self.holder is None else self.holder.since
