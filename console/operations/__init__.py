"""Long work on a cluster: where replicas are to be, what that costs, and the steps that bring them there. Pure."""
