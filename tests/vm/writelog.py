"""The log of device-mapper's log-writes target (Linux, drivers/md/dm-log-writes.c), replayed.

Writes stand in it in an order that a power cut may leave: those that no flush has proven are not
before the next flush.  So a disk that holds the log up to any entry is one that a cut may leave."""
import struct

MAGIC = 0x6A736677736872
DISCARD, MARK = 1 << 2, 1 << 3


class Entry:
    def __init__(self, sector, count, flags, data_len, where):
        self.sector, self.count, self.flags = sector, count, flags
        self.data_len, self.where = data_len, where


class WriteLog:
    def __init__(self, path):
        self.file = open(path, "rb")
        magic, version, count, self.unit = struct.unpack("<QQQL", self.file.read(28))
        assert (magic, version) == (MAGIC, 1), (hex(magic), version)
        self.entries, self.marks = [], {}  # marks: text -> index of the first entry after it
        at = self.unit
        for _ in range(count):
            self.file.seek(at)
            e = Entry(*struct.unpack("<QQQQ", self.file.read(32)), at + self.unit)
            if e.flags & MARK:
                self.marks[self.file.read(e.data_len).decode()] = len(self.entries)
                at += self.unit
                continue
            self.entries.append(e)
            at += self.unit
            if not e.flags & DISCARD:
                at += e.count * self.unit

    def replay(self, disk, first, last):
        """Write entries first … last - 1 into the bytearray."""
        for e in self.entries[first:last]:
            begin, size = e.sector * self.unit, e.count * self.unit
            if e.flags & DISCARD:
                disk[begin:begin + size] = bytes(size)
            else:
                self.file.seek(e.where)
                disk[begin:begin + size] = self.file.read(size)
