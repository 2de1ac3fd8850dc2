#!/bin/sh
# Finds a Chromium and a Chinese font for the browser tests, or installs Debian's packages.
set -eu

has_browser() { [ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null; }
has_chinese() { command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh file)" ]; }

missing=""
has_browser || missing="chromium"
has_chinese || missing="$missing fonts-noto-cjk fontconfig"
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then sudo="sudo -n"; fi
if ! command -v apt-get >/dev/null || ! $sudo true 2>/dev/null; then
  has_browser && { echo "No Chinese font found: screenshots will show boxes"; exit 0; }
  echo "The browser tests need Chromium: install it, or set CHROMIUM to its path" >&2
  exit 1
fi
echo "Installing $missing for the browser tests"
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
