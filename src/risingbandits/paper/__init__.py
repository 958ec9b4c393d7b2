"""The paper's studies as small declarative modules; the engine does the work.

`risingbandits.experiments.reproduce` plays the synthetic ones, writes their tables and draws their figures.
"""
