"""What is pulled, and the loop that pulls it."""
