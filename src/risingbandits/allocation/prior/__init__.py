"""What earlier runs say about the arms of this one."""
