"""Hostile clusters, for tests of what the console makes of them."""

from tests.hostile.cluster import hostile_cluster
from tests.support import worlds

hostile = worlds.running(hostile_cluster)
"""A cluster of one broker behind a proxy, honest until it is scripted."""
