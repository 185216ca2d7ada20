"""The lake on disk: Delta tables, and the table `release`, whose newest row names the version of each that holds.

Reading needs DuckDB; `write.Write` needs PyArrow and deltalake.
"""

from .errors import DamagedLake, LakeError, LeaseLost, NewerLake, NoDuckDB, NoLake, OlderLake
from .lake import Lake
from .lock import LakeBusy
from .release import DataFile, Release, TableFiles

__all__ = [
    "DamagedLake",
    "DataFile",
    "Lake",
    "LakeBusy",
    "LakeError",
    "LeaseLost",
    "NewerLake",
    "NoDuckDB",
    "NoLake",
    "OlderLake",
    "Release",
    "TableFiles",
]
