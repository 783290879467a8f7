#!/usr/bin/env python3
"""The program muster-journal, from outside: what it prints, its exit codes, its one-line errors; and
the chain of an export checked without any code of ours.
usage: muster_journal.py MUSTER_JOURNAL MAKE_JOURNAL"""
import hashlib
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile

PROGRAM, MAKE = sys.argv[1:3]
TESTS = []


def story(function):
    TESTS.append(function)
    return function


def run(*args, code=0, **more):
    done = subprocess.run([PROGRAM, *args], capture_output=True, **more)
    assert done.returncode == code, (args, done)
    if code != 0:
        assert done.stderr.startswith(b'muster-journal: '), done.stderr
        assert done.stderr.count(b'\n') == 1, done.stderr
    else:
        assert done.stderr == b'', done.stderr
    return done


def make(path, count):
    subprocess.run([MAKE, path, str(count)], check=True)


def change(path, sql):
    db = sqlite3.connect(path)
    db.execute('DROP TRIGGER journal_no_update')
    db.execute('DROP TRIGGER journal_no_delete')
    db.execute(sql)
    db.commit()
    db.close()


def chained(prev, record, body):
    kind = record['kind'].encode()
    return hashlib.sha256(
        prev + struct.pack('>5q', record['seq'], record['epoch'], record['at_ms'],
                           record['true_at_ms'], record['precision_ms'])
        + struct.pack('>q', len(kind)) + kind + struct.pack('>q', record['version'])
        + struct.pack('>q', len(body)) + body).digest()


@story
def an_export_can_be_checked_without_our_code(where):
    path = where + '/journal.db'
    make(path, 123)
    lines = run('export', path).stdout.splitlines()
    prev = bytes(32)
    for number, line in enumerate(lines, 1):
        record = json.loads(line)
        assert record['seq'] == number
        assert bytes.fromhex(record['prev']) == prev
        start = line.index(b',"body":') + len(b',"body":')
        prev = chained(prev, record, line[start:-len(',"prev":""') - len(',"hash":""}') - 128])
        assert bytes.fromhex(record['hash']) == prev
    assert len(lines) == 123
    assert run('verify', path).stdout.decode() == (
        'good: 123 records, last hash %s\n' % prev.hex())


@story
def verify_export_takes_a_file_or_its_input(where):
    path = where + '/journal.db'
    make(path, 30)
    text = run('export', path).stdout
    with open(where + '/lines', 'wb') as file:
        file.write(text)
    good = run('verify', path).stdout
    assert run('verify-export', where + '/lines').stdout == good
    assert run('verify-export', '-', input=text).stdout == good
    tail = run('export', '--from', '11', path).stdout
    assert tail == b''.join(text.splitlines(True)[10:])
    assert b'20 records from 11 on' in run('verify-export', '-', input=tail).stdout
    assert run('verify-export', '-', input=b'').stdout.startswith(b'good: 0 records')
    changed = text.replace(b'"n":7,', b'"n":8,')
    assert b'-:7: record 7: ' in run('verify-export', '-', input=changed, code=1).stderr
    assert b'-:31: column 1' in run('verify-export', '-', input=text + b'\n', code=2).stderr
    assert b'cut off' in run('verify-export', '-', input=text[:-1], code=2).stderr
    assert b'No such file' in run('verify-export', where + '/nothing', code=5).stderr


@story
def show_and_tail_are_for_people(where):
    path = where + '/journal.db'
    make(path, 25)
    shown = run('show', path, '7').stdout.decode()
    assert 'seq       7\n' in shown and 'recorded  2023-11-14T22:13:20.007Z' in shown
    assert 'body      {"n":7,' in shown
    first = run('show', path, '1').stdout.decode()
    assert 'previous  ' + '0' * 64 in first
    assert first.split('hash      ')[1][:64] in run('show', path, '2').stdout.decode()
    assert len(run('tail', path).stdout.splitlines()) == 20
    lines = run('tail', '-n', '3', path).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [b'23', b'24', b'25']
    assert run('tail', path, '-n', '0').stdout == b''
    assert len(run('tail', '-n', '1000', path).stdout.splitlines()) == 25
    assert b'the last is 25' in run('show', path, '26', code=5).stderr


@story
def damage_is_named_and_what_is_good_can_be_seen(where):
    path = where + '/journal.db'
    make(path, 40)
    change(path, 'UPDATE journal SET at_ms = 1 WHERE seq = 20')
    assert b'record 20' in run('verify', path, code=1).stderr
    done = run('export', path, code=1)
    assert len(done.stdout.splitlines()) == 19 and b'record 20' in done.stderr
    run('show', path, '19')
    run('show', path, '20', code=1)
    os.truncate(path, 5000)
    assert b'damaged' in run('verify', path, code=1).stderr


@story
def a_cut_end_is_found_by_who_kept_a_hash(where):
    path = where + '/journal.db'
    make(path, 10)
    kept = run('verify', path).stdout.decode().split()[-1]
    run('verify', path, '--expect', '10:' + kept)
    assert b'not the one' in run('verify', path, '--expect', '9:' + kept, code=1).stderr
    change(path, 'DELETE FROM journal WHERE seq = 10')
    db = sqlite3.connect(path)
    db.execute("UPDATE meta SET value = 9 WHERE key = 'last_seq'")
    db.commit()
    db.close()
    run('verify', path)
    run('verify', path, '--expect', '10:' + kept, code=1)


@story
def it_works_beside_a_running_owner(where):
    path = where + '/journal.db'
    owner = subprocess.Popen([MAKE, path, '50', 'hold'], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b'open\n'
    assert run('verify', path).stdout.startswith(b'good: 50 records')
    other = subprocess.run([MAKE, path, '1'], capture_output=True, check=False)
    assert other.returncode == 1 and b'pid %d' % owner.pid in other.stderr
    owner.stdin.close()
    owner.stdout.close()
    assert owner.wait() == 0
    assert run('verify', path).stdout.startswith(b'good: 50 records')


@story
def a_copy_is_whole_and_never_overwrites(where):
    path = where + '/journal.db'
    owner = subprocess.Popen([MAKE, path, '50', 'hold'], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b'open\n'
    good = run('verify', path).stdout
    assert run('copy', path, where + '/copy.db').stdout == good.replace(b'good', b'copied')
    owner.kill()
    owner.stdin.close()
    owner.stdout.close()
    owner.wait()
    assert os.stat(where + '/copy.db').st_mode & 0o777 == 0o600
    assert run('verify', where + '/copy.db').stdout == good
    assert b'File exists' in run('copy', path, where + '/copy.db', code=7).stderr
    assert b'cannot make' in run('copy', path, where + '/none/copy.db', code=1).stderr
    assert run('copy', where, where + '/of-state.db').stdout.startswith(b'copied: 50 records')
    subprocess.run([MAKE, where + '/copy.db', '5'], check=True)
    assert run('verify', where + '/copy.db').stdout.startswith(b'good: 55 records')


@story
def an_import_makes_the_same_journal(where):
    path, new, lines = where + '/journal.db', where + '/new.db', where + '/lines'
    make(path, 1234)
    text = run('export', path).stdout
    with open(lines, 'wb') as file:
        file.write(text)
    good = run('verify', path).stdout
    before = set(os.listdir(where))
    assert run('import', lines, new).stdout == good.replace(b'good', b'imported')
    assert set(os.listdir(where)) - before == {'new.db'}
    assert os.stat(new).st_mode & 0o777 == 0o600
    assert run('export', new).stdout == text
    assert run('verify', new).stdout == good
    os.mkdir(where + '/state')
    assert run('import', '-', where + '/state', input=text).stdout.startswith(b'imported: 1234 ')
    subprocess.run([MAKE, where + '/state/journal.db', '5'], check=True)
    assert run('verify', where + '/state/journal.db').stdout.startswith(b'good: 1239 records')


@story
def an_import_is_all_or_nothing(where):
    path, new = where + '/journal.db', where + '/new.db'
    make(path, 60)
    text = run('export', path).stdout
    lines = text.splitlines(True)

    def no(data, code, said, to=new):
        before = sorted(os.listdir(where))
        done = run('import', '-', to, code=code, input=data)
        assert said in done.stderr and done.stdout == b'', done
        assert sorted(os.listdir(where)) == before, os.listdir(where)

    no(text.replace(b'"n":57,', b'"n":58,'), 1, b'-:57: record 57: the hash does not match')
    no(b''.join(lines[:30] + lines[31:]), 1, b'-:31: record 32: seq does not follow')
    no(b''.join(lines[10:]), 2, b'-:1: the export begins with record 11')
    no(text + b'{}\n', 2, b'-:61: column 1: expected {"seq":')
    no(text[:-1], 2, b'-:60: the line is cut off')
    no(b'', 2, b'-: there is no line in it')
    no(text, 7, b'is there already', to=path)
    no(text, 1, b'cannot', to=where + '/none/of/it.db')
    assert b'No such file' in run('import', where + '/nothing', new, code=5).stderr
    assert run('verify', path).stdout.startswith(b'good: 60 records')
    open(new + '-wal', 'wb').close()
    no(text, 7, b'new.db-wal is there already')
    os.unlink(new + '-wal')
    open(new + '.part', 'wb').close()
    no(text, 7, b'left of an import that did not end')


@story
def an_import_takes_only_what_a_journal_may_hold(where):
    """Lines whose chain is whole, made by somebody else."""
    def chain(*bodies, epochs=None):
        prev, lines = bytes(32), []
        for seq, body in enumerate(bodies, 1):
            record = {'seq': seq, 'epoch': (epochs or [0] * 9)[seq - 1], 'at_ms': 5,
                      'true_at_ms': 5, 'precision_ms': 0, 'kind': 'k', 'version': 1}
            hashed = chained(prev, record, body)
            head = json.dumps(record, separators=(',', ':'))[:-1].encode()
            lines.append(head + b',"body":' + body + b',"prev":"' + prev.hex().encode() +
                         b'","hash":"' + hashed.hex().encode() + b'"}\n')
            prev = hashed
        return b''.join(lines)

    new = where + '/new.db'
    assert b'2 records' in run('import', '-', where + '/ok.db', input=chain(b'{}', b'{}')).stdout
    for text, said in ((chain(b'{}', b'{"a":"\t"}'), b'-:2: record 1 of the batch (k)'),
                       (chain(b'{}', b'{}', b'"\xff"'), b'-:3: '),
                       (chain(b'{}', b'{}', epochs=[2, 1]), b'-:2: ')):
        done = subprocess.run([PROGRAM, 'import', '-', new], input=text, capture_output=True,
                              check=False)
        assert done.returncode in (2, 7) and said in done.stderr, done
        assert os.listdir(where) == ['ok.db'], os.listdir(where)


@story
def wrong_arguments_are_one_line(where):
    for args in ([], ['verify'], ['look', 'x'], ['show', 'x'], ['copy', 'x'], ['copy', 'x', 'y', 'z'], ['import', 'x'],
                 ['import', 'x', 'y', '--from', '1'], ['show', 'x', '0'],
                 ['show', 'x', '1', '2'], ['show', 'x', '9223372036854775808'],
                 ['export', 'x', '--from', '-1'], ['verify', 'x', '--from', '1'],
                 ['tail', 'x', '-n', 'many'], ['export', 'x', '-n', '1'],
                 ['verify', 'x', '--expect', '1:abc'], ['tail', 'x', '--expect', '1:' + '0' * 64],
                 ['verify', 'x', '--expect', 'x:' + '0' * 64]):
        run(*args, code=2)
    assert b'there is no file' in run('verify', where + '/nothing', code=5).stderr
    assert b'muster-journal ' in run('--version').stdout
    assert b'verify-export' in run('--help').stdout


@story
def a_full_output_is_a_failure(where):
    path = where + '/journal.db'
    make(path, 100)
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([PROGRAM, 'export', path], stdout=full, stderr=subprocess.PIPE,
                              check=False)
    assert done.returncode == 1 and b'cannot write' in done.stderr, done


print('1..%d' % len(TESTS))
for at, test in enumerate(TESTS, 1):
    with tempfile.TemporaryDirectory() as folder:
        try:
            test(folder)
            print('ok %d - %s' % (at, test.__name__))
        except Exception as wrong:  # pylint: disable=broad-except
            line = wrong.__traceback__.tb_next.tb_lineno
            print('not ok %d - %s' % (at, test.__name__))
            print('# line %d: %r' % (line, wrong))
