"""What an engine's process may reach: nothing but itself, as far as the kernel can see to that."""
