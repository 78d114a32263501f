#!/bin/sh
# Run one night, say what is to be done, and exit with 0 where nothing is:
#     retune.sh FILE [FLAG...]
# Further flags are handed on to `autoloader retune`. What is said goes to stderr, which
# cron sends by mail, and to the log of the system where there is one.
set -u

if [ $# -lt 1 ]; then
    echo "retune.sh needs the recommendation: retune.sh autoloader.yaml" >&2
    exit 2
fi

say() {
    echo "$1" >&2
    if command -v logger > /dev/null 2>&1; then
        logger -t autoloader-retune "$1" || true
    fi
}

autoloader retune --quiet "$@"
code=$?
case $code in
    0) exit 0 ;;
    10)
        say "$1: new settings were written; the file before them is kept beside it"
        exit 0
        ;;
    1) say "$1: the data that arrives is WRONG: train no further before it is looked at" ;;
    3) say "$1: the dataset fails by itself, in one process" ;;
    4) say "$1: no settings reach the target any more; the file is as it was" ;;
    5) say "$1: a stored file cannot be used, or not be written" ;;
    6) say "$1: too noisy tonight; the file is as it was" ;;
    130) say "$1: interrupted; the file is as it was" ;;
    *) say "$1: autoloader retune ended with $code" ;;
esac
exit "$code"
