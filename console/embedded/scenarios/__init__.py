"""Scenarios: what a cluster holds at the start, and what other clients do in it. One module for each."""
