"""Where the events of an allocation are kept, and how they are read back."""
