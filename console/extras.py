"""Texts about installing an extra (optional dependencies) for the running kac. Also runs on Spark's executors: Python
3.10, standard library.
"""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from console.model.foreign_json import json_of

NAME = "kafka-admin-console"
_IN_ONE_FILE = {"history": "take the file with -lake in its name, or "}
"""Extra -> how to get the one-file kac that contains it, as the beginning of a sentence."""


def licences_of_bundle() -> Path:
    """Return the path of the file of licences, which exists only in the one-file kac and in packages made from it."""
    return Path(sys.prefix) / "share" / "kac" / "licenses.txt"


def how_to_add(extra: str) -> str:
    """Return the command that installs an extra into this kac. The one-file kac can't be extended: then return how to
    get a kac with the extra.
    """
    prefix = Path(sys.prefix)
    if licences_of_bundle().is_file():
        return f"{_IN_ONE_FILE.get(extra, '')}pipx install {_quoted(NAME, extra)} (this kac takes no further packages)"
    source = _source()
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx install --force {_quoted(source, extra)}"
    if (prefix / "uv-receipt.toml").is_file():
        return f"uv tool install --force {_quoted(source, extra)}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {_quoted(source, extra)}"
    return f"{python} -m pip install {_quoted(source, extra)}"


def _quoted(source: str, extra: str) -> str:
    return shlex.quote(f"{source}[{extra}]")


def _source() -> str:
    """Return the source from which pip installs kac: the folder of a checkout, the file or folder that the environment
    records, or else the package's name.
    """
    checkout = Path(__file__).resolve().parents[1]
    if (checkout / "pyproject.toml").is_file():
        return str(checkout)
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        noted = json_of(distribution(NAME).read_text("direct_url.json") or "{}")["url"]
    except (PackageNotFoundError, ValueError, KeyError, TypeError):
        return NAME
    parts = urlsplit(str(noted))
    place = Path(unquote(parts.path))
    return str(place) if parts.scheme == "file" and place.exists() else NAME
