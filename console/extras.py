"""The way to add an extra to the running kac. Also runs on executors: Python 3.10, standard library."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from console.model.foreign_json import json_of

NAME = "kafka-admin-console"
_IN_ONE_FILE = {"history": "take the file with -lake in its name, or "}
"""Extra -> how to get the one-file kac that contains it."""


def licences_of_bundle() -> Path:
    """Return the file of licences that only the one-file kac and its packages have."""
    return Path(sys.prefix) / "share" / "kac" / "licenses.txt"


def how_to_add(extra: str) -> str:
    """Return the command that adds an extra to this kac. The one-file kac and its packages can't be extended: return
    the kac to install instead.
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
    """Return the installation source of kac: a checkout, the file or folder that the environment records, else its
    name."""
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
