"""Packages from the sources: a copy of the tree is built, the tree itself is left alone."""
import os
import re
import shutil
import subprocess


def copy_sources(source, to):
    """What git knows or would add; without git all but build folders."""
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    names = listed.stdout.decode().split("\0") if listed.returncode == 0 else []
    names = [n for n in names if n and os.path.lexists(f"{source}/{n}")]
    if not names:
        shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("build*", "state", ".git", "shared"))
        return
    packed = subprocess.run(["tar", "-C", source, "-c", "--null", "--no-recursion", "-T", "-"],
                            input="\0".join(names).encode(), stdout=subprocess.PIPE, check=True)
    subprocess.run(["tar", "-C", to, "-x"], input=packed.stdout, check=True)


def version_of(sources):
    with open(sources + "/debian/changelog") as f:
        return re.match(r"muster \(([^)]+)\)", f.readline()).group(1)


def set_version(sources, version):
    """A release of that version, as its program says it too."""
    path = sources + "/debian/changelog"
    with open(path) as f:
        old = f.read()
    head = old.split("\n\n")[0].splitlines()[0]
    stamp = re.search(r"^ -- .*$", old, re.M).group(0)
    with open(path, "w") as f:
        f.write(f"muster ({version}) {head.split(') ', 1)[1]}\n\n  * Built by a test.\n\n{stamp}\n\n"
                + old)
    path = sources + "/meson.build"
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(re.sub(r"version: '[^']+'", f"version: '{version}'", text, count=1))


def build_command(check):
    options = "" if check else "nocheck "
    return ["env", f"DEB_BUILD_OPTIONS={options}parallel=2 terse", "nice", "dpkg-buildpackage", "-d",
            "-us", "-uc", "-b"]


def built(place, version):
    """The two packages beside the sources, or AssertionError."""
    names = [f for f in os.listdir(place) if f.endswith(".deb") and f"_{version}_" in f and
             "-dbgsym_" not in f]
    names.sort()
    if [n.split("_")[0] for n in names] != ["muster-cli", "musterd"]:
        raise AssertionError(f"packages of {version} in {place}: {names}")
    return [f"{place}/{n}" for n in names]


def warnings_in(log):
    return [line for line in log.splitlines()
            if re.search(r"\bwarning:", line) and "dpkg-" not in line]


def repack(files, version, place):
    """The same files under a higher version: an upgrade without a second build."""
    made = []
    for file in files:
        name = os.path.basename(file)
        old = name.split("_")[1]
        tree = f"{place}/{name}.d"
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["dpkg-deb", "-R", file, tree], check=True)
        path = tree + "/DEBIAN/control"
        with open(path) as f:
            text = f.read()
        text = text.replace(f"Version: {old}\n", f"Version: {version}\n")
        with open(path, "w") as f:
            f.write(text.replace(f"(= {old})", f"(= {version})"))
        made.append(f"{place}/{name.replace(f'_{old}_', f'_{version}_')}")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, made[-1]], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
    return made
