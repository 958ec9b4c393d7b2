"""Kernels that several families of policies share."""
