"""Stories about the command line: a function with @test is one, its name says what must hold."""
import sys
import time

TESTS = []


class Skip(Exception):
    """The story cannot be told here; its text says why."""


def test(function):
    TESTS.append(function)
    return function


def same(got, want, what=''):
    assert got == want, '%s: got %r, not %r' % (what, got, want)


def holds(text, part):
    assert part in text, '%r is not in %r' % (part, text)


def wait_for(condition, seconds=60):
    """A busy machine is slow: the limit is there to end what never happens."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError('it did not happen in %d s' % seconds)


def tell(play, wanted):
    """TAP of the stories, or of those that are named; play(story) runs one.  How many failed."""
    chosen = [t for t in TESTS if not wanted or t.__name__ in wanted]
    failed = 0
    print('1..%d' % len(chosen), flush=True)
    for number, story in enumerate(chosen, 1):
        name = story.__name__.replace('_', ' ')
        begun = time.monotonic()
        try:
            play(story)
            print('ok %d - %s (%d ms)' % (number, name, (time.monotonic() - begun) * 1000),
                  flush=True)
        except Skip as e:
            print('ok %d - %s # SKIP %s' % (number, name, e), flush=True)
        except Exception as e:  # a broken test is a failed one
            failed += 1
            print('not ok %d - %s' % (number, name))
            for line in ('%s: %s' % (type(e).__name__, e)).splitlines():
                print('# ' + line)
            sys.stdout.flush()
    return failed
