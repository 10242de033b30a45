"""What `--help` of each command teaches, by example."""

RUN = """\
examples:
  switchboard                               try it: a practice chat on this machine, nothing to set up
  switchboard -- wc -w                      each message in the thread is given to `wc -w`
  switchboard --name "api · tests" -- make test
  switchboard --token-file ~/bot.token --owner 12345     your own bot, remembered from then on
  switchboard status                        who is there, and what waits
  switchboard shell                         threads, processes, and messages that were not delivered
  switchboard doctor                        what is wrong, and what to do about it

Start it in as many terminals as you like: each process gets a thread of its own, and keeps it when
it is started again. Ctrl-C ends a process; its thread stays.
From a checkout, say `python run.py` for `switchboard`.

exit status: 0 ok, 2 usage, 3 refused, 4 bad token or configuration, 5 internal error
"""

SETUP = """\
examples:
  switchboard setup                         asks for the token, without showing it, and for your code
  switchboard setup --bot work              one more bot, under a name of its own
  TELEGRAM_BOT_TOKEN=… switchboard setup    the token from the environment
  switchboard setup --token-file ~/bot.token
  switchboard setup --chat -1001234567890   a forum group in place of your private chat
  switchboard setup --new-owner             somebody else is to be the owner
"""

STATUS = """\
examples:
  switchboard status                        threads, what their processes do, and what waits
  switchboard status --watch                the same, anew every second, until Ctrl-C
  switchboard status --bot work             of another bot than the usual one
  switchboard status --json | jq .leader    for programs

states: starting, idle, working, running, stopped (ended in order), lost (did not)
"""

SHELL = """\
examples:
  switchboard shell                         type `help` there; Tab completes, Ctrl-D ends
  echo undelivered | switchboard shell      by pipe: plain lines, and the first error ends it
  printf 'rename A "api · main"\\nstatus\\n' | switchboard shell
  switchboard shell < maintenance.txt       `#` begins a comment

exit status: 0 ok, 1 a command by pipe failed, 4 bad configuration
"""

DOCTOR = """\
examples:
  switchboard doctor                        one line a check, and what to do where something is wrong
  switchboard doctor --fix                  and put right what can safely be put right
  switchboard doctor --bot work             of another bot than the usual one
  switchboard doctor > report.txt           there is no token in it, so it can be shown to others

exit status: 0 nothing is wrong (there may be warnings), 1 something is
"""

EVENTS = """\
examples:
  switchboard events                        the last 50 things that happened
  switchboard events -n 500                 more of them
  switchboard events -f                     and what happens from now on, until Ctrl-C
  switchboard events --level warning        only what may be wrong
  SWITCHBOARD_LOG=debug switchboard         log everything; SWITCHBOARD_LOG=poller=debug: one part only
"""

LOGS = """\
examples:
  switchboard logs                          the same events as they are stored, one JSON object a line
  switchboard logs -n 1000 | jq 'select(.level == "ERROR")'
  switchboard logs -f                       and what is logged from now on, until Ctrl-C
  switchboard logs --path                   where the file is
"""

SERVICE = """\
examples:
  switchboard service install               one process that is always there (systemd or launchd)
  switchboard service install --dry-run     print the file and do nothing
  switchboard service status                is it installed, does it run?
  switchboard service uninstall             stop it and remove its file; threads and messages stay

The file holds no token: set up the bot first, so that the configuration knows it.
"""

PRACTICE = """\
examples:
  switchboard                               starts the practice chat by itself, where no bot is set up
  switchboard practice --home ~/.local/share/switchboard     run it by hand
"""

VERSION = """\
examples:
  switchboard version
  switchboard --version
"""
