"""The metadata log `__cluster_metadata-0` as rows: batches, transactions, records of every type, without secrets."""
