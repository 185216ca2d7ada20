"""The history of clusters: a pipeline on Spark that fills the tables of a lake, and a reader of them without Spark.

Runs on Spark's executors without the rest of kac: Python 3.10, PyArrow, crc32c; of kac besides only
`console.model`'s codes, journal_lines, numbers, quota and yaml_places.
"""
