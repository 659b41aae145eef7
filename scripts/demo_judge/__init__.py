"""The demonstration judge: made-up cases about a fictional university, and the training of a small judge on them."""
