"""Tools beside training: benchmarks, diagnosis, other packages' models, the contracts' tests, each with its verb."""
