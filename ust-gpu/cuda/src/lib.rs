//! CUDA devices: the only door to the driver and to NVRTC.
