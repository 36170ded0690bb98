"""Retrieval: pairs of papers from the ACL Anthology Network, as bytes."""
