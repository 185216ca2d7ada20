"""What metadata records say, one row for each attribute that they set or take away: "facts".

Columns: cluster_id, entity_type, entity_key, attr, is_set, value, digest (SHA-256 of the value, or the HMAC of a hidden
one), told (false where a record takes away an attribute that it does not name), log_offset, in_snapshot, ts, run_id.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..entities import ACL_SET
from ..kafka_codes import MECHANISMS
from ..redact import HIDDEN
from .kraft_fields import is_type, read_fields
from .kraft_spelling import acl_attr, acl_key, config_key, config_type, named, quota_key, quota_value
from .kraft_topics import topic_facts

_OF_BROKER = (":endpoints", ":rack", ":fenced")
_BY_ITSELF = (
    "ConfigRecord",
    "ClientQuotaRecord",
    "UserScramCredentialRecord",
    "RemoveUserScramCredentialRecord",
    "FeatureLevelRecord",
    "RegisterBrokerRecord",
    "UnregisterBrokerRecord",
    "BrokerRegistrationChangeRecord",
    "FenceBrokerRecord",
    "UnfenceBrokerRecord",
)


def facts(records: DataFrame) -> DataFrame:
    """All facts of the metadata log and its snapshots. records: KRAFT_RECORD's columns."""
    return _facts_by_itself(records).unionByName(_acl_facts(records)).unionByName(topic_facts(records))


def _facts_by_itself(records: DataFrame) -> DataFrame:
    """Of records that name what they are about."""
    read = read_fields(records, *_BY_ITSELF)
    return (
        read.withColumn("fact", F.explode(_said()))
        .where(F.col("fact").isNotNull() & (F.col("fact.is_set") | ~F.col("in_snapshot")))
        .select(
            "cluster_id",
            "fact.entity_type",
            "fact.entity_key",
            "fact.attr",
            "fact.is_set",
            "fact.value",
            F.when(F.col("fact.is_set"), F.coalesce("value_hmac", F.sha2("fact.value", 256))).alias("digest"),
            "fact.told",
            "log_offset",
            "in_snapshot",
            "ts",
            "run_id",
        )
    )


def _said() -> Column:
    """An array of what a record says."""
    f = F.col("f")
    resource_type = config_type(f["resourceType"])
    config = _fact(
        resource_type,
        config_key(resource_type, f["resourceName"]),
        f["name"],
        f["value"].isNotNull(),
        F.when(F.col("value_hmac").isNull() & (f["value"] != HIDDEN), f["value"]),
    )
    quota = _fact("quota", quota_key(f["entity"]), f["key"], ~f["remove"], quota_value(f["value"]))
    mechanism = named(MECHANISMS, f["mechanism"])
    iterations = F.concat(F.lit("iterations="), f["iterations"].cast("string"))
    level = f["featureLevel"]
    broker = F.coalesce(f["brokerId"].cast("string"), f["id"])
    registered = F.array(
        _fact("broker", broker, ":endpoints", F.lit(True), _endpoints(f["endPoints"])),
        _fact("broker", broker, ":rack", f["rack"].isNotNull(), f["rack"], told=False),
        _fact("broker", broker, ":fenced", F.lit(True), f["fenced"]),
    )
    unregistered = F.array(
        *(_fact("broker", broker, attr, F.lit(False), told=attr == ":endpoints") for attr in _OF_BROKER)
    )
    return (
        F.when(is_type("ConfigRecord"), F.array(config))
        .when(is_type("ClientQuotaRecord"), F.array(quota))
        .when(
            is_type("UserScramCredentialRecord"), F.array(_fact("scram", f["name"], mechanism, F.lit(True), iterations))
        )
        .when(is_type("RemoveUserScramCredentialRecord"), F.array(_fact("scram", f["name"], mechanism, F.lit(False))))
        .when(is_type("FeatureLevelRecord"), F.array(_fact("feature", f["name"], ":level", level > 0, level)))
        .when(is_type("RegisterBrokerRecord"), registered)
        .when(is_type("UnregisterBrokerRecord"), unregistered)
        .when(is_type("FenceBrokerRecord"), F.array(_fact("broker", broker, ":fenced", F.lit(True), F.lit("true"))))
        .when(is_type("UnfenceBrokerRecord"), F.array(_fact("broker", broker, ":fenced", F.lit(True), F.lit("false"))))
        # 1: it was fenced, -1: it no longer is, 0 or nothing: as it was.
        .when(
            is_type("BrokerRegistrationChangeRecord") & f["fenced"].isin("1", "-1"),
            F.array(_fact("broker", broker, ":fenced", F.lit(True), (f["fenced"] == "1").cast("string"))),
        )
    )


def _fact(
    entity_type: Column | str,
    key: Column,
    attr: Column | str,
    is_set: Column,
    value: Column | None = None,
    told: bool = True,
) -> Column:
    text = F.lit(None) if value is None else F.when(is_set, value)
    return F.struct(
        (F.lit(entity_type) if isinstance(entity_type, str) else entity_type).alias("entity_type"),
        key.alias("entity_key"),
        (F.lit(attr) if isinstance(attr, str) else attr).alias("attr"),
        is_set.alias("is_set"),
        text.cast("string").alias("value"),
        F.lit(told).alias("told"),
    )


def _endpoints(endpoints: Column) -> Column:
    """`PLAINTEXT://host:9092,SSL://host:9093`, by their names."""
    return F.array_join(
        F.array_sort(
            F.transform(
                endpoints, lambda e: F.concat(e["name"], F.lit("://"), e["host"], F.lit(":"), e["port"].cast("string"))
            )
        ),
        ",",
    )


def _acl_facts(records: DataFrame) -> DataFrame:
    """A removal names the ACL by its id; one whose id no record has told of is left out."""
    f = F.col("f")
    is_set = is_type("AccessControlEntryRecord")
    by_id = Window.partitionBy("cluster_id", F.col("f.id"))
    upon = acl_key(f["resourceType"], f["patternType"], f["resourceName"])
    whom = acl_attr(f["permissionType"], f["operation"], f["principal"], f["host"])
    value = F.when(is_set, F.lit(ACL_SET))
    return (
        read_fields(records, "AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
        .withColumn("entity_key", F.max(F.when(is_set, upon)).over(by_id))
        .withColumn("attr", F.max(F.when(is_set, whom)).over(by_id))
        .where(F.col("attr").isNotNull())
        .select(
            "cluster_id",
            F.lit("acl").alias("entity_type"),
            "entity_key",
            "attr",
            is_set.alias("is_set"),
            value.alias("value"),
            F.sha2(value, 256).alias("digest"),
            F.lit(True).alias("told"),
            "log_offset",
            "in_snapshot",
            "ts",
            "run_id",
        )
    )
