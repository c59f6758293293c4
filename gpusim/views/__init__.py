"""What people look at: timelines, reports, traces for other tools, plots."""
