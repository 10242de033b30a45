"""Settings every test shares: none of the product's variables leaks in from the shell."""

import os

for name in [n for n in os.environ if n.startswith(("SWITCHBOARD_", "TELEGRAM_"))]:
    del os.environ[name]
