"""The files of real curves: where they are from, their checksums, and how to make them again."""
