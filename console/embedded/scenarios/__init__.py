"""Scenarios: the initial content of a cluster, and the activity of other clients. One module for each."""
