"""rename_entries.py FROM.npz TO.npz OLD=NEW..., or --truncate: half of the file."""

import sys
import zipfile

source, target = sys.argv[1:3]
if sys.argv[3] == "--truncate":
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(data[:len(data) // 2])
else:
    names = dict(pair.split("=") for pair in sys.argv[3:])
    with zipfile.ZipFile(source) as before, \
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        for old, new in names.items():
            after.writestr(new + ".npy", before.read(old + ".npy"))
