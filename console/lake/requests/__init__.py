"""Parsing of request logs and authorizer logs, without Spark: lines and their times, the changes of each API, and the
progress in each file.
"""
