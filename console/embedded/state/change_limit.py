"""How much a controller takes in one change (QuorumController.MAX_RECORDS_PER_USER_OP)."""

MAX_RECORDS = 10_000
"""Records of the metadata log: an ACL, a key of a quota entity. With ZooKeeper there is no such limit."""
