"""Settings every test shares: none of the product's variables leaks in from the shell."""

import os

# Not the product's: where a test finds the published description of the Bot API.
KEPT = "SWITCHBOARD_BOTAPI_SPEC"

for name in [n for n in os.environ if n.startswith(("SWITCHBOARD_", "TELEGRAM_")) and n != KEPT]:
    del os.environ[name]

# Every process that a test starts would compile every module anew, a third of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
