"""What of gpusim can be trusted, collected from the pages that say what was validated."""
