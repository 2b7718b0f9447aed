"""What leaves: own responses, converted streams, bytes that go through, and where losses are reported."""
