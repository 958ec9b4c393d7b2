"""Policies for arms that do not change, or that change with time: the field's yardsticks."""
