"""Widgets for large, changing lists in a terminal; they contain no code about Kafka."""
