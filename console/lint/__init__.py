"""Lint: what stands wrong in a cluster before it hurts, by rules over a snapshot. Pure."""
