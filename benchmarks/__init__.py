"""Measurements of kac, many of them next to its peers in the same run. Each module says how to run it; none is a
test.
"""
