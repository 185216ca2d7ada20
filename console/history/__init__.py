"""What happened: the pipeline on Spark, and a reader of its tables that needs none.

Runs on executors by itself: the standard library of Python 3.10, PyArrow and crc32c; of ours only
`console.model`'s codes, journal_lines, numbers, quota and yaml_places.
"""
