"""The HTML page of a study: page values, charts as inline SVG, templates."""
