"""Settings every test shares: none of the product's variables leaks in from the shell."""

import os
import signal

# Not the product's: where a test finds the published description of the Bot API.
KEPT = "SWITCHBOARD_BOTAPI_SPEC"

for name in [n for n in os.environ if n.startswith(("SWITCHBOARD_", "TELEGRAM_")) and n != KEPT]:
    del os.environ[name]

# Every process that a test starts would compile every module anew, a third of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # Under nohup every process that a test starts would heed that and not end at a hang-up. Handled here, it is
    # still survived here, and at its default there.
    signal.signal(signal.SIGHUP, lambda number, frame: None)
