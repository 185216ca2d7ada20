"""Widgets for large, changing lists in a terminal; they know nothing of what the lists hold."""
