#!/usr/bin/env python3
"""Are faults of the core seen?  Puts each fault of faults.txt into a copy of the tree and runs the
tests until one of them fails.

usage: check_mutants.py [--tree DIR] [--folder DIR] [FAULT...]

The copy and its build stay in DIR (default build-mutants).  A fault whose text is not there once,
one that does not compile, and one that no test sees are failures.  TAP on standard output; each line
names what saw the fault first.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
COPIED = ['src', 'tests', 'bench', 'data', 'man', 'doc', 'examples', 'tools', 'meson.build',
          'meson_options.txt', 'debian']
UNIT = {'src/core': 'tests/unit/core', 'src/journal': 'tests/unit/journal'}


def read_faults(path):
    faults = []
    with open(path, encoding='utf-8') as f:
        for line in f:
            line = line.rstrip('\n')
            if line.startswith('fault '):
                faults.append({'name': line[6:], 'from': [], 'to': []})
            elif line.startswith(('file ', 'breaks ')):
                key, _, value = line.partition(' ')
                faults[-1][key] = value
            elif line.startswith('-'):
                faults[-1]['from'].append(line[1:])
            elif line.startswith('+'):
                faults[-1]['to'].append(line[1:])
    return faults


def run(command, cwd, timeout=600):
    """None if it succeeded, else its last words."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors='replace', timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return 'no end after %d s' % timeout
    if done.returncode == 0:
        return None
    words = [l for l in done.stdout.splitlines() if l.startswith(('not ok', 'seed', 'muster', '# '))
             and 'passed' not in l and ': ok' not in l]
    return (words or done.stdout.splitlines()[-1:] or ['ended with %d' % done.returncode])[0][:150]


class Copy:
    def __init__(self, tree, folder):
        self.tree = tree
        self.folder = os.path.join(folder, 'tree')
        self.build = os.path.join(folder, 'build')
        os.makedirs(folder, exist_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        for name in COPIED:
            path = os.path.join(tree, name)
            if os.path.isdir(path):
                shutil.copytree(path, os.path.join(self.folder, name), symlinks=True)
            elif os.path.exists(path):
                shutil.copy2(path, self.folder)
        shutil.rmtree(self.build, ignore_errors=True)
        subprocess.run(['meson', 'setup', self.build, self.folder, '-Daudit=true'], check=True,
                       stdout=subprocess.DEVNULL)

    def ninja(self, *targets):
        return run(['ninja', '-C', self.build] + list(targets), self.folder, 1800)

    def swap(self, fault, text):
        with open(os.path.join(self.folder, fault['file']), 'w', encoding='utf-8') as f:
            f.write(text)

    def scenarios(self, fault):
        return run([os.path.join(self.build, 'muster-sim'), 'scenario'] +
                   sorted(glob.glob(os.path.join(self.folder, 'tests/scenario/*.scn'))), self.folder)

    def unit(self, fault):
        folder = UNIT[os.path.dirname(fault['file'])]
        listed = subprocess.run(['ninja', '-C', self.build, '-t', 'targets', 'all'], text=True,
                                stdout=subprocess.PIPE, check=True).stdout
        targets = [l.split(':')[0] for l in listed.splitlines()
                   if l.startswith(folder + '/') and l.endswith('c_LINKER')]
        wrong = self.ninja(*targets)
        for target in targets:
            wrong = wrong or run([os.path.join(self.build, target)], self.folder)
        return wrong

    def seeds(self, fault):
        return run([os.path.join(self.build, 'muster-sim'), 'run', '--seeds', '12', '--events', '300'],
                   self.folder, 1200)

    def model(self, fault):
        return run([sys.executable, 'tests/model/check_random.py', '--cases', '6000', '--as-is',
                    '--sim', os.path.join(self.build, 'muster-sim')], self.folder, 1200)


def judge(copy, fault):
    """(is it as it should be, words)"""
    with open(os.path.join(copy.folder, fault['file']), encoding='utf-8') as f:
        right = f.read()
    old, new = '\n'.join(fault['from']), '\n'.join(fault['to'])
    if right.count(old) != 1:
        return False, 'the text is there %d times in %s' % (right.count(old), fault['file'])
    copy.swap(fault, right.replace(old, new))
    try:
        wrong = copy.ninja('muster-sim')
        if wrong:
            return False, 'does not compile: ' + wrong
        for name in ('scenarios', 'unit', 'seeds', 'model'):
            wrong = getattr(copy, name)(fault)
            if wrong:
                return True, '%s: %s' % (name, wrong)
        return False, 'nothing sees it'
    finally:
        copy.swap(fault, right)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--tree', default=os.path.dirname(os.path.dirname(HERE)))
    parser.add_argument('--folder')
    parser.add_argument('fault', nargs='*')
    args = parser.parse_args()
    faults = [f for f in read_faults(os.path.join(HERE, 'faults.txt'))
              if not args.fault or f['name'] in args.fault]
    copy = Copy(args.tree, args.folder or os.path.join(args.tree, 'build-mutants'))
    print('1..%d' % (len(faults) + 1))
    clean = copy.ninja('muster-sim') or copy.scenarios(None) or copy.seeds(None)
    print('%sok 1 - without a fault all is well%s' % ('not ' if clean else '', ' # ' + clean if clean else ''))
    failed = clean is not None
    for i, fault in enumerate(faults):
        began = time.monotonic()
        good, words = judge(copy, fault)
        failed += not good
        print('%sok %d - %s (%s)' % ('' if good else 'not ', i + 2, fault['name'], fault['breaks']))
        print('# %s, %d s' % (words, time.monotonic() - began))
        sys.stdout.flush()
    print('# %d passed, %d failed' % (len(faults) + 1 - failed, failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
