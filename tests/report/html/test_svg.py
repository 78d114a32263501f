"""Elements of drawings as text."""

from xml.etree import ElementTree as ET

from autoloader.report.html.frame import Area, Box, Chart, around, placed_labels
from autoloader.report.html.svg import dots, element, path_through, stairs, text


def test_text_and_attributes_are_escaped() -> None:
    """And cannot end the element that they stand in."""
    drawn = str(element("g", "a </g><script> & b", aria_label='"><x>'))

    assert drawn == (
        '<g aria-label="&quot;&gt;&lt;x&gt;">a &lt;/g&gt;&lt;script&gt; &amp; b</g>'
    )


def test_letters_that_cannot_be_seen_are_left_out() -> None:
    """Those that turn the direction of writing around, say."""
    assert "\u202e" not in str(text((0, 0), "abc\u202edef"))


def test_places_have_a_tenth_at_most() -> None:
    """A page holds hundreds of them; nothing is drawn finer, and nothing has a sign."""
    drawn = str(element("circle", cx=1.23456, cy=100.0, r=-0.01, class_=None))

    assert drawn == '<circle cx="1.2" cy="100" r="0"/>'


def test_a_path_goes_through_its_points() -> None:
    """The first is moved to; stairs go across first."""
    assert path_through([(0, 10), (5, 2.5)]) == "M0 10L5 2.5"
    assert stairs([(0, 0), (2, 3), (4, 1)]) == ((0, 0), (2, 0), (2, 3), (4, 3), (4, 1))


def test_many_dots_are_one_element() -> None:
    """Each of them a line of no length."""
    assert str(dots([(1, 2), (3, 4)], "dots")) == (
        '<path d="M1 2h0M3 4h0" class="dots"/>'
    )


def test_a_chart_has_title_and_description() -> None:
    """Named by ids of its own, for those who are read to."""
    chart = Chart(name="plot-x", title="T", description="D <b>", parts=())

    root = ET.fromstring(str(chart))  # noqa: S314  # of our own making

    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "plot-x-title plot-x-desc"
    assert [(child.tag, child.text) for child in root] == [
        ("title", "T"),
        ("desc", "D <b>"),
    ]


def test_labels_do_not_cover_each_other_where_there_is_room() -> None:
    """Four points beside each other, and the marks as obstacles."""
    points = [((100.0 + 10 * number, 100.0), "PyTorch default") for number in range(4)]
    marks = [around(x, y, 6.0) for (x, y), _ in points]

    places = placed_labels(points, marks, Area())

    boxes = [
        Box(left=x, top=y + 3 - 14, right=x + 15 * 6.4, bottom=y + 3) for x, y in places
    ]
    for number, box in enumerate(boxes):
        assert not any(box.meets(other) for other in boxes[number + 1 :])
        assert not any(box.meets(mark) for mark in marks)
