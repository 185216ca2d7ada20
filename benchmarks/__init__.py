"""Figures side by side with peers, in one run. Each module says how to run it; none is a test."""
