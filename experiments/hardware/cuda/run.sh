#!/bin/bash
# Runs all programs that build.sh built, and writes their figures: run.sh PROGRAMS FIGURES
#
# Each has a time limit and a file of its own; UVM comes last.  Counters need Nsight Compute (ncu), whose clock
# control is off: the GPU is measured as it is found.
here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
mkdir -p "$out/more"
began=$(date +%s)
said() { echo "$(($(date +%s) - began)) s: $*"; }
figures() { # NAME LIMIT PROGRAM ARGUMENTS..
    local name=$1 limit=$2
    shift 2
    timeout "$limit" "$@" >"$out/more/$name.csv" 2>"$out/more/$name.log" || said "$name ended with $?"
    said "$name: $(wc -l <"$out/more/$name.csv") rows"
}
[ -n "$ONLY" ] || ONLY="state arithmetic lanes atomics slices stores copies launch streams chase walks kernels counters held_back triton uvm"
for what in $ONLY; do
    case $what in
    state) nvidia-smi -q >"$out/more/state.log" 2>&1 ;;
    arithmetic | lanes | atomics | slices | stores | copies | launch | streams) figures $what 40 "$programs/$what" ;;
    chase | walks) figures $what 80 "$programs/$what" ;;
    kernels) figures kernels 70 "$programs/kernels" ;;
    counters | held_back)
        known=$(ncu --query-metrics --chip gh100 2>/dev/null | awk '{print $1}')
        wanted=""
        for metric in $(cat "$here/metrics.txt"); do
            grep -qx "${metric%.*}" <<<"$known" && wanted="$wanted,$metric" || said "no metric $metric"
        done
        counted="ncu --clock-control none --csv --page raw --metrics ${wanted#,}"
        if [ $what = held_back ]; then
            figures held_back 30 "$programs/held_back"
            figures held_back_counters 60 $counted "$programs/held_back" once
            continue
        fi
        figures counters 150 $counted "$programs/kernels" once
        figures triton_counters 150 $counted -k "regex:vector_add|softmax|matmul|attention|gather_rows" \
            python3 "$here/triton_kernels.py" "$out/triton" once
        ;;
    triton) timeout 100 python3 "$here/triton_kernels.py" "$out/triton" >"$out/more/triton.log" 2>&1 || said "triton ended with $?" ;;
    uvm)
        echo "test,variant,x,median,least,most,runs,unit" >"$out/more/uvm.csv"
        for round in 1 2 3 4 5; do
            for test in lone next fresh_lone threads batches stream random fresh; do
                timeout 30 "$programs/uvm" $test 128 >>"$out/more/uvm.csv" 2>>"$out/more/uvm.log" ||
                    said "uvm $test ended with $?"
            done
        done
        ;;
    esac
    said "$what done"
done
