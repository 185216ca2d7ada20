"""The history of clusters: an application on Spark that fills the tables of a lake, and readers that need no Spark.

Spark's executors get only this room and its imports from `console.model` (`console.collecting.executor_package`): they
need Python 3.10, PyArrow, crc32c, msgspec.
"""
