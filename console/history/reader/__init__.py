"""The tables of a lake, read through DuckDB: no Spark, no PyArrow, and nothing is imported before a lake is opened."""
