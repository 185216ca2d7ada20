"""The pipeline from this machine: what it needs, how it is started, and what of it uses the rest of the product."""
