#!/bin/sh
# Finds what the tests run beside the app, or installs Debian's packages: a Chromium and a Chinese
# font, nginx and Redis.
set -eu

has_browser() { [ -n "${CHROMIUM:-}" ] || command -v chromium chromium-browser google-chrome >/dev/null; }
has_chinese() { command -v fc-list >/dev/null && [ -n "$(fc-list :lang=zh file)" ]; }
has() { PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null; }

missing=""
has_browser || missing="chromium"
has_chinese || missing="$missing fonts-noto-cjk fontconfig"
has nginx || missing="$missing nginx"
has redis-server || missing="$missing redis-server"
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then sudo="sudo -n"; fi
if ! command -v apt-get >/dev/null || ! $sudo true 2>/dev/null; then
  has_browser || { echo "The browser tests need Chromium: install it, or set CHROMIUM to its path" >&2; exit 1; }
  echo "Not found, and tests that need it will fail:$missing"
  exit 0
fi
echo "Installing $missing for the tests"
$sudo apt-get update -qq
# RUNLEVEL=1: no service is started of what is installed
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq $missing >/dev/null
