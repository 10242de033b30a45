"""The ledger of the contract's cases: which test proves which numbered case, and how much that is worth.

`python -m tests.cases` runs the tests that carry case numbers and prints a row for every case;
`--collect-only` runs nothing and shows what the last run said; `--mutate L36` breaks the guard of a
case in a copy of the project and shows its tests turning red. The data is in the `.toml` files beside.
"""
