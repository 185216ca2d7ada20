"""Ids of clusters: which ids the lake accepts, and the name of a cluster's folder. Pure.

Kafka generates an id from a random UUID (`Uuid.toString`: 22 characters of base64url, KIP-78), but accepts any id that
its storage is formatted with: `..`, `/etc` and 32 KB of text are ids that a cluster may answer with.
"""

from __future__ import annotations

import hashlib
import re

LONGEST = 120
"""Characters of an id. Names of files contain it: most filesystems allow 255 bytes, and an escape takes three."""
_LONGEST_NAME = 200
"""Bytes of UTF-8 of an id, escaped as in a partition's name."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESERVED = "__HIVE_DEFAULT_PARTITION__"
"""Hive's name for the partition of an empty value."""


def id_problem(cluster_id: str) -> str:
    """Why this id is refused; empty text if it is accepted. Quotes at most 40 characters of it."""
    shown = ascii(cluster_id[:40]) + (" …" if len(cluster_id) > 40 else "")
    if not cluster_id.strip():
        return "the id of the cluster is empty"
    if len(cluster_id) > LONGEST:
        return f"the id of the cluster, {shown}, has {len(cluster_id)} characters; {LONGEST} are allowed"
    if not cluster_id.isprintable():
        return f"the id of the cluster, {shown}, has unprintable characters"
    if cluster_id == _RESERVED:
        return f"the id of the cluster, {shown}, is reserved: it means an empty value"
    if sum(3 if each.isascii() and not each.isalnum() else len(each.encode()) for each in cluster_id) > _LONGEST_NAME:
        return f"the id of the cluster, {shown}, is too long for the name of a file"
    return ""


def folder_of(cluster_id: str) -> str:
    """The name of a cluster's folder: one component of a path, never `.` or `..`, different for different ids.

    Kafka's own ids, and others of up to 64 letters, digits, `-` and `_`, are unchanged; all others are hashed.
    """
    if _PLAIN.fullmatch(cluster_id):
        return cluster_id
    return f"~{hashlib.sha256(cluster_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
