"""What a cluster is: values, without I/O."""
