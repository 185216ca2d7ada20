"""What keeps a lake small: few files of many, rows that others have replaced go, and of bronze what no history is made
of after some days.

Of bronze these may go: requests by the second (the minutes that were made of them stay, and are not made again),
records that are about no entity, unreadable lines, and whole snapshots of a metadata log by which nothing was found to
differ: without them the same changes follow. What says something of an entity stays as long as its history.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from pyspark.sql import functions as F

from console.history.schema import BRONZE, CHANGE_EVENT, KRAFT_RECORD, REQUEST, TABLES
from console.history.tables import Tables, taken
from console.history.transforms.kraft_changes import FIRST_OFFSETS

EVERY = timedelta(days=1)
"""How often it is done."""
MANY_FILES = 50
"""Of a table: fewer are left as they are."""
KEPT_HOURS = 7 * 24
"""How long files that hold no more stay for readers: Delta's own least."""
MOST_SNAPSHOTS = 1_000_000


def maintain(tables: Tables, files: dict[str, int], keep_days: float | None) -> None:
    """Do all of it. files: how many each table has. keep_days: of what no history is made of; None: for ever."""
    spark = tables.spark
    if keep_days is not None:
        _forget(tables, datetime.now(timezone.utc) - timedelta(days=keep_days))
    for table in TABLES.values():
        if not tables.exists(table):
            continue
        if files.get(table.name, 0) > MANY_FILES:
            if table.newest:
                keys = ", ".join(table.newest)
                latest = F.expr(f"max(made) OVER (PARTITION BY {keys})")
                held = tables.read(table).withColumn("latest", latest).where("made = latest").drop("latest")
                tables.rewrite(held.repartition(*table.partitions), table)
            elif table in BRONZE:
                by = " ZORDER BY (cluster_id)" if "in_cluster_id" not in table.partitions else ""
                spark.sql(f"OPTIMIZE {tables.named(table)}{by}")
        spark.sql(f"VACUUM {tables.named(table)} RETAIN {KEPT_HOURS} HOURS")


def _forget(tables: Tables, before: datetime) -> None:
    """Delete what no history is made of, of the days before that time."""
    day = f"in_day < '{before:%Y-%m-%d}'"
    tables.delete(REQUEST, f"{day} AND alter IS NULL")
    plain = f"entity_type IS NULL AND NOT in_snapshot AND log_offset >= {FIRST_OFFSETS}"
    tables.delete(KRAFT_RECORD, f"{day} AND {plain}")
    if not tables.exists(CHANGE_EVENT):
        return
    told = (
        tables.newest(CHANGE_EVENT, F.col("source") == "kraft_snapshot").select("cluster_id", "log_offset").distinct()
    )
    old = tables.read(KRAFT_RECORD).where(f"{day} AND in_snapshot").select("cluster_id", "log_offset").distinct()
    without = taken(old.join(told, ["cluster_id", "log_offset"], "left_anti"), MOST_SNAPSHOTS)
    for cluster in {cluster for cluster, _ in without}:
        ends = ", ".join(str(end) for of, end in without if of == cluster)
        named = cluster.replace("\\", "\\\\").replace("'", "\\'")
        where = f"in_cluster_id = '{named}' AND {day} AND in_snapshot AND log_offset IN ({ends})"
        tables.delete(KRAFT_RECORD, where)
