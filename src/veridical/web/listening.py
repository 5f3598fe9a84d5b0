"""A port is bound before anything else is done: one that is taken is said at once, in words."""

from __future__ import annotations

import socket

from veridical.errors import UserError

WAITING = 128  # connections that the system keeps for us until they are taken


def bound(host: str, port: int, fix: str = "Take another --port.") -> socket.socket:
    """A socket that listens on a port of an address of this machine; port 0 is any that is free."""
    if not 0 <= port < 1 << 16:
        raise UserError(f"{port} is no port.", "Give a number up to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"{host!r} is no address of this machine: {error}.", "Give --host one, or leave it out."
        ) from None
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
        made.listen(WAITING)
    except OSError as error:
        made.close()
        raise UserError(f"Port {port} of {host} cannot be listened on: {error.strerror}.", fix) from None
    return made
