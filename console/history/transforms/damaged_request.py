"""QUARANTINE: what of request logs could not be read, of the lines of request logs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..redact import BLOT_CHARS
from ..requests.lines import NO_JSON
from ..schema.records import QUARANTINE
from ..sources.request_log import is_damaged

NAMES = tuple(name for name in QUARANTINE.names if name != "run_id")
"""The columns: those of QUARANTINE without the run, which whoever writes them knows."""


def damaged_request(lines: DataFrame) -> DataFrame:
    """lines: as `sources.request_log.request_lines` reads them.

    Of a line that is whole but for its JSON, the hash is of the JSON, and of the sample no letter and no digit is left.
    """
    shape = F.substring("json", 1, BLOT_CHARS)
    for letters, blotted in ((r"\p{L}", "x"), (r"\p{Nd}", "9"), (r"[^x9 \[\]{}():,.\"'=_/\\-]", "?")):
        shape = F.regexp_replace(shape, letters, blotted)
    return (
        lines.where(is_damaged())
        .withColumn("source", F.lit("request_log"))
        .withColumn("sha256", F.coalesce("sha256", F.sha2("json", 256)))
        .withColumn("sample", F.coalesce("sample", shape))
        .withColumn("reason", F.coalesce("reason", F.lit(NO_JSON)))
        .select(*NAMES)
    )
