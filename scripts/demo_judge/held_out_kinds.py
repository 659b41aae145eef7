"""Kinds of fact that training never sees."""

from demo_judge.kind import Kind

HELD_OUT_KINDS = (
    Kind(
        "book",
        "course",
        "dollars",
        "price of the {s} book",
        ("What does the {s} book cost?", "How much is the book for {s}?"),
        ("The {s} book costs {v}.", "You pay {v} for the book in {s}.", "The book for {s} is {v}."),
    ),
    Kind(
        "interview",
        "programme",
        "date",
        "interview for {s}",
        ("When is the interview for {s}?", "On what date are interviews for {s}?"),
        ("The interview for {s} is on {v}.", "Interviews for {s} take place on {v}.", "{s} holds interviews on {v}."),
    ),
    Kind(
        "mentor",
        "programme",
        "name",
        "mentor in {s}",
        ("Who is the mentor in {s}?", "Which mentor helps students in {s}?"),
        ("The mentor in {s} is {v}.", "{v} is the mentor of students in {s}.", "In {s} your mentor is {v}."),
    ),
    Kind(
        "calculator",
        "course",
        "yesno",
        "calculators in {s}",
        ("Can I use a calculator in {s}?", "Does {s} allow calculators?"),
        ("You can use a calculator in {s}.", "{s} allows calculators.", "Yes, calculators are allowed in {s}."),
        (
            "You cannot use a calculator in {s}.",
            "{s} does not allow calculators.",
            "No, calculators are not allowed in {s}.",
        ),
    ),
)
