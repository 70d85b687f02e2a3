#!/bin/sh
# For RUSTC_WORKSPACE_WRAPPER: the crates of the workspace with tiny constants, on what cargo has built of all others.
exec "$@" --cfg fyris_small
