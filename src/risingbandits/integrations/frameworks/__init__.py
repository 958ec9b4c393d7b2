"""Training loops of other libraries as arms, and listeners for their loggers; a module for each library, loaded when
one of its names is first used.

They are tested by ``make test-frameworks``, in an environment that has the libraries.
"""
