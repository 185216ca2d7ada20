"""A session joins a client, the snapshot of its cluster and a plan of changes. This package reads, applies plans (in
one flow for all front ends), uses the journal, and runs scripts.
"""
