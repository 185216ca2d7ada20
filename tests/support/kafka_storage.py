"""The storage of nodes as Kafka's own tool formats it: formatted once, and copied for each node whose storage differs
only in ids.
"""

import base64
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.server_properties import properties_of, properties_text

META = "meta.properties"


def random_id() -> str:
    """Return a new random id of a cluster or directory, in Kafka's base64 form. It never begins with "-", which a tool
    would take for an option.
    """
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def format_arguments(cluster_id: str, properties: Path) -> Sequence[str]:
    """Return the arguments of kafka.tools.StorageTool that format a node's storage."""
    return ["format", f"--cluster-id={cluster_id}", "-c", str(properties)]


def scram_options(users: Mapping[str, str]) -> Sequence[str]:
    """Return arguments of the formatting tool that add SCRAM credentials. users: name -> password."""
    return [
        argument
        for user, password in users.items()
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for argument in ("--add-scram", f"{mechanism}=[name={user},password={password}]")
    ]


def copy_storage(formatted: Path, properties: Path, cluster_id: str, node: int, directory_id: str) -> None:
    """Make a node's storage from a formatted folder, with the node's own ids.

    Args:
        formatted: a folder with the files of one formatted log directory.
        properties: the node's server.properties, which name its log directories.
        cluster_id: the cluster's id.
        node: the node's id.
        directory_id: the id of the directory with the metadata log; other log directories get random ids.
    """
    wanted = properties_of(properties)
    folders = [Path(each) for each in wanted["log.dirs"].split(",")]
    with_metadata = Path(wanted.get("metadata.log.dir", folders[0]))
    for folder in dict.fromkeys((with_metadata, *folders)):
        is_first = folder == with_metadata
        shutil.copytree(
            formatted, folder, dirs_exist_ok=True, ignore=None if is_first else shutil.ignore_patterns("__*")
        )
        meta = properties_of(folder / META)
        own = {
            "cluster.id": cluster_id,
            "node.id": str(node),
            "directory.id": directory_id if is_first else random_id(),
        }
        # Releases before 3.7 have no ids of directories.
        (folder / META).write_text(properties_text({key: own.get(key, value) for key, value in meta.items()}))
