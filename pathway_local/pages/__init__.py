"""Results as pages to send, and a page to rate on: one HTML file each, which loads and sends nothing."""
