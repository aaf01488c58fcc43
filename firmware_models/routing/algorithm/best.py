"""Stand-in written below."""
from firmware_models.routing.algorithm.mr4lms import Mr4lms
class Best(Mr4lms):
    def rebalance(self, groups):
        return []
