"""What a cluster should be like: the user's files, read and checked without Spark."""
