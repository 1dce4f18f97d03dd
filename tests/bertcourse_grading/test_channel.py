"""A kernel's channel: what a sender may send, and how little of it is kept."""

import contextlib
import json
import socket
import sys
import threading
import time
import tracemalloc

import pytest

pytest.importorskip("nbgrader")
import zmq  # noqa: E402
from jupyter_client.session import Session  # noqa: E402

from bertcourse_grading import channel  # noqa: E402
from bertcourse_grading.channel import COMMAND, DELIMITER, GREETING, MORE, Channel, frame  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grading runs on Linux and macOS")


def parts_of(content, kind="stream", request="a"):
    """A message as Jupyter sends it, unsigned."""
    header = {"msg_type": kind}
    return [DELIMITER, b"", *(json.dumps(each).encode() for each in (header, {"msg_id": request}, {}, content))]


def sent(parts):
    """Parts as they travel."""
    return b"".join(frame(part, MORE * (place + 1 < len(parts))) for place, part in enumerate(parts))


@pytest.fixture
def ends(tmp_path):
    """A channel and the socket at its other end, which has said its greeting."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    found = []

    def greet():
        found.append(listener.accept()[0])
        found[0].sendall(GREETING + frame(b"\5READY", COMMAND))

    thread = threading.Thread(target=greet)
    thread.start()
    with_them = Channel(str(tmp_path / "s"), "DEALER", 5, lambda: True)
    thread.join()
    listener.close()
    yield with_them, found[0]
    with_them.close()
    found[0].close()


def contents(there, data, seconds=0.2):
    """What a channel makes of bytes, sent by another thread."""
    here, there = there
    thread = threading.Thread(target=there.sendall, args=(data,), daemon=True)
    thread.start()
    found = []
    while (message := here.receive(seconds)) is not None:
        found.append(message["content"])
    thread.join(1)
    assert not thread.is_alive()
    return found


def test_zeromqs_own_sockets_understand_it(tmp_path):
    """Requests reach a ROUTER and its replies come back; what an XPUB shows is heard."""
    context, session = zmq.Context(), Session(key=b"key")
    with context.socket(zmq.ROUTER) as router, context.socket(zmq.XPUB) as publisher:
        router.bind(f"ipc://{tmp_path}/shell")
        publisher.bind(f"ipc://{tmp_path}/iopub")
        shell = Channel(str(tmp_path / "shell"), "DEALER", 5, lambda: True)
        iopub = Channel(str(tmp_path / "iopub"), "SUB", 5, lambda: True)
        code = "x" * 100_000
        shell.send(session.serialize(session.msg("execute_request", {"code": code})))
        router.poll(5000)
        (ident,), request = session.recv(router)
        assert request["content"] == {"code": code}
        session.send(router, "execute_reply", {"status": "ok"}, parent=request, ident=ident)
        reply = shell.receive(5)
        assert (reply["msg_type"], reply["request"]) == ("execute_reply", request["header"]["msg_id"])
        assert publisher.poll(5000) and publisher.recv() == b"\1"
        session.send(publisher, "stream", {"text": "é"}, ident=b"topic", buffers=[b"x"] * 1000)
        assert iopub.receive(5)["content"] == {"text": "é"}
        shell.close()
        iopub.close()
    context.term()


def test_messages_come_one_by_one_whole_or_in_pieces(ends):
    here, there = ends
    data = sent(parts_of({"number": 1})) + frame(b"\4PING", COMMAND) + sent([b"topic", *parts_of({"number": 2})])
    for byte in data:
        there.sendall(bytes([byte]))
    assert [here.receive(1)["content"]["number"] for _ in range(2)] == [1, 2]
    assert here.receive(0.0) is None


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [DELIMITER],
        [b"x"] * 100,
        [*parts_of({})[:-1], b"[]"],
        [*parts_of({})[:-1], b"null"],
        [*parts_of({})[:-1], b"{" * 100_000],
        [*parts_of({})[:-1], b"\xff"],
        [DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"],
        [DELIMITER, b"", b'{"msg_type": 1}', b"3", b"{}", b"{}"],
    ],
    ids=range(9),
)
def test_what_is_no_message_is_passed_over(ends, parts):
    assert contents(ends, sent(parts) + sent(parts_of({"next": True}))) == [{"next": True}]


def test_of_many_parts_the_first_are_kept(ends):
    """30 parts of 15 MiB after a message's own, and before."""
    own, large = [frame(part, MORE) for part in parts_of({"kept": True})], [frame(bytes(15 * 2**20), MORE)] * 30
    tracemalloc.start()
    found = [contents_of_many(ends, [*parts, frame(b"", 0)]) for parts in ([*own, *large], [*large, *own])]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [[{"kept": True}], []] and peak < 3 * channel.MOST_MESSAGE


def contents_of_many(ends, frames):
    """As ``contents``, of frames that would be too much at a time."""
    here, there = ends
    thread = threading.Thread(target=lambda: [there.sendall(each) for each in frames], daemon=True)
    thread.start()
    found = []
    while thread.is_alive():
        if (message := here.receive(0.2)) is not None:
            found.append(message["content"])
    return found + [message["content"] for _ in range(2) if (message := here.receive(0.2)) is not None]


def test_a_content_that_is_too_large_is_known_to_be(ends):
    too_long = {"text": "x" * channel.MOST_MESSAGE}
    many = {"list": [[]] * (channel.MOST_CONTAINERS + 1)}
    assert contents(ends, sent(parts_of(too_long)) + sent(parts_of(many)) + sent(parts_of({}))) == [None, None, {}]


def test_a_message_that_never_ends_does_not_hold_the_reader(ends):
    here, there = ends
    there.sendall(bytes([MORE | channel.LONG]) + b"\x7f" * 8)
    done = threading.Event()

    def flood():
        there.settimeout(0.2)
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                there.sendall(bytes(2**16))

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    start = time.monotonic()
    assert here.receive(0.0) is None and here.receive(0.3) is None
    assert time.monotonic() - start < 5 and len(here.data) + len(here.parts) < channel.CHUNK
    done.set()
    thread.join(5)


def test_who_has_hung_up_says_nothing_and_is_told_nothing(ends):
    here, there = ends
    there.sendall(sent(parts_of({"last": True})))
    there.close()
    assert here.receive(1)["content"] == {"last": True}
    start = time.monotonic()
    assert here.receive(0.3) is None and time.monotonic() - start >= 0.3
    here.send([b"x"])


def test_nobody_waits_for_a_kernel_that_has_ended(tmp_path):
    with pytest.raises(RuntimeError, match="no socket within"):
        Channel(str(tmp_path / "nobody"), "SUB", 100, lambda: False)
    with pytest.raises(RuntimeError, match="no socket within"):
        Channel(str(tmp_path / "nobody"), "SUB", 0.1, lambda: True)
