"""The command language: one registry of verbs, one grammar, and what stands behind both."""
