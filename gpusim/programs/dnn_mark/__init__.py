"""DNN-Mark's layers."""
