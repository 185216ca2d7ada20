"""`kac lake`: polls clusters, starts the pipeline on Spark, and reports; the part of the pipeline that uses the rest of
kac."""
