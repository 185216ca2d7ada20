"""Measurements of kac, many of them together with comparable programs in the same run. Each module says how to run it;
none is a test.
"""
