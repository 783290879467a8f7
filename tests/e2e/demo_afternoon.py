"""The demo of the afternoon: it plays to its end, and leaves nothing behind, even when interrupted.

usage: demo_afternoon.py MUSTER MUSTER_DEMO
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MUSTER, DEMO = (os.path.abspath(word) for word in sys.argv[1:3])
WAIT_S = 300
count = 0
bad = 0


def check(good, text, *notes):
    global count, bad
    count += 1
    bad += not good
    print(f'{"ok" if good else "not ok"} {count} - {text}', flush=True)
    if not good:
        for note in notes:
            for line in str(note).splitlines()[-200:]:
                print(f'# {line}')


def processes_of(place):
    """The processes that name the folder in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                if place.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def leaves_nothing(place, what):
    until = time.monotonic() + 60
    while processes_of(place) and time.monotonic() < until:
        time.sleep(0.1)
    check(not processes_of(place), f'{what} leaves no process', processes_of(place))
    check(os.listdir(place) == [], f'{what} leaves no file', os.listdir(place))


def in_place(story):
    place = tempfile.mkdtemp(prefix='demo-', dir='/tmp')
    try:
        story(place, dict(os.environ, TMPDIR=place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


def it_plays_to_its_end(place, env):
    done = subprocess.run([MUSTER, 'demo', 'afternoon', '--fast'], env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT_S)
    lines = done.stdout.splitlines()
    checks = [line for line in lines if line.startswith(('ok ', 'not ok '))]
    check(done.returncode == 0, 'the demo exits with 0', done.stdout)
    check(len(checks) >= 35 and not any(line.startswith('not') for line in checks),
          f'all of its {len(checks)} checks are good', *checks)
    check(lines and lines[-1] == f'# {len(checks)} of {len(checks)} as it must be',
          'its last line counts them', *lines[-1:])
    check(any('64 GPUs, all of them simulated' in line for line in lines),
          'it says that the GPUs are simulated')
    check(any('$ muster why' in line for line in lines), 'it shows why the gang waits')
    leaves_nothing(place, 'it')


def it_is_interrupted(place, env):
    demo = subprocess.Popen([DEMO, 'afternoon', '--fast'], env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seen = []
    for line in demo.stdout:
        seen.append(line)
        if 'saved checkpoint' in line:
            demo.send_signal(signal.SIGINT)
            break
    rest = demo.stdout.read()
    check(demo.wait(timeout=WAIT_S) == 1, 'interrupted it exits with 1', ''.join(seen), rest)
    check('the demo was interrupted' in rest, 'it says so', rest)
    leaves_nothing(place, 'interrupted it')


def words_are_wrong(place, env):
    for words in ([], ['evening'], ['afternoon', 'twice']):
        done = subprocess.run([DEMO, *words], env=env, text=True, capture_output=True, timeout=60)
        check(done.returncode == 2 and 'request.invalid' in done.stderr,
              f'muster-demo {" ".join(words)}: told, status 2', done.returncode, done.stderr)


for story in (words_are_wrong, it_is_interrupted, it_plays_to_its_end):
    in_place(story)
print(f'1..{count}')
sys.exit(bad != 0)
