#!/bin/sh
# Copies to the folder $1 what a Node.js needs of its Debian: the program, its libraries and the files that these read.
set -eu
to=$1
node=$(command -v node)
libraries=$(ldd "$node" | grep -o '/[^ ]*')

# As the loader finds them, without the links that a Debian has between its folders.
for file in "$node" $libraries /etc/passwd /etc/group /etc/nsswitch.conf /etc/os-release; do
  mkdir -p "$to$(dirname "$file")"
  cp -L "$file" "$to$file"
done
install -d -m 1777 "$to/tmp"

# Scanners read the versions of packages from status.d where an image has no package manager.
mkdir -p "$to/var/lib/dpkg/status.d"
for library in $libraries; do
  for path in "$library" "$(readlink -f "$library")"; do
    dpkg-query -S "$path" 2>/dev/null | cut -d: -f1
  done
done | sort -u | while read -r package; do
  dpkg-query -s "$package" >"$to/var/lib/dpkg/status.d/$package"
  mkdir -p "$to/usr/share/doc/$package"
  cp -L "/usr/share/doc/$package/copyright" "$to/usr/share/doc/$package/"
done
if [ -f /usr/local/LICENSE ]; then install -D -m 644 /usr/local/LICENSE "$to/usr/share/doc/nodejs/copyright"; fi
