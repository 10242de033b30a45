"""What users read in their threads: one constant a text, filled in by `str.format`.

The words follow one rule: users know processes, threads, bots and the practice chat, and nothing of
how the house is built.
"""

# -- runs ------------------------------------------------------------------------------------------

QUEUED = "Queued, {count} before it."
STOPPED = "Stopped."
NOTHING_IS_RUNNING = "Nothing is running."
NO_OUTPUT_YET = "No output for {minutes} minutes."
DONE_WITHOUT_OUTPUT = "Done, no output."
EXIT_STATUS = "exit {status} after {duration}"
COMMAND_NOT_FOUND = 'The command "{command}" was not found, so nothing was run.'
COMMAND_NOT_EXECUTABLE = 'The command "{command}" could not be executed: {reason}.'
FULL_OUTPUT = "Full output: {path}"
FULL_OUTPUT_LOST = "The full output could not be kept: {reason}."
SENT_WHILE_STOPPED = "sent {time}, while stopped"
STATUS_IDLE = "Idle, nothing waits."
STATUS_WORKING = "Working for {duration}, {count} waiting."
STATUS_ONE_ASKED = "1 question above waits for you."
STATUS_SOME_ASKED = "{count} questions above wait for you."
NOTHING_TO_FORGET = "Each message here starts afresh: there is nothing to leave behind."
HELP = """\
This thread belongs to one process: what you write here goes to it, and its answers come here.
/status  what it does at present
/stop  end what it is doing
/new  begin afresh
/close  end it and delete this thread
Every other process has a thread of its own. A process that stopped keeps its thread, and what you \
write waits there until it is started again."""

# -- closing a thread ------------------------------------------------------------------------------

CLOSE = """\
Delete this thread with everything in it? Its process ends, and what waits here is dropped. \
Started again, it gets a new thread."""
CLOSING = "Deleting this thread."
CLOSE_KEPT = "This thread stays."
CLOSE_FAILED = "This thread could not be deleted: {reason} It stays, and its process goes on."
BUTTON_CLOSE = "Delete"
BUTTON_KEEP = "Keep"

# -- the menu of commands --------------------------------------------------------------------------

MENU = (
    ("start", "What this bot does"),
    ("help", "What can be done here"),
    ("status", "What the process of this thread does"),
    ("stop", "End what it is doing"),
    ("new", "Begin afresh"),
    ("close", "End it and delete this thread"),
)
MENU_OF_STRANGERS = (("start", "Connect"),)
ONLY_TEXT = "Only text can be given to this process. Nothing was done with this message."

# -- questions, and what they become when they are answered ----------------------------------------

CUT_OFF = "This run was cut off."
NOT_DELIVERED = 'Not delivered after {tries} tries: "{excerpt}".'
ANSWER_UNCLEAR = "An answer may be missing here; the connection broke."

RUNNING_AGAIN = "This run was cut off. Running it again."
CUT_OFF_DROPPED = "This run was cut off. Dropped."
TRYING_AGAIN = "Not delivered at first. Trying again."
NOT_DELIVERED_DROPPED = "Not delivered. Dropped."
ANSWER_SENT_AGAIN = "The connection broke here. The answer is sent again."
ANSWER_ARRIVED = "The connection broke here. The answer arrived."

BUTTON_RUN_AGAIN = "Run again"
BUTTON_DROP = "Drop"
BUTTON_TRY_AGAIN = "Try again"
BUTTON_SEND_AGAIN = "Send again"
BUTTON_IT_ARRIVED = "It arrived"
BUTTON_STOP = "Stop"

ALREADY_SETTLED = "This is settled already."

# -- what an operator is told in the terminal ------------------------------------------------------

NOTHING_TO_DECIDE = "No such message waits for a decision."
NOT_READY = "This process is just starting or ending."
STOP_IT_FIRST = "This process is working. Stop that first: /stop in its thread."

# -- messages that reach nobody at once ------------------------------------------------------------

CHOOSE = "Which one is this for?"
CHOOSE_THREAD_GONE = 'Its thread is deleted. Which one is this for? "{excerpt}"'
BUTTON_DROP_IT = "Drop it"
CHOSEN = "Sent to {thread_name}."
CHOICE_DROPPED = "Dropped."
CHOICE_TOO_OLD = "Too old. Write it again in its thread."
PROCESS_ABSENT = (
    "Stopped. What you write here waits. Start it again in {directory}: {command}"
)
PROCESS_ABSENT_PLAIN = "Stopped. What you write here waits."
PROCESS_SILENT = "The process does not answer at present. What you write here waits."

# -- why a process gets no thread -----------------------------------------------------------------

TOPICS_OFF_PRIVATE = (
    "Threaded Mode is off for this bot, so only one process can use it. Switch it on in @BotFather; "
    "this continues by itself."
)
TOPICS_OFF_GROUP = (
    "Topics are off in this group. Switch them on in its settings; this continues by itself."
)
RIGHTS_MISSING = (
    "The bot may not open topics in this group. Make it an administrator that may manage topics; this "
    "continues by itself."
)
NOT_IN_GROUP = (
    "The bot is not in this group, or there is no such group. Add it; this continues by itself."
)
NOT_STARTED = (
    "The owner has not started the bot, or has blocked it. Open its chat in Telegram and press Start; this "
    "continues by itself."
)

# -- threads ---------------------------------------------------------------------------------------

CONNECTED = "{name} is connected. Write here to give it work. /stop /new /status"
CONNECTED_AT = "{name} is connected. {place}. Write here to give it work. /stop /new /status"
BACK_AFTER = "Back after {duration}."
BACK = "Back."
ONE_WAITED = "1 message was waiting."
SOME_WAITED = "{count} messages were waiting."
LOST_AT = "Lost at {time}: the process ended unexpectedly. What you write here waits."
LOST = "Lost: the process ended unexpectedly. What you write here waits."
THREAD_REPLACED = "The earlier thread was deleted. {name} goes on here."
