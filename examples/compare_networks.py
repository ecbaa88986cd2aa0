# %% [markdown]
# Which network is worth its price for this job? Cells as editors and Jupyter (with jupytext) show them; as a program:
#
#     PYTHONPATH=python python3 examples/compare_networks.py [TRACE] [FOLDER]
#
# reads TRACE (a recorded HPL of 16 ranks, if none is named) and writes two tables into FOLDER (the current one).

# %%
import os
import sys

import weft

weft_folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
samples = [os.path.join(weft_folder, place, "hpl_4x4_2000_64.weft") for place in ("traces/samples", "samples")]  # checkout, installed
trace = sys.argv[1] if len(sys.argv) > 1 else next(filter(os.path.exists, samples))
folder = sys.argv[2] if len(sys.argv) > 2 else "."
networks = {"fat tree": "fat-tree-16", "dragonfly": "dragonfly-18", "torus": "torus-16", "ideal": "crossbar-16"}

# %% [markdown]
# ## Four networks, ranked

# %%
runs = weft.run("compare", trace, on=networks)
for row in runs.rows:
    print(f"{row['label']:10} {row['makespan_s'] * 1e3:6.1f} ms  {'#' * round(40 * row['slowdown'])}  {row['cables'] / row['hosts']:.1f} cables a host")
runs.to_csv(os.path.join(folder, "networks.csv"))

# %% [markdown]
# ## What the slowest loses, and where
#
# The critical path says what the makespan is made of: its parts add up to it.

# %%
slowest = runs.rows[-1]
why = weft.run("replay", trace, on=slowest["platform"], critical_path=True)
parts = why["critical_path"]["parts"]
for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
    if seconds > 0:
        print(f"{name.removesuffix('_s'):14} {100 * seconds / why['makespan_s']:5.1f} %")
late = max(why.rows, key=lambda rank: rank["causes.late_sender_s"])
print(f"rank {late['rank']} waits longest for others: {late['causes.late_sender_s'] * 1e3:.1f} ms")

# %% [markdown]
# ## Would faster links help?

# %%
sweep = weft.run("sweep", trace, on=networks, set={"bw": ["10Gbps", "25Gbps", "100Gbps"]})
print("bandwidth  " + "".join(f"{name:>11}" for name in networks))
for bandwidth in dict.fromkeys(row["set.bw"] for row in sweep.rows):
    times = {row["label"]: row["makespan_s"] for row in sweep.rows if row["set.bw"] == bandwidth}
    print(f"{bandwidth:11}" + "".join(f"{times[name] * 1e3:8.1f} ms" for name in networks))
for flip in sweep["flips"]:
    print(f"from {flip['from']} to {flip['to']} {flip['platforms'][1]} overtakes {flip['platforms'][0]}")
sweep.to_csv(os.path.join(folder, "bandwidths.csv"))
