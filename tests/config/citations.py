"""What counts as the source of a value, in models and in recipes."""

import re

SOURCE = re.compile(
    r"(ORCH|COMP|VC|MASK|STAR|Mosaic|MGPUSim|GPGPU-Sim|Ramulator|JEDEC)\b|our choice: .{5,}|"
    r"(NVIDIA|AMD|Accel-Sim|gem5-gpu|TunneLs|gpu-benches|mt4g|AI_kernels|Chips and Cheese)\b|"
    r"(MCM-GPU|akita)\b|(Dutta et al\.|Foley) \d{4}\b|"
    r"(Abdelkhalik|Allen|Alpay|Ganguly|Jia|Kandiraju|Karnagel|Kim|Luo|Mazumdar|Pham) \d{4}\b|"
    r"(Baruah|Feng|Karakostas|Li|Park|Pratheek|Ryoo|Schieffer|Skarlatos|Wang|Yaniv) \d{4}\b|"
    r"(Avatar|SoftWalker)\b|"
    r"(Barr|Jaleel|Khan|Kim|Narasiman|Pratheek|Rogers|Shin) (et al\., )?\w+ \d{4}\b|"
    r"calibrated on .{5,}|docs/tables/h100\b|"
    r"this level is .*VC Table 1"
)
