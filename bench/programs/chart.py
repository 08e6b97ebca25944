"""Draws the result of run.py as one SVG: a bar of processor time for each arm of each program, on a log scale."""
import math
from statistics import median

from svg import FAINT, INK, LARDER, PEER, SOFT, document, text

WIDTH = 980
LEFT, RIGHT, TOP = 250, 90, 96
BAR, GAP = 13, 16
COLOURS = {"cold": "#c9ced4", "cold+": "#9aa1a9", "driver": PEER, "larder": LARDER, "entries": "#d9825b", "both": "#7a4a8a"}
NAMES = {"cold": "nothing known", "cold+": "nothing known, under larder", "driver": "the driver's own cache",
         "larder": "larder", "entries": "larder, from entries alone", "both": "both"}


def draw(result, arms):
    """The SVG text of a result as run.py writes it."""
    rows = {name: {arm: median(times[arm]) for arm in arms} for name, times in result["seconds"].items()}
    seconds = [value for row in rows.values() for value in row.values()]
    low, high = math.log10(min(seconds)) - 0.1, math.log10(max(seconds)) + 0.05

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / (high - low)

    bottom = TOP + len(rows) * (len(arms) * BAR + GAP)
    body = [text(24, 36, "GPU programs at a start", 20, weight="600"),
            text(24, 57, "Seconds of processor time of the whole program, log scale; less is better", 12.5, SOFT)]
    for power in range(math.floor(low), math.ceil(high) + 1):
        for step in (1, 2, 5):
            value = step * 10**power
            if low <= math.log10(value) <= high:
                body.append(f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP - 8}" y2="{bottom - GAP + 4}" stroke="{FAINT}"/>')
                body.append(text(x(value), TOP - 14, f"{value:g} s", 11, SOFT, "middle"))
    y = TOP
    for name, row in rows.items():
        body.append(text(LEFT - 12, y + len(arms) * BAR / 2 + 4, name, 12.5, INK, "end"))
        for arm in arms:
            body.append(f'<rect x="{LEFT}" y="{y}" width="{x(row[arm]) - LEFT:.1f}" height="{BAR - 2}" fill="{COLOURS[arm]}">'
                        f'<title>{NAMES[arm]}: {row[arm]:.3f} s</title></rect>')
            body.append(text(x(row[arm]) + 6, y + BAR - 4, f"{row[arm]:.2f}", 10, SOFT))
            y += BAR
        y += GAP
    place = 24
    for arm in arms:
        body.append(f'<rect x="{place}" y="{y + 2}" width="11" height="11" rx="2" fill="{COLOURS[arm]}"/>')
        body.append(text(place + 16, y + 12, NAMES[arm], 12, LARDER if arm == "larder" else SOFT))
        place += 34 + 6.6 * len(NAMES[arm])
    facts = result["machine"]
    body.append(text(24, y + 38, f"{facts['processor']}, {facts['cores']} cores, commit {facts['commit'][:12]}, medians of "
                     f"{result['rounds']} rounds, arms taking turns", 10.5, SOFT))
    return document(WIDTH, y + 52, body)
