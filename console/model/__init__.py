"""The model of a cluster: values, without I/O."""
