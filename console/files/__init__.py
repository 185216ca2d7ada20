"""The wanted state of a cluster in files: written, read back with line numbers, compared, and turned into edits."""
