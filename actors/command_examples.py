"""What `--help` of each command teaches, by example."""

RUN = """\
examples:
  switchboard                       try it: a practice chat on this machine
  switchboard -- wc -w              each message is given to `wc -w`
  switchboard --name "api · tests" -- make test
  switchboard setup                 a bot of your own, in two minutes
  switchboard status                who is there, and what waits
  switchboard shell                 threads, processes, what was not delivered
  switchboard doctor                what is wrong, and what to do about it

Start it in as many terminals as you like: each process gets a thread of its
own, and keeps it when it is started again. Ctrl-C ends a process; its thread
stays. From a checkout, say `python run.py` for `switchboard`.

exit status: 0 ok, 2 usage, 3 refused, 4 bad token or configuration, 5 internal
"""

SETUP = """\
examples:
  switchboard setup                 asks for the token, and shows a code for you
  switchboard setup --bot work      one more bot, under a name of its own
  TELEGRAM_BOT_TOKEN=… switchboard setup
  switchboard setup --token-file ~/bot.token
  switchboard setup --chat -1001234567890     a group with topics
  switchboard setup --new-owner     somebody else is to be the owner
"""

STATUS = """\
examples:
  switchboard status                threads, their processes, and what waits
  switchboard status --watch        anew every second, until Ctrl-C
  switchboard status --bot work     of another bot than the usual one
  switchboard status --json | jq .leader      for programs

states:
  starting   its thread is being made      idle      it has nothing to do
  working    it is at a message            running   it does not tell which
  stopped    it ended properly             lost      it was killed or crashed
"""

SHELL = """\
examples:
  switchboard shell                 type `help`; Tab completes, Ctrl-D ends
  echo undelivered | switchboard shell        by pipe the first error ends it
  printf 'rename A "api · main"\\nstatus\\n' | switchboard shell
  switchboard shell < evening.txt   `#` begins a comment

exit status: 0 ok, 1 a command by pipe failed, 4 bad configuration
"""

DOCTOR = """\
examples:
  switchboard doctor                one line a check, and what to do
  switchboard doctor --fix          and put right what can safely be
  switchboard doctor --bot work     of another bot than the usual one
  switchboard doctor > report.txt   no token is in it: it can be shown to others

exit status: 0 nothing is wrong (there may be warnings), 1 something is
"""

EVENTS = """\
examples:
  switchboard events                the last 50 things that happened
  switchboard events -n 500         more of them
  switchboard events -f             and what happens from now on, until Ctrl-C
  switchboard events --level warning          only what may be wrong
  SWITCHBOARD_LOG=debug switchboard           have everything logged
  SWITCHBOARD_LOG=poller=debug,warning switchboard      or one part of it
"""

LOGS = """\
examples:
  switchboard logs                  the same events, one JSON object a line
  switchboard logs -n 1000 | jq 'select(.level == "ERROR")'
  switchboard logs -f               and what is logged from now on
  switchboard logs --path           where the file is
"""

SERVICE = """\
examples:
  switchboard service install       a process that is always there
  switchboard service install --dry-run       print its file, and do nothing
  switchboard service status        is it installed, does it run?
  switchboard service uninstall     stop it; threads and messages stay

It is a systemd user unit, or a launchd agent on macOS. There is no token in its
file: set up the bot first, so that the configuration knows it.
"""

PRACTICE = """\
examples:
  switchboard                       starts it by itself where no bot is set up
  switchboard practice --home ~/.local/share/switchboard      by hand
"""

VERSION = """\
examples:
  switchboard version
  switchboard --version
"""
