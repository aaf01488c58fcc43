"""The DMA engine: read and write ports of the NIC's blocks, merged onto one AXI4 bus."""
