"""`kac lake demo`: a day of three clusters, with the logs that they would have written."""
