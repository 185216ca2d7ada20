"""One cluster's state in one file of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from console.embedded.state.change_log import ChangeLog
from console.embedded.state.cluster_state import ClusterState
from console.embedded.storage.codecs import CODECS
from console.embedded.storage.unlogged import encode_unlogged, restore_unlogged
from console.model.numbers import json_text
from console.safe_files import PRIVATE, write_whole

FORMAT = "kac cluster state 1"


class StateFileError(Exception):
    """The file can't be read, written, or is none of ours; the text says which file, why, and what to do."""


def encode(state: ClusterState, scenario: str | None) -> bytes:
    """The whole state; of tables with a source only what was changed."""
    tables = {}
    for name, codec in CODECS.items():
        table = state.tables.named(name)
        tables[name] = {
            "own": [[codec.key(key), codec.value(value)] for key, value in table.own.items()],
            "gone": [codec.key(key) for key in table.gone],
        }
    content = {
        "format": FORMAT,
        "scenario": scenario,
        "cluster_id": state.cluster_id,
        "offset": state.log.end,
        "tables": tables,
        **encode_unlogged(state),
    }
    return json_text(content, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def write(path: Path, content: bytes) -> None:
    """Put the content in the file's place in one step; only its owner may read it, since credentials are in it.

    Raises StateFileError; then the file is as it was.
    """
    try:
        write_whole(path, content, PRIVATE)
    except OSError as error:
        raise StateFileError(f"can't write the state to {path}: {error.strerror or error}") from error


def read(path: Path, scenario: str | None) -> dict[str, Any] | None:
    """What `write` left there, None where there is no file. Raises StateFileError."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateFileError(f"can't read the state in {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise StateFileError(f"{path} is no state of a cluster; move it away to begin anew") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise StateFileError(f"{path} is no state of a cluster that this version reads; move it away to begin anew")
    was = content["scenario"]
    if was != scenario:
        raise StateFileError(f"{path} belongs to scenario {was}; say --scenario {was}, or name another file")
    return content


def restore(state: ClusterState, content: dict[str, Any], path: Path) -> None:
    """Put what `read` gave into a state that has nothing yet but its sources. Raises StateFileError."""
    try:
        state.cluster_id = content["cluster_id"]
        for name, codec in CODECS.items():
            table = state.tables.named(name)
            for key in list(table.own):
                table.remove(key)
            for key in content["tables"][name]["gone"]:
                table.remove(codec.read_key(key))
            for encoded, value in content["tables"][name]["own"]:
                key = codec.read_key(encoded)
                table.put(key, codec.read_value(key, value))
        restore_unlogged(state, content)
        state.index_topics()
        state.log = ChangeLog(content["offset"])
    except (KeyError, TypeError, ValueError) as error:
        raise StateFileError(f"the state in {path} is not whole ({error}); move it away to begin anew") from error
