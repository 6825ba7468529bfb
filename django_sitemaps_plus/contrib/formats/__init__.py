"""What is served beside XML sitemaps: feeds, recent changes, text files, llms.txt."""
