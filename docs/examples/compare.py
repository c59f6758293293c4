"""The base machine against one with another L2 TLB, side by side."""

import gpusim

workload = gpusim.load_workload("atax", scale="smoke")
arrays = {
    "lru": "set-associative",
    "fifo": "fifo_tlb:FifoArray",
    "smaller fifo": {"policy": "fifo_tlb:FifoArray", "reserve": 16},
}
results = {}
for name, array in arrays.items():
    model = gpusim.load_model("tiny", overrides={"tlb.L2.array": array})
    results[name] = gpusim.simulate(model, workload).summary
for name, summary in results.items():
    rate = summary["tlb_L2_hit_rate"]
    print(f"{name:13}{rate:7.1%}{summary['walks']:7,} walks{summary['cycles']:9,} cycles")
