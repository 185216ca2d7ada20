"""Nights: troubles that others had with their clusters, made on real brokers, and what the console says of each."""
