"""Tests of what needs PyTorch, Lightning, Transformers, Keras, XGBoost and other frameworks: ``make test-frameworks``.

A file of tests for each library or pair of them. In the environment of ``make test`` none of the libraries is there,
and these files are not collected; here all are, and a missing one is a failure, not a reason to skip.
"""
