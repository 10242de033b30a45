"""A token of the environment, as the operating system shows it to whoever looks at a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"
SCRIPT = """
import os, sys
from stores.token_variables import take, variables

take(os.environ, ("TELEGRAM_BOT_TOKEN", "UNSET"))
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, open("/proc/self/environ", "rb").read())
    os._exit(0)
os.close(writer)
with open(reader, "rb") as shown:
    sys.stdout.write(shown.read().decode())
os.wait()
print(open("/proc/self/environ").read(), variables()["TELEGRAM_BOT_TOKEN"] == sys.argv[1][::-1])
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows it as a file")
def test_neither_the_process_nor_what_it_forks_shows_a_token() -> None:
    """It is taken out of memory, not only out of what is inherited; other variables stay."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, TOKEN[::-1]],
        env={**os.environ, "TELEGRAM_BOT_TOKEN": TOKEN, "NEXT": "stays"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert TOKEN not in done.stdout and TOKEN.partition(":")[2] not in done.stdout
    assert done.stdout.count("NEXT=stays") == 2 and done.stdout.rstrip().endswith("True")
