"""The mathematics of BC3E: no input or output, nothing of the user's label forms.

One set of statistics and one schedule serve every placement of the data: arrays
in memory, blocks streamed from a file, records spread over sites.
"""
