"""The runs of the pipeline: they read at the edges, call the transforms, and write."""
