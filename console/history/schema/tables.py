"""All tables by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .bronze import ALTER_REQUEST, JOURNAL, KRAFT_RECORD, SNAPSHOT
from .gold import DRIFT, HISTORY, POLICY_VIOLATION, QUOTA_USAGE
from .records import QUARANTINE, RUN
from .silver import CHANGE_EVENT, REQUEST_1S
from .table import Table

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            SNAPSHOT,
            KRAFT_RECORD,
            JOURNAL,
            ALTER_REQUEST,
            CHANGE_EVENT,
            REQUEST_1S,
            HISTORY,
            DRIFT,
            QUOTA_USAGE,
            POLICY_VIOLATION,
            RUN,
            QUARANTINE,
        )
    }
)
"""Every table of a lake, by layer."""
