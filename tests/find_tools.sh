#!/bin/sh
# Finds the programs that tests run beside the app, or installs Debian's packages of them:
#   tests/find_tools.sh                a Chromium and a Chinese font
#   tests/find_tools.sh nginx redis    these, too; it also knows firefox, webkit and xvfb
# What is missing and cannot be installed is named, with the way to put it there.
set -eu

has() { PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null; }
has_browser() { [ -n "${CHROMIUM:-}" ] || has chromium || has chromium-browser || has google-chrome; }
has_chinese() { has fc-list && [ -n "$(fc-list :lang=zh file)" ]; }

missing=""
has_browser || missing="chromium"
has_chinese || missing="$missing fonts-noto-cjk fontconfig"
for tool in "$@"; do
  case "$tool" in
    nginx) has nginx || missing="$missing nginx" ;;
    redis) has redis-server || missing="$missing redis-server" ;;
    firefox) has firefox-esr || missing="$missing firefox-esr" ;;
    webkit) has WebKitWebDriver || missing="$missing webkit2gtk-driver" ;;
    xvfb) has Xvfb || missing="$missing xvfb" ;;
    *) echo "find_tools.sh knows nginx, redis, firefox, webkit and xvfb, not '$tool'" >&2; exit 2 ;;
  esac
done
[ -z "$missing" ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then sudo="sudo -n"; fi
refuse() {
  echo "The tests need$(printf ' %s' $missing), and $1. Put it there with" >&2
  echo "  sudo apt-get install$(printf ' %s' $missing)" >&2
  echo "or your system's own packages; CHROMIUM=/path names a Chromium that lies elsewhere." >&2
  exit 1
}
has apt-get || refuse "there is no apt-get here to install it"
$sudo true 2>/dev/null || refuse "sudo asks for a password here"
echo "Installing $missing for the tests"
$sudo apt-get update -qq || refuse "the list of packages cannot be reached"
# RUNLEVEL=1: no service is started of what is installed
# shellcheck disable=SC2086 # a list of packages
$sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq $missing >/dev/null \
  || refuse "installing it failed"
