#!/bin/sh
# Runs nginx in front of the app's processes, or prints its configuration:
#   deploy/proxy.sh            deploy/proxy.sh --print
# Its settings, by environment variables, stand in deploy/README.md.
set -eu
PATH=$PATH:/usr/sbin  # where Debian has nginx

here=$(cd "$(dirname "$0")" && pwd)
place=${MLA_PROXY_FOLDER:-/tmp/mla-proxy}
host=${MLA_APP_HOST:-127.0.0.1}
first=${MLA_PORT:-8501}
last=$((first + ${MLA_PROCESSES:-1} - 1))
listen=${MLA_PROXY_PORT:-8080}
[ -z "${MLA_TLS_FOLDER:-}" ] || listen="$listen ssl;
    ssl_certificate $MLA_TLS_FOLDER/fullchain.pem;
    ssl_certificate_key $MLA_TLS_FOLDER/privkey.pem"
files=$(ulimit -Hn)  # no more than this user may ask for
if [ "$files" = unlimited ] || [ "$files" -gt 65536 ]; then files=65536; fi
log=off
[ -z "${MLA_PROXY_LOG:-}" ] || log="$MLA_PROXY_LOG counted"
trusts=
[ -z "${MLA_PROXY_TRUSTS:-}" ] || trusts="set_real_ip_from $MLA_PROXY_TRUSTS;
    real_ip_header X-Forwarded-For;"

ports=$(seq "$first" "$last")
server() { echo "    server $host:$1 max_fails=1 fail_timeout=2s $2;"; }

pools() {
  for port in $ports; do echo "    $port process_$port;"; done | sed 1s/^\ *//
}

upstreams() {  # all of them, and each with the others behind it
  echo "upstream everyone {
    zone everyone 64k;"
  for port in $ports; do server "$port" ""; done
  echo "    keepalive 32;
  }"
  for port in $ports; do
    echo "  upstream process_$port {
    zone process_$port 64k;"
    server "$port" ""
    for other in $ports; do [ "$other" = "$port" ] || server "$other" backup; done
    echo "    keepalive 32;
  }"
  done
}

configuration() {
  FILES=$files POOLS=$(pools) UPSTREAMS=$(upstreams) PLACE=$place LISTEN=$listen LOG=$log TRUSTS=$trusts \
    SOCKETS=${MLA_ADDRESS_SOCKETS:-1000} UPLOADS=${MLA_ADDRESS_UPLOADS:-20} \
    awk '{ while (match($0, /@[A-Z]+@/)) {
             name = substr($0, RSTART + 1, RLENGTH - 2)
             $0 = substr($0, 1, RSTART - 1) ENVIRON[name] substr($0, RSTART + RLENGTH)
           } print }' "$here/nginx.conf"
}

if [ "${1:-}" = --print ]; then configuration; exit; fi
mkdir -p "$place"
configuration > "$place/nginx.conf"
exec nginx -c "$place/nginx.conf" -e stderr
