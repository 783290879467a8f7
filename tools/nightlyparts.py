"""The parts of a night, each a build of its own or a tool; their results are counted together.

Called by tools/nightly.  A part that cannot run here (a package is missing that tools/install-deps
--nightly would bring) is skipped with the reason.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

import runtests

ROOT = runtests.ROOT
VALGRIND = ('valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect '
            '--errors-for-leak-kinds=definite,indirect --child-silent-after-fork=yes '
            '--suppressions=' + os.path.join(ROOT, 'tools', 'valgrind.supp'))


def meson(count, name, folder, setup, options, suites):
    if runtests.build(folder, setup):
        runtests.test(name, folder, options, suites, count)
    else:
        count.fail('the build (%s)' % name)


def tool(count, name, *command):
    """A command whose last line is `N passed, N failed`, or that only has an exit status."""
    print('$ ' + ' '.join(command), flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    sys.stdout.write(done.stdout)
    found = re.findall(r'^(?:# )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$', done.stdout, re.M)
    for line in re.findall(r'^not ok.*', done.stdout, re.M):
        count.failures.append('%s: %s' % (name, line))
    if found:
        count.passed += int(found[-1][0])
        count.failed += int(found[-1][1])
        count.skipped += int(found[-1][2] or 0)
    elif done.returncode == 0:
        count.passed += 1
    if done.returncode != 0 and not (found and int(found[-1][1])):
        count.fail('%s ended with %d' % (name, done.returncode))


def need(count, name, *programs):
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        print('skipped: %s needs %s' % (name, ', '.join(missing)), flush=True)
        count.skipped += 1
    return not missing


def part_suite(count, args):
    """tests of the suite nightly: many seeds, a million random cases, mutants, long faults"""
    meson(count, 'nightly', 'build', runtests.VARIANTS[0][2], [], ['nightly'])


def part_fuzz(count, args):
    """every fuzz target for 20 minutes"""
    if need(count, 'fuzz', 'clang-14'):
        tool(count, 'fuzz', 'tools/fuzz', '--seconds', str(args.fuzz_seconds))


def part_threads(count, args):
    """unit tests with threads and musterd under ThreadSanitizer"""
    meson(count, 'threads', 'build-tsan',
          ['-Db_sanitize=thread', '-Dbuildtype=debugoptimized', '-Db_lundef=false'],
          ['--timeout-multiplier', '6', '--no-suite', 'lint'], ['unit', 'e2e'])


def part_valgrind(count, args):
    """unit tests under valgrind's memcheck"""
    if need(count, 'valgrind', 'valgrind'):
        meson(count, 'valgrind', 'build-valgrind', ['-Dbuildtype=debug', '-Daudit=false'],
              ['--wrap=' + VALGRIND, '--timeout-multiplier', '20'], ['unit'])


def part_analysis(count, args):
    """cppcheck and gcc -fanalyzer without findings"""
    if need(count, 'analysis', 'cppcheck'):
        tool(count, 'analysis', 'tools/check-analysis')


def part_machines(count, args):
    """base and core on a 32-bit and a big-endian machine: the same state hashes"""
    tool(count, 'machines', 'tools/check-machines')


def part_coverage(count, args):
    """lines and branches reached, against the floors"""
    if need(count, 'coverage', 'gcovr'):
        tool(count, 'coverage', 'tools/coverage')


PARTS = {name[len('part_'):]: function for name, function in list(globals().items())
         if name.startswith('part_')}


def main():
    parser = argparse.ArgumentParser(prog='tools/nightly')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--without', action='append', default=[], choices=PARTS, metavar='PART')
    parser.add_argument('--fuzz-seconds', type=int, default=1200)
    parser.add_argument('part', nargs='*')
    args = parser.parse_args()
    if set(args.part) - set(PARTS):
        parser.error('there are: ' + ', '.join(PARTS))
    if args.list:
        for name, function in PARTS.items():
            print('%-10s %s' % (name, function.__doc__))
        return 0
    if subprocess.run(['tools/install-deps', '--nightly'], cwd=ROOT).returncode != 0:
        print('0 passed, 1 failed')
        return 1
    count = runtests.Count()
    for name, function in PARTS.items():
        if name in args.without or (args.part and name not in args.part):
            continue
        began = time.monotonic()
        function(count, args)
        print('%s: %d s, so far %d passed, %d failed' %
              (name, time.monotonic() - began, count.passed, count.failed), flush=True)
    return count.finish()


if __name__ == '__main__':
    sys.exit(main())
