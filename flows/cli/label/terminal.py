"""Driver of the rater's terminal: textual's, for terminals that hang up, redirect or send bytes that are no UTF-8."""

import os
import select
import termios
from codecs import getincrementaldecoder

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key


class RaterTerminal(LinuxDriver):
    """Terminal that keys are read from, in the order in which they were typed."""

    def start_application_mode(self) -> None:
        """Take over the terminal."""
        # Keys pressed before anything was visible were not meant for what is shown now.
        termios.tcflush(self.fileno, termios.TCIFLUSH)
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def run_input_thread(self) -> None:
        """Send keys to the screen until it closes; a terminal that is gone sends Ctrl-D, the end of the input."""
        parser = XTermParser()
        decoder = getincrementaldecoder("utf-8")("replace")
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], 0.1)[0]:
                try:
                    typed = os.read(self.fileno, 65_536)
                except OSError:
                    typed = b""
                if not typed:
                    self.process_message(Key("ctrl+d", None))
                    self.exit_event.wait(0.1)
                    continue
                # An empty text would end the parser: these may be the first bytes of a letter.
                if text := decoder.decode(typed):
                    for message in parser.feed(text):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def _get_terminal_size(self) -> tuple[int, int]:
        # Textual asks COLUMNS and stdout, which may be another terminal or a file.
        try:
            columns, lines = os.get_terminal_size(self.fileno)
        except OSError:
            columns = lines = 0
        return columns or 80, lines or 24
