"""A channel to a kernel, read frame by frame: whatever a submission sends, only a bounded amount of it is kept.

Jupyter's messages travel over ZeroMQ, where a message has as many parts as its sender likes. libzmq keeps them all
until the last one has arrived: it can limit the size of a part (ZMQ_MAXMSGSIZE) and the number of waiting messages
(ZMQ_RCVHWM), but not the number of parts in a message, so a submission could fill the memory of any program that reads
it through libzmq. The grader therefore reads the socket itself. It keeps the first few parts of a message, up to a
limit, which is all it needs, and discards the rest as it comes. Nothing is read before it is asked for, so a sender of
too much has to wait.

    DELIMITER, signature, header, parent header, metadata, content, buffers ...      the parts, after addresses
    flags, length, bytes                                                             a frame: one part, as it is sent

Source: ZMTP 3.0, https://rfc.zeromq.org/spec/23; Jupyter's wire protocol,
https://jupyter-client.readthedocs.io/en/stable/messaging.html
"""

import contextlib
import json
import socket
import time
from collections.abc import Callable
from typing import Any

MORE, LONG, COMMAND = 1, 2, 4  # a frame's flags: another part follows; its length has 8 bytes; it is ZeroMQ's own
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)  # version 3.0, no encryption
DELIMITER = b"<IDS|MSG>"
MOST_MESSAGE, MOST_PARTS = 16 * 2**20, 8  # how many bytes and parts of a message are kept
MOST_CONTAINERS = 250_000  # lists and dictionaries in a part: each takes far more memory than its two brackets
CHUNK, SPARE_SECONDS = 2**18, 0.1  # bytes to read at a time; how long a flood is read after the timeout
SEND_SECONDS = 5.0  # for sending a request to a kernel that may have stopped reading


class Channel:
    """One of a kernel's sockets.

    Args:
        path: the socket's path.
        kind: ZeroMQ's name for this end: SUB, to hear everything that is published, or DEALER, to ask and be answered.
        seconds: how long to wait for the kernel.
        is_there: says whether the kernel may still come.

    Raises:
        RuntimeError: if it does not come in time.
    """

    def __init__(self, path: str, kind: str, seconds: float, is_there: Callable[[], bool]) -> None:
        self.socket = connect(path, seconds, is_there)
        self.data = bytearray()  # read but not yet parsed
        self.flags, self.left = COMMAND, len(GREETING)  # of the frame being read; the greeting is skipped
        self.part: bytearray | None = None  # what has arrived of the frame, if it is kept
        self.parts, self.room = [], MOST_MESSAGE  # of the message being read; bytes that may still be kept
        self.commands, self.is_open = 0, True  # how many of ZeroMQ's own commands came, the greeting included
        name, value = b"Socket-Type", kind.encode()
        ready = b"\5READY" + bytes([len(name)]) + name + len(value).to_bytes(4) + value
        self.send_bytes(GREETING + frame(ready, COMMAND))
        until = time.monotonic() + seconds
        while self.commands < 2:  # the other end's greeting, and its READY
            if not self.read(0.2) and (not self.is_open or not is_there() or time.monotonic() > until):
                raise RuntimeError("the socket is there and says nothing")
            self.next_parts()
        if kind == "SUB":
            self.send([b"\1"])  # subscribe to everything

    def send(self, parts: list[bytes]) -> None:
        """Send a message. A kernel that does not accept it will not answer either, which is noticed later."""
        last = len(parts) - 1
        self.send_bytes(b"".join(frame(part, MORE * (place < last)) for place, part in enumerate(parts)))

    def send_bytes(self, data: bytes) -> None:
        """Send bytes unchanged; once a message has been cut off, no other follows."""
        if not self.is_open:
            return
        try:
            self.socket.settimeout(SEND_SECONDS)
            self.socket.sendall(data)
        except OSError:
            self.is_open = False

    def receive(self, seconds: float) -> dict[str, Any] | None:
        """The next message that can be read, if one comes in time.

        Returns:
            The message as nbformat takes it: header, msg_type, content (None if it was too large); and the request that
            it answers.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > -SPARE_SECONDS:
            parts = self.next_parts()
            if parts is None:
                if not self.read(max(left, 0.0)):
                    return None
            elif (message := message_of(parts)) is not None:
                return message
        return None

    def read(self, seconds: float) -> bool:
        """Read some bytes if any come in time; False if none came or the socket is closed."""
        piece = b""
        if self.is_open:
            self.socket.settimeout(seconds)
            try:
                piece = self.socket.recv(CHUNK)
                self.is_open = piece != b""
            except (BlockingIOError, TimeoutError):
                return False
            except OSError:
                self.is_open = False
        if not self.is_open:
            time.sleep(seconds)
        self.data += piece
        return self.is_open

    def next_parts(self) -> list[bytearray | None] | None:
        """The first parts of the next message, with None for one that was too large; None if it is not complete yet."""
        while True:
            if self.flags is None and not self.begin_frame():
                return None
            piece = self.data[: self.left]
            del self.data[: len(piece)]
            self.left -= len(piece)
            if self.part is not None:
                self.part += piece
            if self.left:
                return None
            flags, self.flags = self.flags, None
            if flags & COMMAND:
                self.commands += 1
                continue
            if len(self.parts) < MOST_PARTS:
                self.parts.append(self.part)
            if not flags & MORE:
                parts, self.parts, self.room = self.parts, [], MOST_MESSAGE
                return parts

    def begin_frame(self) -> bool:
        """Read the flags and length of the next frame, if they have arrived, and decide whether to keep it."""
        size = 9 if self.data and self.data[0] & LONG else 2
        if len(self.data) < size:
            return False
        self.flags, self.left = self.data[0], int.from_bytes(self.data[1:size])
        del self.data[:size]
        is_kept = not self.flags & COMMAND and len(self.parts) < MOST_PARTS and self.left <= self.room
        self.part = bytearray() if is_kept else None
        self.room -= self.left if is_kept else 0
        return True

    def close(self) -> None:
        """Close the socket."""
        self.is_open = False
        self.socket.close()


def connect(path: str, seconds: float, is_there: Callable[[], bool]) -> socket.socket:
    """A connection to a socket that is about to appear; arguments as for ``Channel``."""
    start = time.monotonic()
    while is_there() and time.monotonic() < start + seconds:
        found = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            found.connect(path)
            return found
        found.close()
        time.sleep(0.02)
    raise RuntimeError(f"no socket within {time.monotonic() - start:.3g} s")


def frame(data: bytes, flags: int) -> bytes:
    """Bytes preceded by their flags and length.

    >>> frame(b"part", MORE)
    b'\\x01\\x04part'
    """
    if len(data) < 256:
        return bytes([flags, len(data)]) + data
    return bytes([flags | LONG]) + len(data).to_bytes(8) + data


def message_of(parts: list[bytearray | None]) -> dict[str, Any] | None:
    """A message from its first parts; None if they are not a message, whoever sent them. Signatures are not checked, as
    a submission knows the key."""
    try:
        place = parts.index(DELIMITER)
        header, parent, content = (loads(parts[place + number]) for number in (2, 3, 5))
        kind, request = header["msg_type"], parent.get("msg_id")
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return {"header": header, "msg_type": kind, "request": request, "content": content}


def loads(part: bytearray | None) -> dict[str, Any] | None:
    """The dictionary in a part; None if it is too large.

    Raises:
        ValueError: if it is not a dictionary.
    """
    if part is None or part.count(b"[") + part.count(b"{") > MOST_CONTAINERS:
        return None
    found = json.loads(part.decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise ValueError(f"expected a dictionary; got a {type(found).__name__}")
    return found
