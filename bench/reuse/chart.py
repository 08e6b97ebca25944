"""Draws the result of run.py as one SVG, as the paper's Figure 1: a bar for each mode of each program, cycles on a log
scale."""
import math
from html import escape

from svg import FAINT, INK, LARDER, PEER, SOFT, document, text

WIDTH, HEIGHT = 1180, 560
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 104, 110
COLOURS = {"plain": "#9aa1a9", "round_robin": "#86bbd8", "lru_vector": PEER, "lru_hash": "#2f4858",
           "larder": LARDER, "by_hand": "#f6ae2d"}
NAMES = {"plain": "plain -O2", "round_robin": "round robin (Kumar)", "lru_vector": "LRU vector", "lru_hash": "LRU hash",
         "larder": "larder", "by_hand": "written by hand"}


def draw(result, programs, strategies):
    """The SVG text of a result as run.py writes it."""
    rows = [row for name in programs for row in result["rows"] if row["program"] == name]
    order = ["plain", *strategies, "larder", "by_hand"]
    cycles = [mode["later_cycles"] for row in rows for mode in row["modes"].values()]
    low, high = math.floor(math.log10(min(cycles))), math.ceil(math.log10(max(cycles)))

    def y(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(max(value, 1)) - low) / (high - low)

    body = [text(24, 36, "Value reuse: the programs of Chen et al. (2020), and two with overlapping subproblems", 20,
                 weight="600"),
            text(24, 57, "Cycles of one run that begins with nothing in its tables, log scale; less is better", 12.5, SOFT)]
    x = 24
    for name in order:
        body.append(f'<rect x="{x}" y="70" width="11" height="11" rx="2" fill="{COLOURS[name]}"/>')
        body.append(text(x + 16, 80, NAMES[name], 12, COLOURS["larder"] if name == "larder" else SOFT,
                         weight="600" if name == "larder" else "normal"))
        x += 34 + 7 * len(NAMES[name])
    for power in range(low, high + 1):
        body.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" '
                    f'stroke="{FAINT}"/>')
        body.append(f'<text x="{LEFT - 8}" y="{y(10**power) + 4:.1f}" font-size="11" fill="{SOFT}" text-anchor="end">10'
                    f'<tspan dy="-5" font-size="8">{power}</tspan></text>')
    group = (WIDTH - LEFT - RIGHT) / len(rows)
    width = group * 0.8 / len(order)
    for i, row in enumerate(rows):
        begin = LEFT + group * (i + 0.1)
        present = [name for name in order if name in row["modes"]]
        shift = width * (len(order) - len(present)) / 2
        for j, name in enumerate(present):
            top = y(row["modes"][name]["later_cycles"])
            body.append(f'<rect x="{begin + shift + width * j:.1f}" y="{top:.1f}" width="{width - 1:.1f}" '
                        f'height="{HEIGHT - BOTTOM - top:.1f}" fill="{COLOURS[name]}">'
                        f'<title>{escape(NAMES[name])}: {row["modes"][name]["later_cycles"]:.3g} cycles</title></rect>')
        words = row["program"].split("_")
        middle = LEFT + group * (i + 0.5)
        for k, word in enumerate(words):
            body.append(text(middle, HEIGHT - BOTTOM + 18 + 14 * k, word, 11.5, INK, "middle"))
        speedup = row["modes"]["larder"]["later_speedup"]["median"]
        label = f"{speedup:,.0f}x".replace(",", " ") if speedup >= 20 else f"{speedup:.2f}x"
        body.append(text(middle, HEIGHT - BOTTOM + 18 + 14 * 3 + 4, label, 11.5, COLOURS["larder"], "middle", "600"))
    facts = result["machine"]
    body.append(text(24, HEIGHT - 14, f"{facts['processor']}, {facts['cores']} cores, commit {facts['commit'][:12]}; medians, "
                     "modes taking turns; below the names: larder's speed-up over plain -O2", 10.5, SOFT))
    return document(WIDTH, HEIGHT, body)
