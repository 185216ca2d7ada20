"""The nights: a module for each published trouble. `_make` makes the trouble, `_twin` makes a healthy cluster that
resembles it.
"""
