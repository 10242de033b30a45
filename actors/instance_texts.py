"""What people read on the terminal of a running process: one constant a sentence."""

NO_BOT = (
    "No bot is set up. Practice chat on this machine: {url}   "
    "Your own bot: switchboard setup"
)
PRACTICE_SHOWN = "the practice chat"
JOINED = "Joined @{username}. Open https://t.me/{username}"
JOINED_OWNER = "Joined @{username} (owner {owner}). Open https://t.me/{username}"
INBOX_DAMAGED = (
    "What waited for this thread was damaged and is moved aside: {path}. It starts empty."
)

TOOK_OVER = "Process {pid} ended. This process now talks to Telegram."
HANDED_OVER = "Process {pid} handed over. This process now talks to Telegram."
TOOK_OVER_STALE = "Process {pid} does not answer. This process now talks to Telegram."

WAITS_FOR_PAIRING = (
    "{bot} has no owner yet. Process {pid} shows the code for it; this one waits."
)
WAITS_FOR_LEADER = "No process talks to Telegram yet. This one waits for another to do it."
REGISTRATION_REFUSED = "No thread yet: {text}"
TRIES_AGAIN = " This process tries again by itself."
CONTINUES = "this continues by itself."
"""The end of texts that say as much themselves."""

LEADS_ALREADY = (
    'Process {pid} ("{name}") already leads {bot}. Leave out --role leader to join it.'
)
LEADS_ALREADY_UNNAMED = (
    "Process {pid} already leads {bot}. Leave out --role leader to join it."
)
FOREIGN_POLLER = (
    "Another machine or program reads {bot}. Nothing was changed. Use one bot per machine: "
    "switchboard setup --bot laptop"
)
POLL_CONFLICT = (
    "Another program reads {bot}; messages may go astray. Stop it or give it its own bot."
)
WEBHOOK = (
    "A webhook is set on {bot}, so its messages go elsewhere. Remove it there, or with: "
    "switchboard setup. This continues by itself."
)
POLL_CONFLICT_SOLVED = "Solved. Messages arrive again."

TOKEN_REFUSED = "Telegram refused the token. Get a new one from @BotFather, then: switchboard setup"
TOKEN_REFUSED_LATER = (
    "Telegram refused the token. Everything waits. Get a new one from @BotFather, then: "
    "switchboard setup. It is picked up by itself."
)
TOKEN_OF_ANOTHER_BOT = (
    "The token in the configuration belongs to another bot than {bot}. Everything waits. Put the "
    "right one back, or set up the other bot under a name of its own: switchboard setup --bot NAME"
)
TOKEN_ACCEPTED = "Telegram accepts the token again."
UNREACHABLE = "Telegram cannot be reached. This continues by itself."

THREADED_MODE_OFF = (
    "{bot} has Threaded Mode off, so only one process can use it. Switch it on in @BotFather; "
    "this continues by itself."
)
THREADED_MODE_ON = "{bot} has Threaded Mode on again."

TREES_FAILED = (
    "What talks to Telegram failed again and again. This process waits half a minute. See {log}"
)
TREES_FAILED_BECAUSE = (
    "What talks to Telegram cannot start. {reason} This process tries again every half a minute."
)
STORE_REFUSES = "{text} This process waits and tries again by itself."
LEADER_UNREACHABLE = (
    "Process {pid} talks to Telegram and cannot be reached from here. This process tries again by itself."
)
STORE_IS_HELD = (
    "{text} Process {pid} is suspended in the middle of a write. Resume it (kill -CONT {pid}) or end it."
)
PRACTICE_AGAIN = "The practice chat had ended. It runs again: {url}"
CONSOLE_BEGINS = (
    "Messages to this thread appear here. Type to answer. Ctrl-C ends this process; the thread stays."
)
TYPED_WAITS = "No process talks to Telegram at present. What you typed is sent when one does."
TYPED_UNCLEAR = 'The connection broke, so this may not have arrived: "{excerpt}"'
TYPED_REFUSED = "Not sent: {reason}"
NOT_SENT = 'Not sent before the end: "{excerpt}"'

TREES_FAILED_HERE = "What talks to Telegram failed again and again. See {log}"
LAUNCHER_ENDED = "A part of this process ended unexpectedly, and so does the rest. See {log}"
FAILED_INSIDE = "Something failed inside. What was said is kept. See {log}"

# -- before it runs --------------------------------------------------------------------------------

TOKEN_MALFORMED = "That is no bot token. One looks like 123456789:AAE… and comes from @BotFather."
TOKEN_FILE_UNREADABLE = "The token file cannot be read: {path}: {reason}."
TOKEN_UNSET = "The configuration takes the token of {bot} from {variable}, which is not set."
BOT_NOT_CHOSEN = "None of the bots that are set up here ({known}) is the default. Say which: --bot NAME"
BOT_UNKNOWN = "No bot named {name} is set up here. Known: {known}."
BOT_NAME_MALFORMED = "A bot's name has up to 32 letters, digits, dots, dashes and underscores."
API_ROOT_MALFORMED = "The API root is no http address: {value}"
BOT_SETTINGS_WITHOUT_BOT = (
    "{options} belong to a bot of your own. Set it up first: switchboard setup"
)
ANOTHER_BOT = (
    "{name} is the bot {known}; this token belongs to the bot {given}. Give that one a name of its "
    "own: --bot NAME. Or change what {name} is: switchboard setup --bot {name}"
)
NO_PROGRAM = 'There is no program "{program}" here that could be run.'
DIRECTORY_GONE = "The current directory does not exist any more."
