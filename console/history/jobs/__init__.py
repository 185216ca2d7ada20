"""The jobs: each reads sources and the lake, calls the transforms, and commits once; spark-submit runs them, too."""
