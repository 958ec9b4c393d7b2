"""Policies that look for the arm to keep in the end."""
