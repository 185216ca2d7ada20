"""How long tests wait for what has to happen."""

PATIENCE = 300.0
"""Seconds: a watchdog for what hangs, far from what is usual also on a busy machine. No test is about it."""
