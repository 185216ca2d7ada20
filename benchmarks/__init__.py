"""Measurements of kac, many of them together with comparable programs in the same run. Each module's docstring says how
to run it; no module is a test.
"""
