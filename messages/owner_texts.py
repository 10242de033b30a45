"""What the bot itself says to people, on behalf of no process: one constant a text."""

# -- at the front door -----------------------------------------------------------------------------

PRIVATE_BOT = "This bot is private. Your id: {user_id}."
CODE_WRONG = "This code is wrong or too old. The terminal shows the right one."
CODE_NEEDS_TOPICS = (
    "This group has no topics. Switch them on in its settings, then send the code again."
)
PAIRED = (
    "You are the owner now; this bot obeys nobody else. Every process gets its own thread here. "
    "Start one in a terminal: switchboard"
)
GREETING = "Every process has its own thread here; write there to give it work. Running: {threads}."
GREETING_NOBODY = (
    "Every process has its own thread here. Nothing is running. Start one: switchboard"
)

# -- about the bot ---------------------------------------------------------------------------------

ANOTHER_READER = (
    "Another program reads this bot; messages may go astray. Stop it or give it its own bot."
)
SOLVED = "Solved. Messages arrive again."
GAP = (
    "Nothing ran from {since} to {until}. Telegram keeps messages 24 hours; send older ones again."
)
