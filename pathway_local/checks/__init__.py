"""What can be told of a judge or a rubric before anything is judged."""
