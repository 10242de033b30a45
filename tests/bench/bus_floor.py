"""The floor of the bus measurement: a process that sends every byte back, and does nothing else."""

import selectors
import socket
import sys


def main(path: str) -> None:
    """Echo until stdin ends."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("{}", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            peer = key.fileobj
            assert isinstance(peer, socket.socket)
            chunk = peer.recv(1 << 16)
            if chunk:
                peer.sendall(chunk)
            else:
                selector.unregister(peer)
                peer.close()


if __name__ == "__main__":
    main(sys.argv[1])
