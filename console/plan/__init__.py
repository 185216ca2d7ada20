"""Pending edits: stage, undo, diff, compile into requests, settle the results. Pure functions."""
