"""Where tensors live and are computed: the host, a CUDA device, a simulated one."""
