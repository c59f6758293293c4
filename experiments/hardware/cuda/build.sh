#!/bin/sh
# Builds all programs into a folder: build.sh FOLDER
set -e
cd "$(dirname "$0")"
mkdir -p "$1"
for program in arithmetic lanes atomics launch streams chase walks slices stores copies kernels held_back uvm; do
    nvcc -O3 -std=c++20 -arch="${ARCH:-sm_90}" -o "$1/$program" "$program.cu"
done
