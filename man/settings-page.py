"""muster.yaml(5) from its frame and the table of settings: settings-page.py FRAME MUSTERD OUT."""
import subprocess
import sys

frame, musterd, out = sys.argv[1:4]
settings = subprocess.run([musterd, "--settings"], check=True, capture_output=True,
                          text=True).stdout
with open(frame) as f:
    text = f.read()
with open(out, "w") as f:
    f.write(text.replace("@SETTINGS@\n", settings))
