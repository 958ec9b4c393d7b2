"""The arena: every policy over real learning curves, made and synthetic problems, judged alike."""
