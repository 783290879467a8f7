#!/usr/bin/env python3
"""The journal is signed, and what was done to an export is found, by muster-journal and by the script
of doc/audit.md, each with its line.  usage: journal_signed.py MUSTERD SHEPHERD EXAMPLES
MUSTER_JOURNAL"""
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

from daemon_world import Tap, World, play

DER = bytes.fromhex("302a300506032b6570032100")


class Line:
    """One line of an export, that can be changed and hashed anew."""

    def __init__(self, raw):
        self.r = json.loads(raw)
        self.body = raw[raw.index(b',"body":') + 8:-149]

    def rehash(self, prev):
        self.r["prev"] = prev
        kind = self.r["kind"].encode()
        head = struct.pack(">6q", *(self.r[k] for k in ("seq", "epoch", "at_ms", "true_at_ms",
                                                        "precision_ms")), len(kind))
        tail = struct.pack(">2q", self.r["version"], len(self.body))
        self.r["hash"] = hashlib.sha256(bytes.fromhex(prev) + head + kind + tail
                                        + self.body).hexdigest()
        return self.r["hash"]

    def text(self):
        r = self.r
        return (b'{"seq":%d,"epoch":%d,"at_ms":%d,"true_at_ms":%d,"precision_ms":%d,"kind":"%s",'
                b'"version":%d,"body":%s,"prev":"%s","hash":"%s"}\n'
                % (r["seq"], r["epoch"], r["at_ms"], r["true_at_ms"], r["precision_ms"],
                   r["kind"].encode(), r["version"], self.body, r["prev"].encode(),
                   r["hash"].encode()))


class Forger:
    """A key of one's own, by openssl alone."""

    def __init__(self, folder):
        self.folder = folder
        self.pem = folder + "/forged.key"
        self.call("genpkey", "-algorithm", "ed25519", "-out", self.pem)
        self.raw = self.call("pkey", "-in", self.pem, "-pubout", "-outform", "DER")[len(DER):]
        self.id = hashlib.sha256(DER + self.raw).hexdigest()[:16]

    @staticmethod
    def call(*words):
        return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout

    def sign(self, text):
        with open(self.folder + "/forged.text", "w") as f:
            f.write(text)
        return self.call("pkeyutl", "-sign", "-inkey", self.pem, "-rawin", "-in",
                         self.folder + "/forged.text").hex()

    def announcement(self):
        return b'{"key":"%s","public_key":"%s"}' % (self.id.encode(), self.raw.hex().encode())

    def checkpoint(self, b, value):
        text = ("muster journal checkpoint 1\nseq %d\nhash %s\nstate_hash %s\nformat %d\nkey %s\n"
                % (b["signed_seq"], value, b["state_hash"], b["format"], self.id))
        b = dict(b, hash=value, key=self.id, signature=self.sign(text))
        return json.dumps(b, separators=(",", ":")).encode()


class Audit:
    def __init__(self, t, w):
        self.t = t
        self.w = w
        self.program = sys.argv[4]
        self.key = w.dir + "/key.pem"
        self.script = w.dir + "/audit.py"
        with open(os.path.join(sys.argv[3], "..", "doc", "audit.md")) as f:
            with open(self.script, "w") as out:
                out.write(re.search(r"```python\n(.*?)```", f.read(), re.S).group(1))

    def verify(self, data, *options, key=None):
        path = self.w.dir + "/export.ndjson"
        with open(path, "wb") as f:
            f.write(data)
        return subprocess.run([self.program, "verify", "--key", key or self.key, *options, path],
                              capture_output=True, text=True, check=False)

    def outsider(self, data, key=None):
        path = self.w.dir + "/export.ndjson"
        with open(path, "wb") as f:
            f.write(data)
        return subprocess.run([sys.executable, self.script, key or self.key, path],
                              capture_output=True, text=True, check=False)

    def found(self, what, data, line, words, *options, outsider=True, code=1):
        """Tampering is found in this line: by both, if the script can (it takes no witness)."""
        done = self.verify(data, *options)
        self.t.ok(done.returncode == code and f"export.ndjson:{line}: " in done.stderr
                  and words in done.stderr and done.stderr.count("\n") == 1,
                  f"{what}: found in line {line}", done)
        if outsider:
            done = self.outsider(data)
            self.t.ok(done.returncode == 1 and f"line {line}: " in done.stderr,
                      f"{what}: found in line {line} without muster", done)


def export(w):
    data = w.get("journal/export").text.encode()
    return data, [Line(line) for line in data.splitlines()]


def join(lines):
    return b"".join(line.text() for line in lines)


def rehash(lines):
    prev = "00" * 32
    for line in lines:
        prev = line.rehash(prev)
    return lines


def renumber(lines):
    for seq, line in enumerate(lines, 1):
        line.r["seq"] = seq
    return rehash(lines)


def run_jobs(w, count):
    """And wait until nothing more is to be recorded of them."""
    for job in [w.run("true") for _ in range(count)]:
        w.until_state(job, "succeeded")


def signing_story(t, w, a):
    first = w.get("journal/key").json
    with open(a.key, "w") as f:
        f.write(first["pem"])
    t.equal(os.stat(w.state + "/journal.key").st_mode & 0o777, 0o600, "the key is for musterd only")
    t.equal(hashlib.sha256(DER + bytes.fromhex(first["public_key"])).hexdigest()[:16], first["key"],
            "its id is the hash of the public key")
    run_jobs(w, 3)
    one = w.post("journal/checkpoint")
    t.equal((one.status, int(one["seq"]) - int(one["signed_seq"])), (200, 1),
            "a checkpoint signs all before it", one)
    t.equal(one["state_hash"] != "", True, "with the state's hash")
    run_jobs(w, 1)
    two = w.post("journal/checkpoint")
    run_jobs(w, 1)
    for path in ("journal/checkpoint", "journal/key/rotate", "journal/verify"):
        t.equal(w.post(path, {"x": 1}).json["code"], "request.unknown_field",
                f"{path} takes no fields")
    with open(w.dir + "/witness", "w") as f:
        f.write(two["document"])
    data, lines = export(w)
    t.equal(data, join(lines), "an export is what the page says, byte by byte")
    done = a.verify(data)
    t.ok(f"signed: records 1 to {two['signed_seq']}, checkpoints: 2, the newest by key "
         f"{first['key']}\nnot signed: records {int(two['signed_seq']) + 1} to {len(lines)}: "
         in done.stdout and done.returncode == 0, "what is signed and what is not is said", done)
    done = a.outsider(data)
    t.equal((done.returncode, done.stdout),
            (0, f"signed up to record {two['signed_seq']} of {len(lines)}\n"),
            "so it is without muster", done)
    done = a.verify(data, "--witness", w.dir + "/witness")
    t.equal(done.returncode, 0, "a witness agrees", done)
    return int(one["signed_seq"]), int(one["seq"]), int(two["signed_seq"])


def tampering_story(t, w, a, signed):
    one, record, two = signed
    data, lines = export(w)
    raw = data.splitlines(True)
    witness = ("--witness", w.dir + "/witness")

    changed = list(raw)
    changed[4] = changed[4].replace(b'"at_ms":1', b'"at_ms":2', 1)
    a.found("a changed record", b"".join(changed), 5, "the hash does not match the record")
    a.found("a removed record", b"".join(raw[:4] + raw[5:]), 5, "seq does not follow")
    a.found("two records exchanged", b"".join(raw[:4] + [raw[5], raw[4]] + raw[6:]), 5,
            "seq does not follow")
    a.found("a line cut within", data[:-30], len(raw), "the line is cut off", code=2,
            outsider=False)
    a.found("the end cut off", b"".join(raw[:two - 1]), two - 1, "the end was cut off", *witness,
            outsider=False)
    done = a.verify(b"".join(raw[:two - 1]))
    t.ok(done.returncode == 0 and f"signed: records 1 to {one}," in done.stdout,
         "without a witness a shorter journal is a good one", done)

    _, lines = export(w)
    lines[3].r["at_ms"] += 1
    a.found("a record changed, all hashed anew", join(rehash(lines)), record,
            f"record {one} had another hash when it was signed")

    _, lines = export(w)
    del lines[3]
    a.found("a record removed, all hashed anew", join(renumber(lines)), record - 1,
            f"it speaks of record {one}, which comes later")

    _, lines = export(w)
    late = [line for line in lines if line.r["seq"] <= record
            or line.r["kind"] != "journal_checkpoint"]
    late[record].r["at_ms"] += 1
    forged = join(renumber(late))
    done = a.verify(forged)
    t.ok(done.returncode == 0 and f"signed: records 1 to {one}," in done.stdout
         and f"not signed: records {one + 1} to {len(late)}:" in done.stdout,
         "an end made anew without its checkpoints is not signed, and that is said", done)
    a.found("the same with a witness", forged, two, "it is not the one that the witness signed",
            *witness, outsider=False)


def forged_key_story(t, w, a):
    forger = Forger(w.dir)
    _, lines = export(w)
    prev = "00" * 32
    hashes = {}
    for line in lines:
        if line.r["kind"] == "journal_key":
            line.body = forger.announcement()
            announced = line.r["seq"]
        elif line.r["kind"] == "journal_checkpoint":
            b = json.loads(line.body)
            line.body = forger.checkpoint(b, hashes[b["signed_seq"]])
        prev = hashes[line.r["seq"]] = line.rehash(prev)
    done = a.verify(join(lines))
    t.ok(done.returncode == 1 and f"export.ndjson:{announced}: record {announced}: key {forger.id} "
         "comes into force here" in done.stderr,
         f"a chain of a forged key is found in line {announced}", done)
    done = a.outsider(join(lines))
    t.ok(done.returncode == 1 and f"key {forger.id} is not trusted" in done.stderr,
         "and without muster at its first checkpoint", done)
    with open(w.dir + "/forged.pem", "wb") as f:
        f.write(Forger.call("pkey", "-in", forger.pem, "-pubout"))
    done = a.verify(join(lines), key=w.dir + "/forged.pem")
    t.ok(done.returncode == 0, "who was given the forged key believes it: get the key elsewhere",
         done)


def key_story(t, w, a):
    before = w.get("journal/key")["key"]
    turned = w.post("journal/key/rotate")
    t.equal((turned.status, turned["previous"]), (200, before), "a new key takes over", turned)
    t.equal(w.get("journal/key")["key"], turned["key"], "and is in force")
    w.post("journal/checkpoint")
    data, lines = export(w)
    done = a.verify(data)
    t.ok(done.returncode == 0 and "newest by key " + turned["key"] in done.stdout
         and "note:" not in done.stdout, "who trusts the old key trusts it", done)
    t.equal(a.outsider(data).returncode, 0, "also without muster")
    shutil.copy(w.state + "/journal.key", w.dir + "/journal.key.good")
    w.stop()
    w.start()
    t.equal(w.get("journal/key")["key"], turned["key"], "it is in force after a restart")
    kinds = w.kinds()
    t.equal(kinds.count("journal_key"), 2, "and not announced again")
    w.stop()


def cut_short_story(t, w):
    """A change of keys ends with a crash at any point."""
    forger = Forger(w.dir)
    shutil.copy(forger.pem, w.state + "/journal.key.next")
    os.chmod(w.state + "/journal.key.next", 0o600)
    before = w.start().get("journal/key")["key"]
    t.ok(before != forger.id and not os.path.exists(w.state + "/journal.key.next"),
         "a key that the journal does not have did not take over")
    turned = w.post("journal/key/rotate")
    w.kill(signal.SIGKILL)
    shutil.move(w.state + "/journal.key", w.state + "/journal.key.next")
    shutil.copy(w.dir + "/journal.key.good", w.state + "/journal.key")
    with open(w.state + "/journal.key.id", "w") as f:
        f.write(before)
    w.start()
    t.equal(w.get("journal/key")["key"], turned["key"], "one that it has did")
    t.ok(not os.path.exists(w.state + "/journal.key.next"), "and lies in its place")
    t.equal(w.kinds().count("journal_key"), 3, "without being announced again")
    w.stop()


def lost_story(t, w, a):
    for name in ("journal.key", "journal.key.id"):
        shutil.copy(f"{w.state}/{name}", f"{w.dir}/{name}.kept")
    os.chmod(w.state + "/journal.key", 0o640)
    w.start(wait=False)
    t.equal((w.process.wait(20), "others may read" in w.log_text()), (1, True),
            "a key that others may read keeps musterd from starting")
    os.chmod(w.state + "/journal.key", 0o600)
    with open(w.state + "/journal.key", "w") as f:
        f.write("no key")
    w.start(wait=False)
    t.equal((w.process.wait(20), "is no private Ed25519 key" in w.log_text()), (2, True),
            "and so does a file that is none")
    os.unlink(w.state + "/journal.key")
    w.start()
    w.post("journal/checkpoint")
    new = w.get("journal/key").json
    with open(w.dir + "/new.pem", "w") as f:
        f.write(new["pem"])
    data, lines = export(w)
    at = [line.r["seq"] for line in lines if line.r["kind"] == "journal_key"][-1]
    done = a.verify(data)
    t.ok(done.returncode == 1 and f":{at}: record {at}: key {new['key']} comes into force here"
         in done.stderr, f"a lost key is told in line {at}", done)
    done = a.verify(data, "--key", w.dir + "/new.pem")
    t.ok(done.returncode == 0 and f"note: record {at}: key {new['key']} took over from key "
         in done.stdout and "without its signature" in done.stdout,
         "who knows of it gives both keys, and is told", done)
    done = a.verify(data, key=w.dir + "/new.pem")
    t.equal(done.returncode, 0, "the new key alone proves all before it too", done)


def secret_story(t, w, secrets):
    data, _ = export(w)
    seen = [w.log_text(), data.decode(), w.get("journal/key").text,
            w.post("journal/checkpoint").text, w.get("journal?limit=1000").text]
    for secret in secrets:
        t.ok(not any(secret in text for text in seen), "no private key is in log, journal or answer")


def secret_of(path):
    with open(path) as f:
        return "".join(line.strip() for line in f if not line.startswith("-"))[-43:]


def run(t, w):
    a = Audit(t, w)
    signed = signing_story(t, w, a)
    secrets = [secret_of(w.state + "/journal.key")]
    tampering_story(t, w, a, signed)
    forged_key_story(t, w, a)
    key_story(t, w, a)
    cut_short_story(t, w)
    lost_story(t, w, a)
    secrets.append(secret_of(w.state + "/journal.key"))
    secret_story(t, w, secrets)


def main():
    if shutil.which("openssl") is None:
        print("1..0 # SKIP needs openssl")
        return
    t = Tap()
    play(t, World(), run)
    t.end()


main()
