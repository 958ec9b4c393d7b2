"""What every room may use, and what imports none of them: compilation, errors, types, the connection to Ray.

Stability: internal.
"""
