"""The nights, a module each."""
