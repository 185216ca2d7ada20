"""The wanted state of a cluster in files: writes and reads it, compares it with a cluster, and makes edits of the
differences.
"""
