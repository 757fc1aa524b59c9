"""Page in the browser, in Portuguese, on which a person scores completions or gives references; on loopback alone."""

import json
import secrets
import unicodedata
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any, Final

from flows.cli.result import show
from flows.runtime.console import show as notice
from flows.runtime.signals import interruptible
from schemas.errors import InputError
from tasks.audit.labelling import Labelling
from tasks.audit.references import ReferenceSession

PAGE: Final = Path(__file__).with_name("rating.html")
HOST: Final = "127.0.0.1"
LONGEST_BODY: Final = 200_000


def serve_page(session: Labelling | ReferenceSession, port: int) -> None:
    """Serve the page until the person leaves it, or all was answered before; each answer is saved at once.

    Raises:
        InputError: The port is taken.
        Interrupted: Ctrl-C or SIGTERM; every answer is saved, and the same command resumes.
    """
    if session.left:
        with interruptible("interrupted; every answer is saved, and the same command resumes"):
            token = secrets.token_urlsafe(16)
            try:
                server = ThreadingHTTPServer((HOST, port), partial(_Handler, session, token, Lock()))
            except OSError as error:
                raise InputError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None
            with server:
                # Whoever has no token, such as another page of the browser, is answered nothing.
                notice(f"open http://{HOST}:{server.server_address[1]}/{token} ; its button `sair` ends this command")
                server.serve_forever(poll_interval=0.2)
    done = f"{session.total - session.left} of {session.total} answers are given"
    show(None, [f"{done}; the same command resumes" if session.left else done], as_json=False)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, session: Labelling | ReferenceSession, token: str, lock: Lock, *arguments: Any) -> None:
        self._session, self._token, self._lock = session, token, lock
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if self.path == f"/{self._token}":
            self._send(PAGE.read_text(encoding="utf-8").replace("NONCE", self._token), "text/html")
        elif self.path == f"/{self._token}/view":
            self._send_view()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if self.path != f"/{self._token}" or not 0 < length <= LONGEST_BODY:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        asked = json.loads(self.rfile.read(length))
        if asked["action"] == "leave":
            self._send("{}", "application/json")
            self.server.shutdown()
            return
        with self._lock:
            # A key that was pressed twice would be the answer to the next question.
            if asked["action"] == "undo" or asked["id"] == self._session.view().get("id"):
                try:
                    self._session.act(
                        asked["action"], *(_on_one_line(asked.get(name, "")) for name in ("value", "note"))
                    )
                except InputError as error:
                    self._send(json.dumps({"error": str(error)}), "application/json", HTTPStatus.CONFLICT)
                    return
        self._send_view()

    def _send_view(self) -> None:
        with self._lock:
            view = {"left": self._session.left, "total": self._session.total, **self._session.view()}
        self._send(json.dumps(view), "application/json")

    def _send(self, text: str, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        body, own = text.encode(), f"'nonce-{self._token}'"
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        rules = ("default-src 'none'", "connect-src 'self'", f"style-src {own}", f"script-src {own}", "base-uri 'none'")
        self.send_header("Content-Security-Policy", "; ".join((*rules, "frame-ancestors 'none'")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Leave the terminal to the command's own sentences."""


def _on_one_line(text: object) -> str:
    """Return what was typed without line breaks and invisible characters, a letter with its accent as one."""
    plain = unicodedata.normalize("NFC", " ".join(str(text).split()))
    return "".join(sign for sign in plain if sign.isprintable())
