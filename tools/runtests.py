"""Build the tree in its variants, run their tests with meson, and count the TAP lines of all.

meson counts programs; a program here holds many stories, and a story that fails should be counted
and named.  Called by tools/test.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# name, build folder, options of meson setup, options of meson test.  AUDIT is on where the
# sanitizers are, so that both the code as it ships and the code with all its checks are tested.
VARIANTS = [
    ('as shipped', 'build', ['-Daudit=false', '-Db_sanitize=none'], []),
    ('with sanitizers and AUDIT', 'build-asan',
     ['-Daudit=true', '-Db_sanitize=address,undefined', '-Dbuildtype=debugoptimized'],
     ['--no-suite', 'lint', '--no-suite', 'contract', '--timeout-multiplier', '4']),
]

TAP = re.compile(r'^(not )?ok\b[ \t]*\d*[ \t]*(.*)$')


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = self.forgiven = 0
        self.failures = []

    def fail(self, text):
        self.failed += 1
        self.failures.append(text)

    def add_test(self, variant, entry):
        """One program's result, with its TAP text."""
        name = '%s (%s)' % (entry['name'], variant)
        failed, skipped = self.failed, self.skipped
        lines = 0
        for line in entry.get('stdout', '').splitlines():
            found = TAP.match(line)
            if not found:
                continue
            lines += 1
            if re.search(r'#\s*skip', found.group(2), re.I):
                self.skipped += 1
            elif found.group(1) and not re.search(r'#\s*todo', found.group(2), re.I):
                self.fail('%s: %s' % (name, found.group(2)))
            else:
                self.passed += 1
        result = entry['result']
        if result in ('OK', 'EXPECTEDFAIL', 'SKIP'):
            if lines == 0 and result == 'SKIP':
                self.skipped += 1
            elif lines == 0:
                self.passed += 1
        elif result == 'FAIL' and entry.get('returncode') == 0 and self.skipped > skipped:
            # cmocka 1.1.5 says `not ok 1 # SKIP`, which meson takes for a failure.
            self.forgiven += self.failed == failed
        elif self.failed == failed:
            self.fail('%s: %s' % (name, result.lower()))

    def finish(self):
        for text in self.failures:
            print('failed: ' + text)
        line = '%d passed, %d failed' % (self.passed, self.failed)
        if self.skipped:
            line += ', %d skipped' % self.skipped
        print(line, flush=True)
        return 1 if self.failed or not self.passed else 0


def run(*command):
    print('$ ' + ' '.join(command), flush=True)
    return subprocess.run(command, cwd=ROOT).returncode


def build(folder, options):
    # Not with sanitizers: what they add makes gcc warn of paths that nobody wrote.
    strict = os.environ.get('CI') == 'true' and '-Db_sanitize=none' in options
    options = options + ['-Dwerror=' + ('true' if strict else 'false')]
    if os.path.exists(os.path.join(ROOT, folder, 'build.ninja')):
        rc = run('meson', 'configure', folder, *options)
    else:
        rc = run('meson', 'setup', folder, *options)
    return rc == 0 and run('ninja', '-C', folder) == 0


def test(variant, folder, options, suites, count):
    logs = os.path.join(ROOT, folder, 'meson-logs', 'testlog*.json')  # --wrap puts a word into the name
    for log in glob.glob(logs):
        os.unlink(log)
    for suite in suites:
        options = options + ['--suite', suite]
    if 'nightly' not in suites:
        options = options + ['--no-suite', 'nightly']
    rc = run('meson', 'test', '-C', folder, '--no-rebuild', '--print-errorlogs', *options)
    tests = 0
    for log in glob.glob(logs):
        with open(log, encoding='utf-8', errors='replace') as f:
            for line in f:
                tests += 1
                try:
                    count.add_test(variant, json.loads(line))
                except json.JSONDecodeError:
                    count.fail('a line of %s that is no JSON: did two runs share the folder?' % log)
    if rc != 0 and (tests == 0 or not count.failed + count.forgiven):
        count.fail('meson test (%s) ended with %d' % (variant, rc))


def main():
    parser = argparse.ArgumentParser(prog='tools/test')
    parser.add_argument('--fast', action='store_true', help='without the build with sanitizers')
    parser.add_argument('--suite', action='append', default=[], help='only this suite')
    args = parser.parse_args()
    count = Count()
    started = time.monotonic()
    for name, folder, setup, options in VARIANTS[:1] if args.fast else VARIANTS:
        if build(folder, setup):
            test(name, folder, options, args.suite, count)
        else:
            count.fail('the build (%s)' % name)
        print('%s: %d s so far' % (name, time.monotonic() - started), flush=True)
    return count.finish()


if __name__ == '__main__':
    sys.exit(main())
