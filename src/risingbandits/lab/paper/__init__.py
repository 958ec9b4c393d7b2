"""The paper's studies as small declarative modules; the engine does the work.

`risingbandits.lab.paper.reproduce` plays the synthetic ones, writes their tables and draws their figures.

Stability: experimental.
"""
