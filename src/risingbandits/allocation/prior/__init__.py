"""What earlier runs say of the arms of this one."""
