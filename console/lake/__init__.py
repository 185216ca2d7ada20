"""The history of clusters: an application on Spark that fills the tables of a lake, and readers of them without Spark.

Spark's executors get this room whole, with what it imports of `console.model` (`console.collecting.executor_package`),
and nothing else of kac: Python 3.10, PyArrow, crc32c, msgspec.
"""
