"""Ports for programs that take one by number and bind it themselves."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of loopback that nobody else is given for the next minute.

    A connection of the past is left on it (TIME_WAIT): the system hands such a port to nobody who asks for any, and a
    server that asks for it by number may have it. One that was only looked up could be a client's by then.
    """
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        with socket.create_connection(server.getsockname()) as client:
            accepted, _ = server.accept()
            accepted.close()  # whoever closes first keeps the memory of it
            client.recv(1)
        port: int = server.getsockname()[1]
        return port
