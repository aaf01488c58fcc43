"""The contract between hardware and software: formats, encodings, register map."""
