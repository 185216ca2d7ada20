"""Ids of clusters, which clusters and files claim for themselves: what an id may be, and its name as a folder. Pure.

Kafka makes an id of a random UUID (`Uuid.toString`: 22 characters of base64url, KIP-78), but takes whatever its storage
was formatted with, so `..`, `/etc` and 32 KB of text are ids that a cluster can answer with.
"""

from __future__ import annotations

import hashlib
import re

LONGEST = 120
"""Characters of an id. Names of files hold it: most filesystems allow 255 bytes, and an escape takes three."""
_LONGEST_NAME = 200
"""Bytes of UTF-8 of an id, escaped as in a partition's name."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")
_RESERVED = "__HIVE_DEFAULT_PARTITION__"
"""The name that an empty value has as a partition."""


def id_problem(cluster_id: str) -> str:
    """Why this can't be kept as the id of a cluster; empty text if it can. Never holds more of it than can be shown."""
    shown = ascii(cluster_id[:40]) + (" …" if len(cluster_id) > 40 else "")
    if not cluster_id.strip():
        return "the id of the cluster is empty"
    if len(cluster_id) > LONGEST:
        return f"the id of the cluster, {shown}, has {len(cluster_id)} characters; {LONGEST} are allowed"
    if not cluster_id.isprintable():
        return f"the id of the cluster, {shown}, has characters that can't be printed"
    if cluster_id == _RESERVED:
        return f"the id of the cluster, {shown}, is reserved: it stands for no value"
    if sum(3 if each.isascii() and not each.isalnum() else len(each.encode()) for each in cluster_id) > _LONGEST_NAME:
        return f"the id of the cluster, {shown}, is too long for the name of a file"
    return ""


def folder_of(cluster_id: str) -> str:
    """The name of a cluster's own folder: one component of a path, never `.` or `..`, different for different ids.

    Kafka's own ids, and others of up to 64 letters, digits, `-` and `_`, are as they are; others are hashed.
    """
    if _PLAIN.fullmatch(cluster_id):
        return cluster_id
    return f"~{hashlib.sha256(cluster_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
