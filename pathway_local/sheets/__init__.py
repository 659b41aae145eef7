"""Tables: cases files in, exports out, and copies of a user's file with columns added."""
