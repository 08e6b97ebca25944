"""What the pictures of the benchmarks share: ink, a line of words, and the frame around a drawing."""
from html import escape

INK, SOFT, FAINT = "#1f2328", "#656d76", "#d8dee4"
LARDER, PEER = "#b7410e", "#33658a"


def text(x, y, words, size=13, colour=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def document(width, height, body):
    """The whole picture, of the elements in `body`."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" width="{width}" '
            f'height="{height:.0f}" font-family="Inter, \'Segoe UI\', \'DejaVu Sans\', sans-serif">\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")
