"""Configuration files of kac with contexts of several clusters, and text for a context that asks for a password."""

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.contexts.own_file import CONFIG

ASKS = """security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "PLAIN"
sasl.jaas.config = \"\"\"org.apache.kafka.common.security.plain.PlainLoginModule required username="a" \
password="${prompt:its password}";\"\"\"
"""


def nowhere() -> str:
    """Return an address ``host:port`` on loopback on which no process listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


def write(folder: Path, at: Mapping[str, Any], **more: str) -> dict[str, str]:
    """Write ``config.toml`` with a context for each cluster into a folder.

    Args:
        at: context -> its cluster, or its bootstrap addresses.
        more: context -> further lines of its TOML table.

    Returns:
        The environment variable that makes kac read the file.
    """
    tables = []
    for name, cluster in at.items():
        bootstrap = cluster if isinstance(cluster, str) else cluster.bootstrap
        tables.append(f'[contexts.{name}]\nbootstrap.servers = "{bootstrap}"\n{more.get(name, "")}')
    file = folder / "config.toml"
    file.write_text("\n".join(tables))
    return {CONFIG: str(file)}
