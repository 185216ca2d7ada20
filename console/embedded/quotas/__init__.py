"""Client quotas: which entities and values there may be, and finding them."""
