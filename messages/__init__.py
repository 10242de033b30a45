"""What is said: one schema a kind, versioned; no behaviour.

`ANSWERS` maps each command to the kinds that may answer it; every command may fail with `CommandFailed`.
A kind without answers is an event: nobody waits for it and it may be lost. The kinds between actors are
declared by importing `messages.envelope`; whoever speaks on the bus alone has no use for them.
"""

from collections.abc import Mapping

ANSWERS: Mapping[str, tuple[str, ...]] = {
    "ConfigureChild": ("ChildConfigured", "CommandFailed"),
    "Ping": ("Pong", "CommandFailed"),
    "DescribeActor": ("ActorDescribed", "CommandFailed"),
    "CallTelegram": ("TelegramAnswered", "TelegramRefused", "CommandFailed"),
    "ProvisionTarget": ("TargetProvisioned", "TargetRefused", "CommandFailed"),
    "ReplaceTarget": ("TargetProvisioned", "TargetRefused", "CommandFailed"),
    "RemoveTarget": ("TargetRemoved", "TargetRefused", "CommandFailed"),
    "CloseTarget": ("TargetRemoved", "TargetRefused", "CommandFailed"),
    "RenameTarget": ("TargetRenamed", "TargetRefused", "CommandFailed"),
    "PreserveTarget": ("TargetPreserved", "TargetRefused", "CommandFailed"),
    "ReplayCleanups": ("CleanupsReplayed", "CommandFailed"),
    "ListenForOwn": ("RegistryListening", "CommandFailed"),
    "OpenEndpoint": ("EndpointOpened", "CommandFailed"),
    "CloseEndpoint": ("EndpointClosed", "CommandFailed"),
    "ForwardUpdate": ("UpdateForwarded", "ForwardFailed", "CommandFailed"),
    "DescribeFollowers": ("FollowersDescribed", "CommandFailed"),
    "RetireFollower": ("FollowerRetired", "CommandFailed"),
    "MutateFollower": ("MutationFinished", "MutationFailed", "CommandFailed"),
    "StartPruning": ("PruningStarted", "CommandFailed"),
    "StopPruning": ("PruningStopped", "CommandFailed"),
    "PruneAtOnce": ("PrunedAtOnce", "CommandFailed"),
    "SettleByHand": ("SettledByHand", "CommandFailed"),
    "FetchCursor": ("CursorFetched", "CommandFailed"),
    "AdmitUpdates": ("UpdatesAdmitted", "AdmissionRefused", "CommandFailed"),
    "StartPolling": ("PollingStarted", "CommandFailed"),
    "StopPolling": ("PollingStopped", "CommandFailed"),
    "ProvePolling": ("PollingProven", "PollingContested", "CommandFailed"),
    "YieldLease": ("LeaseYielding", "CommandFailed"),
    "DescribeInstance": ("InstanceDescribed", "CommandFailed"),
}
