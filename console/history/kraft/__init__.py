"""The metadata log `__cluster_metadata-0`, as rows: frames, transactions, records of every type, secrets taken out."""
