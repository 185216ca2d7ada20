"""How long tests wait for what has to happen."""

PATIENCE = 120.0
"""Seconds: a watchdog for what hangs, far from what is usual also on a busy machine. No test is about it."""
LONG_PATIENCE = 900.0
"""The same for what takes a minute or two by itself: a session of Spark, an environment, the pictures."""
