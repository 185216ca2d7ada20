"""What metadata records set and delete, one row for each attribute: "facts".

Columns: cluster_id, entity_type, entity_key, attr, is_set, value, digest (SHA-256 of the value, or the HMAC of a hidden
one), told (false if the record deletes an attribute that it does not name), log_offset, in_snapshot, ts, run_id.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.entities import ACL_SET, CONFIG_TYPES, DEFAULT, MECHANISMS
from console.history.redact import HIDDEN
from console.history.transforms.kraft_changes import FIRST_OFFSETS
from console.history.transforms.touched import ENTITY, Touched, cut
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission

# -- fields of metadata records, from their JSON, by Kafka's names ---------------------------------------------------

_FIELDS = """
 resourceType INT, resourceName STRING, name STRING, value STRING,
 entity ARRAY<STRUCT<entityType STRING, entityName STRING>>, key STRING, remove BOOLEAN,
 id STRING, patternType INT, principal STRING, host STRING, operation INT, permissionType INT,
 mechanism INT, iterations INT, featureLevel INT,
 topicId STRING, partitionId INT, replicas ARRAY<INT>, removingReplicas ARRAY<INT>,
 brokerId INT, endPoints ARRAY<STRUCT<name STRING, host STRING, port INT>>, rack STRING, fenced STRING
"""
"""All fields that any record type needs; `fenced` is a boolean in one type and a number in another."""


def read_fields(records: DataFrame, *types: str) -> DataFrame:
    """The records of these types, with a struct `f` of their fields. records: KRAFT_RECORD's columns."""
    return records.where(F.col("record_type").isin(*types)).select(
        "cluster_id",
        "log_offset",
        "in_snapshot",
        F.col("record_ts").alias("ts"),
        "record_type",
        "value_hmac",
        "run_id",
        F.from_json("payload", _FIELDS).alias("f"),
    )


def is_type(*types: str) -> Column:
    """Whether a record is of one of the types."""
    return F.col("record_type").isin(*types)


# -- the spelling of `console.history.entities`, for columns of metadata records -------------------------------------

_ESCAPED = r"[%,=:<>\x00-\x1f\x7f]"
_EXACT = 1e18
"""Whole doubles below this fit in 64 bits."""


def named(names: Mapping[int, str], code: Column) -> Column:
    """A code's name; `UNKNOWN(n)` if it has none."""
    found = F.lit(None).cast("string")
    for number, name in names.items():
        found = F.when(code == number, F.lit(name)).otherwise(found)
    return F.coalesce(found, F.concat(F.lit("UNKNOWN("), code.cast("string"), F.lit(")")))


def config_type(code: Column) -> Column:
    """The type of a config's resource, from Kafka's number."""
    return named(CONFIG_TYPES, code)


def config_key(entity_type: Column, name: Column) -> Column:
    """The key of a config's resource."""
    return F.when((entity_type == "broker") & (name == ""), F.lit(DEFAULT)).otherwise(name)


def quota_key(parts: Column) -> Column:
    """The key of a quota's entity. parts: an array of structs of entityType and entityName (empty: the default)."""
    rank = {"user": "0", "client-id": "1", "ip": "2"}

    def part(each: Column) -> Column:
        type_, name = each["entityType"], each["entityName"]
        order = F.lit("3")
        for known, place in rank.items():
            order = F.when(type_ == known, F.lit(place)).otherwise(order)
        text = F.concat(type_, F.lit("="), F.when(name.isNull(), F.lit(DEFAULT)).otherwise(escaped(name)))
        return F.struct(order.alias("order"), text.alias("text"))

    return F.array_join(F.transform(F.array_sort(F.transform(parts, part)), lambda each: each["text"]), ",")


def quota_value(text: Column) -> Column:
    """A quota's value as text; whole numbers without a decimal point."""
    number = text.try_cast("double")
    whole = (number == F.floor(number)) & (F.abs(number) < _EXACT)
    return F.when(whole, number.try_cast("bigint").cast("string")).otherwise(text)


def acl_key(resource_type: Column, pattern_type: Column, name: Column) -> Column:
    """The key of an ACL's resource pattern, from Kafka's numbers and the name."""
    resource, pattern = named(AclResourceType.NAMES, resource_type), named(PatternType.NAMES, pattern_type)
    return F.concat_ws(":", resource, pattern, escaped(name))


def acl_attr(permission: Column, operation: Column, principal: Column, host: Column) -> Column:
    """An ACL as an attribute of its resource pattern, from Kafka's numbers and the names."""
    what, which = named(Permission.NAMES, permission), named(AclOperation.NAMES, operation)
    return F.concat(what, F.lit(" "), which, F.lit(" "), principal, F.lit(" from "), host)


def escaped(name: Column) -> Column:
    """A name as it is written in keys; all escaped characters are ASCII."""

    def spelled(each: Column) -> Column:
        return F.when(each.rlike(_ESCAPED), F.concat(F.lit("%"), F.hex(F.encode(each, "UTF-8")))).otherwise(each)

    letters = F.transform(F.split(name, ""), spelled)
    return F.when(name.rlike(_ESCAPED), F.array_join(letters, "")).otherwise(name)


# -- topics, which most records name by their ids alone --------------------------------------------------------------

ONE_CHANGE = 1000
"""How many milliseconds the records of one change, next to each other in the log, may be apart."""
_OF_TOPIC = ("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord")
_BY_ID = ("cluster_id", "topic_id")


def topic_facts(records: DataFrame, touched: Touched | None = None) -> DataFrame:
    """Ids, partitions, replication, and all attributes of deleted topics. Topics of unknown name are left out. A
    topic's replication is that of its first partition, without the replicas that a reassignment will remove."""
    said = _runs(_by_time(records, touched)).withColumn("said", F.explode(_topic_values()))
    # A deletion deletes each config that the topic ever had; if it was deleted before, nothing changes.
    taken = said.join(_known_configs(records, touched), on=["cluster_id", "entity_key", "removes"], how="left")
    value = F.col("said.value")
    return (
        taken.withColumn("attrs", F.when(F.col("removes"), _deleted_attrs()).otherwise(F.array("said.attr")))
        .withColumn("attr", F.explode("attrs"))
        .select(
            "cluster_id",
            F.lit("topic").alias("entity_type"),
            "entity_key",
            "attr",
            (~F.col("removes")).alias("is_set"),
            value.alias("value"),
            F.sha2(value, 256).alias("digest"),
            (~F.col("removes") | (F.col("attr") == ":topic_id")).alias("told"),
            "log_offset",
            "in_snapshot",
            "ts",
            "run_id",
        )
    )


def _by_time(records: DataFrame, touched: Touched | None) -> DataFrame:
    """Groups records of partitions of one topic at one time, leaves others unchanged; all with the topic's name."""
    of_partitions = is_type("PartitionRecord")
    first = F.col("f.partitionId") == 0
    read = read_fields(records, *_OF_TOPIC)
    if touched is not None:
        named = read_fields(records, "TopicRecord").where(touched.holds(F.lit("topic"), F.col("f.name")))
        ids = named.select("cluster_id", F.col("f.topicId").alias("id")).distinct()
        read = read.withColumn("id", F.col("f.topicId")).join(
            F.broadcast(ids), on=["cluster_id", "id"], how="left_semi"
        )
    together = (
        read.where(~is_type("PartitionChangeRecord") | (first & F.col("f.replicas").isNotNull()))
        .groupBy(
            "cluster_id",
            F.col("f.topicId").alias("topic_id"),
            "record_type",
            "in_snapshot",
            "ts",
            F.when(~of_partitions | F.col("in_snapshot"), F.col("log_offset")).alias("alone"),
        )
        .agg(
            F.max("f.name").alias("name"),
            F.max("f.partitionId").alias("last"),
            F.max(F.when(first, _replication())).alias("replication"),
            F.min("log_offset").alias("from_offset"),
            F.max("log_offset").alias("log_offset"),
            F.max("run_id").alias("run_id"),
        )
    )
    name = F.max("name").over(Window.partitionBy(*_BY_ID))
    return together.withColumn("entity_key", name).where(F.col("entity_key").isNotNull())


def _runs(rows: DataFrame) -> DataFrame:
    """Partitions that were created at once, though the clock went on, become one row: the last, with all their
    values."""
    in_order = Window.partitionBy(*_BY_ID).orderBy("in_snapshot", "log_offset", "record_type")
    of_log = (F.col("record_type") == "PartitionRecord") & ~F.col("in_snapshot")
    goes_on = (
        of_log
        & F.lead(of_log).over(in_order)
        & (F.lead("from_offset").over(in_order) == F.col("log_offset") + 1)
        & (F.unix_millis(F.lead("ts").over(in_order)) - F.unix_millis("ts") <= ONE_CHANGE)
    )
    went_on = F.coalesce(F.lag("goes_on").over(in_order), F.lit(False))
    of_run = Window.partitionBy(*_BY_ID, "run").orderBy("log_offset")
    return (
        rows.withColumn("goes_on", F.coalesce(goes_on, F.lit(False)))
        .withColumn("run", F.sum((~went_on).cast("int")).over(in_order))
        .withColumn("replication", F.max("replication").over(of_run))
        .where(~F.col("goes_on"))
        .withColumn("removes", is_type("RemoveTopicRecord"))
    )


def _topic_values() -> Column:
    """The values of a row, as an array of attributes with values; of a deletion one without a name."""
    partitions = _topic_value(":partitions", F.col("last") + 1)
    replication = F.when(F.col("replication").isNotNull(), _topic_value(":replication", F.col("replication")))
    return F.array_compact(
        F.when(is_type("TopicRecord"), F.array(_topic_value(":topic_id", F.col("topic_id"))))
        .when(is_type("PartitionRecord"), F.array(partitions, replication))
        .when(is_type("PartitionChangeRecord"), F.array(replication))
        .otherwise(F.array(_topic_value("", F.lit(None))))
    )


def _topic_value(attr: str, value: Column) -> Column:
    return F.struct(F.lit(attr).alias("attr"), value.cast("string").alias("value"))


def _replication() -> Column:
    return F.size("f.replicas") - F.greatest(F.coalesce(F.size("f.removingReplicas"), F.lit(0)), F.lit(0))


def _deleted_attrs() -> Column:
    of_all = F.array(*(F.lit(attr) for attr in (":topic_id", ":partitions", ":replication")))
    return F.concat(of_all, F.coalesce("configs", F.array().cast("array<string>")))


def _known_configs(records: DataFrame, touched: Touched | None) -> DataFrame:
    """The configs that topics have or had, by their names: cluster_id, entity_key, removes (true), configs."""
    (topic,) = (number for number, type_ in CONFIG_TYPES.items() if type_ == "topic")
    mine = F.lit(True) if touched is None else touched.holds(F.lit("topic"), F.col("f.resourceName"))
    return (
        read_fields(records, "ConfigRecord")
        .where((F.col("f.resourceType") == topic) & mine)
        .groupBy("cluster_id", F.col("f.resourceName").alias("entity_key"))
        .agg(F.array_sort(F.collect_set("f.name")).alias("configs"))
        .withColumn("removes", F.lit(True))
    )


# -- all facts -------------------------------------------------------------------------------------------------------

_OF_ACL = ("AccessControlEntryRecord", "RemoveAccessControlEntryRecord")
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


def facts(records: DataFrame, touched: Touched | None = None) -> DataFrame:
    """All facts of the metadata log and its snapshots, or those of what is touched. records: KRAFT_RECORD's columns,
    all of the clusters."""
    acls, topics = (records if touched is None else records.where(touched.of_type(each)) for each in ("acl", "topic"))
    made = (_facts_by_itself(records), _acl_facts(acls), topic_facts(topics, touched))
    return reduce(DataFrame.unionByName, (cut(each, touched) for each in made))


def entities_of(new: DataFrame, records: DataFrame) -> DataFrame:
    """What records are about: `ENTITY`'s columns; without a type and a key where it is all of the cluster, as of a
    snapshot, which has nothing of what is gone. new: some of `records`, which have the names for their ids."""
    nothing = F.lit(None).cast("string")
    of_all = new.where(F.col("in_snapshot") | (F.col("log_offset") < FIRST_OFFSETS))
    upon = acl_key(F.col("f.resourceType"), F.col("f.patternType"), F.col("f.resourceName"))
    acls = _named_by_id(new, records, "id", _OF_ACL, upon)
    topics = _named_by_id(new, records, "topicId", _OF_TOPIC, F.col("f.name"))
    made = (
        of_all.select("cluster_id", nothing.alias("entity_type"), nothing.alias("entity_key")),
        _facts_by_itself(new).select(*ENTITY),
        acls.select("cluster_id", F.lit("acl").alias("entity_type"), "entity_key"),
        topics.select("cluster_id", F.lit("topic").alias("entity_type"), "entity_key"),
    )
    return reduce(DataFrame.unionByName, made).distinct()


def _named_by_id(new: DataFrame, records: DataFrame, field: str, types: tuple[str, ...], name: Column) -> DataFrame:
    """cluster_id, entity_key: of the ids in `new`, by the records of the first of the types."""
    ids = read_fields(new, *types).select("cluster_id", F.col(f"f.{field}").alias("id")).distinct()
    named = read_fields(records, types[0]).select(
        "cluster_id", F.col(f"f.{field}").alias("id"), name.alias("entity_key")
    )
    return named.join(F.broadcast(ids), on=["cluster_id", "id"], how="left_semi")


def _facts_by_itself(records: DataFrame) -> DataFrame:
    """Facts of records that name their entity."""
    read = read_fields(records, *_BY_ITSELF)
    return (
        read.withColumn("fact", F.explode(_record_facts()))
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


def _record_facts() -> Column:
    """An array of the facts of a record."""
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
        # 1: fenced, -1: no longer, 0 or missing: unchanged.
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
    """`PLAINTEXT://host:9092,SSL://host:9093`, sorted."""
    return F.array_join(
        F.array_sort(
            F.transform(
                endpoints, lambda e: F.concat(e["name"], F.lit("://"), e["host"], F.lit(":"), e["port"].cast("string"))
            )
        ),
        ",",
    )


def _acl_facts(records: DataFrame) -> DataFrame:
    """Facts of ACLs. A deletion names the ACL by its id; one of an unknown id is left out."""
    f = F.col("f")
    is_set = is_type("AccessControlEntryRecord")
    by_id = Window.partitionBy("cluster_id", F.col("f.id"))
    upon = acl_key(f["resourceType"], f["patternType"], f["resourceName"])
    whom = acl_attr(f["permissionType"], f["operation"], f["principal"], f["host"])
    value = F.when(is_set, F.lit(ACL_SET))
    return (
        read_fields(records, *_OF_ACL)
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
