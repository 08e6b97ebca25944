"""Draws the result of run.py as one SVG: a dot for one thread, a ring for two, nanoseconds on a log scale."""
import math

from svg import FAINT, INK, LARDER, PEER, SOFT, document, text

WIDTH = 980
LEFT, RIGHT = 366, 40       # room for the names; room beyond the last tick
ROW, HEAD, PANEL_GAP = 22, 58, 34
COLOURS = {"larder": LARDER, "peer": PEER, "beside": "#7a7f87", "floor": "#57606a"}
HELD = {"inline": "value in the table", "visit": "used in place", "shared_ptr": "shared_ptr", "handle": "owning handle",
        "guard": "guard", "guard_16": "one guard for 16", "reference": "reference", "pointer": "array[i] → value"}


def number(ns):
    return f"{ns:.1f}" if ns < 20 else f"{ns:.0f}"


def rows_of(result, entries):
    """[(design, {threads: ns})] of the interned, overlapped hits, fastest first; floor on top."""
    rows = {}
    for cell in result["cells"]:
        if (cell["entries"], cell["key"], cell["chain"], cell["traffic"]) != (entries, "interned", "overlapped", "hits"):
            continue
        for design in cell["designs"]:
            key = (design["design"], design["held_by"], design["role"])
            if design["ns"]:
                rows.setdefault(key, {})[cell["threads"]] = design["ns"]
    return sorted(rows.items(), key=lambda row: min(row[1].values()))


def panel(rows, title, top, low, high):
    def x(ns):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(ns) - low) / (high - low)

    bottom = top + HEAD + ROW * len(rows)
    parts = [text(24, top + 16, title, 15, weight="600")]
    for power in range(math.floor(low), math.ceil(high) + 1):
        for step in (1, 2, 5):
            ns = step * 10**power
            if low <= math.log10(ns) <= high:
                parts.append(f'<line x1="{x(ns):.1f}" x2="{x(ns):.1f}" y1="{top + HEAD - 16}" y2="{bottom - 6}" '
                             f'stroke="{FAINT}" stroke-width="{1 if step == 1 else 0.6}"/>')
                parts.append(text(x(ns), top + HEAD - 22, f"{ns:g} ns", 11, SOFT, "middle"))
    for i, ((design, held_by, role), times) in enumerate(rows):
        y = top + HEAD + ROW * i + 4
        colour = COLOURS[role]
        if role == "larder":
            parts.append(f'<rect x="16" y="{y - ROW / 2:.1f}" width="{WIDTH - 32}" height="{ROW}" rx="3" fill="{colour}" opacity="0.07"/>')
        weight = "600" if role == "larder" else "normal"
        parts.append(text(LEFT - 138, y + 4, design, 12.5, colour if role == "larder" else INK, "end", weight))
        parts.append(text(LEFT - 126, y + 4, HELD.get(held_by, held_by), 11.5, SOFT))
        ends = sorted(times.values())
        if len(ends) == 2:
            parts.append(f'<line x1="{x(ends[0]):.1f}" x2="{x(ends[1]):.1f}" y1="{y}" y2="{y}" stroke="{colour}" '
                         'stroke-width="2" opacity="0.35"/>')
        if 2 in times:
            parts.append(f'<circle cx="{x(times[2]):.1f}" cy="{y}" r="4.6" fill="#fff" stroke="{colour}" stroke-width="2"/>')
        if 1 in times:
            parts.append(f'<circle cx="{x(times[1]):.1f}" cy="{y}" r="4.6" fill="{colour}"/>')
        words = " / ".join(number(times[threads]) for threads in (1, 2) if threads in times)
        parts.append(text(x(ends[-1]) + 10, y + 4, words, 11, colour if role == "larder" else SOFT, weight=weight))
    return parts, bottom


def draw(result):
    """The SVG text of a result as run.py writes it."""
    panels = [(entries, rows_of(result, entries)) for entries in sorted({cell["entries"] for cell in result["cells"]})]
    panels = [(entries, rows) for entries, rows in panels if rows]
    times = [ns for _, rows in panels for _, row in rows for ns in row.values()]
    low, high = math.log10(min(times)) - 0.08, math.log10(max(times)) + 0.28
    body = [text(24, 36, "One hit in memory", 20, weight="600"),
            text(24, 57, "Time per hit and thread, by interned recipe, Zipf 1.0, 64-byte values read; less is better", 12.5, SOFT)]
    legend_x = WIDTH - 218
    body += [f'<circle cx="{legend_x}" cy="31" r="4.6" fill="{INK}"/>', text(legend_x + 10, 35, "1 thread", 12, SOFT),
             f'<circle cx="{legend_x + 96}" cy="31" r="4.6" fill="#fff" stroke="{INK}" stroke-width="2"/>',
             text(legend_x + 106, 35, "2 threads", 12, SOFT)]
    y = 84
    for entries, rows in panels:
        parts, bottom = panel(rows, f"{entries:,} entries".replace(",", " "), y, low, high)
        body += parts
        y = bottom + PANEL_GAP
    facts = result["machine"]
    body.append(text(24, y - 8, f"{facts['processor']}, {facts['cores']} cores, commit {facts['commit'][:12]}, medians of "
                     f"{result['rounds']} rounds, designs taking turns", 10.5, SOFT))
    return document(WIDTH, y + 10, body)
