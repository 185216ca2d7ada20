"""Where the lake is that `kac lake` works on."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def lake_of_options(options: argparse.Namespace) -> str:
    """A path or URI: of ``--lake``, ``KAC_LAKE``, the named or current context's, else the folder for data."""
    from console.contexts import ContextError, load, resolve
    from console.contexts.lake_place import LAKE, lake_place

    given = getattr(options, "lake", None)
    setting = None
    if not given and not os.environ.get(LAKE):
        try:
            named = getattr(options, "context", None)
            setting = resolve(load(os.environ, Path.home()), name=named, environ=os.environ).lake
        except ContextError:
            setting = None
    return lake_place(given, os.environ, setting, Path.home())
