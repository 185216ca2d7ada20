"""The lake on disk: Delta tables, and the table `release`, whose newest row names the version of each that holds.

Reading needs DuckDB; `write.Write` needs PyArrow and deltalake.
"""

from .errors import DamagedLake, LakeError, LeaseLost, NoLake
from .lake import Lake
from .lock import LakeBusy
from .release import Release, TableFiles

__all__ = ["DamagedLake", "Lake", "LakeBusy", "LakeError", "LeaseLost", "NoLake", "Release", "TableFiles"]
