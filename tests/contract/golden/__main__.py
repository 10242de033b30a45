"""Write the golden messages that are missing."""

from tests.contract.golden.golden_files import write_missing

for path in write_missing():
    print(path)
