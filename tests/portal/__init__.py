"""The portal: on a real server, with a gradebook of its own."""
