"""Policies for best-arm identification."""
