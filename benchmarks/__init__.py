"""Speed of the library against the literal algorithm; ``python benchmarks/speed.py`` runs it."""
