"""What becomes of other protocols' requests before they are written."""
