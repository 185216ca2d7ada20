"""The rules of causes, a module for each part of a cluster."""
