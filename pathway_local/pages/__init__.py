"""Results as pages to send: one HTML file each, which loads nothing and runs nothing."""
