"""Scenarios: the initial content of an embedded cluster, and the activity of simulated clients. Each has a module of
its own.
"""
