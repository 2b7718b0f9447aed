"""What several protocols read and write alike."""
