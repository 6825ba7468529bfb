"""How the command of audits prints, and how it fetches."""
