"""What every room may use and that imports none of them: compilation, errors, types, the connection to Ray.

Stability: internal.
"""
