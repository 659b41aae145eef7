"""Declares the reply of a prompt from another tool: what stands in it as a form is read, all else is asked."""
