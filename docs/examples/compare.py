"""LRU against FIFO in the L1 TLB, and FIFO against a smaller FIFO."""

import gpusim

workload = gpusim.load_workload("bfs", scale="smoke")
arrays = {
    "lru": "set-associative",
    "fifo": "fifo_tlb:FifoArray",
    "half a fifo": {"policy": "fifo_tlb:FifoArray", "reserve": 4},
}
for name, array in arrays.items():
    model = gpusim.load_model("tiny", overrides={"tlb.L1.ways": 8, "tlb.L1.array": array})
    summary = gpusim.simulate(model, workload).summary
    rate, mpki = summary["tlb_L1_hit_rate"], summary["tlb_L1_mpki"]
    print(f"{name:12}{rate:7.1%} hits{mpki:7.1f} MPKI{summary['cycles']:9,} cycles")
