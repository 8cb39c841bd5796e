"""Git repositories behind TLS and ssh, on this machine only."""

import http.server
import os
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import trustme

SSH = """\
#!/bin/sh
# Stands in for ssh: notes how it was called, and runs the command here.
echo "$@" >> {log}
echo "agent $SSH_AUTH_SOCK" >> {log}
for command; do :; done
cd {home} && exec sh -c "$command"
"""


@contextmanager
def over_tls(root: Path, certificate: trustme.LeafCert) -> Generator[str]:
    """The address of a server that offers the repositories below a folder with `git http-backend`."""
    backend = _Backend(root)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), backend.handler()) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


class _Backend:
    """Git's own half of a web server."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/moved/"):
                    self.send_response(302)
                    self.send_header("Location", self.path.removeprefix("/moved"))
                    self.end_headers()
                else:
                    backend.answer(self)

            def do_POST(self) -> None:
                backend.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        return Handler

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        path, _, query = request.path.partition("?")
        headers = request.headers
        body = request.rfile.read(int(headers.get("Content-Length", 0)))
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self._root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": headers.get("Git-Protocol", ""),
        }
        run = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        request.send_response(int(fields.pop("Status", "200").split(" ")[0]))
        fields["Content-Length"] = str(len(content))
        for name, value in fields.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content)


def stand_in_for_ssh(folder: Path, home: Path) -> Path:
    """Put a program called `ssh` into a folder; it writes to the file that is returned."""
    folder.mkdir()
    log = folder / "log"
    program = folder / "ssh"
    program.write_text(SSH.format(log=log, home=home))
    program.chmod(0o755)
    return log
