"""The fixture of a hostile cluster."""

from tests.hostile.cluster import hostile_cluster
from tests.support import worlds

hostile = worlds.running(hostile_cluster)
"""Provide a cluster of one broker behind a proxy, which answers honestly until a test sets a script."""
