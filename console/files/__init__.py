"""The wanted state of a cluster in files: written out, read back with line numbers, compared, and turned into edits."""
