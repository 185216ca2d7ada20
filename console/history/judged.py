"""`drift` and `policy_violation`: what follows from all of `history`, with the operator's files; when it differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from console.history.entities import CLUSTER, POLL_SOURCES
from console.history.policy_files import Policy, Wanted
from console.history.schema import DRIFT, HISTORY, POLICY_VIOLATION, SNAPSHOT
from console.history.tables import Batch, Tables, of_clusters, taken
from console.history.transforms.drift import A_PAIR, drift_between, drift_within
from console.history.transforms.policy_violation import policy_violation
from console.history.transforms.rows import differing, newest

MOST_CLUSTERS = 100_000
BUCKETS = 64
"""That entities are compared in, those of one name in one of them."""


def judge(tables: Tables, clusters: Iterable[str], policies: Sequence[Policy], batch: Batch) -> None:
    """Makes the violations of policies in these clusters again: a policy may look at all of a cluster."""
    wanted = of_clusters(clusters)
    history = tables.newest(HISTORY, wanted).where(F.col("entity_type") != CLUSTER).withColumn("of", F.lit("history"))
    former = tables.read(POLICY_VIOLATION).where(wanted)
    former = former.select(*POLICY_VIOLATION.names, "made", F.lit("former").alias("of"))
    rows = history.unionByName(former, allowMissingColumns=True)
    made = rows.groupBy("cluster_id").applyInArrow(_violations(policies), POLICY_VIOLATION.ddl)
    tables.append(made, POLICY_VIOLATION, batch)


def _violations(policies: Sequence[Policy]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        history, former = (rows.filter(pc.equal(rows["of"], name)) for name in ("history", "former"))
        held = newest(former.select([*POLICY_VIOLATION.names, "made"]), POLICY_VIOLATION.newest)
        found = policy_violation(history.select(HISTORY.names), policies)
        return differing(POLICY_VIOLATION, found, held.filter(pc.is_valid(held[POLICY_VIOLATION.there])))

    return make


def compare(tables: Tables, baseline: Sequence[Wanted], batch: Batch) -> None:
    """Makes all of `drift` again: what one cluster changes may be odd in another."""
    history = tables.newest(HISTORY, F.lit(True)).where(F.col("entity_type") != CLUSTER)
    looks = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    first = looks.agg(F.min("valid_from").alias("first_poll"))
    current = history.where("is_current").join(F.broadcast(first), "cluster_id", "left").withColumn("of", F.lit("now"))
    everywhere = [cluster for (cluster,) in taken(current.select("cluster_id").distinct(), MOST_CLUSTERS)]
    seen = tables.read(SNAPSHOT).where("kind = 'state' AND entity_type = 'broker'").withColumn("of", F.lit("seen"))
    mine = current if baseline else current.where("entity_type = 'broker'")
    within = mine.unionByName(seen.select(*SNAPSHOT.names, "of"), allowMissingColumns=True)
    made = within.groupBy("cluster_id").applyInArrow(_within(baseline), DRIFT.ddl)
    if len(everywhere) > A_PAIR:
        place = F.pmod(F.xxhash64("entity_type", "entity_key"), F.lit(BUCKETS)).alias("place")
        between = current.where("entity_type IN ('topic', 'quota', 'broker')").groupBy(place)
        made = made.unionByName(between.applyInArrow(_between(everywhere), DRIFT.ddl))
    tables.overwrite(made, DRIFT, batch)


def _within(baseline: Sequence[Wanted]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        now, seen = (rows.filter(pc.equal(rows["of"], name)) for name in ("now", "seen"))
        return drift_within(now, seen, baseline)

    return make


def _between(everywhere: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        return drift_between(rows, everywhere)

    return make
