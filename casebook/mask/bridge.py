"""A bridge from TCP to a WebSocket server, all over loopback: what comes from the source goes to the server in masked frames (RFC 6455), and what the
server echoes is read back. `run(mask, messages)` gives how many bytes came back, and fails where one of them is wrong."""

import base64
import hashlib
import os
import socket
import struct
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
BINARY_FRAME, CLOSE_FRAME = 0x82, 0x88
MESSAGE = bytes(range(256)) * 16


def read_exactly(stream, length):
    data = stream.read(length)
    if len(data) != length:
        raise EOFError(f"{len(data)} bytes of {length} came")
    return data


def frame(head, payload, key=None):
    masked = 0x80 if key else 0
    if len(payload) < 126:
        return bytes([head, masked | len(payload)]) + (key or b"") + payload
    return bytes([head, masked | 126]) + struct.pack("!H", len(payload)) + (key or b"") + payload


def read_frame(stream):
    head, length = read_exactly(stream, 2)
    key = None
    if length & 0x7F == 126:
        (size,) = struct.unpack("!H", read_exactly(stream, 2))
    else:
        size = length & 0x7F
    if length & 0x80:
        key = read_exactly(stream, 4)
    return head, key, read_exactly(stream, size)


def unmask(payload, key):
    """The server's own: the whole frame as one number."""
    keys = (key * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(keys, "big")).to_bytes(len(payload), "big")


def read_head(stream):
    lines = []
    while line := stream.readline().strip():
        lines.append(line)
    return dict(line.split(b": ", 1) for line in lines[1:])


def serve_echo(listener):
    connection, _ = listener.accept()
    with connection, connection.makefile("rb") as stream:
        key = read_head(stream)[b"Sec-WebSocket-Key"]
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
        answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n"
        connection.sendall(answer % accept)
        while True:
            head, mask_key, payload = read_frame(stream)
            if head == CLOSE_FRAME:
                return
            connection.sendall(frame(BINARY_FRAME, unmask(payload, mask_key)))


def send_messages(listener, messages):
    connection, _ = listener.accept()
    with connection:
        for _ in range(messages):
            connection.sendall(MESSAGE)


def listen(work, *arguments):
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=work, args=(listener, *arguments))
    thread.start()
    return listener, thread


def open_websocket(address):
    connection = socket.create_connection(address)
    stream = connection.makefile("rb")
    key = base64.b64encode(os.urandom(16))
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n"
    connection.sendall(request % key)
    accept = read_head(stream)[b"Sec-WebSocket-Accept"]
    if accept != base64.b64encode(hashlib.sha1(key + GUID).digest()):
        raise ValueError("the server accepted another key")
    return connection, stream


def bridge(source, websocket, stream, mask):
    came_back = 0
    while message := source.read(len(MESSAGE)):
        key = os.urandom(4)
        websocket.sendall(frame(BINARY_FRAME, mask(message, key), key))
        _, _, echoed = read_frame(stream)
        if echoed != message:
            raise ValueError("the server understood another message")
        came_back += len(echoed)
    websocket.sendall(frame(CLOSE_FRAME, b"", os.urandom(4)))
    return came_back


def run(mask, messages):
    source, sender = listen(send_messages, messages)
    server, echo = listen(serve_echo)
    with socket.create_connection(source.getsockname()) as incoming, incoming.makefile("rb") as stream:
        websocket, answers = open_websocket(server.getsockname())
        with websocket, answers:
            came_back = bridge(stream, websocket, answers, mask)
    for thread in (sender, echo):
        thread.join()
    for listener in (source, server):
        listener.close()
    return came_back
