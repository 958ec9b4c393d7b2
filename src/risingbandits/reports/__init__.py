"""What people look at: tables, figures, a Markdown report, HTML pages and a live view of a store.

`pictures` holds the data of each picture; `figures` draws it with Matplotlib, `pages` with Plotly. Nothing here is
imported by ``import risingbandits``; Matplotlib, Plotly and Rich are loaded when they are needed.
"""
