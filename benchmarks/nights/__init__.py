"""Nights: published troubles of others' clusters, made on real brokers, and the console's rows about them."""
