"""The wanted state of a cluster in files: written out, read back with places, compared, and turned into edits."""
