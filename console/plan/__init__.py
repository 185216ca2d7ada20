"""Pending edits: functions that stage and undo them, compare them with a cluster, compile them into requests, and
interpret the results. Pure functions.
"""
