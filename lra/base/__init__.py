"""What every other room may use: files, folders, processes, signals, declared types of arguments."""
