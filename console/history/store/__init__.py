"""The lake on disk: immutable files, manifests that name them, and one pointer to the manifest that holds.

Reading needs the standard library alone; `write.Write` needs PyArrow.
"""

from .errors import DamagedLake, LakeBusy, LakeError, LeaseLost, NewerLake, NoLake
from .lake import Lake
from .manifest import DataFile, Manifest, TableFiles

__all__ = [
    "DamagedLake",
    "DataFile",
    "Lake",
    "LakeBusy",
    "LakeError",
    "LeaseLost",
    "Manifest",
    "NewerLake",
    "NoLake",
    "TableFiles",
]
