"""What people look at: tables for the terminal and for Markdown, figures, and reports that hold both.

Nothing here is imported by ``import risingbandits``; Matplotlib and Rich are loaded when they are needed.
"""
