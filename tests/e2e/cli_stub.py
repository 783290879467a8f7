"""A test double of musterd for tests of the command line: it answers what a test told it to, keeps
what it was asked, and can break off in the middle.  It knows nothing of jobs."""
import json
import os
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlsplit


class Request:
    def __init__(self, method, path, query, headers, body):
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def address_string(self):
        return 'local'

    def log_message(self, *args):
        pass

    def answer(self):
        parts = urlsplit(self.path)
        length = int(self.headers.get('Content-Length') or 0)
        request = Request(self.command, parts.path, dict(parse_qsl(parts.query)), self.headers,
                          self.rfile.read(length).decode())
        stub = self.server.stub
        with stub.lock:
            stub.requests.append(request)
        reply = stub.routes.get((request.method, request.path))
        if reply is None:
            reply = problem(404, 'request.not_found', 'the stub has no %s %s' % (
                request.method, request.path))
        if callable(reply):
            reply = reply(request)
        self.send(reply)

    do_GET = do_POST = do_DELETE = answer

    def send(self, reply):
        if reply == 'drop':
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif hasattr(reply, '__next__'):
            self.stream(reply)
        else:
            status, kind, text = reply
            data = text.encode()
            self.send_response(status)
            self.send_header('Content-Type', kind)
            self.send_header('Content-Length', str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def stream(self, pieces):
        """Chunks; a piece None breaks the connection off."""
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Transfer-Encoding', 'chunked')
        self.end_headers()
        self.close_connection = True
        try:
            for piece in pieces:
                if piece is None:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if piece:
                    data = piece.encode()
                    self.wfile.write(b'%x\r\n%s\r\n' % (len(data), data))
                    self.wfile.flush()
            self.wfile.write(b'0\r\n\r\n')
        except OSError:
            pass


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def get_request(self):
        connection, _ = super().get_request()
        return connection, ('local', 0)

    def handle_error(self, request, address):
        pass


class TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, address):
        pass


def ok(value, status=200):
    return (status, 'application/json', json.dumps(value))


def problem(status, code, detail, **more):
    return (status, 'application/problem+json', json.dumps(
        dict(type='about:blank', title=code, status=status, code=code, detail=detail, **more)))


def event(seq, kind, text, **more):
    record = dict(seq=str(seq), at_ms=1796054167000, kind=kind, text=text, **more)
    return 'id: %d\nevent: %s\ndata: %s\n\n' % (seq, kind, json.dumps(record))


class Stub:
    """`with Stub(folder) as stub:` listens on stub.socket and on stub.url."""

    def __init__(self, folder):
        self.socket = os.path.join(folder, 's')
        self.lock = threading.Lock()
        self.routes = {}
        self.requests = []

    def __enter__(self):
        self.servers = [UnixServer(self.socket, Handler), TcpServer(('127.0.0.1', 0), Handler)]
        self.url = 'http://127.0.0.1:%d' % self.servers[1].server_address[1]
        for server in self.servers:
            server.stub = self
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *args):
        for server in self.servers:
            server.shutdown()
            server.server_close()
        os.unlink(self.socket)

    def on(self, method, path, reply):
        self.routes[(method, path)] = reply

    def asked(self, method, path):
        with self.lock:
            return [r for r in self.requests if r.method == method and r.path == path]
