"""Configs: what there is to configure, which values are valid, and what a resource's entries are."""
