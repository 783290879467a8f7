"""What the checks of tools/check-* share: the files of the tree, C text without comments, and TAP.

A check is a program that prints one TAP line for each of its rules; what breaks a rule stands
above the line as `# file:line: what is wrong`.  It ends with 1 if a rule is broken.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Report:
    """Rules in the order they are first named, each with what breaks it."""

    def __init__(self):
        self.rules = {}

    def rule(self, name):
        self.rules.setdefault(name, [])
        return name

    def broken(self, rule, path, line, text):
        self.rules.setdefault(rule, []).append((path, line, text))

    def finish(self):
        print('1..%d' % len(self.rules))
        for number, (name, found) in enumerate(self.rules.items(), 1):
            for path, line, text in sorted(found):
                print('# %s:%d: %s' % (path, line, text))
            print('%sok %d - %s' % ('not ' if found else '', number, name))
        sys.stdout.flush()
        return 1 if any(self.rules.values()) else 0


def skip_all(reason):
    print('1..0 # SKIP ' + reason)
    return 0


def root_of_arguments():
    """The tree to look at: this one, or --root DIR (the tests of the checks)."""
    if len(sys.argv) > 2 and sys.argv[1] == '--root':
        root = os.path.abspath(sys.argv[2])
        del sys.argv[1:3]
        return root
    return ROOT


def tracked(root):
    """All files of the tree as relative paths: git's view, new files included, else the folder's."""
    try:
        out = subprocess.run(
            ['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
            check=True, capture_output=True).stdout
        names = [os.fsdecode(n) for n in out.split(b'\0') if n]
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if f != '.git' and not f.startswith('build')]
            names += [os.path.relpath(os.path.join(folder, f), root) for f in files]
    return sorted(n for n in set(names) if os.path.isfile(os.path.join(root, n)))


def c_files(root, folders=('src', 'tests', 'bench'), ends=('.c', '.h')):
    return [n for n in tracked(root) if n.split('/')[0] in folders and n.endswith(ends)]


def read(root, name):
    with open(os.path.join(root, name), encoding='utf-8', errors='replace') as f:
        return f.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text, strings=True):
    """The text with comments (and strings) as spaces, so that lines and columns stay."""

    def spaces(match):
        found = match.group(0)
        if found[0] in '"\'':
            if not strings:
                return found
            return found[0] + ' ' * (len(found) - 2) + found[-1]
        return re.sub(r'[^\n]', ' ', found)

    return TOKEN.sub(spaces, text)


def without_directives(code):
    """Blanked C without preprocessor lines, whose braces need not match."""
    out = []
    inside = False
    for line in code.split('\n'):
        inside = inside or line.lstrip().startswith('#')
        out.append('' if inside else line)
        inside = inside and line.rstrip().endswith('\\')
    return '\n'.join(out)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


class Function:
    """A definition: its name, lines, parameters, and the text between its braces."""

    def __init__(self, header, name, line, last, parameters, body, body_line):
        self.static = re.search(r'\bstatic\b', header) is not None
        self.name = name
        self.line = line
        self.last = last
        self.parameters = parameters
        self.body = body
        self.body_line = body_line

    def nesting(self):
        return max([depth for _, depth in blocks(self.body)], default=0)


def matching(code, at):
    """The offset of the bracket that closes the one at `at`, or the end of the text."""
    pairs = {'(': ')', '{': '}', '[': ']'}
    stack = []
    for i in range(at, len(code)):
        c = code[i]
        if c in pairs:
            stack.append(pairs[c])
        elif stack and c == stack[-1]:
            stack.pop()
            if not stack:
                return i
    return len(code) - 1


def parameters_of(header):
    """(name, count of parameters) of a function's head, or None where it is no function."""
    flat = re.sub(r'__attribute__\s*\(\(.*?\)\)', lambda m: ' ' * len(m.group(0)), header,
                  flags=re.S)
    call = re.search(r'([A-Za-z_]\w*)\s*\(', flat)
    if call is None or re.search(r'[^=!<>]=[^=]', flat[:call.start()]):
        return None
    end = matching(flat, call.end() - 1)
    inside = flat[call.end():end]
    if re.search(r'[;=]', flat[end + 1:]):
        return None
    parts, depth, last = [], 0, 0
    for i, c in enumerate(inside):
        depth += c in '([{'
        depth -= c in ')]}'
        if c == ',' and depth == 0:
            parts.append(inside[last:i])
            last = i + 1
    parts.append(inside[last:])
    parts = [p.strip() for p in parts]
    return call.group(1), len([p for p in parts if p not in ('', 'void', '...')])


def functions(text):
    """All function definitions of a C text."""
    code = without_directives(blank(text))
    found = []
    start = at = 0
    while at < len(code):
        c = code[at]
        if c == ';':
            start = at + 1
        elif c == '{':
            end = matching(code, at)
            header = code[start:at]
            head = parameters_of(header)
            if head is not None:
                offset = start + len(header) - len(header.lstrip())
                found.append(Function(header, head[0], line_of(code, offset), line_of(code, end), head[1],
                                      code[at + 1:end], line_of(code, at)))
                start = end + 1
            elif '=' not in header:
                start = end + 1
            at = end
        at += 1
    return found


KEYWORDS_OF_VALUES = ('return', 'sizeof', 'case')


def opens_block(body, at):
    """Is the brace at `at` one of statements (not of a value: an initialiser, a literal)?"""
    before = body[:at].rstrip()
    if before == '' or before[-1] in ';{}:':
        return True
    if before.endswith(('else', 'do')):
        return True
    if before[-1] != ')':
        return False
    depth = 0
    for i in range(len(before) - 1, -1, -1):
        depth += before[i] == ')'
        depth -= before[i] == '('
        if depth == 0:
            word = re.search(r'([A-Za-z_]\w*)\s*$', before[:i])
            return word is not None and word.group(1) not in KEYWORDS_OF_VALUES
    return False


def blocks(body):
    """(offset, depth) of each block of statements in a function's body; the outermost has 1."""
    found = []
    stack = []
    for at, c in enumerate(body):
        if c == '{':
            inside_value = bool(stack) and not stack[-1]
            block = not inside_value and opens_block(body, at)
            stack.append(block)
            if block:
                found.append((at, sum(stack)))
        elif c == '}' and stack:
            stack.pop()
    return found


INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def includes(text):
    """(line, system?, path) of each include, in order."""
    code = blank(text, strings=False)
    return [(line_of(code, m.start(2)), m.group(1) == '<', m.group(2))
            for m in INCLUDE.finditer(code)]
