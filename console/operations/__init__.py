"""Long work on a cluster: the wanted placement of replicas, its cost, and the steps towards it. Pure."""
