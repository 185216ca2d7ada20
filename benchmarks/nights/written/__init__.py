"""The nights, a module for each."""
