"""Golden messages: one file for every kind and version, as it was said when the kind was declared.

`bus/` holds lines of the bus, `tree/` bodies between actors. A file is never rewritten: what an older
process says must be read for as long as its version is known. `python -m tests.contract.golden` writes
the files that are missing.
"""
