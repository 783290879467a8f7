"""Prism between a test and musterd: every exchange is held against doc/openapi.yaml.

    client -> front (unix socket, in this process) -> prism -> back (TCP) -> musterd's own socket

The front notes what prism found (its header sl-violations), and what was asked.  Streams that do not
end go past prism, which would wait for their end.  A process that finds MUSTER_CONTRACT in its
environment (the path of prism) puts all it asks of a musterd through here, and adds a line of JSON an
exchange to the file MUSTER_CONTRACT_LOG; MUSTER_CONTRACT_DOCUMENT names the document.
"""
import http.client
import http.server
import json
import os
import socket
import socketserver
import subprocess
import threading
import time

PRISM_ERROR = "https://stoplight.io/prism/errors"
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "sl-violations"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


class Back(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Loopback TCP to musterd's socket: prism knows no unix sockets, and who asks stays the same."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64


def pipe(source, sink):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def violations_of(header):
    """Prism cuts a long list off: then the first one stands for all."""
    try:
        return json.loads(header)
    except ValueError:
        at = header.index("[")
        return [json.JSONDecoder().raw_decode(header, at + 1)[0]]


def back_handler(target):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            up = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                up.connect(target)
            except OSError:
                return
            other = threading.Thread(target=pipe, args=(self.request, up), daemon=True)
            other.start()
            pipe(up, self.request)
            other.join(60)
            up.close()
    return Handler


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"

    def is_endless(self):
        return self.path.startswith("/v1/events") or "follow=" in self.path

    def do_any(self):
        size = self.headers.get("Content-Length")
        body = self.rfile.read(int(size)) if size else None
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        try:
            probe = UnixConnection(self.owner.target)
            probe.connect()
        except OSError:  # nobody listens: neither do we
            self.close_connection = True
            return
        if self.is_endless():
            self.answer(probe, headers, body)
            return
        probe.close()
        c = http.client.HTTPConnection("127.0.0.1", self.owner.port, timeout=60)
        self.answer(c, headers, body)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = do_OPTIONS = do_any

    def answer(self, c, headers, body):
        c.request(self.command, self.path, body, headers)
        r = c.getresponse()
        if self.is_endless():
            self.note(r.status, [], None)
            self.pass_on(r)
            c.close()
            return
        data = r.read()
        c.close()
        found = violations_of(r.headers.get("sl-violations", "[]"))
        if PRISM_ERROR.encode() in data[:200]:  # the document has no such operation
            found = [{"location": ["request"], "message": json.loads(data)["title"]}]
            direct = UnixConnection(self.owner.target)
            direct.request(self.command, self.path, body, headers)
            r = direct.getresponse()
            data = r.read()
            direct.close()
        self.note(r.status, found, data)
        self.send(r, data)

    def note(self, status, found, data):
        code = None
        if status >= 400 and data:
            try:
                code = json.loads(data).get("code")
            except ValueError:
                pass
        self.owner.note({"method": self.command, "path": self.path, "status": status,
                         "code": code, "violations": found})

    def head(self, r):
        self.send_response_only(r.status, r.reason)
        for name, value in r.headers.items():
            if name.lower() not in HOP and not name.lower().startswith("access-control-"):
                self.send_header(name, value)

    def send(self, r, data):
        self.head(r)
        if self.command == "HEAD":
            self.send_header("Content-Length", r.headers.get("Content-Length", "0"))
            data = b""
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def pass_on(self, r):
        self.head(r)
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        try:
            while True:
                data = r.read1(65536)
                if not data:
                    break
                self.wfile.write(data)
                self.wfile.flush()
        except OSError:
            pass


class Proxy:
    """Listens on `path` for what is meant for the musterd on `target`."""

    def __init__(self, path, target):
        self.path = path
        self.target = target
        self.lock = threading.Lock()
        self.deadline = None
        self.back = Back(("127.0.0.1", 0), back_handler(target))
        self.front = UnixServer(path, type("Handler", (Front,), {"owner": self}))
        for server in (self.back, self.front):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        while not self.start():
            print("# prism ended: somebody else may have its port", flush=True)

    def start(self):
        """True once prism listens, false if it ended; an assertion if it does neither."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.prism = subprocess.Popen(
            [os.environ["MUSTER_CONTRACT"], "proxy", os.environ["MUSTER_CONTRACT_DOCUMENT"],
             f"http://127.0.0.1:{self.back.server_address[1]}", "-p", str(self.port), "-v", "warn",
             "--cors", "false"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = self.deadline = self.deadline or time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.prism.poll() is not None:
                return False
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                time.sleep(0.1)
        raise AssertionError("prism does not listen after 120 s")

    def note(self, row):
        with self.lock, open(os.environ["MUSTER_CONTRACT_LOG"], "a") as f:
            f.write(json.dumps(row) + "\n")

    def end(self):
        self.prism.kill()
        self.prism.wait()
        self.front.shutdown()
        self.back.shutdown()
