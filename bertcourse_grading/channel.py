"""A channel of a kernel's, read frame by frame: whatever a submission sends, what is kept of it is bounded.

Jupyter's messages travel over ZeroMQ, and a message has as many parts as its sender likes. libzmq keeps them all until
the last one is there: it can limit a part (ZMQ_MAXMSGSIZE) and the messages that wait (ZMQ_RCVHWM), but not the parts
of a message, so a submission could fill the memory of whoever reads it by libzmq. The grader therefore reads the socket
itself. Of a message it keeps the first few parts, up to a limit, which is all that it needs; the rest is passed over as
it comes. Nothing is read before it is asked for, so whoever sends too much waits.

    DELIMITER, signature, header, parent header, metadata, content, buffers ...      the parts, after addresses
    flags, length, bytes                                                             a part on its way: a frame

Source: ZMTP 3.0, https://rfc.zeromq.org/spec/23; Jupyter's wire protocol,
https://jupyter-client.readthedocs.io/en/stable/messaging.html
"""

import contextlib
import json
import socket
import time
from collections.abc import Callable
from typing import Any

MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame: another part follows; its length has 8 bytes; it is ZeroMQ's own
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)  # version 3.0, no encryption
DELIMITER = b"<IDS|MSG>"
MOST_MESSAGE, MOST_PARTS = 16 * 2**20, 8  # bytes and parts that are kept of a message
MOST_CONTAINERS = 250_000  # lists and dictionaries of a part: each takes far more memory than its two brackets
CHUNK, SPARE_SECONDS = 2**18, 0.1  # bytes that are read at a time; how long a flood is read beyond the time to wait
SEND_SECONDS = 5.0  # for a request, to a kernel that may have stopped reading


class Channel:
    """One socket of a kernel's.

    Args:
        path: of the socket.
        kind: ZeroMQ's name of this end: SUB, to hear all that is published, or DEALER, to ask and be answered.
        seconds: to wait until the kernel is there.
        is_there: whether it may still come.

    Raises:
        RuntimeError: if it does not come in time.
    """

    def __init__(self, path: str, kind: str, seconds: float, is_there: Callable[[], bool]) -> None:
        self.socket = connect(path, seconds, is_there)
        self.data = bytearray()  # read and not yet looked at
        self.flags, self.left = COMMAND, len(GREETING)  # of the frame that is being read; the greeting is passed over
        self.part: bytearray | None = None  # what is there of the frame, if it is kept
        self.parts, self.room = [], MOST_MESSAGE  # of the message that is being read; bytes that may still be kept
        self.commands, self.is_open = 0, True  # of ZeroMQ's own, the greeting included, how many there were
        name, value = b"Socket-Type", kind.encode()
        ready = b"\5READY" + bytes([len(name)]) + name + len(value).to_bytes(4) + value
        self.send_bytes(GREETING + frame(ready, COMMAND))
        until = time.monotonic() + seconds
        while self.commands < 2:  # the other end's greeting, and that it is ready
            if not self.read(0.2) and (not self.is_open or not is_there() or time.monotonic() > until):
                raise RuntimeError("the socket is there and says nothing")
            self.next_parts()
        if kind == "SUB":
            self.send([b"\1"])  # all that there is

    def send(self, parts: list[bytes]) -> None:
        """Send a message. A kernel that does not take it will not answer either, and that is noticed."""
        last = len(parts) - 1
        self.send_bytes(b"".join(frame(part, MORE * (place < last)) for place, part in enumerate(parts)))

    def send_bytes(self, data: bytes) -> None:
        """Send as it is; a message that was cut off is followed by no other."""
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
            As nbformat takes it: header, msg_type, content (None if that was too large); and the request it answers.
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
        """Read some bytes, if some come in time."""
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
        """The first parts of the next message, those that were too large as None; or None if it is not all there."""
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
        """Read flags and length of the next frame, if they are there, and decide whether it is kept."""
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
    """A connection to a socket that is about to be there; see ``Channel``."""
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
    """Bytes with their flags and length before them.

    >>> frame(b"part", MORE)
    b'\\x01\\x04part'
    """
    if len(data) < 256:
        return bytes([flags, len(data)]) + data
    return bytes([flags | LONG]) + len(data).to_bytes(8) + data


def message_of(parts: list[bytearray | None]) -> dict[str, Any] | None:
    """A message from its first parts; None if it is none, whoever sent it. Signatures are not looked at: a submission
    knows the key."""
    try:
        place = parts.index(DELIMITER)
        header, parent, content = (loads(parts[place + number]) for number in (2, 3, 5))
        kind, request = header["msg_type"], parent.get("msg_id")
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return {"header": header, "msg_type": kind, "request": request, "content": content}


def loads(part: bytearray | None) -> dict[str, Any] | None:
    """The dictionary that a part is; None if it is too large.

    Raises:
        ValueError: if it is none.
    """
    if part is None or part.count(b"[") + part.count(b"{") > MOST_CONTAINERS:
        return None
    found = json.loads(part.decode("utf-8", "replace"))
    if not isinstance(found, dict):
        raise ValueError(f"expected a dictionary; got a {type(found).__name__}")
    return found
