"""rename_entry.py FROM.npz TO.npz OLD=NEW, or --truncate: half of the file."""

import sys
import zipfile

source, target, what = sys.argv[1:]
if what == "--truncate":
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "wb") as file:
        file.write(data[:len(data) // 2])
else:
    old, new = what.split("=")
    with zipfile.ZipFile(source) as before, \
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            after.writestr(new + ".npy" if name == old + ".npy" else name,
                           before.read(name))
