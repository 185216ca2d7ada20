"""The history of changes and their authors, one file for a cluster: written before a change is sent, and again after
its answer.
"""
