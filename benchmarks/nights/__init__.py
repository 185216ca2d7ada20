"""Nights: troubles that operators of other clusters published, made again on real brokers, and the rows that the
console shows about them.
"""
