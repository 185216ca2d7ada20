"""The history of clusters: polls, a pipeline on Spark that fills the tables of a lake, and readers of them without
Spark.

What runs on Spark's executors needs nothing else of kac but the modules of `console.model` that are packed with it
(`spark_session`): Python 3.10, PyArrow, crc32c, msgspec. What polls clusters, starts Java, and reports stands on the
rest of kac: `spark_session.WITH_KAC` names these modules.
"""
