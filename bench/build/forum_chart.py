"""Draws the result of forum.py as one SVG: a bar for each tool and edit, milliseconds on a log scale."""
import math

from svg import FAINT, INK, LARDER, PEER, SOFT, document, text

WIDTH, LEFT, RIGHT, ROW, HEAD = 760, 150, 90, 26, 52
NAMES = {"": "larder serve", "tup_": "tup", "make_": "make", "ninja_": "ninja"}
PANELS = {"comment_ms": "A comment on one post", "title_ms": "A new title, which stands in every page"}


def draw(row):
    """The SVG text of a result as forum.py writes it."""
    times = [row[prefix + kind] for prefix in NAMES for kind in PANELS if prefix + kind in row]
    low, high = math.floor(math.log10(min(times))), math.log10(max(times)) + 0.1

    def x(ms):
        return LEFT + (WIDTH - LEFT - RIGHT) * max(0, math.log10(ms) - low) / (high - low)

    body = [text(24, 34, f"A forum of {row['posts']} pages, each with all titles", 20, weight="600"),
            text(24, 55, "From the edit to the end of what it changes; milliseconds, less is better", 12.5, SOFT)]
    y = 84
    for kind, title in PANELS.items():
        body.append(text(24, y + 10, title, 15, weight="600"))
        bottom = y + HEAD + ROW * sum(prefix + kind in row for prefix in NAMES)
        for power in range(low, math.ceil(high)):
            at = x(10**power)
            body.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y + 36}" y2="{bottom - 8}" stroke="{FAINT}"/>')
            body.append(text(at, y + 30, f"{10**power:g} ms", 11, SOFT, "middle"))
        y += HEAD
        for prefix, name in NAMES.items():
            if prefix + kind not in row:
                continue
            ms, colour = row[prefix + kind], PEER if prefix else LARDER
            body.append(text(LEFT - 12, y + 9, name, 12.5, INK if prefix else colour, "end", "normal" if prefix else "600"))
            body.append(f'<rect x="{LEFT}" y="{y - 4}" width="{x(ms) - LEFT:.1f}" height="{ROW - 9}" rx="2" '
                        f'fill="{colour}"/>')
            body.append(text(x(ms) + 8, y + 9, f"{ms:.1f}" if ms < 100 else f"{ms:.0f}", 12, SOFT))
            y += ROW
        y += 14
    return document(WIDTH, y + 4, body)
