"""Reads what a prompt says of itself: where its inputs go, which scale it has and which format it asks for."""
