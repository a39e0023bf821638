"""The rules of OpenVINO's dialect."""
