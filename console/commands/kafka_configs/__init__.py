"""`kac configs`: kafka-configs' command line (4.3), KIP-248's and KIP-21's spellings of it, over the same session."""
