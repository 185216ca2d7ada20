"""A hostile cluster for the tests of kac's reaction to it."""

from tests.hostile.cluster import hostile_cluster
from tests.support import worlds

hostile = worlds.running(hostile_cluster)
"""A cluster with one broker behind a proxy, honest until a test scripts it."""
