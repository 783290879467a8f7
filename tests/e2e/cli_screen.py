"""A program on a terminal of our own: what its screen shows, as lines of text.

It knows of the VT100 what ncurses uses of it (TERM=vt100); anything else is an error, so that a
test never looks at half a screen."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

SEQUENCE = re.compile(r'\x1b(?:\[([?>]?)([\d;]*)([A-Za-z])|([()][A-Z0-9])|([78=>DMEHc]))')


class Screen:
    def __init__(self, words, env, folder, rows=24, columns=80):
        self.rows, self.columns = rows, columns
        self.clear()
        self.row = self.column = 0
        self.pending = self.raw = ''
        self.top, self.bottom = 0, rows - 1
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)  # not before the settings and the size are known
            os.chdir(folder)
            os.execvpe(words[0], words, dict(env, TERM='vt100'))
        self.settings = termios.tcgetattr(self.fd)
        self.resize(rows, columns)
        self.status = None
        os.write(go, b'x')
        os.close(go)
        os.close(ready)

    def clear(self):
        self.lines = [[' '] * self.columns for _ in range(self.rows)]

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.top, self.bottom = 0, rows - 1
        self.row, self.column = min(self.row, rows - 1), min(self.column, columns)
        self.lines = [(line + [' '] * columns)[:columns] for line in self.lines[:rows]]
        self.lines += [[' '] * columns for _ in range(rows - len(self.lines))]
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def type(self, text):
        os.write(self.fd, text.encode())

    # ---- what the program writes ----

    def down(self):
        if self.row == self.bottom:
            del self.lines[self.top]
            self.lines.insert(self.bottom, [' '] * self.columns)
        else:
            self.row = min(self.row + 1, self.rows - 1)

    def up(self):
        if self.row == self.top:
            del self.lines[self.bottom]
            self.lines.insert(self.top, [' '] * self.columns)
        else:
            self.row = max(self.row - 1, 0)

    def erase(self, first, last):
        for at in range(max(first, 0), min(last, self.rows * self.columns)):
            self.lines[at // self.columns][at % self.columns] = ' '

    def control(self, private, numbers, letter):
        n = [int(x) if x else 0 for x in numbers.split(';')]
        one = max(n[0], 1)
        at = self.row * self.columns + self.column
        if private or letter in 'mlhn':
            return
        if letter in 'Hf':
            self.row = min(one, self.rows) - 1
            self.column = min(max(n[1], 1) if len(n) > 1 else 1, self.columns) - 1
        elif letter == 'J':
            self.erase(at if n[0] == 0 else 0, self.rows * self.columns if n[0] != 1 else at + 1)
        elif letter == 'K':
            begin = self.row * self.columns
            self.erase(at if n[0] == 0 else begin, begin + self.columns if n[0] != 1 else at + 1)
        elif letter in 'ABCD':
            self.row = min(max(self.row + one * {'A': -1, 'B': 1}.get(letter, 0), 0), self.rows - 1)
            self.column = min(max(self.column + one * {'C': 1, 'D': -1}.get(letter, 0), 0),
                              self.columns - 1)
        elif letter == 'r':
            # the program may draw for a size that the screen has no longer
            self.top, self.bottom = (one - 1, n[1] - 1) if len(n) > 1 else (0, self.rows - 1)
            self.bottom = min(self.bottom, self.rows - 1)
            self.top = min(self.top, self.bottom)
            self.row = self.column = 0
        else:
            raise AssertionError('the screen does not know ESC [ %s %s' % (numbers, letter))

    def take(self, text):
        text = self.pending + text
        self.pending = ''
        at = 0
        while at < len(text):
            char = text[at]
            if char == '\x1b':
                found = SEQUENCE.match(text, at)
                if not found:
                    if len(text) - at < 16:
                        self.pending = text[at:]
                        return
                    raise AssertionError('the screen does not know %r' % text[at:at + 8])
                if found.group(3):
                    self.control(*found.group(1, 2, 3))
                elif found.group(5) == 'M':
                    self.up()
                elif found.group(5) in ('D', 'E'):
                    self.down()
                at = found.end()
                continue
            at += 1
            if char == '\r':
                self.column = 0
            elif char == '\n':
                self.down()
            elif char == '\b':
                self.column = max(self.column - 1, 0)
            elif char == '\t':
                self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
            elif char >= ' ' and char != '\x7f':
                if self.column == self.columns:
                    self.column = 0
                    self.down()
                self.lines[self.row][self.column] = char
                self.column += 1

    def read(self, seconds):
        """Take what comes; false at the end of the program."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b''
        self.raw += data.decode(errors='replace')
        self.take(data.decode(errors='replace'))
        return bool(data)

    # ---- what is asked of it ----

    def text(self):
        return '\n'.join(''.join(line).rstrip() for line in self.lines)

    def shows(self, *parts, seconds=60):
        """Wait until all parts are on the screen (a part that begins with ! until it is not)."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if all((p[1:] not in text) if p[0] == '!' else (p in text) for p in parts):
                return text
            if time.monotonic() > end or not self.read(0.2):
                raise AssertionError('%r is not shown:\n%s' % (parts, self.text()))

    def ends(self, seconds=60):
        """The exit status, as the shell has it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.1) and select.select([self.fd], [], [], 0.2)[0]:
                    pass
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
        raise AssertionError('the program goes on:\n' + self.text())

    def is_sane(self):
        """Has the terminal the settings that it had?"""
        now = termios.tcgetattr(self.fd)
        return now[:4] == self.settings[:4]

    def close(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(self.pid, 0)
        os.close(self.fd)
