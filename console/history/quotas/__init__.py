"""Which quota counts for whom, without Spark."""
