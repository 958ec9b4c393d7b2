"""A page that follows a store while others write to it."""
