"""Many runs, and questions asked of them."""
