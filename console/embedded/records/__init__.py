"""Partitions' records: batches as bytes, in memory, with their offsets."""
