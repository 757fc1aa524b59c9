"""Push: campaigns, and the notification that makes their offer."""
