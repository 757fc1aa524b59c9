"""Report kit: the figures, the page and the style that the HTML reports have in common."""
