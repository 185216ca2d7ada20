"""Reads the tables of a lake through DuckDB, without Spark and PyArrow. Nothing is imported before a lake is opened."""
