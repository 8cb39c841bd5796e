"""The real `flux` command against our controllers."""
