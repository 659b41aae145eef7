"""Finds in a prompt where its inputs go, which scale it uses and which format it asks for."""
