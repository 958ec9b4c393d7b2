"""Output for people: tables, figures, a Markdown report, HTML pages and a live view of a store.

`figure_data` holds the data of each picture; `matplotlib_figures` draws it, and `pages` with Plotly. Nothing here is
imported by ``import risingbandits``; Matplotlib, Plotly and Rich are loaded when they are needed.

Stability: experimental; the commands that use it are stable.
"""
